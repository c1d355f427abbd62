#pragma once

/// How host threads wait for each other. This is the only host file that names a memory order. There is one rule: a
/// thread that publishes stores (or decrements) with release after it has written the data; a thread that waits loads
/// with acquire before it reads the data. What is reset between solves is reset by a thread without a concurrent
/// access, and the fork or join of the parallel region orders the reset.
///
/// A waiting thread spins briefly, then yields its core and finally sleeps, so more threads than cores only cost
/// time.

#include <atomic>
#include <chrono>
#include <complex>
#include <cstdint>
#include <memory>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// Lets a thread sleep at random before it waits, publishes or takes a ticket, for tests; else it is empty.
#ifdef SYNCFREE_RANDOM_SLEEPS
#include "random_sleeps.hpp"
#else
#define SYNCFREE_MAY_SLEEP
#endif

namespace syncfree {

inline constexpr std::memory_order publish = std::memory_order_release;
inline constexpr std::memory_order observe = std::memory_order_acquire;
inline constexpr std::memory_order unordered = std::memory_order_relaxed;

/// Reads a word that another thread, or a device, publishes; what it wrote before may then be read.
template <class W> W load_published(const W* word)
{
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/// Returns true once ready() holds, or false after a bounded number of polls.
template <class Ready> bool spin_until(const Ready& ready)
{
  constexpr int spins = 256;  // about ten times the time a value takes from one core to another
  for (int spin = 0; spin < spins; ++spin) {
    if (ready()) return true;
#if defined(__x86_64__)
    _mm_pause();
#endif
  }
  return false;
}

/// Waits until ready() holds. If other programs compete for the core, a thread that keeps yielding uses up its time
/// slice, while one that sleeps gets the core as soon as it wakes up.
template <class Ready> void wait_until(const Ready& ready)
{
  SYNCFREE_MAY_SLEEP
  using Clock = std::chrono::steady_clock;
  if (spin_until(ready)) return;
  const Clock::time_point late = Clock::now() + std::chrono::milliseconds(1);
  do {
    std::this_thread::yield();
    if (spin_until(ready)) return;
  } while (Clock::now() < late);
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// Number of steps that each worker has finished; counts only grow. A new round raises the base instead of clearing
/// the counters, so no reset is needed.
class StepCounters {
public:
  /// Throws std::bad_alloc.
  ///   workers  number of counters
  ///   steps    largest number of steps that a worker finishes in a round
  StepCounters(std::int32_t workers, std::int64_t steps) : counter_(new Counter[workers]), steps_(steps) {}

  /// Starts a round; called before the parallel region by the thread that starts it.
  void new_round() { base_ += steps_; }

  /// Publishes that `worker` has finished `steps` steps of this round; their data may then be read.
  void publish_steps(std::int32_t worker, std::int64_t steps)
  {
    SYNCFREE_MAY_SLEEP
    counter_[worker].value.store(base_ + steps, publish);
  }

  /// The last count that a waiting thread has read of a worker. A thread that lags can continue without reading the
  /// counter, which mostly is in the worker's cache.
  struct Seen {
    std::int64_t value = 0;
  };

  /// Waits until `worker` has finished `steps` steps of this round.
  ///   seen  owned by the waiting thread, one per worker; kept across rounds
  void wait_for_steps(std::int32_t worker, std::int64_t steps, Seen* seen) const
  {
    const std::int64_t target = base_ + steps;
    if (seen->value >= target) return;
    wait_until([&] {
      seen->value = counter_[worker].value.load(observe);
      return seen->value >= target;
    });
  }

private:
  struct alignas(64) Counter {
    std::atomic<std::int64_t> value{0};
  };
  std::unique_ptr<Counter[]> counter_;
  std::int64_t steps_;
  std::int64_t base_ = 0;
};

/// Barrier of `team` threads; what any thread wrote before it may be read by all after it.
class Barrier {
public:
  void arrive_and_wait(int team)
  {
    const std::int64_t round = round_.load(unordered);
    SYNCFREE_MAY_SLEEP
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == team) {
      arrived_.store(0, unordered);
      SYNCFREE_MAY_SLEEP
      round_.store(round + 1, publish);
      return;
    }
    wait_until([&] { return round_.load(observe) != round; });
  }

private:
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::int64_t> round_{0};
};

/// Hands out 0, 1, 2, ...: running threads take work in order, so a thread only waits for work that has started.
class Tickets {
public:
  void reset() { next_.store(0, unordered); }
  std::int64_t take_tickets(std::int64_t count)
  {
    SYNCFREE_MAY_SLEEP
    return next_.fetch_add(count, unordered);
  }

private:
  alignas(64) std::atomic<std::int64_t> next_{0};
};

/// Adds to a real number to which other threads add concurrently.
template <class R> void add_atomically(std::atomic<R>& sum, R value)
{
  R seen = sum.load(unordered);
  SYNCFREE_MAY_SLEEP
  while (!sum.compare_exchange_weak(seen, seen + value, unordered)) {}
}

/// Adds to a plain array entry in the same way. A thread that reads it non-atomically must first wait for all threads
/// that add.
template <class R> void add_atomically(R* sum, R value)
{
  R seen, grown;
  __atomic_load(sum, &seen, __ATOMIC_RELAXED);
  SYNCFREE_MAY_SLEEP
  do grown = seen + value;
  while (!__atomic_compare_exchange(sum, &seen, &grown, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
template <class R> void add_atomically(std::complex<R>* sum, std::complex<R> value)
{
  R* part = reinterpret_cast<R*>(sum);
  add_atomically(part, value.real());
  add_atomically(part + 1, value.imag());
}

/// Number of events still outstanding; what was written before an event may be read after the wait.
class Countdown {
public:
  void expect(std::int32_t count) { missing_.store(count, unordered); }
  void arrive()
  {
    SYNCFREE_MAY_SLEEP
    missing_.fetch_sub(1, publish);
  }

  /// Waits until all have arrived and re-arms with `count`.
  void wait_and_rearm(std::int32_t count)
  {
    wait_until([&] { return missing_.load(observe) == 0; });
    expect(count);
  }

private:
  std::atomic<std::int32_t> missing_{0};
};

/// A sum to which other threads contribute, with the number of outstanding contributions. The count is decremented
/// after the addition, so a thread that reads 0 sees the complete sum.
template <class T> class Contributions;

template <class R> struct AtomicSum {
  std::atomic<R> value{0};
  void add_concurrently(R v) { add_atomically(value, v); }
  R take_sum() { return value.exchange(0, unordered); }
};
template <class R> struct AtomicSum<std::complex<R>> {
  std::atomic<R> real{0}, imaginary{0};
  void add_concurrently(std::complex<R> v)
  {
    add_atomically(real, v.real());
    add_atomically(imaginary, v.imag());
  }
  std::complex<R> take_sum()
  {
    const R re = real.exchange(0, unordered);
    return {re, imaginary.exchange(0, unordered)};
  }
};

template <class T> class Contributions {
public:
  void expect(std::int32_t count) { missing_.expect(count); }

  void contribute(T value)
  {
    sum_.add_concurrently(value);
    missing_.arrive();
  }

  /// Waits for all contributions, returns their sum and re-arms with `count`.
  T wait_and_rearm(std::int32_t count)
  {
    missing_.wait_and_rearm(count);
    return sum_.take_sum();
  }

private:
  AtomicSum<T> sum_;
  Countdown missing_;
};

/// Minimum of the values that threads report.
class Minimum {
public:
  void reset(std::int64_t value) { value_.store(value, unordered); }
  std::int64_t read_minimum() const { return value_.load(unordered); }
  void lower_minimum(std::int64_t value)
  {
    std::int64_t seen = value_.load(unordered);
    SYNCFREE_MAY_SLEEP
    while (value < seen && !value_.compare_exchange_weak(seen, value, unordered)) {}
  }

private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace syncfree
