#include "core/courier_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "patterns.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Plan = CourierPlan<I>;

struct Planned {
  OwnedPattern<I> T;
  LevelSets<I> levels;
  std::vector<I> depth;
  Plan plan;

  Planned(OwnedPattern<I> pattern, bool lower, const CourierRule& rule) : T(std::move(pattern)), depth(T.n)
  {
    EXPECT_TRUE(make_level_sets(T.view(), lower, &levels).ok());
    find_levels(T.view(), lower, depth.data());
    EXPECT_TRUE(make_courier_plan(T.view(), lower, levels, rule, &plan).ok());
  }

  /// Rows of a block by position.
  std::vector<I> rows(const RowBlock& block) const
  {
    const I* first = plan.row.data() + block.first_page * courier_page;
    return {first, first + block.rows};
  }
  static std::int64_t position(const RowBlock& block, std::uint32_t p) { return block.first_page * courier_page + p; }
  std::uint32_t mail(const RowBlock& block, std::uint32_t p) const { return plan.mail_of(position(block, p)); }
  /// The triangle's entries of a position that are near.
  std::vector<I> near(const RowBlock& block, std::uint32_t p) const
  {
    std::vector<I> entries;
    for (int j = 0; j < plan.near; ++j) {
      const I k = plan.source[plan.near_place(position(block, p), j)];
      if (k >= 0) entries.push_back(k);
    }
    return entries;
  }
  I row_of(I entry) const
  {
    return static_cast<I>(std::upper_bound(T.row_begin.begin(), T.row_begin.end(), entry) - T.row_begin.begin() - 1);
  }
};

std::vector<CourierRule> rules()
{
  return {{1000},           {60, 60, 2, 16, 1},           {7, 7, 4, 16, 2},
          {1, 1, 2, 2, 1, 1}, {400, 100, 8, 16, 0, 2, 1}, {90, 0, 0, 4, 0, 8, 8, 3}};
}

template <class Look> void for_each_plan(Look look)
{
  for (const bool lower : {true, false})
    for (const CourierRule& rule : rules())
      for (const unsigned percent : {1u, 8u}) {
        const Planned p(random_deep_triangle<I>(percent, 300, percent, lower), lower, rule);
        SCOPED_TRACE(testing::Message() << (lower ? "lower " : "upper ") << rule.most_rows << " rows, " << percent);
        look(p, lower, rule);
      }
}

TEST(CourierPlans, cut_the_rows_into_runs_of_bounded_length_in_the_order_of_a_solve)
{
  for_each_plan([](const Planned& p, bool lower, const CourierRule& rule) {
    I next = lower ? 0 : p.T.n;
    for (const RowBlock& block : p.plan.block) {
      EXPECT_LE(block.rows, rule.most_rows);
      EXPECT_EQ(block.first_row, lower ? next : next - static_cast<I>(block.rows));
      next = lower ? static_cast<I>(block.first_row + block.rows) : static_cast<I>(block.first_row);
      std::vector<I> rows = p.rows(block);
      std::sort(rows.begin(), rows.end());
      for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(rows[k], block.first_row + static_cast<I>(k));
    }
    EXPECT_EQ(next, lower ? p.T.n : 0);
  });
}

TEST(CourierPlans, take_rows_by_level_in_steps_that_the_warps_hold)
{
  for_each_plan([](const Planned& p, bool, const CourierRule& rule) {
    EXPECT_LE(p.plan.warps, rule.most_warps);
    for (const RowBlock& block : p.plan.block) {
      const std::vector<I> rows = p.rows(block);
      std::uint32_t begin = 0;
      for (std::uint32_t s = 0; s < block.steps; ++s) {
        const std::uint32_t end = p.plan.step_end[block.first_step + s];
        ASSERT_GT(end, begin);
        EXPECT_LE(end - begin, 32u * p.plan.warps);
        const bool last = s + 1 == block.steps;
        for (std::uint32_t k = begin; k < end; ++k) {
          EXPECT_EQ(p.depth[rows[k]], p.depth[rows[begin]]);
          EXPECT_EQ(p.plan.next_width(Planned::position(block, k)),
                    last ? 0 : p.plan.step_end[block.first_step + s + 1] - end);
        }
        if (begin == 0) {
          EXPECT_EQ(block.first_width, end);
        }
        if (begin > 0) {
          EXPECT_GE(p.depth[rows[begin]], p.depth[rows[begin - 1]]);
        }
        begin = end;
      }
      EXPECT_EQ(begin, block.rows);
    }
  });
}

