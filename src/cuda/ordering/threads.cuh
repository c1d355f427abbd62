#pragma once

/// Who does what in the kernels of this room: a thread or a warp for each item.

#include <algorithm>
#include <cstddef>

#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

constexpr unsigned threads_a_block = 256;

inline __device__ unsigned this_lane() { return threadIdx.x % 32; }
inline __device__ std::size_t this_warp() { return this_thread() / 32; }
inline __device__ std::size_t warps_of_launch() { return gridDim.x * static_cast<std::size_t>(blockDim.x / 32); }

inline unsigned blocks_of_threads(std::size_t items) { return blocks_for(items, threads_a_block); }
inline unsigned blocks_of_warps(std::size_t items) { return blocks_for(32 * items, threads_a_block); }

/// Returns blocks of warps that visit the items in a loop: no more than run at the same time.
inline unsigned blocks_of_resident_warps(std::size_t items, unsigned blocks_a_multiprocessor = 4)
{
  const auto most = static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount)) * blocks_a_multiprocessor;
  return std::min(blocks_of_warps(items), most);
}

}  // namespace syncfree::cuda
