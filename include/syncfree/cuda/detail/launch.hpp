#pragma once

/// Launches of kernels. Whether one was refused is what the launch itself returns: the last error, which the <<< >>> of
/// CUDA leaves, may be an old one that the program has made, and that is not for us to report or to clear.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Where a launch runs. `overlaps`: it may start before the launch in front of it has ended (ready.cuh,
/// wait_for_primary_launch()); only where the device can, and for a kernel that is made for it.
struct LaunchParameters {
  dim3 blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool overlaps = false;
  unsigned cluster = 1;  ///< blocks of one, which divides `blocks`
};

/// A place as CUDA wants to have it.
struct LaunchConfig {
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = {};

  explicit LaunchConfig(const LaunchParameters& place)
  {
    config.gridDim = place.blocks;
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

/// For an error's words.
inline std::string launch_of([[maybe_unused]] const void* kernel)
{
  const char* name = nullptr;
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, kernel) != cudaSuccess) name = nullptr;
#endif
  return std::string("launch of ") + (name ? name : "a kernel");
}

constexpr std::size_t shared_bytes_of_all = 48 << 10;  ///< which each kernel may have

/// CUDA's answer. A kernel is allowed more shared memory in the context of a plan; the launch may be in another one.
template <class... Parameters, class... Arguments>
cudaError_t try_launch(void (*kernel)(Parameters...), const LaunchParameters& place, Arguments... arguments)
{
  const LaunchConfig made(place);
  const void* const function = reinterpret_cast<const void*>(kernel);
  return [&](Parameters... as) {
    void* pointers[] = {&as..., nullptr};
    const cudaError_t error = cudaLaunchKernelExC(&made.config, function, pointers);
    if (error == cudaSuccess || place.shared_bytes <= shared_bytes_of_all) return error;
    (void)cudaGetLastError();
    (void)cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(place.shared_bytes));
    return cudaLaunchKernelExC(&made.config, function, pointers);
  }(static_cast<Parameters>(arguments)...);
}

/// Throws Failure where CUDA refuses it.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchParameters& place, Arguments... arguments)
{
  const cudaError_t error = try_launch(kernel, place, arguments...);
  if (error != cudaSuccess) check(error, launch_of(reinterpret_cast<const void*>(kernel)).c_str());
}

}  // namespace syncfree::cuda
