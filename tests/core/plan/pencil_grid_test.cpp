/// Grids by pencils: the exchange between lanes and pencil groups, simulated step by step as on the device, gives the
/// result of a serial solve.

#include "core/plan/pencil_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

namespace syncfree {
namespace {

/// A triangle of a grid with random entries: entry j of each cell, 0 where the cell has no such neighbour.
template <Stencil reads> class Triangle {
  using Form = PencilForm<reads>;

public:
  explicit Triangle(const PencilGrid& grid) : grid_(grid), entry(static_cast<std::size_t>(grid.count_cells()))
  {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> number(-0.3, 0.3);
    for (std::int64_t cell = 0; cell < grid.count_cells(); ++cell)
      for (int j = 0; j < Form::entries; ++j) entry[cell][j] = before(cell, j) < 0 ? 0.0 : number(random);
  }

  std::vector<double> solve(const std::vector<double>& b) const
  {
    std::vector<double> x(b.size());
    for (std::int64_t cell = 0; cell < grid_.count_cells(); ++cell) {
      x[cell] = b[cell];
      for (int j = 0; j < Form::entries; ++j)
        if (before(cell, j) >= 0) x[cell] -= entry[cell][j] * x[before(cell, j)];
    }
    return x;
  }

  std::int64_t levels() const
  {
    std::vector<std::int64_t> level(entry.size(), 1);
    for (std::int64_t cell = 0; cell < grid_.count_cells(); ++cell)
      for (int j = 0; j < Form::entries; ++j)
        if (before(cell, j) >= 0) level[cell] = std::max(level[cell], level[before(cell, j)] + 1);
    return *std::max_element(level.begin(), level.end());
  }

private:
  /// Returns the cell's neighbour j in the order of a serial solve, or -1.
  std::int64_t before(std::int64_t cell, int j) const
  {
    const Neighbour n = Form::neighbour(j);
    const std::int64_t at = cell % grid_.line - n.cell, line = cell / grid_.line % grid_.lines - n.line;
    const std::int64_t plane = cell / grid_.line / grid_.lines - n.plane;
    if (at < 0 || at >= grid_.line || line < 0 || plane < 0) return -1;
    return (plane * grid_.lines + line) * grid_.line + at;
  }

  PencilGrid grid_;

public:
  std::vector<std::array<double, 4>> entry;
};

/// A solve by pencil groups, with the value of each pencil group, step and lane; values outside are zero.
template <Stencil reads> class ByLines {
  using Form = PencilForm<reads>;

public:
  ByLines(const PencilGrid& grid, const Triangle<reads>& T)
      : grid_(grid), T_(T), counts_(PencilGroupCounts::count_groups<reads>(grid)),
        number_(static_cast<std::size_t>(counts_.pencil_groups() * counts_.steps * pencils_per_group))
  {
  }

  std::vector<double> solve(const std::vector<double>& b)
  {
    std::vector<double> x(b.size(), std::nan(""));
    for (std::int64_t group_z = 0; group_z < counts_.groups_z; ++group_z)
      for (std::int64_t group_x = 0; group_x < counts_.groups_x; ++group_x)
        for (std::int64_t step = 0; step < counts_.steps; ++step)
          for (int lane = 0; lane < pencils_per_group; ++lane) solve_cell({group_x, group_z}, step, lane, b, &x);
    return x;
  }

private:
  void solve_cell(const PencilGroup& pencil_group, std::int64_t step, int lane, const std::vector<double>& b,
                  std::vector<double>* x)
  {
    const PencilLane line = pencil_group.lane<reads>(grid_, lane);
    if (!line.has_cell(grid_, step)) return;
    const std::int64_t cell = line.serial(grid_, step);
    const auto& entry = T_.entry[cell];
    double sum = b[cell] - entry[0] * at(pencil_group, step - 1, lane);
    if (Form::in_space)
      sum -= entry[1] * from_side(pencil_group, step, lane) + entry[2] * from_stack(pencil_group, step, lane);
    for (int j = 1; !Form::in_space && j < Form::entries; ++j)
      sum -= entry[j] * from_stack(pencil_group, step + 1 - j, lane);
    EXPECT_TRUE(std::isnan((*x)[cell])) << "twice";
    (*x)[cell] = sum;
    number_[place(pencil_group, step, lane)] = sum;
  }

  /// Returns the value that a lane receives for a step, from a lane before it or from the pencil group before.
  double from_stack(const PencilGroup& pencil_group, std::int64_t step, int lane) const
  {
    constexpr int back = Form::in_space ? Form::height : 1;
    if (lane >= back) return at(pencil_group, step - 1, lane - back);
    const PencilGroup before = Form::in_space ? PencilGroup{pencil_group.group_x, pencil_group.group_z - 1}
                                             : PencilGroup{pencil_group.group_x - 1, pencil_group.group_z};
    return at(before, step + Form::stack_delay, pencils_per_group - back + lane);
  }
  double from_side(const PencilGroup& pencil_group, std::int64_t step, int lane) const
  {
    if (lane % Form::height > 0) return at(pencil_group, step - 1, lane - 1);
    return at({pencil_group.group_x - 1, pencil_group.group_z}, step + Form::side_delay, lane + Form::height - 1);
  }

  std::size_t place(const PencilGroup& pencil_group, std::int64_t step, int lane) const
  {
    const std::int64_t which = pencil_group.group_z * counts_.groups_x + pencil_group.group_x;
    return static_cast<std::size_t>((which * counts_.steps + step) * pencils_per_group + lane);
  }
  double at(const PencilGroup& pencil_group, std::int64_t step, int lane) const
  {
    if (pencil_group.group_x < 0 || pencil_group.group_z < 0 || step < 0 || step >= counts_.steps) return 0;
    return number_[place(pencil_group, step, lane)];
  }

  PencilGrid grid_;
  const Triangle<reads>& T_;
  PencilGroupCounts counts_;
  std::vector<double> number_;
};

template <Stencil reads> void expect_serial_solve(std::int64_t line, std::int64_t lines, std::int64_t planes)
{
  SCOPED_TRACE(testing::Message() << line << " x " << lines << " x " << planes);
  const PencilGrid grid = {line, lines, planes, true};
  const Triangle<reads> T(grid);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> b(static_cast<std::size_t>(grid.count_cells()));
  for (double& v : b) v = number(random);
  const std::vector<double> x = ByLines<reads>(grid, T).solve(b), truth = T.solve(b);
  for (std::size_t cell = 0; cell < x.size(); ++cell) ASSERT_NEAR(x[cell], truth[cell], 1e-12) << "cell " << cell;
}

TEST(PencilGrids, groups_of_a_plane_give_a_serial_solve)
{
  for (const auto& side : {std::array<std::int64_t, 2>{40, 31}, {33, 32}, {7, 100}, {100, 65}, {1, 40}, {2, 33}}) {
    expect_serial_solve<Stencil::star5>(side[0], side[1], 1);
    expect_serial_solve<Stencil::lower7>(side[0], side[1], 1);
    expect_serial_solve<Stencil::box9>(side[0], side[1], 1);
  }
}

TEST(PencilGrids, groups_in_space_give_a_serial_solve)
{
  for (const auto& side : {std::array<std::int64_t, 3>{13, 12, 11}, {8, 8, 4}, {9, 17, 13}, {3, 7, 3}, {30, 9, 2}})
    expect_serial_solve<Stencil::star7>(side[0], side[1], side[2]);
}

template <Stencil reads> void expect_levels_of_triangle(const PencilGrid& grid)
{
  EXPECT_EQ(grid.count_stencil_levels<reads>(), Triangle<reads>(grid).levels())
      << grid.line << " x " << grid.lines << " x " << grid.planes << ", entries " << PencilForm<reads>::entries;
}

/// The number of levels distinguishes a full grid from one that lacks neighbours.
TEST(PencilGrids, know_their_levels)
{
  for (const auto& side : {std::array<std::int64_t, 2>{40, 31}, {2, 33}, {7, 100}, {100, 2}}) {
    const PencilGrid grid = {side[0], side[1], 1, true};
    expect_levels_of_triangle<Stencil::star5>(grid);
    expect_levels_of_triangle<Stencil::lower7>(grid);
    expect_levels_of_triangle<Stencil::box9>(grid);
  }
  for (const auto& side : {std::array<std::int64_t, 3>{13, 12, 11}, {2, 8, 4}, {9, 1, 13}, {30, 9, 2}})
    expect_levels_of_triangle<Stencil::star7>({side[0], side[1], side[2], true});
}

/// Plane, index in the plane, step of the first cell, whether the pencil exists.
using Lane = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>;

template <Stencil reads> Lane lane_of(const PencilGrid& grid, const PencilGroup& group, int lane)
{
  const PencilLane pencil = group.lane<reads>(grid, lane);
  return {pencil.plane, pencil.line_of_plane, pencil.lag, pencil.is_there};
}

/// In a plane lane k has pencil k of the group, a step later than lane k - 1, or two if cells read the south-east.
TEST(PencilGrids, lanes_of_a_plane_follow_each_other)
{
  const PencilGrid grid = {3, 34, 1, true};
  EXPECT_EQ(lane_of<Stencil::star5>(grid, {0, 0}, 0), Lane(0, 0, 0, true));
  EXPECT_EQ(lane_of<Stencil::star5>(grid, {0, 0}, 31), Lane(0, 31, 31, true));
  EXPECT_EQ(lane_of<Stencil::star5>(grid, {1, 0}, 1), Lane(0, 33, 1, true));
  EXPECT_EQ(lane_of<Stencil::star5>(grid, {1, 0}, 2), Lane(0, 34, 2, false));
  EXPECT_EQ(lane_of<Stencil::box9>(grid, {0, 0}, 0), Lane(0, 0, 1, true));
  EXPECT_EQ(lane_of<Stencil::box9>(grid, {0, 0}, 31), Lane(0, 31, 63, true));
}

/// In space eight lanes have pencils of a plane, and a group has four planes.
TEST(PencilGrids, lanes_in_space_have_eight_pencils_of_four_planes)
{
  const PencilGrid grid = {3, 9, 5, true};
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {0, 0}, 7), Lane(0, 7, 7, true));
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {0, 0}, 8), Lane(1, 0, 1, true));
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {1, 0}, 8), Lane(1, 8, 1, true));
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {1, 0}, 9), Lane(1, 9, 2, false));
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {0, 1}, 0), Lane(4, 0, 0, true));
  EXPECT_EQ(lane_of<Stencil::star7>(grid, {0, 1}, 8), Lane(5, 0, 1, false));
}

