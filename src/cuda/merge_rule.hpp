#pragma once

/// How far `merged` goes on a device.

#include "core/merge_plan.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Of merged numbers in V: whatever the fill, 256 MB may be used.
template <class V, class I> MergeRule rule_of(const SolverOptions& options)
{
  MergeRule rule;
  rule.most_fill = options.merge_fill;
  rule.free_entries = static_cast<std::int64_t>((std::size_t(256) << 20) / (2 * sizeof(V) + 2 * sizeof(I)));
  rule.threads = options.threads;
  return rule;
}

}  // namespace syncfree::cuda
