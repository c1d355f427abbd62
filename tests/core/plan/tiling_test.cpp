#include "core/plan/tiling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/patterns.hpp"
#include "core/schedule/bandwidth.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;

Grid<I> grid_of(const OwnedPattern<I>& T, bool lower)
{
  std::vector<I> depth(T.n);
  find_levels(T.view(), lower, depth.data());
  Grid<I> grid = find_grid(T.view(), lower);
  measure_levels([&depth](std::int64_t row) { return depth[row]; }, T.n, lower, &grid);
  return grid;
}

TEST(Tilings, find_lines_and_planes_of_a_stencil)
{
  for (const bool lower : {true, false})
    for (const auto& [x, y, z] : {std::tuple<I, I, I>{13, 9, 11}, {20, 20, 20}, {8, 31, 5}, {32, 16, 16}}) {
      SCOPED_TRACE(testing::Message() << x << " x " << y << " x " << z << (lower ? " lower" : " upper"));
      const Grid<I> star = grid_of(stencil_triangle<I>(x, y, z, false, lower), lower);
      EXPECT_TRUE(star.star);
      EXPECT_EQ(std::tie(star.line, star.lines, star.planes), std::tie(x, y, z));
      EXPECT_EQ(star.next_line, 1);
      EXPECT_EQ(star.next_plane, 1);
      const Grid<I> box = grid_of(stencil_triangle<I>(x, y, z, true, lower), lower);
      EXPECT_FALSE(box.star);
      EXPECT_EQ(std::tie(box.line, box.lines, box.planes), std::tie(x, y, z));
      EXPECT_EQ(box.next_line, 2);
      EXPECT_EQ(box.next_plane, 4);
    }
  const Grid<I> flat = grid_of(grid_triangle<I>(50, 40, true), true);
  EXPECT_TRUE(flat.star);
  EXPECT_EQ(flat.line, 50);
  EXPECT_EQ(flat.lines, 40);
  EXPECT_EQ(flat.planes, 1);
}

/// With a short line some tiles would be empty.
TEST(Tilings, make_no_star_of_lines_of_unequal_length)
{
  std::vector<std::vector<I>> rows(1037);
  for (I row = 1; row < 1037; ++row) {
    if (row >= 100) rows[row].push_back(row - 100);
    rows[row].push_back(row - 1);
  }
  const Grid<I> grid = find_grid(pattern_of(rows).view(), true);
  EXPECT_EQ(grid.line, 100);
  EXPECT_EQ(grid.lines, 11);
  EXPECT_FALSE(grid.star);
}

TEST(Tilings, find_none_elsewhere)
{
  const OwnedPattern<I> mesh = random_deep_triangle<I>(8, 900, 1, true);
  EXPECT_EQ(find_grid(mesh.view(), true).line, 900);
  EXPECT_FALSE(find_grid(mesh.view(), true).star);
  EXPECT_EQ(find_grid(pattern_of(std::vector<std::vector<I>>(70)).view(), true).line, 70);
  EXPECT_EQ(find_grid(pattern_of(std::vector<std::vector<I>>()).view(), true).line, 0);
}

/// The rows of T that are examined.
SampledRows<I> sample_of(const OwnedPattern<I>& T, bool lower, I node)
{
  SampledRows<I> sample = {T.n, rows_to_examine(T.n, lower, node), {0}, {}};
  for (const I row : sample.row) {
    sample.column.insert(sample.column.end(), T.column.begin() + T.row_begin[row],
                         T.column.begin() + T.row_begin[row + 1]);
    sample.row_begin.push_back(static_cast<I>(sample.column.size()));
  }
  return sample;
}

TEST(Tilings, find_the_same_from_a_sample)
{
  std::size_t stars = 0;
  for (const bool lower : {true, false})
    for (const auto& T : {stencil_triangle<I>(40, 30, 20, false, lower), stencil_triangle<I>(30, 20, 6, true, lower),
                          stencil_triangle<I>(90, 50, 1, false, lower), random_deep_triangle<I>(8, 3000, 1, lower),
                          pattern_of(std::vector<std::vector<I>>(70)), pattern_of(std::vector<std::vector<I>>())})
      for (const I node : {1, 2, 3}) {
        const SampledRows<I> sample = sample_of(T, lower, node);
        EXPECT_LT(sample.row.size(), 1300u);
        const Grid<I> grid = find_grid(T.view(), lower, node), guessed = find_grid(sample, lower, node);
        EXPECT_EQ(std::tie(guessed.line, guessed.lines, guessed.planes, guessed.next_line, guessed.next_plane),
                  std::tie(grid.line, grid.lines, grid.planes, grid.next_line, grid.next_plane));
        EXPECT_EQ(guessed.star, grid.star);
        EXPECT_EQ(reaches_regularly(sample, lower), reaches_regularly(T.view(), lower));
        EXPECT_EQ(typical_row_bandwidth(sample, lower), typical_row_bandwidth(T.view(), lower));
        stars += grid.star;
      }
  EXPECT_GE(stars, 4u);
}