TEST(PencilGrids, cells_of_a_pencil_begin_at_its_lag)
{
  const PencilGrid grid = {3, 34, 1, true};
  const PencilLane pencil = PencilGroup{0, 0}.lane<Stencil::star5>(grid, 2);
  EXPECT_FALSE(pencil.has_cell(grid, 1));
  EXPECT_TRUE(pencil.has_cell(grid, 2));
  EXPECT_EQ(pencil.serial(grid, 2), 6);
  EXPECT_EQ(pencil.serial(grid, 4), 8);
  EXPECT_FALSE(pencil.has_cell(grid, 5));
}

/// 32 lanes of 3 cells take 34 steps, or 66 two by two, in chunks of 8.
TEST(PencilGrids, groups_have_whole_chunks_of_steps)
{
  const PencilGrid flat = {3, 34, 1, true}, solid = {3, 9, 5, true};
  const auto counts = [](const PencilGroupCounts& c) {
    return std::array<std::int64_t, 3>{c.groups_x, c.groups_z, c.steps};
  };
  EXPECT_EQ(counts(PencilGroupCounts::count_groups<Stencil::star5>(flat)), (std::array<std::int64_t, 3>{2, 1, 40}));
  EXPECT_EQ(counts(PencilGroupCounts::count_groups<Stencil::box9>(flat)), (std::array<std::int64_t, 3>{2, 1, 72}));
  EXPECT_EQ(counts(PencilGroupCounts::count_groups<Stencil::star7>(solid)), (std::array<std::int64_t, 3>{2, 2, 16}));
}

TEST(PencilGrids, rows_of_an_upper_triangle_count_from_the_end)
{
  const PencilGrid lower = {5, 4, 3, true}, upper = {5, 4, 3, false};
  EXPECT_EQ(lower.row_of_serial(7), 7);
  EXPECT_EQ(upper.row_of_serial(7), 52);
}

}  // namespace
}  // namespace syncfree
