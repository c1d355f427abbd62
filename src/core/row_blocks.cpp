/// Row blocks: how the rows of a triangle are dealt out to threads that wait for each other
/// point to point.
///
/// On a grid in natural order the rows of a plane read the plane before, row by row. If
/// threads take planes in turn, each follows the one before at a small distance through
/// consecutive memory. A plane is recognised by its first row, which reads nothing near: the
/// rows with the largest distance to what they read are where runs begin. Where that gives
/// no parallelism, a thread takes a contiguous piece of the rows and walks it by levels.
///
/// Positions below are places in the order of substitution: row q of a lower triangle, row
/// n - 1 - q of an upper one.

#include <algorithm>
#include <new>

#include "instantiate.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

constexpr int runs_a_block = 4;          ///< at least so many runs for each block, to balance them
constexpr int least_run = 64;            ///< shorter runs are not worth a wait
constexpr int longest_step = 256;        ///< rows between two notices to the others
constexpr double wait_cost = 60;         ///< of a wait, in rows-plus-entries of work
constexpr double scattered_penalty = 3;  ///< rows by level lie apart in memory: so much slower each

/// A piece of work in the order of keys, before it is dealt out.
template <class I> class Planner {
public:
  Planner(const PatternView<I>& T, bool lower, std::int32_t blocks) : T_(T), lower_(lower), depth_(T.n)
  {
    levels_ = find_levels(T, lower, depth_.data());
    empty_.blocks = blocks;
    empty_.levels = levels_;
    empty_.row.reserve(T.n);
    empty_.block_step.push_back(0);
  }

  RowBlocks<I> best()
  {
    RowBlocks<I> runs = empty_;
    if (deal_runs(&runs)) {
      finish(&runs, 1);
      if (2 * runs.speedup > runs.blocks) return runs;
    }
    RowBlocks<I> levels = empty_;
    deal_levels(&levels);
    finish(&levels, levels.blocks > 1 ? scattered_penalty : 1);
    return runs.speedup > levels.speedup ? runs : levels;
  }

private:
  I row_at(I position) const { return lower_ ? position : T_.n - 1 - position; }
  I position_of(I row) const { return row_at(row); }
  bool reads_nothing(I row) const { return T_.row_begin[row] == T_.row_begin[row + 1]; }

  /// Distance back to the nearest row that is read, rows that read nothing themselves not
  /// counted: those are ready at once.
  I reach(I position) const
  {
    const I i = row_at(position);
    I nearest = -1;
    for (I k = T_.row_begin[i]; k < T_.row_begin[i + 1]; ++k)
      if (!reads_nothing(T_.column[k])) nearest = std::max(nearest, position_of(T_.column[k]));
    return nearest < 0 ? 0 : position - nearest;
  }

  /// Where runs begin: 0 and the rows with the largest reach, moved back over rows that read nothing.
  std::vector<I> find_runs(std::int32_t blocks) const
  {
    std::vector<I> distance(T_.n), sorted;
    for (I q = 0; q < T_.n; ++q) distance[q] = reach(q);
    sorted = distance;
    const auto wanted = sorted.begin() + static_cast<std::ptrdiff_t>(runs_a_block) * blocks;
    std::nth_element(sorted.begin(), wanted, sorted.end(), std::greater<I>());
    const I least = *wanted;
    std::vector<I> begin(1, 0);
    if (least < least_run) return begin;
    for (I q = 0; q < T_.n; ++q) {
      if (distance[q] < least) continue;
      I start = q;
      while (start > begin.back() && reads_nothing(row_at(start - 1))) --start;
      if (start - begin.back() >= least_run) begin.push_back(start);
    }
    return begin;
  }

  bool deal_runs(RowBlocks<I>* plan) const
  {
    const std::int32_t blocks = plan->blocks;
    if (blocks < 2 || T_.n <= static_cast<std::int64_t>(runs_a_block) * blocks * least_run) return false;
    std::vector<I> begin = find_runs(blocks);
    const I runs = static_cast<I>(begin.size());
    if (runs < static_cast<I>(runs_a_block) * blocks) return false;
    begin.push_back(T_.n);
    plan->natural = true;
    for (std::int32_t p = 0; p < blocks; ++p) {
      for (I r = p; r < runs; r += blocks) append_run(begin[r], begin[r + 1], plan);
      plan->block_step.push_back(static_cast<I>(plan->step_begin.size()));
    }
    return true;
  }

  /// A run in steps, each with its first position as its key.
  void append_run(I begin, I end, RowBlocks<I>* plan) const
  {
    const I share = (end - begin) / (8 * plan->blocks);
    const I step = std::min<I>(longest_step, std::max<I>(least_run / 4, share));
    for (I q = begin; q < end; ++q) {
      if ((q - begin) % step == 0) {
        plan->step_begin.push_back(static_cast<I>(plan->row.size()));
        plan->step_key.push_back(q);
      }
      plan->row.push_back(row_at(q));
    }
  }

  void deal_levels(RowBlocks<I>* plan) const
  {
    const double total = static_cast<double>(T_.nnz()) + static_cast<double>(T_.n);
    I end = 0;
    for (std::int32_t p = 0; p < plan->blocks; ++p) {
      const I begin = end;
      const double share = total * (p + 1) / plan->blocks;
      while (end < T_.n && (p + 1 == plan->blocks || static_cast<double>(T_.row_begin[end]) + static_cast<double>(end) < share)) ++end;
      append_by_level(begin, end, plan);
      plan->block_step.push_back(static_cast<I>(plan->step_begin.size()));
    }
  }

  /// The rows of one piece, sorted by level; a step a level.
  void append_by_level(I begin, I end, RowBlocks<I>* plan) const
  {
    std::vector<I>& row = plan->row;
    for (I i = begin; i < end; ++i) row.push_back(i);
    std::stable_sort(row.begin() + begin, row.end(), [&](I a, I b) { return depth_[a] < depth_[b]; });
    for (I k = begin; k < end; ++k) {
      if (k > begin && depth_[row[k]] == depth_[row[k - 1]]) continue;
      plan->step_begin.push_back(k);
      plan->step_key.push_back(depth_[row[k]]);
    }
  }

  void finish(RowBlocks<I>* plan, double penalty) const
  {
    plan->step_begin.push_back(T_.n);
    find_waits(plan);
    plan->speedup = simulate(*plan) / penalty;
  }

  /// For each step the steps of other blocks that it reads from.
  void find_waits(RowBlocks<I>* plan) const
  {
    std::vector<std::int32_t> owner(T_.n), touched;
    std::vector<I> step(T_.n), need(plan->blocks, 0), done;
    for (std::int32_t p = 0; p < plan->blocks; ++p)
      for (I s = plan->block_step[p]; s < plan->block_step[p + 1]; ++s)
        for (I k = plan->step_begin[s]; k < plan->step_begin[s + 1]; ++k) {
          owner[plan->row[k]] = p;
          step[plan->row[k]] = s - plan->block_step[p];
        }
    plan->wait_begin.push_back(0);
    for (std::int32_t p = 0; p < plan->blocks; ++p) {
      done.assign(plan->blocks, 0);
      for (I s = plan->block_step[p]; s < plan->block_step[p + 1]; ++s) {
        for (I k = plan->step_begin[s]; k < plan->step_begin[s + 1]; ++k) {
          const I i = plan->row[k];
          for (I e = T_.row_begin[i]; e < T_.row_begin[i + 1]; ++e) {
            const I j = T_.column[e];
            const std::int32_t q = owner[j];
            if (q == p || step[j] + 1 <= std::max(done[q], need[q])) continue;
            if (need[q] == 0) touched.push_back(q);
            need[q] = step[j] + 1;
          }
        }
        for (std::int32_t q : touched) {
          plan->wait.push_back({q, static_cast<std::int64_t>(need[q])});
          done[q] = need[q];
          need[q] = 0;
        }
        touched.clear();
        plan->wait_begin.push_back(static_cast<I>(plan->wait.size()));
      }
    }
  }

  /// Work of all rows over the time at which the last block ends.
  double simulate(const RowBlocks<I>& plan) const
  {
    const I steps = static_cast<I>(plan.step_key.size());
    std::vector<I> order(steps);
    std::vector<std::int32_t> block(steps);
    std::vector<double> end(steps), free(plan.blocks, 0);
    for (std::int32_t p = 0; p < plan.blocks; ++p)
      for (I s = plan.block_step[p]; s < plan.block_step[p + 1]; ++s) block[s] = p;
    for (I s = 0; s < steps; ++s) order[s] = s;
    std::stable_sort(order.begin(), order.end(), [&](I a, I b) { return plan.step_key[a] < plan.step_key[b]; });
    double total = 0, last = 0;
    for (I s : order) {
      double time = free[block[s]];
      for (I w = plan.wait_begin[s]; w < plan.wait_begin[s + 1]; ++w) {
        const StepWait& wait = plan.wait[w];
        time = std::max(time, end[plan.block_step[wait.block] + wait.steps - 1] + wait_cost);
      }
      double work = 0;
      for (I k = plan.step_begin[s]; k < plan.step_begin[s + 1]; ++k) {
        const I i = plan.row[k];
        work += 1 + static_cast<double>(T_.row_begin[i + 1] - T_.row_begin[i]);
      }
      total += work;
      end[s] = free[block[s]] = time + work;
      last = std::max(last, end[s]);
    }
    return last > 0 ? total / last : 1;
  }

  const PatternView<I>& T_;
  bool lower_;
  I levels_ = 0;
  std::vector<I> depth_;
  RowBlocks<I> empty_;
};

}  // namespace

template <class I> Status make_row_blocks(PatternView<I> T, bool lower, std::int32_t blocks, RowBlocks<I>* out)
try {
  if (blocks < 1) return failed(Code::invalid_argument, "number of row blocks must be at least 1");
  *out = Planner<I>(T, lower, blocks).best();
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status make_row_blocks<I>(PatternView<I>, bool, std::int32_t, RowBlocks<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
