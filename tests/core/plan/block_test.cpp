#include "core/plan/block_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "battery.hpp"
#include "oracle.hpp"
#include "watchdog.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Plan = BlockPlan<I>;

constexpr BlockShape shapes[] = {BlockShape::column, BlockShape::row, BlockShape::recursive};

BlockTable table_with(std::int64_t least_rows)
{
  BlockTable table = *find_block_table("paper");
  table.least_rows = least_rows;
  return table;
}

Plan make_plan(const PatternView<I>& T, bool lower, BlockShape shape, std::int64_t least_rows)
{
  Plan plan;
  EXPECT_TRUE(make_block_plan(T, lower, shape, table_with(least_rows), &plan).ok());
  return plan;
}

/// A full strictly lower triangle.
OwnedTriangle<double, I> dense(I n)
{
  OwnedTriangle<double, I> T;
  T.lower = true;
  T.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = 0; j < i; ++j) T.column.push_back(j);
    T.row_begin.push_back(static_cast<I>(T.column.size()));
  }
  T.value.resize(T.column.size(), 1);
  return T;
}

std::int64_t items_updated(const Plan& plan)
{
  std::int64_t sum = 0;
  for (const auto& block : plan.blocks) sum += block.rows;
  return sum;
}

std::int64_t items_loaded(const Plan& plan)
{
  std::int64_t sum = 0;
  for (const auto& block : plan.blocks)
    if (!block.triangle()) sum += block.columns;
  return sum;
}

/// Returns the position of each row; a row has exactly one.
std::vector<I> positions_of(const Plan& plan)
{
  const I n = static_cast<I>(plan.row.size());
  std::vector<I> position(n, -1);
  for (I p = 0; p < n; ++p) {
    EXPECT_TRUE(plan.row[p] >= 0 && plan.row[p] < n && position[plan.row[p]] == -1) << plan.row[p];
    position[plan.row[p]] = p;
  }
  return position;
}

/// Executes a plan: what is read has been solved, what is changed has not.
struct Replay {
  const PatternView<I> T;
  const Plan& plan;
  const std::vector<I> position;
  std::vector<int> seen;     ///< by entry of the triangle
  std::vector<bool> solved;  ///< by position

  Replay(const PatternView<I>& triangle, const Plan& made)
      : T(triangle), plan(made), position(positions_of(made)), seen(T.nnz(), 0), solved(T.n, false)
  {
  }

  void expect_entry(const Block<I>& block, I p, I k)
  {
    const I entry = plan.source[block.entry + k], column = plan.column[block.entry + k];
    const I q = block.first_column + column;
    ++seen[entry];
    ASSERT_LT(column, block.columns);
    ASSERT_LT(q, p);
    ASSERT_TRUE(block.triangle() || solved[q]) << "read before it is solved";
    EXPECT_EQ(position[T.column[entry]], q);
    EXPECT_TRUE(T.row_begin[plan.row[p]] <= entry && entry < T.row_begin[plan.row[p] + 1]);
  }

  void expect_block(const Block<I>& block)
  {
    const PatternView<I> pattern = plan.pattern_of(block);
    for (I r = 0; r < block.stored; ++r) {
      const I row = block.only_filled() ? plan.stored_row[block.stored_row + r] : r;
      ASSERT_LT(row, block.rows);
      ASSERT_FALSE(solved[block.first_row + row]) << "changed after it was solved";
      const bool empty = pattern.row_begin[r] == pattern.row_begin[r + 1];
      EXPECT_FALSE(block.only_filled() && empty) << "an empty row is stored";
      for (I k = pattern.row_begin[r]; k < pattern.row_begin[r + 1]; ++k) expect_entry(block, block.first_row + row, k);
    }
    for (I r = 0; block.triangle() && r < block.rows; ++r) solved[block.first_row + r] = true;
  }
};

/// Expects every entry of the triangle in exactly one block, at its position, and every row after all rows it reads.
void expect_whole(const PatternView<I>& T, const Plan& plan)
{
  ASSERT_EQ(plan.row.size(), static_cast<std::size_t>(T.n));
  Replay replay(T, plan);
  for (const Block<I>& block : plan.blocks) replay.expect_block(block);
  EXPECT_EQ(replay.seen, std::vector<int>(replay.seen.size(), 1));
  EXPECT_EQ(replay.solved, std::vector<bool>(replay.solved.size(), true));
}

/// First row, rows, first column, columns.
using Extent = std::tuple<I, I, I, I>;

std::vector<Extent> extents(const Plan& plan)
{
  std::vector<Extent> all;
  for (const Block<I>& block : plan.blocks)
    all.push_back({block.first_row, block.rows, block.first_column, block.columns});
  return all;
}

std::vector<I> listed(const Array<I>& array) { return {array.begin(), array.end()}; }

