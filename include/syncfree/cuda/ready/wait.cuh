#pragma once

/// The part of ready.cuh that polls until what it waits for has arrived, or the launch has been given up
/// (ticket.cuh).

/// Lets a thread sleep at random before it waits, publishes or takes a ticket, for tests; else it is empty.
#ifdef SYNCFREE_RANDOM_SLEEPS
#include "random_sleeps.cuh"
#else
#define SYNCFREE_MAY_NANOSLEEP
#endif

namespace syncfree::cuda {

/// What a wait does when its launch has been given up (syncfree/cuda/ready/ticket.cuh).
enum class OnGiveUp {
  leave,        ///< ends at once: for values of other thread blocks
  leave_later,  ///< for values of its thread block or cluster, which arrive once their threads end their own waits
  trap_later    ///< for a panel or a count without which it cannot continue: traps if even that does not help
};
/// Whether a wait checks the clock itself, or another thread of the block does so for it (watch_deadline_until()).
enum class DeadlineCheck { self, delegated };

/// Returns whether a wait must end. Called after BoundedWait::polls_per_check polls without success; defined in
/// syncfree/cuda/ready/ticket.cuh.
template <OnGiveUp patience, DeadlineCheck clock = DeadlineCheck::self> __device__ bool check_deadline(long long row);

/// Polling of one wait, which ends: when what it waits for arrives or, returning false, when its launch has been
/// given up. A thread that ends a wait early uses NaN for what has not arrived, and continues: it publishes all that
/// other threads expect, whatever the value.
///   row  that waits; if omitted, the one that set_block_row() has set for the thread block
template <OnGiveUp patience, DeadlineCheck clock = DeadlineCheck::self> class BasicBoundedWait {
public:
  BasicBoundedWait() = default;
  explicit __device__ BasicBoundedWait(long long row) : row_(row) {}

  /// Calls look() until done(), which is tested before each call; for a single thread. The clock is read outside the
  /// polling loop, and its state is in shared memory: the loop has one counter more than an endless one.
  ///   unrolled  number of unrolled polls, for short loops
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return mine; });
  }
  /// Does the same for a warp; done() is the same in all lanes.
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until_for_warp(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return __any_sync(~0u, mine) != 0; });
  }
  /// Waits for a done() that polls itself.
  template <int unrolled, class Done> __device__ __forceinline__ bool until_for_warp(Done done)
  {
    return until_for_warp<unrolled>(done, [] {});
  }

  /// Calls soon() until it returns true; for a single thread. soon() polls polls_per_check times or until what it
  /// waits for has arrived, and returns whether it has.
  template <class Soon> __device__ __forceinline__ bool until_soon(Soon soon)
  {
    SYNCFREE_MAY_NANOSLEEP
    while (!soon())
      if (check_deadline<patience, clock>(row_)) return false;
    return true;
  }

  /// For a loop that polls by itself: counts a poll without success; returns whether the wait must end.
  __device__ __forceinline__ bool is_over()
  {
    return is_over([](bool mine) { return mine; });
  }
  /// Does the same for a warp, whose lanes end together.
  __device__ __forceinline__ bool is_over_for_warp()
  {
    return is_over([](bool mine) { return __any_sync(~0u, mine) != 0; });
  }

  static constexpr unsigned polls_per_check = 64;

private:
  template <class Agree> __device__ __forceinline__ bool is_over(Agree agree)
  {
    if (--left_ > 0) return false;
    left_ = polls_per_check;
    return agree(check_deadline<patience, clock>(row_));
  }

  template <int unrolled, class Done, class Look, class Agree>
  __device__ __forceinline__ bool wait(Done done, Look look, Agree agree)
  {
    SYNCFREE_MAY_NANOSLEEP
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
  unsigned left_ = polls_per_check;  ///< polls until the next check, in loops that poll by themselves
};
using BoundedWait = BasicBoundedWait<OnGiveUp::leave>;

#ifdef SYNCFREE_TEST_HOOKS
__device__ bool drops_publication();
#else
/// Returns whether a test suppresses this publication.
inline __device__ bool drops_publication() { return false; }
#endif

inline __device__ unsigned address_in_block(const void* shared)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

}  // namespace syncfree::cuda
