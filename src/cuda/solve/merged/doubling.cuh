#pragma once

/// The order in which the rows of a group are substituted into each other: in step s a group is blocks of 2^s levels,
/// in pairs, and the rows of a second block substitute what they read of the first. Which rows those are, and what they
/// read, depends on the plan only, so it is listed once and not searched in each refresh. MergeRule counts the lists.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cuda/solve/merged/plan.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {

/// Returns the first of the ascending entries begin..end - 1 that is not less than `position`.
template <class Column, class I>
__device__ I find_position(const Column* column, I begin, I end, Column position)
{
  while (begin < end) {
    const I middle = begin + (end - begin) / 2;
    if (column[middle] < position) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

constexpr int listing_threads = 256;
constexpr unsigned most_warps_of_row = 16;  ///< that make a row together
constexpr int entries_of_part = 64;         ///< entries of another row that a warp loads at once

/// Returns the work, in parts of rows, above which a row is made by a whole thread block: without that a step would
/// last as long as its longest row takes a warp. To begin and add up a row takes a block as long as a warp some parts.
///   work   of all rows of the step
///   warps  that the device runs at once
SYNCFREE_HD inline unsigned long long most_work_of_warp(unsigned long long work, unsigned warps)
{
  constexpr unsigned long long least = 16;
  return 2 * work / warps > least ? 2 * work / warps : least;
}

/// A plan's arrays that describe its groups.
template <class I> struct GroupsView {
  I n;
  const unsigned* depth;
  const I *group, *group_level, *level_begin, *p_begin, *p_position, *r_begin;

  /// Returns the number of entries of P and R.
  __device__ I count_entries(I position) const
  {
    return p_begin[position + 1] - p_begin[position] + r_begin[position + 1] - r_begin[position];
  }
  __device__ BlockReads<I> reads(I position, int step) const
  {
    const unsigned block = (depth[position] - 1) >> step;
    if (block % 2 == 0) return {position, 0, 0};
    const I level = group_level[group[position]] + static_cast<I>((block - 1) << step);
    const I first = p_begin[position], last = p_begin[position + 1];
    const I begin = find_position(p_position, first, last, level_begin[level]);
    const I end = find_position(p_position, begin, last, level_begin[level + (I(1) << step)]);
    return {position, static_cast<std::uint16_t>(begin - first), static_cast<std::uint16_t>(end - first)};
  }

  /// Returns a bound of the parts of rows that are read: these have no more entries than the row itself.
  __device__ unsigned long long work(const BlockReads<I>& reads) const
  {
    const auto parts = static_cast<unsigned>((count_entries(reads.position) + entries_of_part - 1) / entries_of_part);
    return static_cast<unsigned long long>(reads.end - reads.begin) * parts;
  }
};

/// Counts the reads of each step, or lists them if `list` is not null, step by step, wide ones from the front and the
/// others from the back; one thread per position.
///   warps   as for most_work_of_warp()
///   counts  [out] initially zeros; of all reads if they are listed
///   listed  initially zeros: reads listed so far; `rows` are those that are not wide
template <class I>
__global__ void list_reads(GroupsView<I> groups, int steps, unsigned warps, StepCounts* counts, StepCounts* listed,
                           BlockReads<I>* list)
{
  __shared__ unsigned ours[2], first[2];  // of all or of those that are not wide, of wide ones
  __shared__ unsigned long long most, all;
  const std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const bool has_row = at < static_cast<std::size_t>(groups.n);
  const I position = static_cast<I>(at);
  if (!list) {
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    if (has_row) red_max_relaxed(&most, static_cast<unsigned long long>(groups.count_entries(position)));
    __syncthreads();
    if (threadIdx.x == 0) red_max_relaxed(&counts->longest, most);
  }
  unsigned before = 0;  // reads of earlier steps
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) ours[0] = ours[1] = 0, most = all = 0;
    __syncthreads();
    const BlockReads<I> reads = has_row ? groups.reads(position, step) : BlockReads<I>();
    const bool reads_something = reads.end > reads.begin;
    const unsigned long long work = reads_something ? groups.work(reads) : 0;
    const int is_wide = list && work > most_work_of_warp(counts->work[step], warps);
    const unsigned own = reads_something ? fetch_increment_relaxed(ours + is_wide) : 0;
    if (reads_something && !list) {
      red_add_relaxed(&all, work);
      red_max_relaxed(&most, work);
    }
    __syncthreads();
    if (threadIdx.x == 0 && ours[0])
      first[0] = fetch_add_relaxed((list ? listed : counts)->rows + step, ours[0]);
    if (threadIdx.x == 0 && ours[1]) first[1] = fetch_add_relaxed(listed->wide + step, ours[1]);
    if (threadIdx.x == 0 && !list && all) {
      red_add_relaxed(counts->work + step, all);
      red_max_relaxed(counts->most + step, most);
    }
    __syncthreads();
    if (!list) continue;
    const unsigned rows = counts->rows[step], place = first[is_wide] + own;
    if (reads_something) list[before + (is_wide ? place : rows - 1 - place)] = reads;
    before += rows;
  }
}

