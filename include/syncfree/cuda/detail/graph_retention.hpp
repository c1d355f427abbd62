#pragma once

/// Memory in use by CUDA graphs. A graph that has captured launches keeps using the memory given to them, even after
/// the object that launched them has changed or ended. So what such an object releases is kept while such a graph, or
/// what was instantiated from it, exists. CUDA reports the end of a graph (user objects); nothing is kept if nothing
/// was captured.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace syncfree::cuda {

/// Number of existing graphs that hold launches of one object.
using GraphCount = std::shared_ptr<std::atomic<int>>;

/// What an object has released while it lived or when it ended.
struct HeldByGraphs {
  GraphCount graphs;
  std::shared_ptr<void> what;

  bool is_held() const { return graphs && *graphs > 0; }
};

/// What is kept for graphs of objects that have ended.
class LeftToGraphs {
public:
  static LeftToGraphs& all_left()
  {
    static LeftToGraphs& left = *new LeftToGraphs;
    return left;
  }

  void add_held(HeldByGraphs one)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_.push_back(std::move(one));
  }

  /// Frees what no graph holds any more; must not be called while a stream is being captured.
  void sweep()
  {
    std::vector<HeldByGraphs> free;  // destroyed after the lock is released: freeing may take long
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto held = [](const HeldByGraphs& one) { return one.is_held(); };
    const auto end = std::partition(left_.begin(), left_.end(), held);
    free.assign(std::make_move_iterator(end), std::make_move_iterator(left_.end()));
    left_.erase(end, left_.end());
  }

private:
  std::mutex mutex_;
  std::vector<HeldByGraphs> left_;
};

/// The graphs with launches of one object, and what the object keeps for them.
class GraphRetention {
public:
  GraphRetention() = default;
  GraphRetention(GraphRetention&&) = default;
  GraphRetention& operator=(GraphRetention&& other)
  {
    std::swap(graphs_, other.graphs_);
    std::swap(kept_, other.kept_);
    std::swap(capture_, other.capture_);
    return *this;
  }
  ~GraphRetention()
  {
    try {
      for (Kept& kept : kept_)
        if (any()) LeftToGraphs::all_left().add_held({graphs_, kept.what});
    } catch (const std::bad_alloc&) {
      for (Kept& kept : kept_) (void)new (std::nothrow) std::shared_ptr<void>(kept.what);  // leaked
    }
  }

  /// True if a graph that holds launches exists.
  bool any() const { return graphs_ && *graphs_ > 0; }

  /// Records that the stream's graph holds launches of this object, if the stream is being captured. Returns whether
  /// it is.
  bool hold(cudaStream_t stream)
  {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long capture = 0;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &capture, &graph, nullptr, nullptr, nullptr);
#else
    const cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, &capture, &graph, nullptr, nullptr);
#endif
    if (error != cudaSuccess) (void)cudaGetLastError();
    if (error != cudaSuccess || status != cudaStreamCaptureStatusActive) return false;
    if (capture == capture_) return true;
    if (!graphs_) graphs_ = std::make_shared<std::atomic<int>>(0);
    ++*graphs_;
    if (!tell_end_of(graph)) (void)cudaGetLastError();  // the graph is then assumed to exist for ever
    capture_ = capture;
    return true;
  }

  /// Keeps `what` for the graphs that hold it, if there are any; otherwise destroys it.
  template <class P> void keep(P what, std::size_t bytes)
  {
    sweep();
    if (any()) kept_.push_back({std::make_shared<P>(std::move(what)), bytes});
  }

  /// Keeps what an object still has when it ends, in the same way.
  template <class P> void keep_for_graphs(P what) noexcept
  try {
    LeftToGraphs::all_left().sweep();
    if (any()) LeftToGraphs::all_left().add_held({graphs_, std::make_shared<P>(std::move(what))});
  } catch (const std::bad_alloc&) {
    (void)new (std::nothrow) P(std::move(what));  // leaked
  }

  /// Frees what no graph holds any more; must not be called while a stream is being captured.
  void sweep()
  {
    if (!any()) kept_.clear();
  }

  std::size_t held_bytes() const
  {
    std::size_t all = 0;
    for (const Kept& kept : kept_) all += kept.bytes;
    return any() ? all : 0;
  }

private:
  struct Kept {
    std::shared_ptr<void> what;
    std::size_t bytes;
  };

  /// Makes CUDA decrement `graphs_` at the end of the graph, in a thread of CUDA's, which must not call CUDA.
  bool tell_end_of(cudaGraph_t graph) const
  {
    auto* const count = new GraphCount(graphs_);
    const auto ended = [](void* counted) {
      auto* const mine = static_cast<GraphCount*>(counted);
      --**mine;
      delete mine;
    };
    cudaUserObject_t object = nullptr;
    if (cudaUserObjectCreate(&object, count, ended, 1, cudaUserObjectNoDestructorSync) != cudaSuccess) {
      delete count;
      return false;
    }
    if (cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) == cudaSuccess) return true;
    ++*graphs_;  // the release decrements it
    (void)cudaUserObjectRelease(object, 1);
    return false;
  }

  GraphCount graphs_;
  std::vector<Kept> kept_;
  unsigned long long capture_ = 0;  ///< id of the last capture with launches of the object
};

}  // namespace syncfree::cuda
