#pragma once

/// Launches of one kernel behind another.

#include <cuda_runtime.h>

#include "syncfree/cuda/device.hpp"

namespace syncfree::cuda {

/// Where a launch runs. `overlaps`: it may start before the launch in front of it has ended (ready.cuh,
/// await_launch_before()); only where the device can, and for a kernel that is made for it.
struct LaunchPlace {
  unsigned blocks, threads;
  std::size_t shared_bytes;
  cudaStream_t stream;
  bool overlaps;
};

/// Blocks that run at the same time and meet (ready.cuh, meet_cluster()): from compute capability 9.0 on up to 8.
inline unsigned most_blocks_of_cluster()
{
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9 ? 8 : 1;
}

/// In clusters of so many blocks, of which `blocks` is a multiple.
template <class... Parameters, class... Arguments>
void launch_clusters(void (*kernel)(Parameters...), unsigned cluster, unsigned blocks, unsigned threads,
                     cudaStream_t stream, Arguments... arguments)
{
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = cluster > 1 ? 1 : 0;
  SYNCFREE_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

/// From compute capability 9.0 on.
inline bool launches_can_overlap() { return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9; }

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchPlace& place, Arguments... arguments)
{
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(place.blocks);
  config.blockDim = dim3(place.threads);
  config.dynamicSmemBytes = place.shared_bytes;
  config.stream = place.stream;
  config.attrs = &attribute;
  config.numAttrs = place.overlaps ? 1 : 0;
  SYNCFREE_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace syncfree::cuda
