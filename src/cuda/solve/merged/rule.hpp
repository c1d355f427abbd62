#pragma once

/// The merge rule of `merged` on a device.

#include <algorithm>
#include <cstddef>

#include "core/plan/merge_plan.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Cost of an entry in the plan and its values, microseconds.
constexpr double entry_of_plan = 0.0015;

/// With fewer expected applies, short runs are worth the groups that end with them.
constexpr std::int64_t many_applies = 300;

/// The bytes of an entry of a group: its value, and its column as a position and as a row, or as a place in its group.
template <class V, class I> constexpr double bytes_of_merged_entry = sizeof(V) + 2 * sizeof(I);

/// Returns the bytes of `merged` for rows in the order of their levels, which take `bytes` without values, but for the
/// entries of groups and what MergeRule counts as some: four offsets or places for each row, and a vector.
template <class T, class I> double bytes_around_groups(double rows, double bytes)
{
  return bytes + rows * (4 * sizeof(I) + sizeof(T));
}

/// Returns the rule for one triangle with values V: 256 MB may be used, whatever the fill, where the limit of memory
/// allows that. The cost of an entry's part of the plan is divided by the expected number of applies.
///   most_entries  DeviceTriangle::most_merged
template <class V, class I> MergeRule rule_of(const SolverOptions& options, std::int64_t most_entries)
{
  MergeRule rule;
  rule.most_entries = most_entries;
  rule.entries_of_substitution = 3 * sizeof(I) / bytes_of_merged_entry<V, I>;
  rule.most_fill = options.merge_fill;
  rule.entry += entry_of_plan / static_cast<double>(std::max<std::int64_t>(options.expected_applies, 1));
  if (options.expected_applies < many_applies) rule.run_levels = 64, rule.wanted_runs = 6;
  rule.free_entries = static_cast<std::int64_t>((std::size_t(256) << 20) / (2 * sizeof(V) + 2 * sizeof(I)));
  rule.threads = options.threads;
  return rule;
}

}  // namespace syncfree::cuda