/// Four triangles of two rows each: the rectangles below, to the left, and the squares of both halves.
TEST(BlockPlan, cuts_eight_rows_by_columns_by_rows_and_recursively)
{
  const auto T = dense(8);
  const auto blocks = [&](BlockShape shape) { return extents(make_plan(T.pattern(), true, shape, 2)); };
  EXPECT_EQ(blocks(BlockShape::column), (std::vector<Extent>{{0, 2, 0, 2}, {2, 6, 0, 2}, {2, 2, 2, 2}, {4, 4, 2, 2},
                                                             {4, 2, 4, 2}, {6, 2, 4, 2}, {6, 2, 6, 2}}));
  EXPECT_EQ(blocks(BlockShape::row), (std::vector<Extent>{{0, 2, 0, 2}, {2, 2, 0, 2}, {2, 2, 2, 2}, {4, 2, 0, 4},
                                                          {4, 2, 4, 2}, {6, 2, 0, 6}, {6, 2, 6, 2}}));
  EXPECT_EQ(blocks(BlockShape::recursive), (std::vector<Extent>{{0, 2, 0, 2}, {2, 2, 0, 2}, {2, 2, 2, 2}, {4, 4, 0, 4},
                                                                {4, 2, 4, 2}, {6, 2, 4, 2}, {6, 2, 6, 2}}));
}