/// Each entry once: near, of an earlier step of the own block, or by mail that its row sends.
TEST(CourierPlans, give_every_entry_a_way)
{
  for_each_plan([](const Planned& p, bool, const CourierRule&) {
    std::vector<I> sender(p.plan.mails, I(-1));
    for (const RowBlock& block : p.plan.block)
      for (std::uint32_t at = 0; at < block.rows; ++at)
        if (p.mail(block, at) != courier_no_mail) {
          EXPECT_GE(p.mail(block, at), block.first_mail);
          EXPECT_LT(p.mail(block, at), block.first_mail + block.mails);
          sender[p.mail(block, at)] = p.rows(block)[at];
        }
    std::vector<int> seen(p.T.view().nnz(), 0);
    for (const RowBlock& block : p.plan.block) {
      std::size_t lane = 0;
      for (std::uint32_t at = 0; at < block.rows; ++at) {
        const I row = p.rows(block)[at];
        const std::int64_t position = Planned::position(block, at);
        EXPECT_EQ(block.first_row + p.plan.own_slot(position), row);
        const std::vector<I> near = p.near(block, at);
        for (std::size_t j = 0; j < near.size(); ++j) {
          ++seen[near[j]];
          EXPECT_EQ(p.row_of(near[j]), row);
          EXPECT_EQ(block.first_row + p.plan.near_slot(position, static_cast<int>(j)), p.T.column[near[j]]);
          EXPECT_LT(p.depth[p.T.column[near[j]]], p.depth[row]);
          if (j > 0) {
            EXPECT_GE(p.depth[p.T.column[near[j]]], p.depth[p.T.column[near[j - 1]]]) << "the latest last";
          }
        }
        for (std::size_t j = near.size(); j < static_cast<std::size_t>(p.plan.near); ++j)
          EXPECT_EQ(p.plan.near_slot(position, static_cast<int>(j)), block.rows) << "not the slot of zero";
        if (!p.plan.reads_mail(position)) continue;
        const std::size_t bundle = block.first_bundle + lane / 32, lanes = p.plan.far_lanes;
        ASSERT_LT(lane / 32, block.bundles);
        for (std::size_t l = lane % 32; l < lane % 32 + lanes; ++l) {
          EXPECT_EQ(p.plan.bundle_position[bundle * 32 + l], at);
          for (std::size_t layer = p.plan.bundle_begin[bundle]; layer < p.plan.bundle_begin[bundle + 1]; ++layer) {
            const I entry = p.plan.far_source[layer * 32 + l];
            EXPECT_EQ(entry < 0, p.plan.far_place[layer * 32 + l] == courier_no_mail);
            if (entry < 0) continue;
            ++seen[entry];
            EXPECT_EQ(p.row_of(entry), row);
            EXPECT_EQ(sender[p.plan.far_place[layer * 32 + l]], p.T.column[entry]);
          }
        }
        lane += lanes;
      }
      EXPECT_EQ((lane + 31) / 32, block.bundles);
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
  });
}

/// Rows that read many numbers of their block keep those that come last: the others are there already.
TEST(CourierPlans, keep_the_latest_entries_near)
{
  std::vector<std::vector<I>> rows(40);
  for (I i = 1; i < 40; ++i)
    for (I j = 0; j < i; ++j) rows[i].push_back(j);
  const Planned p(pattern_of(rows), true, {100, 100, 4, 4, 1, 1});
  ASSERT_EQ(p.plan.block.size(), 1u);
  for (std::uint32_t at = 4; at < 40; ++at) {
    std::set<I> columns;
    for (const I k : p.near(p.plan.block[0], at)) columns.insert(p.T.column[k]);
    const I row = static_cast<I>(at);
    EXPECT_EQ(columns, (std::set<I>{row - 4, row - 3, row - 2, row - 1}));
  }
}

TEST(CourierPlans, choose_near_and_warps_by_the_triangle)
{
  std::vector<std::vector<I>> chain(500), wide(500);
  for (I i = 1; i < 500; ++i) chain[i] = {i - 1};
  for (I i = 100; i < 500; ++i)
    for (I j = 5; j > 0; --j) wide[i].push_back(i - 100 + j < i ? i - 100 - j + 6 : i - j);
  for (auto& row : wide) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    while (!row.empty() && row.back() >= &row - wide.data()) row.pop_back();
  }
  const CourierRule rule = {10000, 500};
  const Planned narrow(pattern_of(chain), true, rule), broad(pattern_of(wide), true, rule);
  EXPECT_EQ(narrow.plan.near, 2);
  EXPECT_EQ(narrow.plan.warps, 1);
  EXPECT_EQ(broad.plan.near, 8);
  EXPECT_GT(broad.plan.warps, 1);
}

