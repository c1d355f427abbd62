/// Tiles and pencils on a grid by the time model.

#include "core/choose/grid_times.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace syncfree {
namespace {

using I = std::int32_t;

TEST(GridTimes, choose_tiles_that_fit)
{
  for (const auto& [x, y, z] : {std::tuple<I, I, I>{128, 128, 128}, {100, 90, 1}, {1466, 1466, 1}, {32, 32, 32},
                                {20, 12, 15}, {3000, 20, 20}, {2, 2, 2}})
    for (const std::int64_t slots : {22000, 2000, 100}) {
      Grid<I> grid;
      grid.line = x, grid.lines = y, grid.planes = z, grid.star = true;
      const TileChoice choice = choose_tile(grid, slots, 132);
      EXPECT_EQ(choice.time > 0, choice.shape.cells > 0);
      if (choice.shape.cells == 0) continue;
      const TileShape& s = choice.shape;
      const std::int64_t ghosts = s.cells * (s.lines + s.planes) + s.lines * s.planes;
      EXPECT_LE(s.cells * s.lines * s.planes + ghosts, slots);
      EXPECT_LE(s.lines * s.planes, 128);
    }
  Grid<I> cube;
  cube.line = cube.lines = cube.planes = 128;
  const TileShape best = choose_tile(cube, 22000, 132).shape;
  EXPECT_GT(best.lines, 1);
  EXPECT_GT(best.planes, 1) << "slabs take twice as long";
}

/// Every tile once, after its predecessors along each axis.
TEST(GridTimes, begin_tiles_behind_those_they_wait_for)
{
  Grid<I> grid;
  grid.line = 60, grid.lines = 50, grid.planes = 40, grid.star = true;
  const TileShape shape = {20, 6, 7};
  const std::int64_t parts = 3, rows = 9, planes = 6;
  const std::vector<std::uint32_t> order = tiles_by_begin(grid, shape);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(parts * rows * planes));
  std::vector<std::int64_t> turn(order.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    ASSERT_LT(order[k], order.size());
    ASSERT_EQ(turn[order[k]], -1) << "twice";
    turn[order[k]] = static_cast<std::int64_t>(k);
  }
  for (std::int64_t t = 0; t < parts * rows * planes; ++t) {
    const bool has_before[3] = {t % parts > 0, t / parts % rows > 0, t / (parts * rows) > 0};
    const std::int64_t distance[3] = {1, parts, parts * rows};
    for (int a = 0; a < 3; ++a)
      if (has_before[a]) {
        EXPECT_LT(turn[t - distance[a]], turn[t]) << "axis " << a;
      }
  }
  EXPECT_LT(turn[parts * rows], turn[parts * rows - 1]) << "the next plane begins before this one ends";
}

/// Every further step and hop costs time; in a plane neither cells nor the second axis count.
TEST(GridTimes, of_pencils_grow_with_steps_and_hops)
{
  const PencilWork plane = {false, 100, 4, 0, 1e4}, space = {true, 100, 4, 3, 1e4};
  EXPECT_GT(time_of_pencil_work({false, 200, 4, 0, 1e4}), time_of_pencil_work(plane));
  EXPECT_EQ(time_of_pencil_work({false, 100, 4, 9, 1e6}), time_of_pencil_work(plane));
  EXPECT_GT(time_of_pencil_work({true, 200, 4, 3, 1e4}), time_of_pencil_work(space));
  EXPECT_GT(time_of_pencil_work({true, 100, 4, 4, 1e4}), time_of_pencil_work(space));
  EXPECT_EQ(time_of_pencil_work({true, 100, 3, 4, 1e4}), time_of_pencil_work(space));
  EXPECT_GT(time_of_pencil_work({true, 100, 4, 3, 1e6}), time_of_pencil_work(space));
}

}  // namespace
}  // namespace syncfree
