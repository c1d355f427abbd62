#pragma once

/// Launches that are the same in every call, captured once as a graph: a node costs a sixth of a launch.

#include <new>

#include "cuda/base/stream.hpp"
#include "syncfree/cuda/detail/context.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

class GraphRecording {
public:
  GraphRecording() = default;
  GraphRecording(const GraphRecording&) = delete;
  ~GraphRecording()
  {
    if (graph_) (void)cudaGraphExecDestroy(graph_);
  }

  bool made() const { return graph_ != nullptr; }
  /// False also if it was made in another context.
  bool made_here() const { return made() && context_ == context_at_hand(); }

  /// Captures what body(stream) launches into its stream, without running it. Throws what body throws. The body must
  /// not make or free arrays: a batch of freed ones waits for the guard below, which this thread holds.
  template <class Body> void make(const Body& body)
  {
    const Stream own;
    const MemoryPool::CaptureGuard all;
    cudaGraph_t graph = nullptr;
    SYNCFREE_CUDA(cudaStreamBeginCapture(own.get(), cudaStreamCaptureModeThreadLocal));
    try {
      body(own.get());
    } catch (...) {
      (void)cudaStreamEndCapture(own.get(), &graph);
      (void)cudaGraphDestroy(graph);
      throw;
    }
    SYNCFREE_CUDA(cudaStreamEndCapture(own.get(), &graph));
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
    context_ = context_at_hand();
  }

  /// Runs it in the stream; if the stream is being captured by any code, calls body again instead.
  template <class Body> void launch(cudaStream_t stream, const Body& body) const
  {
    cudaStreamCaptureStatus capturing;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone) return body(stream);
    SYNCFREE_CUDA(cudaGraphLaunch(graph_, stream));
  }

private:
  cudaGraphExec_t graph_ = nullptr;
  unsigned long long context_ = 0;
};

/// Calls body(), which records or launches graphs. Returns false if that is refused or memory is short: then what they
/// launch is to be queued as ever.
template <class Body> bool try_graphs(const Body& body)
try {
  body();
  return true;
} catch (const Failure&) {
  (void)cudaGetLastError();
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace syncfree::cuda
