#pragma once

/// What blocks of a cluster (launch.hpp) have in common; how they wait for each other is in ready.cuh.

#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// Which block of its cluster this one is.
inline __device__ unsigned rank_in_cluster()
{
  unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

/// The same place in the shared memory of that block of the cluster, which must not have ended.
template <class T> __device__ T* place_in_cluster(T* shared, [[maybe_unused]] unsigned rank)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
#else
  return shared;
#endif
}

/// By a warp: until numbers have come that the block before in the cluster puts into a tray of this one, and that
/// nothing reads. No block ends while a number for it may be on its way.
template <class N> __device__ void await_numbers(const N* tray, unsigned numbers)
{
  for (unsigned k = threadIdx.x % 32; k < numbers; k += 32)
    (void)BasicBoundedWait<OnGiveUp::leave_later>().until(
        [=] { return SharedSentinelValue<N>::arrived(SharedSentinelValue<N>::look(tray + k)); }, [] {});
}

/// take_ticket() where a cluster of `blocks` blocks, which divides the grid, takes one ticket: its blocks' places
/// follow each other by rank. All blocks must cluster_sync() again before one of them ends.
inline __device__ BlockTicket take_ticket(TicketCounter* counter, unsigned blocks)
{
  if (blocks == 1) return take_ticket(counter);
  BlockState& own = block_state();
  const unsigned rank = rank_in_cluster(), clusters = gridDim.x / blocks;
  if (threadIdx.x == 0) {
    own.begin(counter, clusters);
    own.ticket = rank == 0 ? fetch_increment_relaxed(&counter->next) : BlockState::unknown;
  }
  cluster_sync(blocks);
  const unsigned long long taken = *place_in_cluster(&own.ticket, 0);
  if (threadIdx.x == 0 && rank != 0) store_relaxed_block(&own.ticket, taken);
  return {taken % clusters * blocks + rank, taken / clusters};
}

}  // namespace syncfree::cuda
