#include "core/plan/merge_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/plan/merge_search.hpp"
#include "core/patterns.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Plan = MergePlan<I>;

struct Merged {
  LevelSets<I> levels;
  Plan plan;

  Merged(const OwnedPattern<I>& T, bool lower, const MergeRule& rule)
  {
    EXPECT_TRUE(make_level_sets(T.view(), lower, &levels).ok());
    EXPECT_TRUE(make_merge_plan(T.view(), levels, rule, &plan).ok());
  }
  std::vector<I> p(I place) const { return part(plan.p_begin, plan.p_column, place); }
  std::vector<I> r(I place) const { return part(plan.r_begin, plan.r_column, place); }

  static std::vector<I> part(const Array<I>& begin, const Array<I>& column, I place)
  {
    return {column.begin() + begin[place], column.begin() + begin[place + 1]};
  }
};

OwnedPattern<I> triangle(bool lower, unsigned seed) { return random_deep_triangle<I>(seed, 80, 5, lower); }

/// Every row reads the row before it.
OwnedPattern<I> chain(I n)
{
  std::vector<std::vector<I>> rows(n);
  for (I i = 1; i < n; ++i) rows[i] = {i - 1};
  return pattern_of(rows);
}

/// Two groups of two levels: rows 0 and 1, rows 2 and 3. Row 3 reads row 0 itself, and row 1 through row 2.
TEST(MergePlans, of_four_rows)
{
  MergeRule rule;
  rule.most_levels = 2;
  const Merged m(pattern_of<I>({{}, {0}, {1}, {0, 2}}), true, rule);
  EXPECT_EQ(m.plan.row, (std::vector<I>{0, 1, 2, 3}));
  EXPECT_EQ(m.plan.groups, 2);
  EXPECT_EQ(m.plan.group_begin, (std::vector<I>{0, 2, 4}));
  EXPECT_EQ(m.plan.group, (std::vector<I>{0, 0, 1, 1}));
  EXPECT_EQ(m.plan.depth, (std::vector<I>{0, 1, 0, 1}));
  EXPECT_TRUE(m.plan.p_begin == (std::vector<I>{0, 1, 3, 4, 6}));
  EXPECT_TRUE(m.plan.p_column == (std::vector<I>{0, 0, 1, 2, 2, 3}));
  EXPECT_TRUE(m.plan.r_begin == (std::vector<I>{0, 0, 0, 1, 3}));
  EXPECT_TRUE(m.plan.r_column == (std::vector<I>{1, 0, 1}));
  EXPECT_TRUE(m.plan.r_local == (std::vector<std::uint16_t>{1, 0, 1}));
  EXPECT_EQ(m.plan.span, 4) << "two rows and two that they read";
}

/// The same rows from the end: P and R refer to places, not to rows.
TEST(MergePlans, of_four_rows_of_an_upper_triangle)
{
  MergeRule rule;
  rule.most_levels = 2;
  const Merged m(pattern_of<I>({{1, 3}, {2}, {3}, {}}), false, rule);
  EXPECT_EQ(m.plan.row, (std::vector<I>{3, 2, 1, 0}));
  EXPECT_EQ(m.plan.group, (std::vector<I>{0, 0, 1, 1}));
  EXPECT_EQ(m.p(3), (std::vector<I>{2, 3}));
  EXPECT_EQ(m.r(2), (std::vector<I>{1}));
  EXPECT_EQ(m.r(3), (std::vector<I>{0, 1}));
}

TEST(MergePlans, hold_all_rows_once_and_groups_of_whole_levels)
{
  for (const bool lower : {true, false}) {
    const auto T = triangle(lower, 1);
    const Merged m(T, lower, MergeRule());
    EXPECT_EQ(m.plan.row, std::vector<I>(m.levels.row.begin(), m.levels.row.end()));
    ASSERT_EQ(m.plan.group.size(), 80u);
    EXPECT_LT(m.plan.groups, m.levels.count) << "nothing was merged";
    for (I level = 0; level < m.levels.count; ++level)
      for (I place = m.levels.level_begin[level] + 1; place < m.levels.level_begin[level + 1]; ++place) {
        EXPECT_EQ(m.plan.group[place], m.plan.group[place - 1]);
        EXPECT_EQ(m.plan.depth[place], m.plan.depth[place - 1]);
      }
    EXPECT_EQ(m.plan.group.back(), m.plan.groups - 1);
  }
}

