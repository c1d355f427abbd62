#pragma once

/// Walks the row blocks of a plan with a team of threads. Both the solves and the
/// factorization run on it: a row may read what the rows of its pattern wrote.

#include <omp.h>

#include <algorithm>

#include "syncfree/ready.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {

template <class I> class BlockRunner {
public:
  /// Throws std::bad_alloc. The plan must outlive the runner.
  explicit BlockRunner(const RowBlocks<I>& plan)
      : plan_(plan), progress_(plan.blocks, longest_block(plan)), cursor_(plan.blocks)
  {
  }

  /// Calls row(i, thread) for every row, after the rows that i depends on. Allocates nothing.
  template <class Row> void run(const Row& row)
  {
    progress_.new_round();
#pragma omp parallel num_threads(plan_.blocks)
    {
      const int thread = omp_get_thread_num();
      const int team = omp_get_num_threads();
      if (team == plan_.blocks) walk_block(thread, row);
      else walk_blocks(thread, team, row);
    }
  }

private:
  static std::int64_t longest_block(const RowBlocks<I>& plan)
  {
    std::int64_t longest = 0;
    for (std::int32_t p = 0; p < plan.blocks; ++p)
      longest = std::max<std::int64_t>(longest, plan.block_step[p + 1] - plan.block_step[p]);
    return longest;
  }

  template <class Row> void walk_step(std::int32_t block, I step, int thread, const Row& row)
  {
    for (I w = plan_.wait_begin[step]; w < plan_.wait_begin[step + 1]; ++w)
      progress_.wait(plan_.wait[w].block, plan_.wait[w].steps);
    const I begin = plan_.step_begin[step];
    const I count = plan_.step_begin[step + 1] - begin;
    if (!plan_.natural) {
      for (I k = begin; k < begin + count; ++k) row(plan_.row[k], thread);
    } else if (count == 1 || plan_.row[begin] < plan_.row[begin + 1]) {
      for (I k = 0; k < count; ++k) row(plan_.row[begin] + k, thread);
    } else {
      for (I k = 0; k < count; ++k) row(plan_.row[begin] - k, thread);
    }
    progress_.finish(block, step + 1 - plan_.block_step[block]);
  }

  template <class Row> void walk_block(std::int32_t block, const Row& row)
  {
    for (I s = plan_.block_step[block]; s < plan_.block_step[block + 1]; ++s) walk_step(block, s, block, row);
  }

  /// A thread with several blocks takes their steps in the order of keys: every wait is for a
  /// lower key, so no two threads wait for each other.
  template <class Row> void walk_blocks(int thread, int team, const Row& row)
  {
    for (std::int32_t p = thread; p < plan_.blocks; p += team) cursor_[p] = plan_.block_step[p];
    for (std::int32_t p = next_block(thread, team); p >= 0; p = next_block(thread, team))
      walk_step(p, cursor_[p]++, thread, row);
  }

  /// The block of this thread whose next step has the lowest key; -1 when all are done.
  std::int32_t next_block(int thread, int team) const
  {
    std::int32_t best = -1;
    for (std::int32_t p = thread; p < plan_.blocks; p += team) {
      if (cursor_[p] == plan_.block_step[p + 1]) continue;
      if (best < 0 || plan_.step_key[cursor_[p]] < plan_.step_key[cursor_[best]]) best = p;
    }
    return best;
  }

  const RowBlocks<I>& plan_;
  Progress progress_;
  std::vector<I> cursor_;
};

/// Bytes that a plan of row blocks takes.
template <class I> std::size_t plan_bytes(const RowBlocks<I>& plan)
{
  const std::size_t indices = plan.row.size() + plan.block_step.size() + plan.step_begin.size() +
                              plan.step_key.size() + plan.wait_begin.size();
  return indices * sizeof(I) + plan.wait.size() * sizeof(StepWait);
}

}  // namespace syncfree
