/// Implementation of cuda/base/device_info.hpp.

#include "cuda/base/device_info.hpp"

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

namespace {

/// Represents all kernels: they are compiled for the same architectures.
__global__ void probe() {}

}  // namespace

cudaError_t check_kernels()
{
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error;
}

int architecture_of_kernels()
{
  cudaFuncAttributes attributes;
  SYNCFREE_CUDA(cudaFuncGetAttributes(&attributes, probe));
  return attributes.ptxVersion;
}

}  // namespace syncfree::cuda
