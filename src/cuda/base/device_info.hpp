#pragma once

/// The library's kernels for the current device.

#include <cuda_runtime_api.h>

namespace syncfree::cuda {

/// Returns an error if this library has no code for the current device.
cudaError_t check_kernels();

/// Returns the architecture for which the kernels that run on the current device were compiled, as 90 for compute
/// capability 9.0; lower than the device's if they come from the PTX of another architecture. Throws Failure.
int architecture_of_kernels();

}  // namespace syncfree::cuda
