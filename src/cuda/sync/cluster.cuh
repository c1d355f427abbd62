#pragma once

/// What thread blocks of a cluster (launch.hpp) share; ready.cuh has how they wait for each other.

#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// Returns the rank of this thread block in its cluster.
inline __device__ unsigned rank_in_cluster()
{
  unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

/// Returns the same location in the shared memory of thread block `rank` of the cluster, which must not have ended.
template <class T> __device__ T* map_shared_rank(T* shared, [[maybe_unused]] unsigned rank)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  T* mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
  return mapped;
#else
  return shared;
#endif
}

/// Waits until the values that the preceding thread block of the cluster writes to ghosts of this one have arrived,
/// where nothing reads them: no thread block may end while a value for it is on its way. Called by a warp.
template <class N> __device__ void await_numbers(const N* ghosts, unsigned numbers)
{
  for (unsigned k = threadIdx.x % 32; k < numbers; k += 32)
    (void)BasicBoundedWait<OnGiveUp::leave_later>().until(
        [=] { return SharedSentinelValue<N>::is_stored(SharedSentinelValue<N>::load_shared(ghosts + k)); }, [] {});
}

/// take_ticket() where a cluster of `blocks` thread blocks, which divides the grid, takes one ticket: the indices of
/// its thread blocks are consecutive by rank. All of them must call cluster_sync() again before one of them ends.
inline __device__ BlockTicket take_ticket(TicketCounter* counter, unsigned blocks)
{
  if (blocks == 1) return take_ticket(counter);
  BlockState& own = block_state();
  const unsigned rank = rank_in_cluster(), clusters = gridDim.x / blocks;
  if (threadIdx.x == 0) {
    own.begin_block(counter, clusters);
    own.ticket = rank == 0 ? fetch_increment_relaxed(&counter->next) : BlockState::unknown;
  }
  cluster_sync(blocks);
  const unsigned long long taken = *map_shared_rank(&own.ticket, 0);
  if (threadIdx.x == 0 && rank != 0) store_relaxed_block(&own.ticket, taken);
  return {taken % clusters * blocks + rank, taken / clusters};
}

}  // namespace syncfree::cuda