/// Offsets and columns are the block's own; sources are the triangle's entries.
TEST(BlockPlan, stores_four_dense_rows_block_by_block)
{
  const auto T = dense(4);
  const Plan plan = make_plan(T.pattern(), true, BlockShape::column, 2);
  EXPECT_EQ(extents(plan), (std::vector<Extent>{{0, 2, 0, 2}, {2, 2, 0, 2}, {2, 2, 2, 2}}));
  EXPECT_EQ(plan.row, (std::vector<I>{0, 1, 2, 3}));
  EXPECT_EQ(listed(plan.row_begin), (std::vector<I>{0, 0, 1, 0, 2, 4, 0, 0, 1}));
  EXPECT_EQ(listed(plan.column), (std::vector<I>{0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(listed(plan.source), (std::vector<I>{0, 1, 2, 3, 4, 5}));
}

/// The last row of an upper triangle has the first position.
TEST(BlockPlan, numbers_an_upper_triangle_from_its_end)
{
  const std::vector<I> row_begin = {0, 3, 5, 6, 6}, column = {1, 2, 3, 2, 3, 3};
  const Plan plan = make_plan({4, row_begin.data(), column.data()}, false, BlockShape::row, 2);
  EXPECT_EQ(extents(plan), (std::vector<Extent>{{0, 2, 0, 2}, {2, 2, 0, 2}, {2, 2, 2, 2}}));
  EXPECT_EQ(plan.row, (std::vector<I>{3, 2, 1, 0}));
  EXPECT_EQ(listed(plan.column), (std::vector<I>{0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(listed(plan.source), (std::vector<I>{5, 4, 3, 2, 1, 0}));
}

/// Tables 1 and 2 of the paper, in multiples of n.
TEST(BlockPlan, touches_as_many_items_of_b_and_x_as_the_paper_counts)
{
  const I n = 1024;
  const auto T = dense(n);
  struct Row {
    BlockShape shape;
    I parts;
    double updated, loaded;
  };
  for (const Row& row : {Row{BlockShape::column, 4, 2.5, 0.75}, Row{BlockShape::row, 4, 1.75, 1.5},
                         Row{BlockShape::recursive, 4, 2, 1}, Row{BlockShape::column, 16, 8.5, 0.9375},
                         Row{BlockShape::row, 16, 1.9375, 7.5}, Row{BlockShape::recursive, 16, 3, 2},
                         Row{BlockShape::recursive, 256, 5, 4}}) {
    const Plan plan = make_plan(T.pattern(), true, row.shape, n / row.parts);
    EXPECT_EQ(static_cast<double>(items_updated(plan)), row.updated * n) << row.parts;
    EXPECT_EQ(static_cast<double>(items_loaded(plan)), row.loaded * n) << row.parts;
    const auto triangle = [](const Block<I>& block) { return block.triangle(); };
    EXPECT_EQ(std::count_if(plan.blocks.begin(), plan.blocks.end(), triangle), row.parts);
    EXPECT_EQ(plan.blocks.size(), 2 * static_cast<std::size_t>(row.parts) - 1);
  }
}

TEST(BlockPlan, holds_each_entry_once_for_the_whole_battery)
{
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || (short_run() && entry.name == std::string("n_100000"))) continue;
    SCOPED_TRACE(entry.name);
    const auto F = oracle_ilu0(make_battery_matrix<double, I>(entry.name, 0));
    for (bool lower : {true, false}) {
      const auto T = take_triangle<double>(F, lower, true);
      for (BlockShape shape : shapes)
        for (I least : {T.n / 3 + 1, T.n / 17 + 1, T.n + 1})
          expect_whole(T.pattern(), make_plan(T.pattern(), lower, shape, least));
    }
  }
}

TEST(BlockPlan, is_one_triangle_where_nothing_is_to_be_cut)
{
  const auto T = dense(30);
  for (BlockShape shape : shapes)
    for (I least : {16, 30, 1000}) {
      const Plan plan = make_plan(T.pattern(), true, shape, least);
      ASSERT_EQ(plan.blocks.size(), 1u);
      EXPECT_EQ(plan.blocks[0].rows, 30);
      EXPECT_EQ(plan.blocks[0].levels, 30);
      EXPECT_EQ(plan.blocks[0].kernel, BlockKernel::sync_free);
    }
  Plan none;
  const std::vector<I> begin = {0};
  ASSERT_TRUE(make_block_plan({0, begin.data(), nullptr}, true, BlockShape::recursive, table_with(1), &none).ok());
  EXPECT_TRUE(none.blocks.empty());
}

/// Rows of equal parity are independent: sorted by level, half of the matrix is one square between two diagonal
/// matrices.
TEST(BlockPlan, sorts_by_levels_before_it_cuts)
{
  const I n = 64;
  OwnedTriangle<double, I> T;
  T.lower = true;
  T.n = n;
  for (I i = 0; i < n; ++i) {
    if (i % 2) T.column.push_back(i - 1);
    T.row_begin.push_back(static_cast<I>(T.column.size()));
  }
  const Plan plan = make_plan(T.pattern(), true, BlockShape::recursive, n / 2);
  ASSERT_EQ(plan.blocks.size(), 3u);
  EXPECT_EQ(plan.blocks[0].kernel, BlockKernel::diagonal);
  EXPECT_EQ(plan.blocks[1].kernel, BlockKernel::scalar_csr);
  EXPECT_EQ(plan.blocks[2].kernel, BlockKernel::diagonal);
  EXPECT_EQ(make_plan(T.pattern(), true, BlockShape::row, n / 2).blocks[0].kernel, BlockKernel::level_set);
}

/// Four wide levels: the device solves them as one triangle, unless blocks are requested.
TEST(BlockPlans, leave_wide_levels_whole)
{
  OwnedTriangle<double, I> T;
  T.lower = true;
  T.n = 4000;
  for (I i = 0; i < T.n; ++i) {
    if (i >= 1000) T.column.push_back(i - 1000);
    T.row_begin.push_back(static_cast<I>(T.column.size()));
  }
  const auto blocks_with = [&](BlockTable table) {
    Plan plan;
    EXPECT_TRUE(make_block_plan(T.pattern(), true, BlockShape::recursive, table, &plan).ok());
    return plan.blocks.size();
  };
  BlockTable table = table_with(1000);
  table.most_rows_a_level = 999;
  EXPECT_EQ(blocks_with(table), 1u);
  table.most_rows_a_level = 1000;
  EXPECT_GT(blocks_with(table), 1u);
}

TEST(BlockTables, choose_as_algorithm_7_does)
{
  using K = BlockKernel;
  const BlockTable& paper = *find_block_table("paper");
  const std::vector<std::tuple<double, int, K>> triangles = {
      {0, 1, K::diagonal},      {1, 2, K::level_set},   {1, 100, K::level_set},    {1, 101, K::sync_free},
      {1.5, 20, K::level_set},  {15, 20, K::level_set}, {15, 21, K::sync_free},    {15.5, 20, K::sync_free},
      {3, 20000, K::sync_free}, {3, 20001, K::vendor},  {1, 20001, K::vendor}};
  for (const auto& [entries, levels, kernel] : triangles)
    EXPECT_STREQ(name_of(choose_triangle_kernel(paper, entries, levels)), name_of(kernel)) << entries << " " << levels;
  const std::vector<std::tuple<double, double, K>> rectangles = {
      {12, 0.5, K::scalar_csr},    {12, 0.51, K::scalar_dcsr},   {0.1, 0.9, K::scalar_dcsr},
      {12.1, 0.15, K::vector_csr}, {12.1, 0.16, K::vector_dcsr}, {100, 0, K::vector_csr}};
  for (const auto& [entries, empty, kernel] : rectangles)
    EXPECT_STREQ(name_of(choose_rectangle_kernel(paper, entries, empty)), name_of(kernel)) << entries << " " << empty;
  EXPECT_EQ(paper.least_rows, 20 * 4608);
  const BlockTable& h200 = *find_block_table("h200");
  EXPECT_EQ(h200.least_rows, 20 * 16896);
  EXPECT_STREQ(name_of(choose_rectangle_kernel(h200, 4, 0.5)), "scalar_csr");
  EXPECT_STREQ(name_of(choose_rectangle_kernel(h200, 4, 0.9)), "vector_dcsr") << "40 entries a row that has some";
  EXPECT_EQ(find_block_table(""), nullptr);
}

TEST(BlockTables, are_read_with_the_rows_that_the_user_wants)
{
  BlockTable table;
  ASSERT_TRUE(read_block_options({}, &table).ok());
  EXPECT_STREQ(table.name, "h200");
  EXPECT_EQ(table.least_rows, 337920);
  ASSERT_TRUE(read_block_options({"paper", 5}, &table).ok());
  EXPECT_STREQ(table.name, "paper");
  EXPECT_EQ(table.least_rows, 5);
  EXPECT_EQ(read_block_options({"h100", 0}, &table).code, Code::invalid_argument);
  EXPECT_EQ(read_block_options({"paper", -5}, &table).code, Code::invalid_argument);
}

}  // namespace
}  // namespace syncfree