/// 7-point stencil on a grid: a plane is not shared out unevenly.
TEST(CourierPlans, cut_grids_between_planes_and_lines)
{
  const I nx = 20, ny = 12, nz = 15;
  std::vector<std::vector<I>> rows(nx * ny * nz);
  for (I i = 0; i < static_cast<I>(rows.size()); ++i) {
    if (i >= nx * ny) rows[i].push_back(i - nx * ny);
    if (i / nx % ny > 0) rows[i].push_back(i - nx);
    if (i % nx > 0) rows[i].push_back(i - 1);
  }
  for (const std::int64_t most : {1000, 100}) {
    const Planned p(pattern_of(rows), true, {most});
    const std::uint32_t plane = nx * ny, rows = p.plan.most_rows;
    EXPECT_TRUE(plane % rows == 0 || rows % plane == 0) << rows;
    EXPECT_GT(p.plan.most_rows, most / 5);
  }
}

/// Threads change nothing.
TEST(CourierPlans, tell_grids_from_meshes)
{
  EXPECT_TRUE(reaches_regularly(grid_triangle<I>(40, 30, true).view()));
  EXPECT_TRUE(reaches_regularly(grid_triangle<I>(40, 30, false).view()));
  EXPECT_FALSE(reaches_regularly(random_deep_triangle<I>(8, 1200, 1, true).view()));
}

TEST(CourierPlans, are_the_same_on_several_threads)
{
  const auto T = random_deep_triangle<I>(3, 2000, 3, true);  // enough for four threads to be worth their while
  const Planned one(T, true, {70}), four(T, true, {70, 0, 0, 16, 0, 8, 8, 4});
  EXPECT_EQ(one.plan.step_end, four.plan.step_end);
  EXPECT_EQ(one.plan.bundle_begin, four.plan.bundle_begin);
  EXPECT_EQ(one.plan.bundle_position, four.plan.bundle_position);
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  };
  EXPECT_TRUE(same(one.plan.index, four.plan.index));
  EXPECT_TRUE(same(one.plan.source, four.plan.source));
  EXPECT_TRUE(same(one.plan.far_place, four.plan.far_place));
  EXPECT_TRUE(same(one.plan.far_source, four.plan.far_source));
}

TEST(CourierPlans, of_nothing_are_empty)
{
  const Planned p(pattern_of(std::vector<std::vector<I>>()), true, CourierRule());
  EXPECT_TRUE(p.plan.block.empty());
  EXPECT_EQ(p.plan.mails, 0u);
}

}  // namespace
}  // namespace syncfree
