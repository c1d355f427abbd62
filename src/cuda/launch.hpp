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
