#pragma once

/// Launches that are the same in every call, captured once as a graph: a node costs a sixth of a launch.

#include "cuda/base/stream.hpp"
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

  /// Captures what body(stream) launches into its stream, without running it. Throws what body throws.
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
};

}  // namespace syncfree::cuda
