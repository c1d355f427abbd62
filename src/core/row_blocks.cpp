/// Row blocks: each thread owns a contiguous run of rows, about equal in work, and walks
/// it level by level, so that it waits for other threads only where a row really reads
/// one of theirs. A wait names the step of another block that must be over; since steps
/// of a block end in order, one number a block is enough, and a wait that an earlier
/// step of the same block already did is dropped.

#include <algorithm>
#include <new>

#include "instantiate.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {

/// Borders of contiguous blocks with about equal entries + rows.
template <class I> static void cut_rows(const PatternView<I>& T, RowBlocks<I>* plan)
{
  const double total = static_cast<double>(T.nnz()) + static_cast<double>(T.n);
  plan->block_row.assign(plan->blocks + 1, T.n);
  plan->block_row[0] = 0;
  std::int32_t next = 1;
  for (I i = 0; i < T.n; ++i) {
    const double before = static_cast<double>(T.row_begin[i]) + static_cast<double>(i);
    while (next < plan->blocks && before >= total * next / plan->blocks) plan->block_row[next++] = i;
  }
}

/// Sorts the rows of one block by depth (stable) and appends its steps.
template <class I> static void append_block(const std::vector<I>& depth, I begin, I end, RowBlocks<I>* plan)
{
  std::vector<I>& row = plan->row;
  for (I i = begin; i < end; ++i) row.push_back(i);
  std::stable_sort(row.begin() + begin, row.end(), [&](I a, I b) { return depth[a] < depth[b]; });
  for (I k = begin; k < end; ++k) {
    if (k > begin && depth[row[k]] == depth[row[k - 1]]) continue;
    plan->step_begin.push_back(k);
    plan->step_level.push_back(depth[row[k]]);
  }
  plan->block_step.push_back(static_cast<I>(plan->step_begin.size()));
}

/// Finds what each step of a block waits for. `need` and `done` have one entry a block:
/// the step counts that the step at hand needs, and those already waited for.
template <class I> class WaitFinder {
public:
  WaitFinder(const PatternView<I>& T, RowBlocks<I>* plan)
      : T_(T), plan_(plan), owner_(T.n), step_(T.n), need_(plan->blocks), done_(plan->blocks)
  {
    for (std::int32_t p = 0; p < plan->blocks; ++p)
      for (I s = plan->block_step[p]; s < plan->block_step[p + 1]; ++s)
        for (I k = plan->step_begin[s]; k < plan->step_begin[s + 1]; ++k) {
          owner_[plan->row[k]] = p;
          step_[plan->row[k]] = s - plan->block_step[p];
        }
  }

  void run()
  {
    plan_->wait_begin.push_back(0);
    for (std::int32_t p = 0; p < plan_->blocks; ++p) {
      std::fill(done_.begin(), done_.end(), 0);
      for (I s = plan_->block_step[p]; s < plan_->block_step[p + 1]; ++s) add_step(p, s);
    }
  }

private:
  void add_step(std::int32_t p, I s)
  {
    for (I k = plan_->step_begin[s]; k < plan_->step_begin[s + 1]; ++k) {
      const I i = plan_->row[k];
      for (I e = T_.row_begin[i]; e < T_.row_begin[i + 1]; ++e) {
        const I j = T_.column[e];
        const std::int32_t q = owner_[j];
        if (q != p && step_[j] + 1 > std::max(done_[q], need_[q])) {
          if (need_[q] == 0) touched_.push_back(q);
          need_[q] = step_[j] + 1;
        }
      }
    }
    for (std::int32_t q : touched_) {
      plan_->wait.push_back({q, static_cast<std::int64_t>(need_[q])});
      done_[q] = need_[q];
      need_[q] = 0;
    }
    touched_.clear();
    plan_->wait_begin.push_back(static_cast<I>(plan_->wait.size()));
  }

  const PatternView<I>& T_;
  RowBlocks<I>* plan_;
  std::vector<std::int32_t> owner_, touched_;
  std::vector<I> step_, need_, done_;
};

template <class I> Status make_row_blocks(PatternView<I> T, bool lower, std::int32_t blocks, RowBlocks<I>* out)
try {
  if (blocks < 1) return failed(Code::invalid_argument, "number of row blocks must be at least 1");
  RowBlocks<I> plan;
  plan.blocks = blocks;
  std::vector<I> depth(T.n);
  plan.levels = find_levels(T, lower, depth.data());
  cut_rows(T, &plan);
  plan.row.reserve(T.n);
  plan.block_step.push_back(0);
  for (std::int32_t p = 0; p < blocks; ++p) append_block(depth, plan.block_row[p], plan.block_row[p + 1], &plan);
  plan.step_begin.push_back(T.n);
  WaitFinder<I>(T, &plan).run();
  *out = std::move(plan);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status make_row_blocks<I>(PatternView<I>, bool, std::int32_t, RowBlocks<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
