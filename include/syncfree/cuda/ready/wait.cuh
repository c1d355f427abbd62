#pragma once

/// The part of ready.cuh that looks again and again until there is what it waits for, or the launch has been given up
/// (ticket.cuh).

namespace syncfree::cuda {

/// What a wait does when its launch has been given up (syncfree/cuda/ready/ticket.cuh).
enum class OnGiveUp {
  leave,        ///< leaves at once: for numbers of other blocks
  leave_later,  ///< for numbers of its block or cluster, which arrive when their threads have given up what they wait
                ///< for
  trap_later    ///< for a page or a count without which it cannot go on: traps where even that does not help
};
/// Does a wait ask the clock itself, or is there a thread of the block that does so for it (watch_deadline_until())?
enum class DeadlineCheck { self, delegated };

/// To be asked when a wait has looked BoundedWait::polls_per_check times in vain, in syncfree/cuda/ready/ticket.cuh: is
/// the wait to be left?
template <OnGiveUp patience, DeadlineCheck clock = DeadlineCheck::self> __device__ bool check_deadline(long long row);

/// The looks of one wait, which ends: by what it waits for or, false then, because its launch has been given up. A
/// thread that leaves a wait takes NaN for what has not arrived, and goes on: what it owes others is published,
/// whatever it is.
///   row  that waits; without one that which set_block_row() has told for the block
template <OnGiveUp patience, DeadlineCheck clock = DeadlineCheck::self> class BasicBoundedWait {
public:
  BasicBoundedWait() = default;
  explicit __device__ BasicBoundedWait(long long row) : row_(row) {}

  /// By a thread alone: look() until done(), which is asked before each. The clock is asked outside of the loop that
  /// looks, and what it needs is in shared memory: the loop has one counter more than one that never ends.
  ///   unrolled  looks one after the other, of loops that are short
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return mine; });
  }
  /// By a warp, for which done() is the same in all lanes.
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until_for_warp(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return __any_sync(~0u, mine) != 0; });
  }
  /// The same where done() looks.
  template <int unrolled, class Done> __device__ __forceinline__ bool until_for_warp(Done done)
  {
    return until_for_warp<unrolled>(done, [] {});
  }

  /// By a thread alone: soon() looks polls_per_check times, or until there is what it waits for; is it?
  template <class Soon> __device__ __forceinline__ bool until_soon(Soon soon)
  {
    while (!soon())
      if (check_deadline<patience, clock>(row_)) return false;
    return true;
  }

  static constexpr unsigned polls_per_check = 64;

private:
  template <int unrolled, class Done, class Look, class Agree>
  __device__ __forceinline__ bool wait(Done done, Look look, Agree agree)
  {
    if (done()) return true;
    for (;;) {
#pragma unroll unrolled
      for (unsigned left = polls_per_check; left > 0; --left) {
        look();
        if (done()) return true;
      }
      if (agree(check_deadline<patience, clock>(row_))) return false;
    }
  }

  long long row_ = -1;
};
using BoundedWait = BasicBoundedWait<OnGiveUp::leave>;

#ifdef SYNCFREE_TEST_HOOKS
__device__ bool drops_publication();
#else
/// Of tests: is this the one that they ask to be left out?
inline __device__ bool drops_publication() { return false; }
#endif

inline __device__ unsigned address_in_block(const void* shared)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

}  // namespace syncfree::cuda
