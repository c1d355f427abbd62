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
  const std::uint16_t* index(const RowBlock& block, std::uint32_t p) const
  {
    return plan.page_index(block.first_page + p / courier_page) + p % courier_page;
  }
  std::uint32_t mail(const RowBlock& block, std::uint32_t p) const
  {
    const std::uint16_t* i = index(block, p);
    return i[(plan.near + 1) * courier_page] | static_cast<std::uint32_t>(i[(plan.near + 2) * courier_page]) << 16;
  }
  /// The triangle's entries of a position that are near.
  std::vector<I> near(const RowBlock& block, std::uint32_t p) const
  {
    std::vector<I> entries;
    const std::int64_t at = block.first_page + p / courier_page;
    for (int j = 0; j < plan.near; ++j) {
      const I k = plan.source[(at * plan.near + j) * courier_page + p % courier_page];
      if (k >= 0) entries.push_back(k);
    }
    return entries;
  }
  I row_of(I entry) const
  {
    return static_cast<I>(std::upper_bound(T.row_begin.begin(), T.row_begin.end(), entry) - T.row_begin.begin() - 1);
  }
};

OwnedPattern<I> triangle(bool lower, unsigned seed, I n, unsigned percent)
{
  return random_pattern<I>(
      seed, n, percent, [=](I i, I j) { return lower ? j < i : j > i; },
      [=](I i, I j) { return lower ? j + 1 == i && i % 3 : j == i + 1 && i % 3; });
}

std::vector<CourierRule> rules()
{
  return {{1000, 1, 0, 16, 0, 8}, {60, 3, 2, 16, 1, 8}, {7, 1, 4, 16, 2, 4}, {1, 1, 2, 2, 1, 1}, {400, 9, 8, 16, 0, 2}};
}

template <class Look> void for_each_plan(Look look)
{
  for (const bool lower : {true, false})
    for (const CourierRule& rule : rules())
      for (const unsigned percent : {1u, 8u}) {
        const Planned p(triangle(lower, percent, 300, percent), lower, rule);
        SCOPED_TRACE(testing::Message() << (lower ? "lower " : "upper ") << rule.rows << " rows, " << percent << " %");
        look(p, lower, rule);
      }
}

TEST(CourierPlans, cut_the_rows_into_runs_of_bounded_length_in_the_order_of_a_solve)
{
  for_each_plan([](const Planned& p, bool lower, const CourierRule& rule) {
    I next = lower ? 0 : p.T.n;
    for (const RowBlock& block : p.plan.block) {
      EXPECT_LE(block.rows, rule.rows);
      EXPECT_EQ(block.first_row, lower ? next : next - static_cast<I>(block.rows));
      next = lower ? static_cast<I>(block.first_row + block.rows) : static_cast<I>(block.first_row);
      std::vector<I> rows = p.rows(block);
      std::sort(rows.begin(), rows.end());
      for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(rows[k], block.first_row + static_cast<I>(k));
    }
    EXPECT_EQ(next, lower ? p.T.n : 0);
    EXPECT_GE(static_cast<std::int64_t>(p.plan.block.size()), std::min<std::int64_t>(rule.blocks, p.T.n / 8));
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
        for (std::uint32_t k = begin; k < end; ++k) EXPECT_EQ(p.depth[rows[k]], p.depth[rows[begin]]);
        if (begin > 0) EXPECT_GE(p.depth[rows[begin]], p.depth[rows[begin - 1]]);
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
      std::uint32_t far_row = 0;
      for (std::uint32_t at = 0; at < block.rows; ++at) {
        const I row = p.rows(block)[at];
        const std::uint16_t* index = p.index(block, at);
        EXPECT_EQ(block.first_row + (index[0] & ~courier_far), row);
        const std::vector<I> near = p.near(block, at);
        for (std::size_t j = 0; j < near.size(); ++j) {
          ++seen[near[j]];
          EXPECT_EQ(p.row_of(near[j]), row);
          EXPECT_EQ(block.first_row + index[(j + 1) * courier_page], p.T.column[near[j]]);
          EXPECT_LT(p.depth[p.T.column[near[j]]], p.depth[row]);
          if (j > 0) EXPECT_GE(p.depth[p.T.column[near[j]]], p.depth[p.T.column[near[j - 1]]]) << "the latest last";
        }
        for (std::size_t j = near.size(); j < static_cast<std::size_t>(p.plan.near); ++j)
          EXPECT_EQ(index[(j + 1) * courier_page], block.rows) << "not the slot of zero";
        if (!(index[0] & courier_far)) continue;
        const std::uint32_t* begin = p.plan.far_begin.data() + block.first_far_begin + far_row;
        EXPECT_EQ(p.plan.far_slot[block.first_far_row + far_row++], index[0] & ~courier_far);
        EXPECT_LT(begin[0], begin[1]);
        for (std::int64_t k = block.first_far + begin[0]; k < block.first_far + begin[1]; ++k) {
          const I entry = p.plan.far_source[k];
          ++seen[entry];
          EXPECT_EQ(p.row_of(entry), row);
          EXPECT_EQ(sender[p.plan.far_place[k]], p.T.column[entry]);
        }
      }
      EXPECT_EQ(far_row, block.far_rows);
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
  const Planned p(pattern_of(rows), true, {100, 1, 4, 4, 1, 1});
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
  const CourierRule rule = {10000, 1, 0, 16, 0, 8};
  const Planned narrow(pattern_of(chain), true, rule), broad(pattern_of(wide), true, rule);
  EXPECT_EQ(narrow.plan.near, 2);
  EXPECT_EQ(narrow.plan.warps, 1);
  EXPECT_EQ(broad.plan.near, 8);
  EXPECT_GT(broad.plan.warps, 1);
}

TEST(CourierPlans, of_nothing_are_empty)
{
  const Planned p(pattern_of(std::vector<std::vector<I>>()), true, CourierRule());
  EXPECT_TRUE(p.plan.block.empty());
  EXPECT_EQ(p.plan.mails, 0u);
}

}  // namespace
}  // namespace syncfree
