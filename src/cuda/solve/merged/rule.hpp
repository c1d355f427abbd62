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

/// Returns the rule for one triangle with values V: 256 MB may be used, whatever the fill. The cost of an entry's part
/// of the plan is divided by the expected number of applies.
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
