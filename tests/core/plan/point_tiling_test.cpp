/// Tiles of a grid's points: all points have one, and a stencil's points read earlier tiles only.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "../patterns.hpp"
#include "core/plan/point_tiling.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;

Grid<I> grid_of(I x, I y, I z, bool box)
{
  Grid<I> grid;
  grid.line = x, grid.lines = y, grid.planes = z;
  grid.star = !box;
  if (box) grid.next_line = 2, grid.next_plane = z > 1 ? 4 : 1;
  return grid;
}

PointCosts costs_of(int size, int entries, std::size_t memory)
{
  PointCosts costs;
  costs.entries = entries, costs.points_a_warp = 32 / size;
  costs.value_bytes = 8 * static_cast<std::size_t>(size * size);
  costs.result_bytes = 8 * static_cast<std::size_t>(size);
  costs.memory = memory;
  return costs;
}

PointTilingChoice choose(I x, I y, I z, bool box, bool lower, int size, std::size_t memory = 160000)
{
  const Grid<I> grid = grid_of(x, y, z, box);
  const int entries = z > 1 ? (box ? 13 : 3) : (box ? 4 : 2);
  return choose_point_tiling<I>(grid, x * y * z, lower, static_cast<I>(grid.levels()), costs_of(size, entries, memory));
}

void expect_reads_of_earlier_tiles(const PointTiling& tiling, const OwnedPattern<I>& T)
{
  std::set<std::int64_t> seen;
  for (I row = 0; row < T.n; ++row) {
    const std::int64_t own = tiling.tile_of(row);
    ASSERT_TRUE(own >= 0 && own < tiling.tiles()) << row;
    seen.insert(own);
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) ASSERT_LE(tiling.tile_of(T.column[k]), own) << row;
  }
  EXPECT_GT(static_cast<std::int64_t>(seen.size()) * 2, tiling.tiles()) << "most tiles have points";
}

TEST(PointTiling, of_stencils_reads_earlier_tiles_only)
{
  for (const bool box : {false, true})
    for (const bool lower : {false, true})
      for (const I planes : {1, 2, 9})
        for (const I lines : {2, 7, 12}) {
          SCOPED_TRACE(testing::Message() << lines << " lines, " << planes << " planes" << (box ? ", box" : ""));
          const auto T = stencil_triangle<I>(11, lines, planes, box, lower);
          PointTiling tiling = choose(11, lines, planes, box, lower, 3).tiling;
          ASSERT_GT(tiling.tile_lines, 0);
          for (tiling.tile_planes = 1; tiling.tile_planes <= planes; ++tiling.tile_planes)
            for (tiling.tile_lines = 1; tiling.tile_lines <= lines; ++tiling.tile_lines)
              expect_reads_of_earlier_tiles(tiling, T);
        }
}

TEST(PointTiling, fits_in_shared_memory)
{
  for (const std::size_t memory : {20000u, 60000u, 160000u}) {
    const PointTilingChoice choice = choose(64, 64, 64, false, true, 5, memory);
    const PointTiling& t = choice.tiling;
    ASSERT_GT(t.tile_lines, 0) << memory;
    EXPECT_LE(t.line * (t.tile_lines * t.tile_planes + t.tile_lines + t.tile_planes) * 40,
              static_cast<std::int64_t>(memory));
  }
  EXPECT_EQ(choose(64, 64, 64, false, true, 5, 3000).tiling.tile_lines, 0) << "not one line";
  const PointTiling narrow = choose(1466, 200, 1, false, true, 2).tiling;  // many levels, each with a step and a group
  ASSERT_GT(narrow.tile_lines, 0);
  const std::int64_t steps = 1466 + narrow.tile_lines - 1;
  EXPECT_LE(1466 * (narrow.tile_lines + 1) * 16 + steps * (8 + 16), 160000);
}

/// The fastest of all shapes on an H200 took 126 and 115 us (tests/bench/EXPERIMENTS.md), level by level 269 and 198.
TEST(PointTiling, takes_shapes_that_were_fast)
{
  const PointTiling elasticity = choose(48, 48, 48, true, true, 3).tiling;
  EXPECT_LE(elasticity.tile_lines * elasticity.tile_planes, 10) << "a warp solves a level of a tile";
  const PointTilingChoice species = choose(64, 64, 64, false, true, 5);
  EXPECT_GE(species.tiling.tile_lines * species.tiling.tile_planes, 15);
  const std::int64_t points = 64 * 64 * 64;
  EXPECT_LT(species.time, time_of_point_levels(points, 3 * points, 190, costs_of(5, 3, 160000)));
}

/// A 19-point stencil: tiles store 13 blocks of each row, a solve level by level reads its 9.
TEST(PointTiling, is_compared_with_what_levels_read)
{
  const PointCosts costs = costs_of(3, 13, 160000);
  const std::int64_t rows = 200 * 200 * 200, levels = 10;
  const double microseconds = 4.0 * static_cast<double>(rows * 72) / 4.0e6;
  const double padded = time_of_point_levels(rows, 13 * rows, levels, costs);
  EXPECT_NEAR(padded - time_of_point_levels(rows, 9 * rows, levels, costs), microseconds, 1e-3);
}

TEST(PointTiling, is_empty_without_a_grid)
{
  Grid<I> none;
  none.line = 1000;
  const PointCosts costs = costs_of(3, 3, 160000);
  EXPECT_EQ(choose_point_tiling<I>(none, 1000, true, 50, costs).tiling.tile_lines, 0);
  EXPECT_EQ(choose_point_tiling<I>(grid_of(8, 8, 8, false), 511, true, 22, costs).tiling.tile_lines, 0);
}

}  // namespace
}  // namespace syncfree
