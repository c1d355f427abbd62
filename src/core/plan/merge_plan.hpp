#pragma once

/// Merging levels: rows of consecutive levels that no longer wait for each other.
///
/// In a triangular solve x_i = d_i (b_i - sum_k t_ik x_k) a row waits for the rows that it reads. Inside a group of
/// levels these can be put in one after the other, until each row of the group reads right-hand sides of its group and
/// numbers of earlier groups only:
///
///   x_i = sum over k in P_i of p_ik b_k - sum over k in R_i of r_ik x_k
///   [p_i r_i] = d_i ([e_i t_i,outside] - sum over k inside the group of t_ik [p_k r_k])
///
/// So m levels are waited for like one, at the price of more entries. A level joins the group before it while that
/// makes the group's modelled time smaller, as a part of the time that its levels would take alone. Runs of levels are
/// planned side by side, and a group always ends with its run.

#include <cstdint>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// What decides where groups end. Microseconds are those of an H200: a hop from one level to the next, and an entry
/// where the device is busy with many (0.58 TB/s).
struct MergeRule {
  double hop = 1;
  double entry = 2.1e-5;
  std::int64_t most_levels = 256;  ///< of a group; 1: nothing is merged
  double most_fill = 4;           ///< entries of all P and R over those of the triangle with its diagonal, at most
  std::int64_t free_entries = 0;  ///< so many are allowed, whatever most_fill says
  std::int64_t run_levels = 128;  ///< at least, of the runs that are planned side by side
  std::int64_t wanted_runs = 1;   ///< so many, if half of run_levels does for each
  int threads = 1;                ///< that make the plan, which does not depend on them
};

/// Rows by group, inside a group by level; their place in that order is what P and R name.
///   row         n rows of the triangle
///   group       by place
///   depth       by place: the row's level counted from its group's first
///   p_begin     n + 1 offsets; p_column ascending, the row's own place last
///   r_begin     n + 1 offsets; r_column ascending
///   group_begin  groups + 1 places
///   r_local     by entry of R: its column's number among all that the group's rows read outside, from 0 on in
///               ascending order; empty where 16 bits do not do
///   span        rows of a group and columns that it reads outside, at most
template <class I> struct MergePlan {
  I groups = 0;
  std::vector<I> row, group, depth;
  std::vector<I> group_begin;
  Array<I> p_begin, p_column, r_begin, r_column;
  Array<std::uint16_t> r_local;
  std::int64_t span = 0;

  std::size_t entries() const { return p_column.size() + r_column.size(); }
  std::size_t bytes() const
  {
    if (row.empty()) return 0;
    const std::size_t places = row.size() + group.size() + depth.size() + group_begin.size();
    return (places + p_begin.size() + r_begin.size() + entries()) * sizeof(I) + r_local.size() * 2;
  }
};

/// What a plan comes to.
///   groups, entries  of the whole plan, guessed where only parts of it were made
///   longest          levels of the longest group
///   of_all           all levels were looked at
struct MergeForecast {
  double groups = 0, entries = 0;
  bool of_all = false;
  std::int64_t longest = 0;
};

/// Are levels narrow enough for merging to be worth the look, and is the longest row short enough, if that is known? A
/// plan takes 0.1 ms and more for each row that reads some hundred others of its group, one after the other.
bool may_merge(std::int64_t rows, std::int64_t levels, std::int64_t longest = 0);

/// The same for a triangle that has no plan yet, from a few runs of its levels; all zeros where merging is
/// not worth the look.
///   errors  out_of_memory
///   cost    that of a plan for some 6,000 rows, and O(n)
template <class I>
Status forecast_merge(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergeForecast* out);

/// The plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory
///   cost    O(entries of all P and R) on rule.threads threads; where most_fill or the index type is passed the groups
///           are made anew, smaller, first those of a sample
template <class I>
Status make_merge_plan(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergePlan<I>* out);

}  // namespace syncfree
