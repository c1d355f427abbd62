/// Plans that the device makes are those of the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "../device_support.hpp"
#include "core/plan/star_plan.hpp"
#include "core/plan/tile_cut.hpp"
#include "core/schedule/bandwidth.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/solve/merged/doubling.cuh"
#include "cuda/solve/merged/plan.hpp"
#include "cuda/solve/tiled/plan.cuh"

namespace syncfree::cuda {
namespace {

/// Copies the fields of panels that describe positions; values are set by a refresh.
template <class Panel> std::vector<unsigned char> fields(const DeviceArray<unsigned char>& panels)
{
  constexpr std::size_t bytes = sizeof(Panel::unit);
  const std::size_t count = panels.size() / sizeof(Panel);
  std::vector<unsigned char> copy(count * bytes);
  SYNCFREE_CUDA(cudaMemcpy2D(copy.data(), bytes, panels.data(), sizeof(Panel), bytes, count, cudaMemcpyDeviceToHost));
  return copy;
}

template <class I> class Plans : public testing::Test {};
TYPED_TEST_SUITE(Plans, Indices);

TYPED_TEST(Plans, fill_the_tiles_of_a_star_as_the_host_does)
{
  using I = TypeParam;
  using Panel = TilePanel<double, star_row_capacity>;
  for (const bool lower : {true, false})
    for (const auto& [x, y, z] : {std::tuple<I, I, I>{20, 24, 15}, {60, 45, 1}, {13, 9, 11}}) {
      const OwnedPattern<I> T = stencil_triangle<I>(x, y, z, false, lower);
      TileRule rule;
      rule.shape = {x / 3, 6, 7};
      StarPlan<I> star;
      TilePlan<I> truth;
      ASSERT_TRUE(make_star_plan(T.view(), lower, rule, &truth));
      ASSERT_TRUE(make_star_tables(T.n, lower, find_grid(T.view(), lower), rule, &star));
      TileArrays<I> made;
      ASSERT_TRUE(fill_star_arrays<Panel>(star, OnDevice<I>(T).view(), &made));
      const auto brought = TileArrays<I>::template upload_tiles<Panel>(truth);
      const auto blocks = host(made.tile), same_blocks = host(brought.tile);
      ASSERT_EQ(blocks.size(), same_blocks.size());
      for (std::size_t t = 0; t < blocks.size(); ++t) EXPECT_EQ(blocks[t].first_panel, same_blocks[t].first_panel) << t;
      EXPECT_EQ(host(made.source), host(brought.source));
      EXPECT_EQ(host(made.row), host(brought.row));
      EXPECT_EQ(host(made.ghost_sources), host(brought.ghost_sources));
      EXPECT_EQ(fields<Panel>(made.panel), fields<Panel>(brought.panel));
      OwnedPattern<I> other = T;
      const I last = lower ? T.n - 1 : 0;
      other.column[T.row_begin[last]] += lower ? 1 : -1;
      EXPECT_FALSE(fill_star_arrays<Panel>(star, OnDevice<I>(other).view(), &made)) << "a row reads somebody else";
    }
}

std::vector<std::int64_t> members(const Tile& b)
{
  std::vector<std::int64_t> all = {b.first_row, b.first_run, b.first_panel, b.first_step, b.first_ghost,
                                   b.runs,      b.rows,      b.panels,      b.steps,      b.first_exported, b.exports,
                                   b.ghosts};
  all.insert(all.end(), std::begin(b.width), std::end(b.width));
  return all;
}

/// Compares plans for parts of planes, runs of lines and runs of rows.
template <class I> void compare_ghost_plans(const OwnedPattern<I>& T, bool lower, const TileRule& rule)
{
  LevelSets<I> levels;
  TilePlan<I> truth;
  ASSERT_TRUE(make_level_sets(T.view(), lower, &levels).ok());
  const Status status = make_tile_plan(T.view(), lower, levels, rule, &truth);
  ASSERT_TRUE(status.ok() || status.code == Code::no_plan) << status.message();
  const OnDevice<I> there(T);
  const DeviceLevels<I> device_levels = upload_levels(levels);
  DeviceTriangle<I> triangle(lower, there.view(), longest_of(T.view(), 1), true);
  triangle.device_levels = &device_levels;
  triangle.grid = find_grid(T.view(), lower);
  triangle.row_bandwidth = typical_row_bandwidth(T.view(), lower);
  TilePlan<I> frame;
  TileArrays<I> made;
  const int near = row_capacities[size_of_ghosts(triangle.longest(), rule)];
  const auto compare = [&](auto size) {
    using Panel = TilePanel<double, size>;
    Status own;
    try {
      ASSERT_TRUE(make_ghost_plan(triangle, rule, PanelShape::shape_of<Panel>(), &frame, &made));
    } catch (const Failure& failure) {
      own = failure.status;
    }
    ASSERT_EQ(own.message(), status.message());
    if (!own.ok()) return;
    const auto brought = TileArrays<I>::template upload_tiles<Panel>(truth);
    EXPECT_EQ(frame.warps, truth.warps);
    EXPECT_EQ(frame.slots, truth.slots);
    EXPECT_EQ(frame.alias_shift, truth.alias_shift);
    EXPECT_EQ(frame.exports, truth.exports);
    EXPECT_EQ(frame.most_ghosts, truth.most_ghosts);
    EXPECT_EQ(frame.is_chain, truth.is_chain);
    const auto blocks = host(made.tile);
    ASSERT_EQ(blocks.size(), truth.tiles.size());
    for (std::size_t t = 0; t < blocks.size(); ++t) EXPECT_EQ(members(blocks[t]), members(truth.tiles[t])) << t;
    EXPECT_EQ(host(made.source), host(brought.source));
    EXPECT_EQ(host(made.row), host(brought.row));
    EXPECT_EQ(host(made.ghost_sources), host(brought.ghost_sources));
    EXPECT_EQ(host(made.position), host(brought.position));
    EXPECT_EQ(fields<Panel>(made.panel), fields<Panel>(brought.panel));
  };
  ASSERT_GT(near, 0);
  if (near == row_capacities[0]) compare(std::integral_constant<int, row_capacities[0]>());
  else if (near == row_capacities[1]) compare(std::integral_constant<int, row_capacities[1]>());
  else compare(std::integral_constant<int, row_capacities[2]>());
}

/// Makes a copy in which every seventh row reads no other.
template <class I> OwnedPattern<I> without_some_rows(const OwnedPattern<I>& T)
{
  OwnedPattern<I> out;
  out.n = T.n;
  for (I row = 0; row < T.n; ++row) {
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1] && row % 7 != 3; ++k) out.column.push_back(T.column[k]);
    out.row_begin.push_back(static_cast<I>(out.column.size()));
  }
  return out;
}

