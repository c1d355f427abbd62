#pragma once

/// Search for the groups of core/plan/merge_plan.hpp, on the host and on a device: levels are cut into runs, each run
/// finds its groups independently, and runs are merged again with smaller groups while there are too many entries.
///
/// How much smaller, the groups themselves tell: their first levels are groups of shorter hops. So a pass over the runs
/// that takes too many bytes is followed by one other, in which each run has room for its part of them.

#include <algorithm>
#include <array>
#include <cmath>
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

/// Rows of a group of several levels plus the rows that it reads outside: these have 16-bit numbers.
constexpr std::int64_t most_span = 0x10000;

/// Size of the groups of a run; `plain` counts the entries of its levels without merging, with the diagonal.
struct RunCounts {
  std::int64_t groups = 0, levels = 0, entries = 0, plain = 0;
  std::int64_t substitutions = 0;
  std::int64_t longest = 0;  ///< levels of a group

  /// Adds levels, without groups.
  SYNCFREE_HD void add_levels(const RunCounts& more)
  {
    levels += more.levels, entries += more.entries, plain += more.plain, substitutions += more.substitutions;
  }
};

/// What a plan's entries and substitutions take.
struct PlanBytes {
  std::int64_t of_entry = 0, of_substitution = 0;

  explicit PlanBytes(const MergeRule& rule) : of_entry(rule.entry_bytes), of_substitution(rule.substitution_bytes) {}
  SYNCFREE_HD std::int64_t sum(std::int64_t entries, std::int64_t substitutions) const
  {
    return of_entry * entries + of_substitution * substitutions;
  }
};

/// The bytes that a run may take, its entries without merging, and the bytes for each of these that earlier levels
/// leave to later ones.
struct RunRoom {
  std::int64_t bytes = any_bytes, plain = 0, reserve = 0;

  /// True if a level may join a group.
  ///   counts  with the level
  SYNCFREE_HD bool has_room(const PlanBytes& bytes_of, const RunCounts& counts) const
  {
    return bytes_of.sum(counts.entries, counts.substitutions) + reserve * (plain - counts.plain) <= bytes;
  }
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

/// The first levels of all groups of a run, as many of each as were merged if a hop took less time.
struct GroupPrefixes {
  static constexpr int sizes = 16;
  static constexpr double ratio = 0.6;  ///< of the hop times of successive sizes

  GroupTimes times;
  bool grows = false;  ///< the current group's prefix
  std::int64_t levels = 0, plain = 0, entries = 0, substitutions = 0;

  /// Returns none yet.
  ///   size  -1: as large as the groups
  SYNCFREE_HD static GroupPrefixes of_size(int size, double hop, double entry)
  {
    for (; size >= 0; --size) hop = rounded_product(hop, ratio);
    return {{hop, entry}};
  }
  /// Adds a level that begins or has joined a group.
  SYNCFREE_HD void add_level(bool begins, const RunCounts& level)
  {
    if (begins) times.start_group(level.plain);
    grows = begins || (grows && times.join(level.entries, level.plain));
    if (!grows) return;
    ++levels;
    plain += level.plain, entries += level.entries, substitutions += level.substitutions;
  }
};
using RunPrefixes = std::array<GroupPrefixes, GroupPrefixes::sizes>;

/// Cuts all levels into runs that take about equally long.
template <class I> std::vector<LevelRange> cut_into_runs(const std::vector<I>& level_begin, const MergeRule& rule);

/// Levels from the beginning, the middle and the end; empty if these would be half of all or more, or if rows are few.
template <class I> std::vector<LevelRange> sample_of_runs(const std::vector<I>& level_begin);

/// Counts by run, and the hop time for which the groups were made; short_of_memory: as in MergeForecast.
struct FoundGroups {
  double hop = 0;
  bool short_of_memory = false;
  std::vector<RunCounts> counts;
};

inline RunCounts sum_of(const std::vector<RunCounts>& runs)
{
  RunCounts sum;
  for (const RunCounts& run : runs) {
    sum.groups += run.groups;
    sum.add_levels(run);
    sum.longest = std::max(sum.longest, run.longest);
  }
  return sum;
}

/// Returns what groups of runs would be that take `most` bytes: as `found`, but for a shorter hop.
///   prefixes  of the groups of `found`, by run
FoundGroups smaller_groups(const MergeRule& rule, const FoundGroups& found, const std::vector<RunPrefixes>& prefixes,
                           double most);

/// Shares `most` bytes among all runs of a triangle.
///   foreseen  groups that take about as many
std::vector<RunRoom> share_room(const MergeRule& rule, const FoundGroups& foreseen, double most);

/// Merges with smaller groups until the entries are few enough.
///   plain     entries of the triangle with its diagonal
///   limit     largest number of entries that the index type can count
///   merge     merge(hop, rooms) returns the counts of its runs, which keep to their rooms, if there are any
///   prefixes  returns the prefixes of the groups that `merge` has made, by run
template <class Merge, class Prefixes>
FoundGroups merge_until_few(const MergeRule& rule, double plain, double limit, const Merge& merge,
                            const Prefixes& prefixes)
{
  constexpr int turns = 17;  // the last without merging
  const double wanted = std::min(limit, std::max(rule.most_fill * plain, static_cast<double>(rule.free_entries)));
  const auto most = static_cast<double>(rule.most_bytes), of_entry = static_cast<double>(rule.entry_bytes);
  FoundGroups found;
  std::vector<RunRoom> rooms;
  found.hop = rule.hop;
  for (int turn = 1;; ++turn) {
    if (turn == turns) found.hop = 0, rooms.clear();
    found.counts = merge(found.hop, rooms);
    const RunCounts sum = sum_of(found.counts);
    const double part = static_cast<double>(sum.plain) / plain;
    const bool is_wanted = static_cast<double>(sum.entries) <= part * wanted;
    const bool has_room = static_cast<double>(PlanBytes(rule).sum(sum.entries, sum.substitutions)) <= part * most;
    if (found.hop == 0 || (is_wanted && has_room)) return found;
    if (has_room || wanted * of_entry < most) {
      found.hop *= 0.5;
      rooms.clear();
      continue;
    }
    found.short_of_memory = true;
    const bool is_sample = static_cast<double>(sum.plain) < plain;
    found = smaller_groups(rule, found, prefixes(), part * most);
    if (is_sample) return found;
    if (found.hop > 0) rooms = share_room(rule, found, most);
  }
}

/// Extrapolates to the whole triangle from some of its runs.
///   levels, plain  of the triangle; its entries with the diagonal
MergeForecast forecast_of(const FoundGroups& found, double levels, double plain);

}  // namespace syncfree