/// Returns the places of the rows of the group with a path inside the group to this one, and of the rows that these
/// read outside the group.
std::pair<std::vector<I>, std::vector<I>> find_paths(const OwnedPattern<I>& T, const Plan& plan, I p)
{
  std::vector<I> place(T.n);
  for (I q = 0; q < T.n; ++q) place[plan.row[q]] = q;
  std::set<I> inside = {p}, outside;
  std::vector<I> open = {p};
  while (!open.empty()) {
    const I row = plan.row[open.back()];
    open.pop_back();
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) {
      const I q = place[T.column[k]];
      if (plan.group[q] != plan.group[p]) outside.insert(q);
      else if (inside.insert(q).second) open.push_back(q);
    }
  }
  return {{inside.begin(), inside.end()}, {outside.begin(), outside.end()}};
}

TEST(MergePlans, read_what_paths_inside_the_group_lead_to)
{
  for (const bool lower : {true, false})
    for (const unsigned seed : {2u, 3u, 4u}) {
      const auto T = triangle(lower, seed);
      const Merged m(T, lower, MergeRule());
      for (I p = 0; p < T.n; ++p) ASSERT_EQ(std::make_pair(m.p(p), m.r(p)), find_paths(T, m.plan, p)) << p;
    }
}

TEST(MergePlans, are_worth_the_look_where_levels_are_narrow_and_rows_not_too_long)
{
  EXPECT_TRUE(may_merge(100000, 1000));
  EXPECT_TRUE(may_merge(100000, 1000, 500));
  EXPECT_FALSE(may_merge(100000, 1000, 50000)) << "a row that reads so many others of its group";
  EXPECT_FALSE(may_merge(100000, 10));
  EXPECT_FALSE(may_merge(0, 0));
}

TEST(MergePlans, are_the_triangle_itself_where_nothing_may_merge)
{
  const auto T = triangle(true, 5);
  MergeRule alone;
  alone.most_levels = 1;
  MergeRule cheap_hop;
  cheap_hop.hop = 0;
  for (const MergeRule& rule : {alone, cheap_hop}) {
    const Merged m(T, true, rule);
    EXPECT_EQ(m.plan.groups, m.levels.count);
    EXPECT_EQ(m.plan.p_column.size(), 80u);
    EXPECT_EQ(m.plan.r_column.size(), T.column.size());
  }
}

TEST(MergePlans, keep_to_the_limits_of_levels_and_fill)
{
  MergeRule rule;
  rule.most_fill = 1;
  const auto random = triangle(true, 5);
  EXPECT_EQ(Merged(random, true, rule).plan.column_entries(), random.column.size() + 80);
  const auto T = chain(1000);
  rule.most_levels = 10;
  rule.most_fill = 100;
  rule.run_levels = 1000;
  const Merged ten(T, true, rule);
  EXPECT_EQ(ten.plan.groups, 100);
  EXPECT_EQ(*std::max_element(ten.plan.depth.begin(), ten.plan.depth.end()), 9);
  rule.most_levels = 1000;
  rule.most_fill = 3;
  const Merged limited(T, true, rule);
  EXPECT_LE(limited.plan.column_entries(), 3u * (999 + 1000));
  EXPECT_LT(limited.plan.groups, 500);
}