TYPED_TEST(Plans, plan_tiles_with_ghosts_as_the_host_does)
{
  using I = TypeParam;
  TileRule by_itself, short_runs, narrow_steps, of_nodes, parts_of_planes, no_room, aliased, hardly_overlaid;
  short_runs.rows = 37;
  narrow_steps.warps = 1;
  of_nodes.rows_a_warp = 3;
  parts_of_planes.ghost_slots[2] = aliased.ghost_slots[2] = hardly_overlaid.ghost_slots[2] = 230;
  parts_of_planes.alias_slots = 0, hardly_overlaid.alias_slots = 150;
  no_room.ghost_slots[0] = no_room.ghost_slots[1] = no_room.ghost_slots[2] = 40;
  for (const bool lower : {true, false}) {
    const std::vector<OwnedPattern<I>> triangles = {
        stencil_triangle<I>(13, 11, 9, true, lower), without_some_rows(stencil_triangle<I>(13, 11, 9, true, lower)),
        stencil_triangle<I>(14, 11, 9, true, lower), stencil_triangle<I>(60, 45, 1, true, lower),
        random_deep_triangle<I>(8, 300, 1, lower), random_triangle<I>(11, 400, 1, lower)};
    for (std::size_t t = 0; t < triangles.size(); ++t)
      for (const TileRule& rule : {by_itself, short_runs, narrow_steps, of_nodes, parts_of_planes, no_room, aliased,
                                      hardly_overlaid}) {
        SCOPED_TRACE(testing::Message() << "triangle " << t << (lower ? " lower" : " upper"));
        ASSERT_LE(longest_of(triangles[t].view(), 1), row_capacities[ghost_sizes - 1]);
        compare_ghost_plans(triangles[t], lower, rule);
      }
  }
}

/// Makes rules that each end groups for a different reason.
std::vector<MergeRule> merge_rules()
{
  std::vector<MergeRule> rules(9);
  rules[1].most_levels = 1;
  rules[2].hop = 0;
  rules[3].most_levels = 10, rules[3].most_fill = 100, rules[3].run_levels = 1000;
  rules[4].most_fill = 1.5;
  rules[5].entry = 2e-3, rules[5].run_levels = 32, rules[5].wanted_runs = 5;
  rules[6].entry = 1e-7, rules[6].most_fill = 50;
  rules[7].most_bytes = 160000, rules[7].entry_bytes = 4, rules[7].substitution_bytes = 3;
  rules[8].most_bytes = 160000, rules[8].entry_bytes = 3, rules[8].substitution_bytes = 5;
  rules[8].run_levels = 16, rules[8].wanted_runs = 5;
  return rules;
}

