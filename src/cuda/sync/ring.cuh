#pragma once

/// A ring of panels in shared memory, each with an mbarrier that signals its arrival.

#include <cstdint>

#include "syncfree/cuda/ready/barrier.cuh"

namespace syncfree::cuda {

/// Position in the ring; advances panel by panel.
struct RingCursor {
  std::uint32_t panel = 0;
  unsigned round = 0;  ///< lowest bit of the round

  /// Advances by fewer panels than the ring has.
  __device__ void advance(std::uint32_t depth, std::uint32_t panels = 1)
  {
    panel += panels;
    if (panel < depth) return;
    panel -= depth;
    round ^= 1;
  }
};

/// Copies a panel to shared memory; called by one thread of a warp if panel_copies_itself, else by all. One arrival at
/// the mbarrier, which completes when the panel has been copied. Bytes and addresses are multiples of 16.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr bool panel_copies_itself = true;
inline __device__ void copy_panel(Mbarrier& gate, void* to, const void* from, unsigned bytes)
{
  gate.arrive_expect_tx(bytes);
  gate.bulk_copy(to, from, bytes);
}
inline __device__ void fetch_to_cache(const void* from, unsigned bytes)
{
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
}
#else
constexpr bool panel_copies_itself = false;
inline __device__ void copy_panel(Mbarrier& gate, void* to, const void* from, unsigned bytes)
{
  for (unsigned k = threadIdx.x % 32; k < bytes / sizeof(uint4); k += 32)
    static_cast<uint4*>(to)[k] = static_cast<const uint4*>(from)[k];
  __syncwarp();
  if (threadIdx.x % 32 == 0) gate.arrive();
}
inline __device__ void fetch_to_cache(const void*, unsigned) {}
#endif

}  // namespace syncfree::cuda
