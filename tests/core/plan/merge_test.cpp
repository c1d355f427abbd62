#include "core/plan/merge_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

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

/// P: the rows of the group with a path inside the group to this row. R: the rows that these read outside the group.
TEST(MergePlans, read_what_paths_inside_the_group_lead_to)
{
  for (const bool lower : {true, false})
    for (const unsigned seed : {2u, 3u, 4u}) {
      const auto T = triangle(lower, seed);
      const Merged m(T, lower, MergeRule());
      std::vector<I> place(T.n);
      for (I p = 0; p < T.n; ++p) place[m.plan.row[p]] = p;
      for (I p = 0; p < T.n; ++p) {
        std::set<I> inside = {p}, outside;
        std::vector<I> open = {p};
        while (!open.empty()) {
          const I row = m.plan.row[open.back()];
          open.pop_back();
          for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) {
            const I q = place[T.column[k]];
            if (m.plan.group[q] != m.plan.group[p]) outside.insert(q);
            else if (inside.insert(q).second) open.push_back(q);
          }
        }
        ASSERT_EQ(m.p(p), std::vector<I>(inside.begin(), inside.end())) << p;
        ASSERT_EQ(m.r(p), std::vector<I>(outside.begin(), outside.end())) << p;
      }
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

/// The span of a group is its rows and the rows they read outside the group, each with an index of its own.
TEST(MergePlans, number_what_stands_outside_a_group)
{
  const auto T = triangle(true, 9);
  const Merged m(T, true, MergeRule());
  std::int64_t span = 0;
  for (I g = 0; g < m.plan.groups; ++g) {
    std::map<I, int> number;
    for (I k = m.plan.r_begin[m.plan.group_begin[g]]; k < m.plan.r_begin[m.plan.group_begin[g + 1]]; ++k) {
      const auto [at, is_new] = number.insert({m.plan.r_column[k], m.plan.r_local[k]});
      EXPECT_EQ(at->second, m.plan.r_local[k]) << "one number for a column";
    }
    std::set<int> all;
    for (const auto& [column, local] : number) all.insert(local);
    EXPECT_EQ(all.size(), number.size());
    EXPECT_TRUE(all.empty() || *all.rbegin() + 1 == static_cast<int>(all.size())) << "numbers from 0 on";
    EXPECT_TRUE(std::is_sorted(number.begin(), number.end(), [](auto& a, auto& b) { return a.second < b.second; }));
    span = std::max<std::int64_t>(span, m.plan.group_begin[g + 1] - m.plan.group_begin[g] + static_cast<I>(all.size()));
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
