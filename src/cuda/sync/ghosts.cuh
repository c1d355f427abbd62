#pragma once

/// Values of other thread blocks that are copied to shared memory (ghosts), and the thread that watches the deadline of
/// the waits for them.

#include <cstdint>

#include "cuda/base/scalar.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// Called by one thread after the launch was given up: stores NaN for all values that have not arrived.
template <class N> __device__ void store_nan_for_missing(N* first, const N* end)
{
  for (N* slot = first; slot < end; ++slot)
    if (!SharedSentinelValue<N>::is_stored(SharedSentinelValue<N>::load_shared(slot)))
      SharedSentinelValue<N>::store_shared(slot, quiet_nan<N>());
}

/// Called by one thread: checks the deadline for all waits of the thread block until its last row is solved
/// (BlockState::ended).
///   memory  fill_missing() stores NaN for values that will not arrive
template <class Memory> __device__ void watch_until_ended(const Memory& memory)
{
  const auto ends_soon = [] {
    bool ended = false;
    for (unsigned look = 0; look < BoundedWait::polls_per_check && !ended; ++look) {
      __nanosleep(100);  // its polls would delay the accesses of others to shared memory
      ended = load_relaxed_block(&block_state().ended) != 0;
    }
    return ended;
  };
  watch_deadline_until(ends_soon, [&] { memory.fill_missing(); });
}

/// Runs one of `pollers` warps that fetch ghosts in the order in which they are read, each warp 32 * at_once at a time.
///   slot_of(k)         mailbox slot of ghost k
///   ghost_of(k, slot)  address to store it at
template <int pollers, class N, int at_once = 1, class Box, class SlotOf, class GhostOf>
__device__ void fetch_ghosts(const SlotOf& slot_of, std::uint32_t count, const GhostOf& ghost_of, const Box& box,
                             unsigned poller)
{
  constexpr std::uint32_t batch = 32 * at_once;
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t next[at_once];
  const auto load_slots = [&](std::uint32_t first) {
#pragma unroll
    for (int e = 0; e < at_once; ++e) {
      const std::uint32_t k = first + e * 32 + lane;
      next[e] = k < count ? slot_of(k) : 0;
    }
  };
  load_slots(poller * batch);
  for (std::uint32_t first = poller * batch; first < count; first += pollers * batch) {
    std::uint32_t at[at_once];
    bool missing[at_once], waits = false;
#pragma unroll
    for (int e = 0; e < at_once; ++e) {
      at[e] = next[e], missing[e] = first + e * 32 + lane < count;
      waits = waits || missing[e];
    }
    load_slots(first + pollers * batch);
    const auto look = [&] {
      if (!waits) return;
      typename Box::Polled seen[at_once];
      waits = false;
#pragma unroll
      for (int e = 0; e < at_once; ++e)
        if (missing[e]) seen[e] = box.poll_slot(at[e]);
#pragma unroll
      for (int e = 0; e < at_once; ++e) {
        if (!missing[e]) continue;
        if (!box.has_arrived(seen[e])) {
          waits = true;
          continue;
        }
        N* const ghost = ghost_of(first + e * 32 + lane, at[e]);
        if (!drops_publication()) SharedSentinelValue<N>::store_shared(ghost, box.take_value(at[e], seen[e]));
        missing[e] = false;
      }
    };
    const auto done = [&] { return !__any_sync(~0u, waits); };
    if (BasicBoundedWait<OnGiveUp::leave, DeadlineCheck::delegated>().until_for_warp<2>(done, look)) continue;
#pragma unroll
    for (int e = 0; e < at_once; ++e)
      if (missing[e]) SharedSentinelValue<N>::store_shared(ghost_of(first + e * 32 + lane, at[e]), quiet_nan<N>());
  }
}

}  // namespace syncfree::cuda
