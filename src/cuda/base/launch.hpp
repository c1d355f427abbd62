#pragma once

/// Launch features of the current device: overlap with the preceding launch, and clusters.

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "cuda/base/device_info.hpp"
#include "syncfree/cuda/detail/context.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree::cuda {

/// True from compute capability 9.0 on, if the kernels were compiled for it: older code does not wait for the
/// preceding launch, and has no clusters.
inline bool launches_can_overlap()
{
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9 && architecture_of_kernels() >= 90;
}
inline bool launches_have_clusters() { return launches_can_overlap(); }

/// Whether launches that read the values before wait_for_primary_launch() may overlap the launch before.
class NewValues {
public:
  /// Values are being copied.
  void announce() { are_new_ = true; }
  /// False for the first launch with new values: the kernel that copies them may still be running.
  bool may_overlap(cudaStream_t stream)
  {
    if (!overlaps_ || !are_new_) return overlaps_;
    cudaStreamCaptureStatus status;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &status));
    are_new_ = status != cudaStreamCaptureStatusNone;
    return false;
  }

private:
  const bool overlaps_ = launches_can_overlap();
  bool are_new_ = true;  ///< no launch since they were copied
};

/// Returns the largest cluster size, in thread blocks that run at the same time and can synchronise (ready.cuh,
/// cluster_sync()), for small thread blocks.
inline unsigned most_blocks_of_cluster() { return launches_have_clusters() ? 8 : 1; }

/// Returns it for a kernel with these parameters, at most `most`: more than 8 are not supported everywhere. A kernel
/// may only be launched with cluster sizes queried here for it.
template <class... Parameters>
unsigned most_blocks_of_cluster(void (*kernel)(Parameters...), LaunchParameters parameters,
                                unsigned most = most_blocks_of_cluster())
{
  if (!launches_have_clusters()) return 1;
  if (most > most_blocks_of_cluster())
    SYNCFREE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (parameters.cluster = most; parameters.cluster > 1; parameters.cluster /= 2) {
    parameters.blocks = parameters.cluster;
    int clusters = 0;
    const LaunchConfig tried(parameters);
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &tried.config) == cudaSuccess && clusters > 0) break;
    (void)cudaGetLastError();
  }
  return parameters.cluster;
}

/// Returns the same from a cache by kernel, `most` and context, where the launch parameters are always equal: the query
/// takes longer than a launch.
template <class... Parameters>
unsigned cached_blocks_of_cluster(void (*kernel)(Parameters...), const LaunchParameters& parameters, unsigned most)
{
  using Key = std::tuple<const void*, unsigned, unsigned long long>;
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<Key, unsigned>;
  const unsigned long long context = context_at_hand();
  const std::lock_guard<std::mutex> lock(mutex);
  const Key key(reinterpret_cast<const void*>(kernel), most, context);
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  return known.emplace(key, most_blocks_of_cluster(kernel, parameters, most)).first->second;  // unless that throws
}

/// True for errors with which launches in clusters of a size that cannot run are refused.
inline bool may_be_of_cluster(cudaError_t error)
{
  return error == cudaErrorInvalidClusterSize || error == cudaErrorLaunchOutOfResources ||
         error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue;
}

/// Mailbox and counter of launches in clusters. A context with a part of the device may reject a cluster size that
/// the plan was given: from then on thread blocks are launched without clusters. Tickets of cluster launches count
/// clusters, so launches without have a mailbox and a counter of their own, and graphs continue with those that they
/// have captured.
template <class Mail> class ClusterLaunches {
public:
  ///   name  as in TicketCounterMemory
  ClusterLaunches(std::size_t slots, const char* name)
      : slots_(slots), name_(name), planned_(std::make_unique<LaunchMemory>(slots, name))
  {
  }

  /// attempt(thread blocks per cluster, view of the mailbox, counter) returns CUDA's error.
  template <class Attempt> void launch_cluster(unsigned cluster, Attempt attempt)
  {
    if (!alone_) {
      const cudaError_t error = attempt(cluster, planned_->mailbox.mailbox_view(), planned_->counter.data());
      if (error == cudaSuccess) return;
      if (cluster == 1 || !may_be_of_cluster(error)) check(error, "launch in clusters");
      (void)cudaGetLastError();
      alone_ = std::make_unique<LaunchMemory>(slots_, name_);
    }
    check(attempt(1u, alone_->mailbox.mailbox_view(), alone_->counter.data()), "launch of blocks alone");
  }

  std::size_t launch_bytes() const
  {
    return planned_->mailbox.mailbox_bytes() + (alone_ ? alone_->mailbox.mailbox_bytes() : 0);
  }

private:
  struct LaunchMemory {
    Mail mailbox;
    TicketCounterMemory counter;

    LaunchMemory(std::size_t slots, const char* name) : mailbox(slots), counter(name)
    {
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    }
  };

  std::size_t slots_;
  const char* name_;
  std::unique_ptr<LaunchMemory> planned_, alone_;
};

/// Allows launches of a kernel in the current context `bytes` of shared memory. The limit belongs to the kernel, not
/// to a launch, and only grows. Setting it takes about 10 us.
template <class Kernel> void allow_shared_memory(Kernel kernel, std::size_t bytes)
{
  static std::mutex& mutex = *new std::mutex;
  static auto& allowed = *new std::map<std::pair<unsigned long long, Kernel>, std::size_t>;
  if (bytes <= shared_bytes_of_all) return;
  const unsigned long long context = context_at_hand();
  const std::lock_guard<std::mutex> lock(mutex);
  std::size_t& most = allowed[{context, kernel}];
  if (most >= bytes) return;
  SYNCFREE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  most = bytes;
}

inline std::string in_clusters(unsigned blocks)
{
  return blocks > 1 ? ", in clusters of " + std::to_string(blocks) : "";
}

/// Returns the shared memory that a thread block may use; the rest is for the ticket and the compiler.
inline std::size_t memory_of_block()
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
}

}  // namespace syncfree::cuda
