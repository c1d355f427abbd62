#pragma once

/// Launches of one kernel behind another.

#include <cuda_runtime.h>

#include "syncfree/cuda/device.hpp"
#include "vectors.hpp"

namespace syncfree::cuda {

/// Where a launch runs. `overlaps`: it may start before the launch in front of it has ended (ready.cuh,
/// await_launch_before()); only where the device can, and for a kernel that is made for it.
struct LaunchPlace {
  unsigned blocks, threads;
  std::size_t shared_bytes;
  cudaStream_t stream;
  bool overlaps;
  unsigned cluster = 1;  ///< blocks of one, which divides `blocks`
};

/// From compute capability 9.0 on, and where kernels were compiled for it: others do not wait for the launch before
/// theirs, and know of no clusters.
inline bool launches_can_overlap()
{
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9 && architecture_of_kernels() >= 90;
}
inline bool launches_have_clusters() { return launches_can_overlap(); }

/// A place as CUDA wants to have it.
struct LaunchConfig {
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = {};

  explicit LaunchConfig(const LaunchPlace& place)
  {
    config.gridDim = dim3(place.blocks);
    config.blockDim = dim3(place.threads);
    config.dynamicSmemBytes = place.shared_bytes;
    config.stream = place.stream;
    config.attrs = attribute;
    if (place.overlaps) {
      cudaLaunchAttribute& overlap = attribute[config.numAttrs++];
      overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
    if (place.cluster > 1) {
      cudaLaunchAttribute& cluster = attribute[config.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = place.cluster;
      cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;
};

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchPlace& place, Arguments... arguments)
{
  const LaunchConfig made(place);
  SYNCFREE_CUDA(cudaLaunchKernelEx(&made.config, kernel, static_cast<Parameters>(arguments)...));
}

/// Blocks of a cluster, which run at the same time and meet (ready.cuh, meet_cluster()): at most, where they are small.
inline unsigned most_blocks_of_cluster() { return launches_have_clusters() ? 8 : 1; }

/// The same for blocks as large as that place's, `most` at most: more than 8 are not had everywhere. Only what a kernel
/// was asked for here may it be launched with.
template <class... Parameters>
unsigned most_blocks_of_cluster(void (*kernel)(Parameters...), LaunchPlace place,
                                unsigned most = most_blocks_of_cluster())
{
  if (!launches_have_clusters()) return 1;
  if (most > most_blocks_of_cluster())
    SYNCFREE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (place.cluster = most; place.cluster > 1; place.cluster /= 2) {
    place.blocks = place.cluster;
    int clusters = 0;
    const LaunchConfig tried(place);
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &tried.config) == cudaSuccess && clusters > 0) break;
    (void)cudaGetLastError();
  }
  return place.cluster;
}

}  // namespace syncfree::cuda