/// The last of them has no more than the triangle, so that nothing may be merged.
TEST(MergePlans, keep_to_the_bytes_that_there_are)
{
  const auto T = chain(1000);
  MergeRule rule;
  rule.most_levels = 1000, rule.run_levels = 1000;
  rule.most_fill = 100;
  const Merged all(T, true, rule);
  rule.free_entries = 1 << 30;
  std::size_t before = all.plan.column_entries();
  for (const std::int64_t most : {20000, 10000, 5000, 1999}) {
    rule.most_bytes = most;
    const Merged limited(T, true, rule);
    EXPECT_LE(limited.plan.column_entries(), static_cast<std::size_t>(most));
    EXPECT_GE(static_cast<double>(limited.plan.column_entries()), 0.9 * static_cast<double>(most));
    EXPECT_LT(limited.plan.column_entries(), before);
    EXPECT_GT(limited.plan.groups, all.plan.groups);
    before = limited.plan.column_entries();
    MergeForecast forecast;
    ASSERT_TRUE(forecast_merge<I>(T.view(), limited.levels, rule, &forecast).ok());
    EXPECT_EQ(forecast.groups, limited.plan.groups);
    EXPECT_TRUE(forecast.short_of_memory);
  }
  EXPECT_EQ(before, 999u + 1000u);
  MergeForecast forecast;
  rule.most_bytes = static_cast<std::int64_t>(all.plan.column_entries());
  ASSERT_TRUE(forecast_merge<I>(T.view(), all.levels, rule, &forecast).ok());
  EXPECT_FALSE(forecast.short_of_memory);
  rule.most_fill = 3, rule.free_entries = 0;
  ASSERT_TRUE(forecast_merge<I>(T.view(), all.levels, rule, &forecast).ok());
  EXPECT_FALSE(forecast.short_of_memory) << "less fill is wanted than there is memory for";
}

std::int64_t bytes_of(const Plan& plan, const MergeRule& rule)
{
  std::int64_t substitutions = 0;
  for (const I depth : plan.depth) substitutions += count_substitutions(static_cast<std::uint64_t>(depth));
  return PlanBytes(rule).sum(static_cast<std::int64_t>(plan.column_entries()), substitutions);
}

/// Triangles whose levels differ, in several runs; the last are examined by a sample first.
TEST(MergePlans, use_most_of_the_bytes_that_there_are)
{
  for (const auto& T : {random_deep_triangle<I>(6, 4000, 3, true), grid_triangle<I>(40, 500, true),
                        grid_triangle<I>(30, 2000, true)}) {
    MergeRule rule;
    rule.entry_bytes = 14, rule.substitution_bytes = 8;
    rule.run_levels = 64, rule.free_entries = 1 << 30;
    const Merged all(T, true, rule);
    const auto least = static_cast<double>(14 * (T.column.size() + static_cast<std::size_t>(T.n)));
    for (const double part : {0.8, 0.5, 0.2}) {
      const double most = least + part * (static_cast<double>(bytes_of(all.plan, rule)) - least);
      rule.most_bytes = static_cast<std::int64_t>(most);
      const auto taken = static_cast<double>(bytes_of(Merged(T, true, rule).plan, rule));
      EXPECT_LE(taken, most) << T.n << " rows, " << part;
      EXPECT_GE(taken, 0.85 * most) << T.n << " rows, " << part;
    }
  }
}

/// A run of a chain's levels, as a pass over it finds its groups: the level at depth d of its group reads d + 2 values.
struct PassOverChain {
  RunCounts counts;
  RunPrefixes prefixes;

  PassOverChain(double hop, const MergeRule& rule, const RunRoom& room)
  {
    GroupTimes times = {hop, rule.entry};
    for (int size = 0; size < GroupPrefixes::sizes; ++size)
      prefixes[static_cast<std::size_t>(size)] = GroupPrefixes::of_size(size, hop, rule.entry);
    for (std::int64_t level = 0, depth = 0; level < 1000; ++level) {
      RunCounts own, with = counts;
      own.levels = 1, own.plain = 2, own.entries = depth + 2;
      with.add_levels(own);
      const bool joins =
          depth > 0 && room.has_room(PlanBytes(rule), with) && times.join(own.entries, own.plain);
      if (!joins) depth = 0, own.entries = 2, ++counts.groups, times.start_group(2);
      counts.add_levels(own);
      for (GroupPrefixes& prefix : prefixes) prefix.add_level(!joins, own);
      counts.longest = std::max(counts.longest, ++depth);
    }
  }
};

