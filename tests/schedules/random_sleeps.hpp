#pragma once

/// What ready.hpp does at random before a thread waits, publishes or takes a ticket, where the library is compiled with
/// SYNCFREE_RANDOM_SLEEPS: nothing in most cases, else a few turns of a loop, another thread, or some microseconds of
/// sleep. So threads meet in orders that a machine alone would hardly ever show. All accesses are relaxed: for a thread
/// sanitizer the sleeps order nothing.

#include <atomic>
#include <cstdint>
#include <ctime>

#include <sched.h>

#define SYNCFREE_MAY_SLEEP ::syncfree::schedules::may_sleep();

namespace syncfree::schedules {

inline std::atomic<std::uint64_t> rarity{8};  ///< a thread is delayed at one of so many places; a power of two
inline std::atomic<std::uint64_t> delays{0};  ///< so far, of all threads

/// Returns the next number of a generator (xorshift) of this thread's own, whose seed is the number of the thread.
inline std::uint64_t next_random()
{
  static std::atomic<std::uint64_t> threads{0};
  thread_local std::uint64_t state = (threads.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

inline void may_sleep()
{
  const std::uint64_t random = next_random() >> 20;
  if (random % rarity.load(std::memory_order_relaxed) != 0) return;
  delays.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t kind = random >> 20 & 15, length = random >> 24 & 255;
  if (kind < 8)
    for (volatile std::uint64_t turn = 0; turn < 4 * length;) turn = turn + 1;
  else if (kind < 15) sched_yield();
  else {
    const timespec time = {0, static_cast<long>(100 * length)};
    nanosleep(&time, nullptr);
  }
}

}  // namespace syncfree::schedules
