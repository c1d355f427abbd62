#pragma once

/// The plans of core/plan/merge_plan.hpp, made and kept on the device. Plans are made in streams of their own, which do
/// not wait for other streams. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/merge_plan.hpp"
#include "cuda/analysis/triangle.hpp"

namespace syncfree::cuda {

constexpr int most_steps = 32;

/// The steps in which rows of a group are substituted into each other (doubling.cuh): by step, number of rows that read
/// something, and their work.
///   wide     of the rows, those that a whole thread block makes; known once the rows are listed
///   most     work of one row
///   longest  most entries of a row of P and R
struct StepCounts {
  unsigned rows[most_steps] = {}, wide[most_steps] = {};
  unsigned long long work[most_steps] = {}, most[most_steps] = {}, longest = 0;
};

/// MergePlan in device memory, without what the triangle's levels contain.
///   longest      levels of the longest group; 0 without a plan
///   p_local      by entry of P: its column's place in the group, as r_local only if the group has several levels
///   depth        as in MergePlan, but from 1 on
///   group_level  by group: its first level
///   level_begin  first position of each level
///   step_counts  count_reads(), and the first of its entries; or empty
template <class I> struct DeviceMergePlan {
  I groups = 0;
  std::int64_t span = 0, longest = 0;
  DeviceArray<unsigned> depth;
  DeviceArray<I> group, group_begin, group_level, level_begin, p_begin, p_column, r_begin, r_column;
  DeviceArray<std::uint16_t> p_local, r_local;
  DeviceArray<StepCounts> step_counts;
  StepCounts counted;
};

/// What the row at `position` reads of the block of levels before its own (cuda/solve/merged/doubling.cuh): entries
/// begin..end - 1 of its row of P, at least one.
template <class I> struct BlockReads {
  I position;
  std::uint16_t begin, end;
};

/// A triangle with levels to merge.
///   row          n rows by level, in device memory; nullptr: rows are in that order
///   level_begin  offsets into them, in host memory
///   longest      entries of the longest row; 0: not known
template <class I> struct LevelledPattern {
  DevicePattern<I> T;
  const I* row;
  std::vector<I> level_begin;
  std::int64_t longest;

  double plain_entries() const { return static_cast<double>(T.nnz) + static_cast<double>(T.n); }
};

/// Plans the merging of a triangle's levels: optionally a forecast, then the plan, which continues from the forecast's
/// results. Results equal those of the host, unless the device has too little memory for all runs of levels.
template <class I> class MergePlanner {
public:
  ///   row  must outlive this object, as must the triangle's pattern
  MergePlanner(const DevicePattern<I>& T, const I* row, std::vector<I> level_begin, const MergeRule& rule,
          std::int64_t longest = 0);
  MergePlanner(MergePlanner&&) noexcept;
  ~MergePlanner();

  /// Queues the first work that forecast() waits for.
  void begin_search();
  /// Sets MergeRule::most_bytes, before forecast() or any part of the plan.
  void limit_bytes(std::int64_t most);
  /// Returns false, as finish_plan() does, if the device gives up, because the plan takes more memory than it is worth.
  ///   out  all zeros if merging is not worth examining
  bool forecast(MergeForecast* out);
  /// True if the groups of all levels have been chosen, not only a sample's.
  bool has_groups() const;
  /// Each queues a part of the work that finish_plan() waits for, after earlier parts that are not done yet. Their
  /// failures are thrown by finish_plan().
  void begin_groups();
  void begin_offsets();
  void begin_columns();
  /// May be called once.
  bool finish_plan(DeviceMergePlan<I>* out);

private:
  class Work;
  template <class Body> void prepare_part(const Body& body);

  std::unique_ptr<Work> work_;
  std::unique_ptr<Failure> failure_;
};

template <class I> DeviceMergePlan<I> upload_merge_plan(const MergePlan<I>& plan, const std::vector<I>& level_begin);

}  // namespace syncfree::cuda
