#pragma once

/// Search for the groups of core/plan/merge_plan.hpp, on the host and on a device: levels are cut into runs, each run
/// finds its groups independently, and runs are merged again with smaller groups while there are too many entries.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "merge_plan.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

/// Levels [first, last).
struct LevelRange {
  std::int64_t first, last;
};

/// In step s a group is blocks of 2^s levels, in pairs, and the rows of a second block substitute what they read of the
/// first. Returns the number of steps in which a row does so.
///   depth  its level in the group, from 0 on
SYNCFREE_HD inline int count_substitutions(std::uint64_t depth)
{
  int steps = 0;
  for (; depth > 0; depth &= depth - 1) ++steps;
  return steps;
}

/// Size of the groups of a run; `plain` counts the entries of its levels without merging, with the diagonal.
struct RunCounts {
  std::int64_t groups = 0, entries = 0, plain = 0;
  std::int64_t substitutions = 0;
  std::int64_t longest = 0;  ///< levels of a group
};

/// Product that is not fused with a following addition, so that host and device find the same groups.
SYNCFREE_HD inline double rounded_product(double a, double b)
{
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Times of the current group, merged and without merging.
struct GroupTimes {
  double hop, entry;
  double merged = 0, plain = 0;

  SYNCFREE_HD double plain_of(std::int64_t plain_entries) const
  {
    return hop + rounded_product(entry, static_cast<double>(plain_entries));
  }
  SYNCFREE_HD void start_group(std::int64_t plain_entries) { merged = plain = plain_of(plain_entries); }
  /// Adds a level if that reduces the ratio of the group's time to the time without merging. Returns whether it did.
  SYNCFREE_HD bool join(std::int64_t entries, std::int64_t plain_entries)
  {
    const double more = rounded_product(entry, static_cast<double>(entries)), alone = plain_of(plain_entries);
    if (!(rounded_product(more, plain) < rounded_product(alone, merged))) return false;
    merged += more;
    plain += alone;
    return true;
  }
};

/// Cuts all levels into runs that take about equally long.
template <class I> std::vector<LevelRange> cut_into_runs(const std::vector<I>& level_begin, const MergeRule& rule);

/// Levels from the beginning, the middle and the end; empty if these would be half of all or more, or if rows are few.
template <class I> std::vector<LevelRange> sample_of_runs(const std::vector<I>& level_begin);

/// Estimates the number of entries of the whole plan from these runs.
///   plain            entries of the triangle with its diagonal
///   of_substitution  entries as which one counts
inline double scaled_entries(const std::vector<RunCounts>& runs, double plain, double of_substitution = 0)
{
  double made = 0, of_them = 0;
  for (const RunCounts& run : runs) {
    made += static_cast<double>(run.entries) + of_substitution * static_cast<double>(run.substitutions);
    of_them += static_cast<double>(run.plain);
  }
  return made * plain / std::max(of_them, 1.0);
}

/// Counts by run, and the hop time for which the groups were made; short_of_memory: as in MergeForecast.
struct FoundGroups {
  double hop = 0;
  bool short_of_memory = false;
  std::vector<RunCounts> counts;
};

/// Merges with smaller and smaller groups until the entries are few enough; merge(hop) returns the counts of its runs.
///   plain   entries of the triangle with its diagonal
///   limit   largest number of entries that the index type can count
template <class Merge>
FoundGroups merge_until_few(const MergeRule& rule, double plain, double limit, const Merge& merge)
{
  constexpr int turns = 17;  // the last without merging
  const double wanted = std::min(limit, std::max(rule.most_fill * plain, static_cast<double>(rule.free_entries)));
  const auto most = static_cast<double>(rule.most_entries);
  FoundGroups found;
  found.hop = rule.hop;
  for (int turn = 1;; ++turn) {
    if (turn == turns) found.hop = 0;
    found.counts = merge(found.hop);
    const bool is_wanted = scaled_entries(found.counts, plain) <= wanted;
    const double taken = scaled_entries(found.counts, plain, rule.entries_of_substitution);
    if (found.hop == 0 || (is_wanted && taken <= most)) return found;
    found.short_of_memory = found.short_of_memory || is_wanted;
    const double step = is_wanted && taken <= 1.4 * most ? 0.7 : 0.5;  // what is near should use all memory
    found.hop *= most < plain ? 0 : step;  // merging never makes entries fewer
  }
}

/// Extrapolates to the whole triangle from a part of its runs.
///   levels  of the triangle
MergeForecast forecast_of(const std::vector<LevelRange>& runs, const FoundGroups& found, double levels, double plain);

}  // namespace syncfree
