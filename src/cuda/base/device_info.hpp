#pragma once

/// What the library has for the device at hand.

#include <cuda_runtime_api.h>

namespace syncfree::cuda {

/// The error if this library has no code for the current device.
cudaError_t check_kernels();

/// The architecture for which the kernels that run on the current device were compiled, as 90 for compute capability
/// 9.0; less than the device has where they are from another one's PTX. Throws Failure.
int architecture_of_kernels();

}  // namespace syncfree::cuda