std::size_t wide_rows_seen = 0;  // of plans compared so far

/// Compares the rows that read something in each step, in any order, with those found by brute force.
///   plan  loses its step counts
template <class I> void expect_steps(DeviceMergePlan<I>* plan)
{
  const auto depth = host(plan->depth);
  const auto group = host(plan->group), group_level = host(plan->group_level), level_begin = host(plan->level_begin),
             p_begin = host(plan->p_begin), p_column = host(plan->p_column), r_begin = host(plan->r_begin);
  const MergeSteps<I> steps(plan, nullptr);
  EXPECT_TRUE(plan->step_counts.empty());
  const std::size_t n = group.size();
  std::int64_t longest = 0;
  for (std::size_t at = 0; at < n; ++at)
    longest = std::max<std::int64_t>(longest, p_begin[at + 1] - p_begin[at] + r_begin[at + 1] - r_begin[at]);
  EXPECT_EQ(steps.longest_row(), longest);
  ASSERT_EQ(std::int64_t(1) << steps.step_count() >= plan->longest, true);
  for (int step = 0; step < steps.step_count(); ++step) {
    std::vector<std::array<std::int64_t, 3>> truth, found;
    for (std::size_t at = 0; at < n; ++at) {
      const std::int64_t block = (static_cast<std::int64_t>(depth[at]) - 1) >> step;
      if (block % 2 == 0) continue;
      const std::int64_t level = group_level[group[at]] + ((block - 1) << step);
      std::int64_t begin = 0, end = 0;  // of the row's entries of P
      for (I k = p_begin[at]; k < p_begin[at + 1]; ++k) {
        begin += p_column[k] < level_begin[level];
        end += p_column[k] < level_begin[level + (std::int64_t(1) << step)];
      }
      if (begin < end) truth.push_back({static_cast<std::int64_t>(at), begin, end});
    }
    ASSERT_EQ(steps.rows_of_step(step), truth.size()) << step;
    std::vector<BlockReads<I>> listed(truth.size());
    copy_to_host(listed.data(), steps.reads(step), listed.size());
    for (const BlockReads<I>& reads : listed) found.push_back({reads.position, reads.begin, reads.end});
    const auto work = [&](const std::array<std::int64_t, 3>& reads) {
      const I at = static_cast<I>(reads[0]);
      const I entries = p_begin[at + 1] - p_begin[at] + r_begin[at + 1] - r_begin[at];
      return static_cast<std::uint64_t>((reads[2] - reads[1]) * ((entries + entries_of_part - 1) / entries_of_part));
    };
    std::uint64_t all = 0;
    for (const auto& reads : found) all += work(reads);
    unsigned wide = 0;
    if (!found.empty()) copy_to_host(&wide, steps.wide_rows(step), 1);
    ASSERT_LE(wide, found.size());
    EXPECT_LE(wide, steps.most_wide_rows(step));
    EXPECT_EQ(wide > 0, steps.most_wide_rows(step) > 0);
    wide_rows_seen += wide;
    for (std::size_t k = 0; k < found.size(); ++k)
      EXPECT_EQ(work(found[k]) > most_work_of_warp(all, warps_of_device()), k < wide) << step << ", " << k;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, truth) << step;
  }
}