/// Expects one slot for each row, the same as its segment gives.
void expect_places(I rows, bool lower, const Grid<I>& grid, const TileShape& shape)
{
  SCOPED_TRACE(testing::Message() << rows << " rows, tiles of " << shape.cells << " x " << shape.lines << " x "
                                  << shape.planes << (lower ? " lower" : " upper"));
  const Tiling<I> tiling(rows, lower, grid, shape);
  ASSERT_EQ(tiling.runs_begin().size(), tiling.count_tiles() + 1);
  std::vector<int> seen(rows, 0);
  for (std::size_t t = 0; t < tiling.count_tiles(); ++t) {
    std::set<std::uint32_t> slots;
    for (std::int64_t r = tiling.runs_begin()[t]; r < tiling.runs_begin()[t + 1]; ++r) {
      const RowSegment& run = tiling.runs()[r];
      for (std::uint32_t k = 0; k < run.rows; ++k) {
        const I row = static_cast<I>(run.first_row + k);
        ++seen.at(row);
        EXPECT_EQ(tiling.locate_row(row).tile, t);
        EXPECT_EQ(tiling.locate_row(row).slot, run.slot + k);
        EXPECT_LT(run.slot + k, tiling.most_slots());
        EXPECT_TRUE(slots.insert(run.slot + k).second) << "two rows in slot " << run.slot + k;
      }
    }
    EXPECT_LE(slots.size(), static_cast<std::size_t>(shape.cells * shape.lines * shape.planes));
    EXPECT_FALSE(slots.empty());
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), rows);
}

TEST(Tilings, give_every_row_one_place)
{
  for (const bool lower : {true, false}) {
    Grid<I> grid;
    grid.line = 13, grid.lines = 9, grid.planes = 5;
    for (const TileShape& shape : {TileShape{13, 3, 2}, {5, 2, 2}, {13, 9, 5}, {1, 1, 1}, {100, 4, 4}})
      expect_places(13 * 9 * 5, lower, grid, {std::min<std::int64_t>(shape.cells, 13), shape.lines, shape.planes});
    Grid<I> runs;
    runs.line = 100, runs.lines = 11;
    expect_places(1037, lower, runs, {100});  // the last line is short
    Grid<I> one;
    one.line = 2000;
    expect_places(2000, lower, one, {2000});
  }
  EXPECT_EQ(Tiling<I>(0, true, Grid<I>(), TileShape()).count_tiles(), 0u);
}

/// Sixteen lanes of a warp read values of a level at once, from sixteen banks of eight bytes.
TEST(Tilings, put_rows_of_a_level_into_different_banks)
{
  for (const bool lower : {true, false})
    for (const I line : {40, 41, 48, 63}) {
      const I lines = 8, planes = 8;
      const OwnedPattern<I> T = stencil_triangle<I>(line, lines, planes, false, lower);
      std::vector<I> depth(T.n);
      const I levels = find_levels(T.view(), lower, depth.data());
      const Tiling<I> tiling(T.n, lower, grid_of(T, lower), {line, lines, planes});
      ASSERT_EQ(tiling.count_tiles(), 1u);
      const I middle = levels / 2;  // the level has a row of every line
      std::vector<std::uint32_t> slots;
      for (std::int64_t r = 0; r < tiling.runs_begin()[1]; ++r)
        for (std::uint32_t k = 0; k < tiling.runs()[r].rows; ++k)
          if (depth[tiling.runs()[r].first_row + k] == middle) slots.push_back(tiling.runs()[r].slot + k);
      ASSERT_EQ(slots.size(), static_cast<std::size_t>(lines * planes));
      for (std::size_t first = 0; first < slots.size(); first += 16) {
        std::set<std::uint32_t> banks;
        for (std::size_t k = 0; k < 16; ++k) banks.insert(slots[first + k] % 16);
        EXPECT_EQ(banks.size(), 16u) << "line of " << line << ", lanes from " << first;
      }
    }
}

}  // namespace
}  // namespace syncfree
