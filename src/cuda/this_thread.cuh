#pragma once

#include <cstddef>

namespace syncfree::cuda {

/// Its number in a launch whose grid and blocks have one dimension.
inline __device__ std::size_t this_thread() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }

}  // namespace syncfree::cuda