template <class I>
void expect_the_plan_of_the_host(const OwnedPattern<I>& T, bool lower, const MergeRule& rule, bool looks_first)
{
  LevelSets<I> levels;
  ASSERT_TRUE(make_level_sets(T.view(), lower, &levels).ok());
  MergePlan<I> truth;
  ASSERT_TRUE(make_merge_plan(T.view(), levels, rule, &truth).ok());
  const OnDevice<I> there(T);
  const DeviceArray<I> row(levels.row);
  DeviceMergePlan<I> made;
  MergePlanner<I> merging(there.view(), row.data(), levels.level_begin, rule);
  MergeForecast foreseen, expected;
  if (looks_first) ASSERT_TRUE(merging.forecast(&foreseen));
  if (lower) {  // as for the pair of L and U, else all at once
    merging.begin_groups();
    merging.begin_offsets();
    merging.begin_columns();
  }
  ASSERT_TRUE(merging.finish_plan(&made));
  DeviceMergePlan<I> brought = upload_merge_plan(truth, levels.level_begin);
  EXPECT_EQ(made.groups, truth.groups);
  EXPECT_EQ(made.span, truth.span);
  EXPECT_EQ(made.longest, brought.longest);
  EXPECT_EQ(host(made.depth), host(brought.depth));
  EXPECT_EQ(host(made.group_level), host(brought.group_level));
  EXPECT_EQ(host(made.level_begin), host(brought.level_begin));
  EXPECT_EQ(host(made.group), host(brought.group));
  EXPECT_EQ(host(made.group_begin), host(brought.group_begin));
  EXPECT_EQ(host(made.p_begin), host(brought.p_begin));
  EXPECT_EQ(host(made.p_column), host(brought.p_column));
  EXPECT_EQ(host(made.p_local), host(brought.p_local));
  EXPECT_EQ(host(made.r_begin), host(brought.r_begin));
  EXPECT_EQ(host(made.r_column), host(brought.r_column));
  EXPECT_EQ(host(made.r_local), host(brought.r_local));
  EXPECT_FALSE(made.step_counts.empty());
  expect_steps(&made);
  expect_steps(&brought);
  if (!looks_first) return;
  ASSERT_TRUE(forecast_merge(T.view(), levels, rule, &expected).ok());
  EXPECT_EQ(foreseen.groups, expected.groups);
  EXPECT_EQ(foreseen.entries, expected.entries);
  EXPECT_EQ(foreseen.longest, expected.longest);
  EXPECT_EQ(foreseen.short_of_memory, expected.short_of_memory);
}

TYPED_TEST(Plans, merge_levels_as_the_host_does)
{
  using I = TypeParam;
  for (const bool lower : {true, false}) {
    std::vector<OwnedPattern<I>> triangles = {
      random_deep_triangle<I>(1, 80, 5, lower),    random_deep_triangle<I>(6, 3000, 2, lower),
      grid_triangle<I>(60, 150, lower),            stencil_triangle<I>(16, 12, 14, true, lower),
      stencil_triangle<I>(13, 9, 11, false, lower), random_triangle<I>(3, 1, 5, lower)};
    std::vector<MergeRule> rules = merge_rules();
    if (is_left_out("merged")) rules.resize(1);  // each plan takes racecheck minutes
    for (std::size_t t = 0; t < (short_run() ? 1 : triangles.size()); ++t)
      for (const MergeRule& rule : rules) {
        SCOPED_TRACE(std::to_string(t) + (lower ? " lower, hop " : " upper, hop ") + std::to_string(rule.hop) +
                     ", entry " + std::to_string(rule.entry) + ", levels " + std::to_string(rule.most_levels));
        for (const bool looks_first : {true, false})
          if (looks_first == lower || !is_left_out("merged"))
            expect_the_plan_of_the_host(triangles[t], lower, rule, looks_first);
        if (testing::Test::HasFailure()) return;
      }
  }
}

/// Where there is memory for some of the fill, groups are estimated from those of a sample, then made to fit.
TYPED_TEST(Plans, merge_levels_within_some_bytes_after_a_sample)
{
  if (short_run()) return;
  using I = TypeParam;
  MergeRule rule;
  rule.run_levels = 64;
  rule.entry_bytes = 14, rule.substitution_bytes = 8;
  for (const std::int64_t most : {14000000, 4000000, 1000000}) {
    rule.most_bytes = most;
    for (const bool lower : {true, false})
      expect_the_plan_of_the_host(grid_triangle<I>(20, 3000, lower), lower, rule, lower);
  }
}

/// The rows of the first level have too many places for 16 bits, so that it is a group of its own.
TYPED_TEST(Plans, merge_no_levels_into_one_that_is_too_wide)
{
  if (short_run()) return;
  using I = TypeParam;
  std::vector<std::vector<I>> rows(66000);
  for (I i = 65900; i < 66000; ++i) rows[i] = {i - 65900, i - 1};
  expect_the_plan_of_the_host(pattern_of(rows), true, MergeRule(), true);
}

/// A row that reads more columns than a warp has words for, and groups of more rows than a thread block has words for
/// at once.
TYPED_TEST(Plans, merge_levels_with_long_rows)
{
  if (short_run()) return;
  using I = TypeParam;
  std::vector<std::vector<I>> rows(9000);
  for (I i = 1; i < 9000; ++i) {
    if (i % 50 == 0)
      for (I j = std::max<I>(0, i - 6000); j < i; j += 3) rows[i].push_back(j);
    if (rows[i].empty() || rows[i].back() != i - 1) rows[i].push_back(i - 1);
  }
  MergeRule rule;
  rule.entry = 1e-6, rule.most_fill = 1000;
  wide_rows_seen = 0;
  expect_the_plan_of_the_host(pattern_of(rows), true, rule, true);
  EXPECT_GT(wide_rows_seen, 0u);
}

}  // namespace
}  // namespace syncfree::cuda
