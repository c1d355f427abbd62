#pragma once

/// Model checker for programs of a few threads that communicate by atomic variables: explores every interleaving of
/// their atomic operations and, for each load, every store that C++20's memory model lets it read.
///
/// Threads are coroutines. A thread announces its next operation and stops; the scheduler chooses a thread and, where
/// there are several, the value that it reads. All choices of one execution form a path of a tree, which is searched
/// depth-first: the program is executed anew for each leaf. Sleep sets (Godefroid 1996) omit interleavings that differ
/// from an earlier one only by the order of independent operations; nothing else is omitted.
///
/// Memory model. The stores to a place form its modification order. A load reads the latest store that happens before
/// it (or that a load which happens before it has read), or any later one. What a thread knows (Knowledge) is a vector
/// clock with the earliest store it may still read of each place; a release store carries it along, an acquire load
/// takes it over, as do fences, read-modify-write operations (which continue a release sequence), mutexes and joins.
/// A load with seq_cst reads no store before the last one with seq_cst; fences with seq_cst exchange what they know.
/// Plain data (Plain) is checked for races with the same clocks, and no object may end while another thread may use it.
///
/// What it does not cover: stores of one place take effect in the order of execution, and no load reads a store that
/// is executed later (C++ permits both for relaxed operations; no x86 or NVIDIA processor does the latter for
/// dependent ones). Spurious failures of compare_exchange_weak and spurious wake-ups are not explored.
///
/// A poll without success changes nothing but what its thread knows, and who knows more has fewer executions. So only
/// polls with success are explored; one that has read the latest store without success blocks its thread, which is a
/// deadlock if no other store follows, and else an execution that another one covers.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace syncfree::model {

inline constexpr int most_threads = 6;  ///< number 0 starts and joins the others
inline constexpr int most_places = 40;

using Order = std::memory_order;
inline constexpr Order relaxed = std::memory_order_relaxed, consume = std::memory_order_consume,
                       acquire = std::memory_order_acquire, release = std::memory_order_release,
                       acq_rel = std::memory_order_acq_rel, seq_cst = std::memory_order_seq_cst;
inline const char* name_of(Order order)
{
  static const char* const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<int>(order)];
}
inline bool acquires(Order order)
{
  return order == acquire || order == acq_rel || order == seq_cst || order == consume;
}
inline bool releases(Order order)
{
  return order == release || order == acq_rel || order == seq_cst;
}

/// What a thread knows: events that happen before its next one, and the earliest store of each place it may read.
struct Knowledge {
  std::array<std::uint16_t, most_threads> clock{};
  std::array<std::uint16_t, most_places> floor{};

  void join(const Knowledge& other)
  {
    for (int t = 0; t < most_threads; ++t) clock[t] = std::max(clock[t], other.clock[t]);
    join_floors(other);
  }
  void join_floors(const Knowledge& other)
  {
    for (int p = 0; p < most_places; ++p) floor[p] = std::max(floor[p], other.floor[p]);
  }
  /// True if `times`, an event of each thread, happen before.
  bool covers(const std::array<std::uint16_t, most_threads>& times) const
  {
    for (int t = 0; t < most_threads; ++t)
      if (times[t] > clock[t]) return false;
    return true;
  }
};

/// Where an operation stands in the source, for mutations: function, operation and its memory order.
struct Caller {
  const char* function;
  int line;
};

/// A change of the program: the operation with this name gets a weaker order, or is left out.
struct Mutation {
  std::string name;  ///< as Result::sites has it; empty: none
  Order order = relaxed;
  bool drop = false;
};

struct Options {
  bool spins_expire = false;   ///< a thread that spins may give up at any poll, or go on
  int most_preemptions = -1;   ///< -1: any number; else a bounded search
  long most_executions = 3000000;
  Mutation mutation;
};

struct Site {
  const char* function;
  int line;
  const char* operation;
  Order order;
  bool has_order;
  std::string name;  ///< "function operation order"
};

struct Result {
  long executions = 0;  ///< complete ones
  long redundant = 0;   ///< ended by sleep sets
  long states = 0;      ///< steps of threads, each prefix of choices counted once
  bool complete = true; ///< false if most_executions was reached
  std::string violation, trace;
  std::vector<Site> sites;
};

/// Starts threads and joins them; part of a program.
void in_parallel(std::vector<std::function<void()>> threads);

/// Executes the program in all ways, until one of them violates something.
Result explore(const std::function<void()>& program, const Options& options = {});

/// Called by a program: ends the execution as a violation if `holds` is false.
void require(bool holds, const char* what);

/// Called by a thread between two polls. Returns true if the thread is to give up spinning.
bool pause_or_expire();
/// The same, without an end.
///   loads  of a poll: 1 or 2
void pause_for_ever(int loads = 1);
/// Starts a thread that need not end.
void start_daemon(std::function<void()> body);

