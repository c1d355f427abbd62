/// Replaces what a source uses of the standard library to let threads wait for each other by the checker's types, for
/// the source that is included between this file and standard_end.hpp: `std` is another namespace there, which has the
/// same names but for these. So the checked code is the code of the library, to the letter, and the library knows
/// nothing of it. All headers that the source includes must have been included before.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "checker.hpp"

#ifndef SYNCFREE_MODEL_STANDARD
#define SYNCFREE_MODEL_STANDARD
namespace model_std {
using namespace ::std;

template <class T> using atomic = syncfree::model::Atomic<T>;
using mutex = syncfree::model::Mutex;
using condition_variable = syncfree::model::ConditionVariable;

namespace chrono {
using namespace ::std::chrono;
/// A second passes between two looks.
struct steady_clock {
  using duration = ::std::chrono::steady_clock::duration;
  using time_point = ::std::chrono::steady_clock::time_point;
  static time_point now()
  {
    static long seconds = 0;
    return time_point(::std::chrono::seconds(++seconds));
  }
};
}  // namespace chrono
namespace this_thread {
inline void yield() {}
template <class Time> void sleep_for(Time) { syncfree::model::pause_for_ever(); }
}  // namespace this_thread
}  // namespace model_std

namespace syncfree::model {
template <class R>
void load_variable(const R* place, R* seen, int, const char* function = __builtin_FUNCTION(),
                   int line = __builtin_LINE())
{
  *seen = value_of<R>(load(place_of(place, bits_of(*place)), relaxed, "load", {function, line}));
}
template <class R>
bool exchange_variable(R* place, R* seen, R* wanted, bool, int, int, const char* function = __builtin_FUNCTION(),
                       int line = __builtin_LINE())
{
  std::uint64_t bits = bits_of(*seen);
  const int number = place_of(place, bits_of(*place));
  const bool done = compare_exchange(number, bits, bits_of(*wanted), relaxed, {function, line});
  if (done) *place = *wanted;
  else *seen = value_of<R>(bits);
  return done;
}
}  // namespace syncfree::model
#endif

#define std model_std
#define __atomic_load ::syncfree::model::load_variable
#define __atomic_compare_exchange ::syncfree::model::exchange_variable
// the loop that polls (spin_until()) ends at once where the checker lets it expire
#define _mm_pause() (void)(::syncfree::model::pause_or_expire() ? spin = spins : spin)
