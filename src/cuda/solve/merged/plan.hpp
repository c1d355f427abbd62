#pragma once

/// The plans of core/plan/merge_plan.hpp, made on the device and kept there. In streams of their own, which do not wait
/// for others. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/merge_plan.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// MergePlan in device memory, without what the triangle's levels say.
///   longest      levels of the longest group; 0 without a plan
///   depth        as there, but from 1 on
///   group_level  by group: its first level
///   level_begin  places where levels begin
template <class I> struct DeviceMergePlan {
  I groups = 0;
  std::int64_t span = 0, longest = 0;
  DeviceArray<unsigned> depth;
  DeviceArray<I> group, group_begin, group_level, level_begin, p_begin, p_column, r_begin, r_column;
  DeviceArray<std::uint16_t> r_local;
};

/// A triangle whose levels are to be merged.
///   row          n rows by level, in device memory; nullptr: rows are in that order
///   level_begin  offsets into them, in host memory
///   longest      entries of a row; 0: nobody knows
template <class I> struct LevelledPattern {
  DevicePattern<I> T;
  const I* row;
  std::vector<I> level_begin;
  std::int64_t longest;

  double plain_entries() const { return static_cast<double>(T.nnz) + static_cast<double>(T.n); }
};

/// What merging a triangle's levels comes to: first a forecast, perhaps, then the plan, which goes on from what the
/// forecast has found. Both as of a plan on the host, and with the same result, but where it has no room for so many
/// runs of levels.
template <class I> class MergePlanner {
public:
  ///   row  stays where it is, as the triangle's pattern does
  MergePlanner(const DevicePattern<I>& T, const I* row, std::vector<I> level_begin, const MergeRule& rule,
          std::int64_t longest = 0);
  MergePlanner(MergePlanner&&) noexcept;
  ~MergePlanner();

  /// Queues what forecast() waits for first.
  void begin();
  /// All zeros where merging is not worth the look. Returns false, as plan() does, where the device gives up, because
  /// the plan takes more memory than it is worth.
  bool forecast(MergeForecast* out);
  /// Each queues a part of what plan() waits for, and does first what has not been done of the parts before. What they
  /// fail in is thrown by plan().
  void begin_groups();
  void begin_columns();
  /// Only once.
  bool plan(DeviceMergePlan<I>* out);

private:
  class Work;
  template <class Body> void prepare(const Body& body);

  std::unique_ptr<Work> work_;
  std::unique_ptr<Failure> failure_;
};

/// Where levels begin, in host memory.
template <class I> std::vector<I> level_begins(const DeviceTriangle<I>& triangle)
{
  if (!triangle.device_levels) return triangle.levels().level_begin;
  const DeviceArray<I>& there = triangle.device_levels->begin;
  std::vector<I> begin(there.size());
  there.read(begin.data(), 0, begin.size(), nullptr);
  return begin;
}

template <class I> DeviceMergePlan<I> upload(const MergePlan<I>& plan, const std::vector<I>& level_begin);

}  // namespace syncfree::cuda