TEST(MergePlans, are_made_to_fit_by_one_more_pass)
{
  MergeRule rule;
  rule.free_entries = 1 << 30;
  for (const std::int64_t most : {40000, 20000, 10000, 5000}) {
    rule.most_bytes = most;
    int passes = 0;
    std::vector<RunPrefixes> prefixes;
    const auto merge = [&](double hop, const std::vector<RunRoom>& rooms) {
      ++passes;
      const PassOverChain pass(hop, rule, rooms.empty() ? RunRoom() : rooms[0]);
      prefixes = {pass.prefixes};
      return std::vector<RunCounts>{pass.counts};
    };
    const FoundGroups found = merge_until_few(rule, 2000, 1e9, merge, [&] { return prefixes; });
    EXPECT_EQ(passes, 2);
    EXPECT_TRUE(found.short_of_memory);
    EXPECT_LE(found.counts[0].entries, most);
    EXPECT_GE(static_cast<double>(found.counts[0].entries), 0.9 * static_cast<double>(most));
    passes = 0;
    const FoundGroups of_half = merge_until_few(rule, 4000, 1e9, merge, [&] { return prefixes; });
    EXPECT_EQ(passes, 1) << "of a sample";
    EXPECT_NEAR(static_cast<double>(of_half.counts[0].entries), 0.5 * static_cast<double>(most),
                0.1 * static_cast<double>(most));
  }
}

/// A level of more rows than 16 bits can number begins the triangle, and levels of one row follow.
TEST(MergePlans, have_groups_with_16_bit_numbers)
{
  std::vector<std::vector<I>> rows(66000);
  for (I i = 65900; i < 66000; ++i) rows[static_cast<std::size_t>(i)] = {i - 65900, i - 1};
  const Merged m(pattern_of(rows), true, MergeRule());
  EXPECT_EQ(m.plan.group_begin[1], m.levels.level_begin[1]);
  EXPECT_LT(m.plan.groups, m.levels.count);
  EXPECT_GT(m.plan.span, 1);
  EXPECT_LE(m.plan.span, most_span);
}

TEST(MergePlans, are_made_in_more_and_shorter_runs_where_levels_are_few)
{
  struct Case {
    I levels;
    std::int64_t wanted;
    std::size_t runs;
  };
  for (const Case& c : {Case{640, 1, 10}, {640, 6, 10}, {174, 1, 2}, {174, 6, 5}, {174, 3, 3}, {40, 6, 1}}) {
    MergeRule rule;
    rule.run_levels = 64;
    rule.wanted_runs = c.wanted;
    std::vector<I> level_begin;
    for (I level = 0; level <= c.levels; ++level) level_begin.push_back(3 * level);
    const std::vector<LevelRange> runs = cut_into_runs(level_begin, rule);
    EXPECT_EQ(runs.size(), c.runs) << c.levels << " levels";
    EXPECT_EQ(runs.front().first, 0);
    EXPECT_EQ(runs.back().last, c.levels);
    for (std::size_t r = 1; r < runs.size(); ++r) EXPECT_EQ(runs[r].first, runs[r - 1].last);
  }
}

/// The time of a run is its number of levels, unless the levels are wide.
TEST(MergePlans, have_runs_that_take_equally_long)
{
  std::vector<I> level_begin = {0};
  for (I level = 0; level < 600; ++level) level_begin.push_back(level_begin.back() + (level < 30 ? 1000 : 3));
  MergeRule rule;
  rule.run_levels = 64;
  const std::vector<LevelRange> runs = cut_into_runs(level_begin, rule);
  ASSERT_EQ(runs.size(), 9u);
  EXPECT_LT(runs.front().last, 30) << "wide levels";
  for (std::size_t r = 3; r < runs.size(); ++r) EXPECT_LE(runs[r].last - runs[r].first, 95);
}