/// Returns the warps that the device is taken to run at once.
inline unsigned warps_of_device()
{
  return 16 * static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
}

/// Returns the number of steps of groups of up to so many levels.
inline int steps_of(std::int64_t longest)
{
  int steps = 0;
  while (std::int64_t(1) << steps < longest) ++steps;
  return steps;
}

/// Queues the counts for MergeSteps. Returns them, and zeros after them.
///   longest  levels of the longest group
template <class I>
DeviceArray<StepCounts> count_reads(const GroupsView<I>& groups, std::int64_t longest, cudaStream_t stream)
{
  DeviceArray<StepCounts> counts(2);
  counts.fill(0, stream);
  const unsigned blocks = blocks_for(static_cast<std::size_t>(groups.n), listing_threads);
  launch(list_reads<I>, {blocks, listing_threads, 0, stream}, groups, steps_of(longest), warps_of_device(),
         counts.data(), nullptr, nullptr);
  return counts;
}

/// The steps of a plan, on the device.
template <class I> class MergeSteps {
public:
  MergeSteps() = default;
  /// Queues the lists; waits first, unless the plan has the counts, which are taken. Throws Failure.
  MergeSteps(DeviceMergePlan<I>* plan, cudaStream_t stream) : count_(steps_of(plan->longest))
  {
    const std::size_t n = plan->group.size();
    const GroupsView<I> groups = {static_cast<I>(n),        plan->depth.data(),       plan->group.data(),
                                  plan->group_level.data(), plan->level_begin.data(), plan->p_begin.data(),
                                  plan->p_column.data(),    plan->r_begin.data()};
    if (plan->step_counts.empty()) {
      plan->step_counts = count_reads(groups, plan->longest, stream);
      plan->step_counts.read(&plan->counted, 0, 1, stream);
    }
    counts_ = std::move(plan->step_counts);
    longest_row_ = static_cast<std::int64_t>(plan->counted.longest);
    for (int step = 0; step < count_; ++step) {
      begin_[step + 1] = begin_[step] + plan->counted.rows[step];
      most_wide_[step] = most_wide_rows(plan->counted, step);
    }
    if (begin_[count_] == 0) return;
    reads_ = DeviceArray<BlockReads<I>>(begin_[count_]);
    launch(list_reads<I>, {blocks_for(n, listing_threads), listing_threads, 0, stream}, groups, count_,
           warps_of_device(), counts_.data(), counts_.data() + 1, reads_.data());
  }

  int step_count() const { return count_; }
  std::size_t rows_of_step(int step) const { return begin_[step + 1] - begin_[step]; }
  /// Wide rows come first; their number is in device memory.
  const BlockReads<I>* reads(int step) const { return reads_.data() + begin_[step]; }
  const unsigned* wide_rows(int step) const { return (counts_.data() + 1)->wide + step; }
  std::int64_t longest_row() const { return longest_row_; }
  std::size_t step_bytes() const { return reads_.bytes() + counts_.bytes(); }

  /// Returns a bound of the number of wide rows; 0 if there are none.
  std::size_t most_wide_rows(int step) const { return most_wide_[step]; }

private:
  static std::size_t most_wide_rows(const StepCounts& counted, int step)
  {
    const unsigned long long narrow = most_work_of_warp(counted.work[step], warps_of_device());
    if (counted.most[step] <= narrow) return 0;
    return std::min<std::size_t>(counted.rows[step], counted.work[step] / narrow);
  }

  int count_ = 0;
  std::array<std::size_t, most_steps + 1> begin_ = {};
  std::array<std::size_t, most_steps> most_wide_ = {};
  std::int64_t longest_row_ = 0;
  DeviceArray<StepCounts> counts_;  ///< of all reads, and of those that are listed
  DeviceArray<BlockReads<I>> reads_;
};

}  // namespace syncfree::cuda