/// Operations on places, for the types below. A place is an atomic variable, a mutex or a condition variable.
int create_place(void* address, std::uint64_t value, const char* name);
void destroy_place(int place, bool performed = false);
/// The place of an ordinary variable that is accessed atomically; created with `value` when seen for the first time.
int place_of(const void* address, std::uint64_t value);
std::uint64_t load(int place, Order order, const char* operation, Caller caller);
void store(int place, std::uint64_t value, Order order, const char* operation, Caller caller);
std::uint64_t modify(int place, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                     const char* operation, Caller caller);
bool compare_exchange(int place, std::uint64_t& seen, std::uint64_t wanted, Order order, Caller caller);
void fence(Order order, Caller caller);
/// Plain accesses to a place: all other accesses must happen before them or after them.
std::uint64_t load_plain(int place);
void store_plain(int place, std::uint64_t value);
void lock(int mutex);
void unlock(int mutex);
void wait(int condition, int mutex);
void notify(int condition, bool all, Caller caller);

template <class T> std::uint64_t bits_of(T value)
{
  static_assert(sizeof(T) <= 8, "a place has 8 bytes");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T> T value_of(std::uint64_t bits)
{
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// The name of an atomic member, for operations that are operators; a program may set it.
inline const char* (*name_place)(void* address, std::size_t bytes, bool is_bool) =
  [](void*, std::size_t, bool) { return "place"; };

#define SYNCFREE_CALLER const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()

/// Takes the place of std::atomic.
template <class T> class Atomic {
public:
  Atomic(T value = T())
      : name_(name_place(this, sizeof(T), std::is_same_v<T, bool>)), place_(create_place(this, bits_of(value), name_))
  {
  }
  ~Atomic() { destroy_place(place_); }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  /// Ends the place of memory that other threads store to: their stores must have been read, and none may follow.
  void end_after_last_store() { destroy_place(place_, true); }

  T load(Order order = seq_cst, SYNCFREE_CALLER) const
  {
    return value_of<T>(model::load(place_, order, "load", {function, line}));
  }
  void store(T value, Order order = seq_cst, SYNCFREE_CALLER)
  {
    model::store(place_, bits_of(value), order, "store", {function, line});
  }
  T exchange(T value, Order order = seq_cst, SYNCFREE_CALLER)
  {
    return change("exchange", order, {function, line}, [value](T) { return value; });
  }
  T fetch_add(T value, Order order = seq_cst, SYNCFREE_CALLER)
  {
    return change("fetch_add", order, {function, line}, [value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, Order order = seq_cst, SYNCFREE_CALLER)
  {
    return change("fetch_sub", order, {function, line}, [value](T old) { return static_cast<T>(old - value); });
  }
  bool compare_exchange_weak(T& seen, T wanted, Order order = seq_cst, SYNCFREE_CALLER)
  {
    std::uint64_t bits = bits_of(seen);
    const bool done = model::compare_exchange(place_, bits, bits_of(wanted), order, {function, line});
    if (!done) seen = value_of<T>(bits);
    return done;
  }
  operator T() const { return load(seq_cst, name_, 0); }
  T operator=(T value)
  {
    model::store(place_, bits_of(value), seq_cst, "=", {name_, 0});
    return value;
  }
  T operator++() { return add("++", 1) + 1; }
  T operator++(int) { return add("++", 1); }
  T operator--() { return add("--", T(-1)) - 1; }
  T operator+=(T value) { return add("+=", value) + value; }
  T operator-=(T value) { return add("-=", T(-value)) - value; }

private:
  T add(const char* operation, T value)
  {
    return change(operation, seq_cst, {name_, 0}, [value](T old) { return static_cast<T>(old + value); });
  }
  template <class Change> T change(const char* operation, Order order, Caller caller, const Change& of)
  {
    const auto on_bits = [&of](std::uint64_t bits) { return bits_of(static_cast<T>(of(value_of<T>(bits)))); };
    return value_of<T>(model::modify(place_, on_bits, order, operation, caller));
  }

  const char* name_;
  int place_;
};

/// Data that one thread at a time may access; a copy reads.
template <class T> class Plain {
public:
  Plain(T value = T()) : value_(value), place_(create_place(this, 0, "data")) {}
  Plain(const Plain& other) : Plain(other.read()) {}
  ~Plain() { destroy_place(place_); }
  Plain& operator=(const Plain& other)
  {
    write(other.read());
    return *this;
  }
  T read() const
  {
    load_plain(place_);
    return value_;
  }
  void write(T value)
  {
    store_plain(place_, 0);
    value_ = value;
  }

private:
  T value_;
  int place_;
};

class Mutex {
public:
  Mutex() : place_(create_place(this, 0, "mutex")) {}
  ~Mutex() { destroy_place(place_); }
  void lock() { model::lock(place_); }
  /// Waits: between a failure and the next attempt a caller does nothing.
  bool try_lock()
  {
    model::lock(place_);
    return true;
  }
  void unlock() { model::unlock(place_); }
  int place() const { return place_; }

private:
  int place_;
};

class ConditionVariable {
public:
  ConditionVariable() : place_(create_place(this, 0, "condition")) {}
  ~ConditionVariable() { destroy_place(place_); }
  template <class Lock, class Ready> void wait(Lock& lock, const Ready& ready)
  {
    while (!ready()) model::wait(place_, lock.mutex()->place());
  }
  void notify_one(SYNCFREE_CALLER) { model::notify(place_, false, {function, line}); }
  void notify_all(SYNCFREE_CALLER) { model::notify(place_, true, {function, line}); }

private:
  int place_;
};

}  // namespace syncfree::model
