#pragma once

/// How far `merged` goes on a device.

#include <algorithm>
#include <cstddef>

#include "core/plan/merge_plan.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// What an entry costs in the plan and its numbers, microseconds.
constexpr double entry_of_plan = 0.0015;

/// Up to here short runs are worth what their ends cost.
constexpr std::int64_t many_applies = 300;

/// Of one triangle, numbers in V: whatever the fill, 256 MB may be used. An entry's part of the plan is paid for by the
/// applies that are expected.
template <class V, class I> MergeRule rule_of(const SolverOptions& options)
{
  MergeRule rule;
  rule.most_fill = options.merge_fill;
  rule.entry += entry_of_plan / static_cast<double>(std::max<std::int64_t>(options.expected_applies, 1));
  if (options.expected_applies < many_applies) rule.run_levels = 64, rule.wanted_runs = 6;
  rule.free_entries = static_cast<std::int64_t>((std::size_t(256) << 20) / (2 * sizeof(V) + 2 * sizeof(I)));
  rule.threads = options.threads;
  return rule;
}

}  // namespace syncfree::cuda
