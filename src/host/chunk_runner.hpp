#pragma once

/// Executes the chunks of a plan on several threads, which wait where a chunk reads rows of another thread.

#include <omp.h>

#include <algorithm>
#include <vector>

#include "core/schedule/row_chunks.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {

template <class I> class ChunkRunner {
public:
  /// Throws std::bad_alloc. The plan must outlive the runner.
  explicit ChunkRunner(const RowChunks<I>& plan)
      : plan_(plan), progress_(plan.threads, most_steps(plan)),
        seen_(static_cast<std::size_t>(plan.threads) * seen_stride()), cursor_(plan.threads)
  {
  }

  /// Calls walk(begin, end, thread) for each chunk of positions, after the chunks it reads. Allocates nothing.
  template <class Walk> void run_chunks(const Walk& walk)
  {
    progress_.new_round();
    if (plan_.threads == 1) return walk_own(0, walk);
    if (alone_) return walk_several(0, 1, walk);
#pragma omp parallel num_threads(plan_.threads)
    {
      const int thread = omp_get_thread_num();
      const int team = omp_get_num_threads();
      if (team == plan_.threads) walk_own(thread, walk);
      else walk_several(thread, team, walk);
    }
  }

  /// Lets the caller's thread do all further runs alone, or all threads again.
  void restrict_to_caller(bool alone) { alone_ = alone; }
  int active_threads() const { return alone_ ? 1 : plan_.threads; }

private:
  /// Padded by a cache line, so that no thread writes into a line that another one reads.
  std::size_t seen_stride() const { return plan_.threads + 8; }

  static std::int64_t most_steps(const RowChunks<I>& plan)
  {
    I most = 0;
    for (std::int32_t t = 0; t < plan.threads; ++t)
      most = std::max<I>(most, plan.thread_step[t + 1] - plan.thread_step[t]);
    return most;
  }

  template <class Walk> void walk_step(std::int32_t planned, I step, int thread, const Walk& walk)
  {
    for (I w = plan_.wait_begin[step]; w < plan_.wait_begin[step + 1]; ++w)
      progress_.wait_for_steps(plan_.wait[w].thread, plan_.wait[w].steps,
                               &seen_[thread * seen_stride() + plan_.wait[w].thread]);
    walk(plan_.begin[step], plan_.end[step], thread);
    progress_.publish_steps(planned, step + 1 - plan_.thread_step[planned]);
  }

  template <class Walk> void walk_own(int thread, const Walk& walk)
  {
    for (I s = plan_.thread_step[thread]; s < plan_.thread_step[thread + 1]; ++s) walk_step(thread, s, thread, walk);
  }

  /// With fewer threads than planned, each executes the steps of several, always the chunk with the lowest positions
  /// next. Every wait is for lower positions, so there is no circular wait.
  template <class Walk> void walk_several(int thread, int team, const Walk& walk)
  {
    for (std::int32_t t = thread; t < plan_.threads; t += team) cursor_[t] = plan_.thread_step[t];
    for (;;) {
      std::int32_t next = -1;
      for (std::int32_t t = thread; t < plan_.threads; t += team) {
        if (cursor_[t] == plan_.thread_step[t + 1]) continue;
        if (next < 0 || plan_.begin[cursor_[t]] < plan_.begin[cursor_[next]]) next = t;
      }
      if (next < 0) return;
      walk_step(next, cursor_[next]++, thread, walk);
    }
  }

  const RowChunks<I>& plan_;
  StepCounters progress_;
  std::vector<StepCounters::Seen> seen_;  ///< by actual thread, for each planned one
  bool alone_ = false;
  std::vector<I> cursor_;             ///< by planned thread; each used by one actual thread
};

}  // namespace syncfree
