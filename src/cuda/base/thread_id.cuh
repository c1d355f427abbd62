#pragma once

#include <cstddef>

namespace syncfree::cuda {

/// Its number in a launch whose grid and blocks have one dimension.
inline __device__ std::size_t this_thread() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }

/// Of the numbers that the lanes of a warp have, that of this lane included. By all of them.
inline __device__ unsigned warp_inclusive_sum(unsigned own)
{
  const unsigned lane = threadIdx.x % 32;
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned before = __shfl_up_sync(~0u, own, offset);
    if (lane >= offset) own += before;
  }
  return own;
}

}  // namespace syncfree::cuda
