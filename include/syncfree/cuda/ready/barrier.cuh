#pragma once

/// The part of ready.cuh that synchronises launches, the thread blocks of a cluster, the warps of a thread block, and
/// threads that wait for a copy into shared memory (mbarrier).

#include "syncfree/cuda/ready/wait.cuh"

namespace syncfree::cuda {

/// Two consecutive launches may overlap if the second is launched that way (launch.hpp): it starts when all thread
/// blocks of the first have called trigger_dependent_launch(), and sees what the first wrote after
/// wait_for_primary_launch(). Before it, the second kernel must not access memory that the first reads or writes; nor
/// may work on other streams.
inline __device__ void trigger_dependent_launch()
{
  SYNCFREE_MAY_NANOSLEEP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
inline __device__ void wait_for_primary_launch()
{
  SYNCFREE_MAY_NANOSLEEP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Progress of a thread block: a count in shared memory, published by one thread. A thread that has read it sees what
/// that thread did before, and what others did before a barrier with that thread.
class SharedCounter {
public:
  /// Resets the count. Called by one thread; a __syncthreads() must follow.
  __device__ void start() { count_ = 0; }
  __device__ void tell(unsigned count)
  {
    SYNCFREE_MAY_NANOSLEEP
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(&count_)), "r"(count) : "memory");
  }
  __device__ unsigned read_count() const
  {
    unsigned count;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(count) : "r"(address_in_block(&count_)) : "memory");
    return count;
  }

private:
  unsigned count_;
};

/// A reusable barrier in shared memory (mbarrier): the completion of phase n is awaited with parity n & 1, and makes
/// what the arriving threads wrote visible to the waiting ones. No thread may lag by two phases.
class Mbarrier {
public:
  /// Initializes the barrier. Called by one thread; fence_mbarrier_init() and a __syncthreads() must follow.
  __device__ void init(unsigned arrivals)
  {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_block(&word_)), "r"(arrivals) : "memory");
  }
  __device__ void arrive()
  {
    SYNCFREE_MAY_NANOSLEEP
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address_in_block(&word_))
                 : "memory");
  }
  __device__ bool test_wait_parity(unsigned parity) const
  {
    unsigned open;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(open)
                 : "r"(address_in_block(&word_)), "r"(parity)
                 : "memory");
    return open != 0;
  }
  __device__ void wait(unsigned parity) const
  {
    SYNCFREE_MAY_NANOSLEEP
    if (!test_wait_parity(parity))
      (void)BasicBoundedWait<OnGiveUp::trap_later>().until_soon([=] { return spin_test_wait_parity(parity); });
  }

  /// Waits in a thread block with another thread that checks the clock.
  __device__ void wait_watched(unsigned parity) const
  {
    SYNCFREE_MAY_NANOSLEEP
    while (!test_wait_parity(parity)) {}
  }
  /// The same; the warp sleeps meanwhile and takes no turns of others. Compute capability 9.0 or later; else as
  /// wait_watched().
  __device__ void sleep_watched(unsigned parity) const
  {
    SYNCFREE_MAY_NANOSLEEP
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    unsigned open = 0;
    while (open == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(open)
                   : "r"(address_in_block(&word_)), "r"(parity)
                   : "memory");
#else
    wait_watched(parity);
#endif
  }
  /// Polls BoundedWait::polls_per_check times, in a loop of two instructions per poll and three more per eight polls.
  __device__ bool spin_test_wait_parity(unsigned parity) const
  {
    static_assert(BoundedWait::polls_per_check % 8 == 0, "looks come in eights");
    unsigned open;
#define SYNCFREE_LOOK "mbarrier.test_wait.parity.shared.b64 p, [%1], %2; @p bra done;"
    asm volatile("{ .reg .pred p, more; .reg .u32 left; mov.u32 left, %3; "
                 "again: " SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
                 SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
                 "sub.u32 left, left, 8; setp.ne.u32 more, left, 0; @more bra again; "
                 "done: selp.u32 %0, 1, 0, p; }"
                 : "=r"(open)
                 : "r"(address_in_block(&word_)), "r"(parity), "n"(BoundedWait::polls_per_check)
                 : "memory");
#undef SYNCFREE_LOOK
    return open != 0;
  }

  /// Arrives when all copies into shared memory that this thread has started (cp.async) are complete.
  __device__ void arrive_on_cp_async()
  {
    SYNCFREE_MAY_NANOSLEEP
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_in_block(&word_)) : "memory");
  }

  /// Arrives; the phase also stays incomplete until `bytes` bytes have been copied. Compute capability 9.0 or later.
  __device__ void arrive_expect_tx([[maybe_unused]] unsigned bytes)
  {
    SYNCFREE_MAY_NANOSLEEP
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                   address_in_block(&word_)),
                 "r"(bytes)
                 : "memory");
#endif
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  /// Copies from global memory; addresses and bytes are multiples of 16.
  __device__ void bulk_copy(void* to, const void* from, unsigned bytes)
  {
    SYNCFREE_MAY_NANOSLEEP
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   address_in_block(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address_in_block(&word_))
                 : "memory");
  }
#endif

private:
  unsigned long long word_;
};

/// Makes init() visible to the asynchronous copies.
inline __device__ void fence_mbarrier_init()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Barriers of a thread block besides that of __syncthreads(), numbers 1 to 15: each completes when `threads`
/// threads, of whole warps, have called named_barrier_sync() or named_barrier_arrive(). The former waits, and sees
/// what the other threads wrote before; the latter does not wait. A warp must be converged: ptxas puts a WARPSYNC
/// before each, as for __syncthreads() (config/poll_loops.py fails where one is missing); an explicit __syncwarp()
/// before them cost 6 % of a solve of `tiled`.
inline __device__ void named_barrier_sync(unsigned barrier, unsigned threads)
{
  SYNCFREE_MAY_NANOSLEEP
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
inline __device__ void named_barrier_arrive(unsigned barrier, unsigned threads)
{
  SYNCFREE_MAY_NANOSLEEP
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Barrier of the `blocks` thread blocks of a cluster, 1 without a cluster: all see what all have written before.
inline __device__ void cluster_sync(unsigned blocks)
{
  SYNCFREE_MAY_NANOSLEEP
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (blocks > 1) {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  (void)blocks;
  __syncthreads();
}

}  // namespace syncfree::cuda
