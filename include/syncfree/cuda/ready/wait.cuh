#pragma once

/// The part of ready.cuh that looks again and again until there is what it waits for, or the launch has been given up
/// (ticket.cuh).

namespace syncfree::cuda {

/// What a wait does when its launch has been given up (syncfree/cuda/ready/ticket.cuh).
enum class Patience {
  none,  ///< leaves at once: for numbers of other blocks
  some,  ///< for numbers of its block or cluster, which arrive when their threads have given up what they wait for
  last   ///< for a page or a count without which it cannot go on: traps where even that does not help
};
/// Does a wait ask the clock itself, or is there a thread of the block that does so for it (watch_until())?
enum class Clock { own, watched };

/// To be asked when a wait has looked Spin::looks_at_once times in vain, in syncfree/cuda/ready/ticket.cuh: is the wait
/// to be left?
template <Patience patience, Clock clock = Clock::own> __device__ bool ask_clock(long long row);

/// The looks of one wait, which ends: by what it waits for or, false then, because its launch has been given up. A
/// thread that leaves a wait takes NaN for what has not arrived, and goes on: what it owes others is published,
/// whatever it is.
///   row  that waits; without one that which note_row() has told for the block
template <Patience patience, Clock clock = Clock::own> class SpinOf {
public:
  SpinOf() = default;
  explicit __device__ SpinOf(long long row) : row_(row) {}

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

  /// By a thread alone: soon() looks looks_at_once times, or until there is what it waits for; is it?
  template <class Soon> __device__ __forceinline__ bool until_soon(Soon soon)
  {
    while (!soon())
      if (ask_clock<patience, clock>(row_)) return false;
    return true;
  }

  static constexpr unsigned looks_at_once = 64;

private:
  template <int unrolled, class Done, class Look, class Agree>
  __device__ __forceinline__ bool wait(Done done, Look look, Agree agree)
  {
    if (done()) return true;
    for (;;) {
#pragma unroll unrolled
      for (unsigned left = looks_at_once; left > 0; --left) {
        look();
        if (done()) return true;
      }
      if (agree(ask_clock<patience, clock>(row_))) return false;
    }
  }

  long long row_ = -1;
};
using Spin = SpinOf<Patience::none>;

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
