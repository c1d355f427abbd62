#pragma once

/// Chunks of consecutive rows and which thread walks which chunks in what order.
///
/// Substitution in natural order streams the matrix from memory, which is why one core is hard to
/// beat; sorting rows by level destroys that. So rows stay in order inside chunks of some hundred
/// rows, and chunks are the unit that threads wait for. Simulated runs decide who walks which chunk: cores wait for
/// each other and fetch each other's values, and the plan that would end first is taken. On a grid this
/// finds the wavefront by itself: each thread walks its part of every line or plane, a little
/// behind the thread before it.

#include <cstdint>
#include <vector>

#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Wait until a thread has finished `steps` of its own steps.
struct StepWait {
  std::int32_t thread;
  std::int64_t steps;
};

/// Places count rows in the order of substitution: place s is row s of a lower and row n - 1 - s of an
/// upper triangle. A step is a chunk; thread t has the steps [thread_step[t], thread_step[t + 1]), which
/// ascend in place. A wait is always for a chunk of lower places, so threads that walk their
/// steps in order never wait in a circle, and neither does a thread that merges the steps
/// of several in order of place.
///   thread_step  threads + 1 offsets into steps
///   begin, end   the places of each step
///   wait_begin   steps + 1 offsets into wait
///   wait         all waits, step by step
template <class I> struct RowChunks {
  std::int32_t threads = 0;
  double speedup = 1;  ///< of the simulated run over one thread
  double serial_seconds = 0;  ///< of that one thread, on the processor whose nanoseconds the model has
  std::vector<I> thread_step;
  std::vector<I> begin, end;
  std::vector<I> wait_begin;
  std::vector<StepWait> wait;

  std::size_t bytes() const
  {
    return (thread_step.size() + begin.size() + end.size() + wait_begin.size()) * sizeof(I) +
           wait.size() * sizeof(StepWait);
  }
};

/// Chunks of the size, out of three, and dealt out in the way, out of two, whose simulated run ends first.
///   T        strictly lower or strictly upper pattern, columns ascending
///   threads  >= 1; some may get no steps
///   errors   invalid_argument, out_of_memory
///   cost     O(nnz + chunks threads) for each trial, serial
template <class I> Status make_row_chunks(PatternView<I> T, bool lower, std::int32_t threads, RowChunks<I>* out);

}  // namespace syncfree
