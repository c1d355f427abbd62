#pragma once

/// Merging levels: rows of consecutive levels are rewritten so that they do not wait for each other.
///
/// In a triangular solve x_i = d_i (b_i - sum_k t_ik x_k) a row waits for the rows that it reads. Inside a group of
/// levels these can be substituted one after the other, until each row of the group reads right-hand sides of its group
/// and values of earlier groups only:
///
///   x_i = sum over k in P_i of p_ik b_k - sum over k in R_i of r_ik x_k
///   [p_i r_i] = d_i ([e_i t_i,outside] - sum over k inside the group of t_ik [p_k r_k])
///
/// So m levels need one wait, at the price of more entries. A level joins the group before it if that reduces the ratio
/// of the group's modelled time to the time of its levels without merging. Runs of levels are planned concurrently, and
/// a group always ends with its run.

#include <cstdint>
#include <limits>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

constexpr std::int64_t any_bytes = std::numeric_limits<std::int64_t>::max();  ///< no limit

/// Rule that decides where groups end. Microseconds of an H200: a hop from one level to the next, and an entry when the
/// device is saturated (0.58 TB/s).
struct MergeRule {
  double hop = 1;
  double entry = 2.1e-5;
  std::int64_t most_levels = 256;  ///< of a group; 1: nothing is merged
  double most_fill = 4;           ///< most entries of P and R, relative to the triangle's with its diagonal
  std::int64_t free_entries = 0;  ///< entries that are allowed whatever most_fill says
  /// Bytes that the plan may take, whatever most_fill and free_entries allow: those of its entries, and of the list of
  /// the steps in which rows substitute others of their group (merge_search.hpp).
  std::int64_t most_bytes = any_bytes;
  std::int64_t entry_bytes = 1, substitution_bytes = 0;
  std::int64_t run_levels = 128;  ///< at least, of the runs that are planned concurrently
  std::int64_t wanted_runs = 1;   ///< number of runs, if each keeps at least half of run_levels
  int threads = 1;                ///< that make the plan; it does not depend on their number
};

/// Rows by group, and within a group by level; P and R refer to rows by their place in that order.
///   row         n rows of the triangle
///   group       by place
///   depth       by place: the row's level relative to its group's first
///   p_begin     n + 1 offsets; p_column ascending, the row's own place last
///   r_begin     n + 1 offsets; r_column ascending
///   group_begin  groups + 1 places
///   r_local     by entry of R: its column's index among all columns that the group's rows read outside, in ascending
///               order; as this and the next, only if the group has several levels
///   span        largest number of a group's rows plus the columns that it reads outside; at most 2^16
template <class I> struct MergePlan {
  I groups = 0;
  std::vector<I> row, group, depth;
  std::vector<I> group_begin;
  Array<I> p_begin, p_column, r_begin, r_column;
  Array<std::uint16_t> r_local;
  std::int64_t span = 0;

  std::size_t column_entries() const { return p_column.size() + r_column.size(); }
  std::size_t merge_plan_bytes() const
  {
    if (row.empty()) return 0;
    const std::size_t places = row.size() + group.size() + depth.size() + group_begin.size();
    return (places + p_begin.size() + r_begin.size() + column_entries()) * sizeof(I) + r_local.size() * 2;
  }
};

/// Size of a plan.
///   groups, entries  of the whole plan, extrapolated if only parts of it were made
///   longest          levels of the longest group
///   of_all           all levels were examined
///   short_of_memory  groups are smaller than they would be without MergeRule::most_bytes
struct MergeForecast {
  double groups = 0, entries = 0;
  bool of_all = false, short_of_memory = false;
  std::int64_t longest = 0;
};

/// True if levels are narrow enough for merging to be examined, and the longest row, if known, is short enough. A plan
/// takes at least 0.1 ms for each row that reads some hundred others of its group, one after the other.
bool may_merge(std::int64_t rows, std::int64_t levels, std::int64_t longest = 0);

/// Estimates the plan of a triangle from a few runs of its levels; all zeros if merging is not worth examining.
///   errors  out_of_memory
///   cost    that of a plan for some 6,000 rows, and O(n)
template <class I>
Status forecast_merge(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergeForecast* out);

/// Makes the plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory
///   cost    O(entries of all P and R) on rule.threads threads; if most_fill, most_bytes or the range of the index
///           type is exceeded, groups are made again, smaller, first on a sample
template <class I>
Status make_merge_plan(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergePlan<I>* out);

}  // namespace syncfree
