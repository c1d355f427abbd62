#pragma once

/// The device's waiting code (include/syncfree/cuda/ready/flag.cuh and sentinel.cuh, src/cuda/sync/mailboxes.cuh) for
/// the checker: headers of this folder take the place of CUDA's. What is inline assembly in ready/barrier.cuh is
/// written here in C++, with the orders that PTX gives it.

#include "model/device/cuda/atomic"
#include "model/device/cuda/std/complex"

#include "syncfree/cuda/ready/wait.cuh"

namespace syncfree::cuda {
long long __double_as_longlong(double);
double __longlong_as_double(long long);
double __hiloint2double(int, int);
int __double2hiint(double);
int __double2loint(double);
unsigned __float_as_uint(float);
float __uint_as_float(unsigned);
unsigned min(unsigned, unsigned);
}  // namespace syncfree::cuda

#include "sync/mailboxes.cuh"

namespace syncfree::model {

/// What a slot of a mailbox holds. clear() of sentinel.cuh is an ordinary store, for PTX a weak one.
struct Word {
  inline static bool stores_are_weak = true;  ///< else they are relaxed
  std::uint64_t bits = 0;

  constexpr Word() = default;
  explicit constexpr Word(std::uint64_t from) : bits(from) {}
  constexpr Word(const Word&) = default;
  Word& operator=(const Word& other)
  {
    if (stores_are_weak) store_plain(place_of(this, bits), other.bits);
    else store(place_of(this, bits), other.bits, relaxed, "store", {"clear", 0});
    return *this;
  }
  bool operator!=(const Word& other) const { return bits != other.bits; }
};
inline std::uint64_t bits_of(const Word& word) { return word.bits; }
template <> inline Word value_of<Word>(std::uint64_t bits) { return Word(bits); }

/// A result of a row.
struct Value {
  std::int64_t number = 0;
};

/// mbarrier: arrive releases, test_wait acquires; the phases' parity as in ready/barrier.cuh.
class Mbarrier {
public:
  explicit Mbarrier(unsigned arrivals) : arrivals_(arrivals) {}
  void arrive() { events_.fetch_add(1, acq_rel); }
  bool test_wait_parity(unsigned parity) const { return (events_.load(acquire) / arrivals_ & 1) != parity; }
  void wait(unsigned parity) const
  {
    while (!test_wait_parity(parity)) pause_for_ever();
  }

private:
  const unsigned arrivals_;
  Atomic<unsigned> events_;
};

/// bar.sync and bar.arrive, barrier.cluster.arrive.release and .wait.acquire.
class NamedBarrier {
public:
  void arrive(unsigned) { events_.fetch_add(1, acq_rel); }
  void sync(unsigned threads)
  {
    const unsigned end = (events_.fetch_add(1, acq_rel) / threads + 1) * threads;
    while (events_.load(acquire) < end) pause_for_ever();
  }

private:
  Atomic<unsigned> events_;
};

/// SharedCounter: st.release.cta, ld.acquire.cta.
class SharedCounter {
public:
  void tell(unsigned count) { count_.store(count, release); }
  unsigned count() const { return count_.load(acquire); }

private:
  Atomic<unsigned> count_;
};

}  // namespace syncfree::model

namespace syncfree::cuda {
template <> struct Word<model::Value> {
  using type = model::Word;
  static constexpr type sentinel{~0ull};
  static type bits_of(const model::Value& v) { return type(static_cast<std::uint64_t>(v.number)); }
  static model::Value from_bits(const type& w) { return {static_cast<std::int64_t>(w.bits)}; }
  static type escape_sentinel(const model::Value& v) { return bits_of(v); }
};
}  // namespace syncfree::cuda
