#pragma once

#include <cstddef>

namespace syncfree::cuda {

/// Returns the index of this thread in a launch with one-dimensional grid and thread blocks.
inline __device__ std::size_t this_thread() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }

/// Returns the inclusive prefix sum over the lanes of a warp. Called by all of them.
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
