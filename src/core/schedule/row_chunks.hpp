#pragma once

/// Chunks of consecutive rows, and which thread solves which chunks in what order.
///
/// Substitution in natural order streams the matrix from memory, which is why one core is hard to beat; sorting rows by
/// level destroys that. So rows stay in order inside chunks of some hundred rows, and chunks are the unit of
/// synchronization. Simulated runs decide which thread solves which chunk: they model waits between cores and the
/// transfer of values between them, and the plan that finishes first is taken. On a grid this finds the wavefront by
/// itself: each thread solves its part of every line or plane, slightly later than the thread before it.

#include <cstdint>
#include <vector>

#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Wait until a thread has finished its first `steps` steps.
struct StepWait {
  std::int32_t thread;
  std::int64_t steps;
};

/// Rows in the order of substitution: position s is row s of a lower and row n - 1 - s of an upper triangle. A step is
/// a chunk; thread t has the steps [thread_step[t], thread_step[t + 1]), whose positions ascend. A wait is always for a
/// chunk of lower positions, so there is no circular wait among threads that execute their steps in order, nor with a
/// thread that executes the steps of several, merged by position.
///   thread_step  threads + 1 offsets into steps
///   begin, end   the positions of each step
///   wait_begin   steps + 1 offsets into wait
///   wait         all waits, step by step
template <class I> struct RowChunks {
  std::int32_t threads = 0;
  double speedup = 1;  ///< of the simulated run over one thread
  double serial_seconds = 0;  ///< of one thread, on the processor that the model's constants describe
  std::vector<I> thread_step;
  std::vector<I> begin, end;
  std::vector<I> wait_begin;
  std::vector<StepWait> wait;

  std::size_t row_chunk_bytes() const
  {
    return (thread_step.size() + begin.size() + end.size() + wait_begin.size()) * sizeof(I) +
           wait.size() * sizeof(StepWait);
  }
};

/// Chooses the chunk size (of three) and the placement (of two) whose simulated run finishes first.
///   T           strictly lower or strictly upper pattern, columns ascending
///   threads     >= 1; some may get no steps
///   block_size  rows of a block: T is the pattern of dense blocks, and positions count block rows
///   errors      invalid_argument, out_of_memory
///   cost        O(nnz + chunks threads) for each trial, serial
template <class I>
Status make_row_chunks(PatternView<I> T, bool lower, std::int32_t threads, RowChunks<I>* out, int block_size = 1);

}  // namespace syncfree
