#pragma once

/// The part of ready.cuh for threads that meet: launches, the blocks of a cluster, the warps of a block, and who waits
/// for a copy into shared memory (mbarrier).

#include "syncfree/cuda/ready/wait.cuh"

namespace syncfree::cuda {

/// Two launches that follow each other may overlap where the second is launched so (launch.hpp): it starts when all
/// blocks of the first have called trigger_dependent_launch(), and sees what the first wrote behind
/// wait_for_primary_launch(). Before that it may touch nothing that the first reads or writes. Neither does anything
/// elsewhere.
inline __device__ void trigger_dependent_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
inline __device__ void wait_for_primary_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// How far a block has come: a count in shared memory, told by one thread. Who has read it sees what that thread, and
/// others before a barrier with it, did before.
class SharedCounter {
public:
  /// By one thread; then a __syncthreads().
  __device__ void start() { count_ = 0; }
  __device__ void tell(unsigned count)
  {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(&count_)), "r"(count) : "memory");
  }
  __device__ unsigned count() const
  {
    unsigned count;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(count) : "r"(address_in_block(&count_)) : "memory");
    return count;
  }

private:
  unsigned count_;
};

/// A barrier in shared memory (mbarrier) that opens again and again: its n-th opening is awaited with parity n & 1, and
/// shows who waits what those wrote that arrived. Nobody may lag behind by two openings.
class Mbarrier {
public:
  /// By one thread; then fence_mbarrier_init() and a __syncthreads().
  __device__ void init(unsigned arrivals)
  {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_block(&word_)), "r"(arrivals) : "memory");
  }
  __device__ void arrive()
  {
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
    if (!test_wait_parity(parity))
      (void)BasicBoundedWait<OnGiveUp::trap_later>().until_soon([=] { return spin_test_wait_parity(parity); });
  }

  /// Where the block has a thread that looks at the clock.
  __device__ void wait_watched(unsigned parity) const
  {
    while (!test_wait_parity(parity)) {}
  }
  /// So many looks, in a loop of two instructions a look and three for every eight.
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

  /// An arrival when all that this thread has begun to fetch into shared memory (cp.async) is there.
  __device__ void arrive_on_cp_async()
  {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_in_block(&word_)) : "memory");
  }

  /// An arrival; the gate stays shut until so many bytes have been copied, too. From compute capability 9.0 on.
  __device__ void arrive_expect_tx([[maybe_unused]] unsigned bytes)
  {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                   address_in_block(&word_)),
                 "r"(bytes)
                 : "memory");
#endif
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  /// From global memory; addresses and bytes are multiples of 16.
  __device__ void bulk_copy(void* to, const void* from, unsigned bytes)
  {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   address_in_block(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address_in_block(&word_))
                 : "memory");
  }
#endif

private:
  unsigned long long word_;
};

/// Behind make(): for the engine that copies.
inline __device__ void fence_mbarrier_init()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Barriers of a block beside that of __syncthreads(), number 1 to 15: each opens when `threads` threads, of whole
/// warps, have called meet() or signal(). Who meets waits, and sees what the others wrote before; who signals does not
/// wait. A warp must come as a whole: ptxas puts a WARPSYNC before each, as for __syncthreads() (config/poll_loops.py
/// fails where one is missing); a __syncwarp() of our own before them took 6 % of a solve of `tiled`.
inline __device__ void named_barrier_sync(unsigned barrier, unsigned threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
inline __device__ void named_barrier_arrive(unsigned barrier, unsigned threads)
{
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// A barrier of the `blocks` blocks of a cluster, 1 for a block alone: all see what all have written before.
inline __device__ void cluster_sync(unsigned blocks)
{
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