TEST(MergePlans, do_not_depend_on_the_number_of_threads)
{
  const auto T = random_deep_triangle<I>(6, 4000, 3, true);
  MergeRule rule;
  const Merged one(T, true, rule);
  ASSERT_GE(one.levels.count, 512) << "one run of levels has nothing to share";
  rule.threads = 3;
  const Merged three(T, true, rule);
  EXPECT_EQ(one.plan.group, three.plan.group);
  EXPECT_EQ(one.plan.depth, three.plan.depth);
  EXPECT_EQ(one.plan.p_begin, three.plan.p_begin);
  EXPECT_EQ(one.plan.p_column, three.plan.p_column);
  EXPECT_EQ(one.plan.r_begin, three.plan.r_begin);
  EXPECT_EQ(one.plan.r_column, three.plan.r_column);
}

/// The first two levels merge without fill, as rows of the first read no other row.
TEST(MergePlans, leave_levels_alone_whose_entries_cost_more_than_a_hop)
{
  OwnedPattern<I> T;
  T.n = 120000;
  for (I i = 0; i < T.n; ++i) {
    for (I e = 0; i >= 30000 && e < 4; ++e) T.column.push_back(i / 30000 * 30000 - 30000 + (i * 7 + e * 311) % 30000);
    std::sort(T.column.begin() + T.row_begin.back(), T.column.end());
    T.row_begin.push_back(static_cast<I>(T.column.size()));
  }
  EXPECT_EQ(Merged(T, true, MergeRule()).plan.groups, 3);
}

/// The forecast examines a sample of the levels.
TEST(MergePlans, are_foreseen_from_some_of_their_levels)
{
  for (const I width : {20, 60}) {
    const auto T = grid_triangle<I>(width, 20000 / width, true);
    const Merged m(T, true, MergeRule());
    MergeForecast forecast;
    ASSERT_TRUE(forecast_merge<I>(T.view(), m.levels, MergeRule(), &forecast).ok());
    EXPECT_NEAR(forecast.groups, m.plan.groups, 0.25 * m.plan.groups) << width;
    const double entries = static_cast<double>(m.plan.column_entries());
    EXPECT_NEAR(forecast.entries, entries, 0.25 * entries);
    EXPECT_GE(forecast.longest, 2);
  }
  const auto wide = random_deep_triangle<I>(1, 1, 0, true);
  LevelSets<I> levels;
  ASSERT_TRUE(make_level_sets(wide.view(), true, &levels).ok());
  MergeForecast forecast;
  ASSERT_TRUE(forecast_merge<I>(wide.view(), levels, MergeRule(), &forecast).ok());
  EXPECT_EQ(forecast.groups, 1);
}

/// Returns the index of each column that a group's rows read outside the group; a column has one.
std::map<I, int> numbers_of_group(const Plan& plan, I group)
{
  std::map<I, int> number;
  for (I k = plan.r_begin[plan.group_begin[group]]; k < plan.r_begin[plan.group_begin[group + 1]]; ++k)
    EXPECT_EQ(number.insert({plan.r_column[k], plan.r_local[k]}).first->second, plan.r_local[k]);
  return number;
}

/// The span of a group is its rows and the rows they read outside the group, each with an index of its own.
TEST(MergePlans, number_what_stands_outside_a_group)
{
  const auto T = triangle(true, 9);
  const Merged m(T, true, MergeRule());
  std::int64_t span = 0;
  for (I g = 0; g < m.plan.groups; ++g) {
    const std::map<I, int> number = numbers_of_group(m.plan, g);
    int next = 0;
    for (const auto& [column, local] : number) EXPECT_EQ(local, next++) << "ascending with the columns, from 0 on";
    if (m.plan.depth[m.plan.group_begin[g + 1] - 1] > 0)
      span = std::max<std::int64_t>(span, m.plan.group_begin[g + 1] - m.plan.group_begin[g] + next);
  }
  EXPECT_EQ(m.plan.span, span);
}

TEST(MergePlans, of_an_empty_triangle_are_empty)
{
  const OwnedPattern<I> none;
  const Merged m(none, true, MergeRule());
  EXPECT_EQ(m.plan.groups, 0);
  EXPECT_EQ(m.plan.column_entries(), 0u);
}

}  // namespace
}  // namespace syncfree
