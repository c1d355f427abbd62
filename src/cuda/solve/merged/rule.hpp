#pragma once

/// The merge rule of `merged` on a device, and what its plans take.

#include <algorithm>
#include <cstddef>

#include "core/plan/merge_plan.hpp"
#include "cuda/solve/merged/plan.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Cost of an entry in the plan and its values, microseconds.
constexpr double entry_of_plan = 0.0015;

/// With fewer expected applies, short runs are worth the groups that end with them.
constexpr std::int64_t many_applies = 300;

/// The bytes of an entry of a group: its value, its column, and that as a place in its group or outside.
template <class V, class I>
constexpr std::int64_t bytes_of_merged_entry = sizeof(V) + sizeof(I) + sizeof(std::uint16_t);

/// True if U is solved after L in one launch in natural order. Polling for all operands of a long row takes longer than
/// reading them, and polling slows other rows if levels are wide. The limits were measured on an H200.
///   longest  entries of a row
inline bool merged_gains_by_pair(std::int64_t rows, std::int64_t longest) { return longest <= 512 && rows <= 80000; }

/// Returns the bytes of `merged` for each row of L or U, but for its entries and what MergeRule counts with them:
/// offsets of P and R, order and its inverse, group; a vector; and mailboxes, of the pair or of its own launch.
template <class T, class I> constexpr double bytes_of_merged_row(bool of_pair)
{
  return 5 * sizeof(I) + (of_pair ? 4 : 3) * sizeof(T);
}

/// Returns the rule for one triangle with values V: 256 MB may be used, whatever the fill, where the limit of memory
/// allows that. The cost of an entry's part of the plan is divided by the expected number of applies.
///   most_bytes  DeviceTriangle::most_merged
template <class V, class I> MergeRule rule_of(const SolverOptions& options, std::int64_t most_bytes)
{
  MergeRule rule;
  rule.most_bytes = most_bytes;
  rule.entry_bytes = bytes_of_merged_entry<V, I>, rule.substitution_bytes = sizeof(BlockReads<I>);
  rule.most_fill = options.merge_fill;
  rule.entry += entry_of_plan / static_cast<double>(std::max<std::int64_t>(options.expected_applies, 1));
  if (options.expected_applies < many_applies) rule.run_levels = 64, rule.wanted_runs = 6;
  rule.free_entries = static_cast<std::int64_t>((std::size_t(256) << 20) / (2 * sizeof(V) + 2 * sizeof(I)));
  rule.threads = options.threads;
  return rule;
}

}  // namespace syncfree::cuda
