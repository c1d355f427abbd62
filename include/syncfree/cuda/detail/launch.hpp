#pragma once

/// Kernel launches. The launch's return value reports whether it was rejected. The last error, which is all that
/// CUDA's <<< >>> gives, may be an old one of the program, which the library must neither report nor clear.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// How a kernel is launched. `overlaps`: it may start before the preceding launch has ended (ready.cuh,
/// wait_for_primary_launch()); only if the device supports it, and for a kernel that is written for it.
struct LaunchParameters {
  dim3 blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool overlaps = false;
  unsigned cluster = 1;  ///< thread blocks per cluster, which divides `blocks`
};

/// LaunchParameters in CUDA's types.
struct LaunchConfig {
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = {};

  explicit LaunchConfig(const LaunchParameters& parameters)
  {
    config.gridDim = parameters.blocks;
    config.blockDim = dim3(parameters.threads);
    config.dynamicSmemBytes = parameters.shared_bytes;
    config.stream = parameters.stream;
    config.attrs = attribute;
    if (parameters.overlaps) {
      cudaLaunchAttribute& overlap = attribute[config.numAttrs++];
      overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
    if (parameters.cluster > 1) {
      cudaLaunchAttribute& cluster = attribute[config.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = parameters.cluster;
      cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;
};

/// Returns the text of an error message.
inline std::string launch_of([[maybe_unused]] const void* kernel)
{
  const char* name = nullptr;
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, kernel) != cudaSuccess) name = nullptr;
#endif
  return std::string("launch of ") + (name ? name : "a kernel");
}

constexpr std::size_t shared_bytes_of_all = 48 << 10;  ///< available to every kernel without an attribute

/// Returns CUDA's error. A plan allows its kernels more shared memory in its context; if the launch runs in another
/// one, the attribute is set there, too.
template <class... Parameters, class... Arguments>
cudaError_t try_launch(void (*kernel)(Parameters...), const LaunchParameters& parameters, Arguments... arguments)
{
  const LaunchConfig made(parameters);
  const void* const function = reinterpret_cast<const void*>(kernel);
  return [&](Parameters... as) {
    void* pointers[] = {&as..., nullptr};
    const cudaError_t error = cudaLaunchKernelExC(&made.config, function, pointers);
    if (error == cudaSuccess || parameters.shared_bytes <= shared_bytes_of_all) return error;
    (void)cudaGetLastError();
    (void)cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(parameters.shared_bytes));
    return cudaLaunchKernelExC(&made.config, function, pointers);
  }(static_cast<Parameters>(arguments)...);
}

/// Throws Failure if CUDA rejects the launch.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchParameters& parameters, Arguments... arguments)
{
  const cudaError_t error = try_launch(kernel, parameters, arguments...);
  if (error != cudaSuccess) check(error, launch_of(reinterpret_cast<const void*>(kernel)).c_str());
}

}  // namespace syncfree::cuda
