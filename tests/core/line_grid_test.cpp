/// Grids by lines: what lanes and bundles hand each other, step by step as a device does it, gives a serial solve.

#include "core/plan/line_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace syncfree {
namespace {

/// A triangle of a grid with random entries: entry j of each cell, 0 where it has no such neighbour.
template <Reads reads> class Triangle {
  using Form = LineForm<reads>;

public:
  explicit Triangle(const LineGrid& grid) : grid_(grid), entry(static_cast<std::size_t>(grid.rows()))
  {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> number(-0.3, 0.3);
    for (std::int64_t cell = 0; cell < grid.rows(); ++cell)
      for (int j = 0; j < Form::entries; ++j) entry[cell][j] = before(cell, j) < 0 ? 0.0 : number(random);
  }

  std::vector<double> solve(const std::vector<double>& b) const
  {
    std::vector<double> x(b.size());
    for (std::int64_t cell = 0; cell < grid_.rows(); ++cell) {
      x[cell] = b[cell];
      for (int j = 0; j < Form::entries; ++j)
        if (before(cell, j) >= 0) x[cell] -= entry[cell][j] * x[before(cell, j)];
    }
    return x;
  }

  std::int64_t levels() const
  {
    std::vector<std::int64_t> level(entry.size(), 1);
    for (std::int64_t cell = 0; cell < grid_.rows(); ++cell)
      for (int j = 0; j < Form::entries; ++j)
        if (before(cell, j) >= 0) level[cell] = std::max(level[cell], level[before(cell, j)] + 1);
    return *std::max_element(level.begin(), level.end());
  }

private:
  /// The cell's neighbour in the order of a serial solve, or -1.
  std::int64_t before(std::int64_t cell, int j) const
  {
    const Neighbour n = Form::neighbour(j);
    const std::int64_t at = cell % grid_.line - n.cell, line = cell / grid_.line % grid_.lines - n.line;
    const std::int64_t plane = cell / grid_.line / grid_.lines - n.plane;
    if (at < 0 || at >= grid_.line || line < 0 || plane < 0) return -1;
    return (plane * grid_.lines + line) * grid_.line + at;
  }

  LineGrid grid_;

public:
  std::vector<std::array<double, 4>> entry;
};

/// Numbers of all bundles: of each step and lane. What is not there is zero.
template <Reads reads> class ByLines {
  using Form = LineForm<reads>;

public:
  ByLines(const LineGrid& grid, const Triangle<reads>& T)
      : grid_(grid), T_(T), counts_(BundleCounts::of<reads>(grid)),
        number_(static_cast<std::size_t>(counts_.bundles() * counts_.steps * bundle_lines))
  {
  }

  std::vector<double> solve(const std::vector<double>& b)
  {
    std::vector<double> x(b.size(), std::nan(""));
    for (std::int64_t behind = 0; behind < counts_.stacked; ++behind)
      for (std::int64_t beside = 0; beside < counts_.across; ++beside)
        for (std::int64_t step = 0; step < counts_.steps; ++step)
          for (int lane = 0; lane < bundle_lines; ++lane) solve_cell({beside, behind}, step, lane, b, &x);
    return x;
  }

private:
  void solve_cell(const LineBundle& bundle, std::int64_t step, int lane, const std::vector<double>& b,
                  std::vector<double>* x)
  {
    const LanePlace line = bundle.lane<reads>(grid_, lane);
    if (!line.has_cell(grid_, step)) return;
    const std::int64_t cell = line.serial(grid_, step);
    const auto& entry = T_.entry[cell];
    double sum = b[cell] - entry[0] * at(bundle, step - 1, lane);
    if (Form::in_space) sum -= entry[1] * from_side(bundle, step, lane) + entry[2] * from_stack(bundle, step, lane);
    for (int j = 1; !Form::in_space && j < Form::entries; ++j)
      sum -= entry[j] * from_stack(bundle, step + 1 - j, lane);
    EXPECT_TRUE(std::isnan((*x)[cell])) << "twice";
    (*x)[cell] = sum;
    number_[place(bundle, step, lane)] = sum;
  }

  /// What a lane gets for a step, from the lane before it or from the bundle before.
  double from_stack(const LineBundle& bundle, std::int64_t step, int lane) const
  {
    constexpr int back = Form::in_space ? Form::height : 1;
    if (lane >= back) return at(bundle, step - 1, lane - back);
    const LineBundle before = Form::in_space ? LineBundle{bundle.beside, bundle.behind - 1}
                                             : LineBundle{bundle.beside - 1, bundle.behind};
    return at(before, step + Form::stack_delay, bundle_lines - back + lane);
  }
  double from_side(const LineBundle& bundle, std::int64_t step, int lane) const
  {
    if (lane % Form::height > 0) return at(bundle, step - 1, lane - 1);
    return at({bundle.beside - 1, bundle.behind}, step + Form::side_delay, lane + Form::height - 1);
  }

  std::size_t place(const LineBundle& bundle, std::int64_t step, int lane) const
  {
    const std::int64_t which = bundle.behind * counts_.across + bundle.beside;
    return static_cast<std::size_t>((which * counts_.steps + step) * bundle_lines + lane);
  }
  double at(const LineBundle& bundle, std::int64_t step, int lane) const
  {
    if (bundle.beside < 0 || bundle.behind < 0 || step < 0 || step >= counts_.steps) return 0;
    return number_[place(bundle, step, lane)];
  }

  LineGrid grid_;
  const Triangle<reads>& T_;
  BundleCounts counts_;
  std::vector<double> number_;
};

template <Reads reads> void expect_serial_solve(std::int64_t line, std::int64_t lines, std::int64_t planes)
{
  SCOPED_TRACE(testing::Message() << line << " x " << lines << " x " << planes);
  const LineGrid grid = {line, lines, planes, true};
  const Triangle<reads> T(grid);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> b(static_cast<std::size_t>(grid.rows()));
  for (double& v : b) v = number(random);
  const std::vector<double> x = ByLines<reads>(grid, T).solve(b), truth = T.solve(b);
  for (std::size_t cell = 0; cell < x.size(); ++cell) ASSERT_NEAR(x[cell], truth[cell], 1e-12) << "cell " << cell;
}

TEST(LineGrids, bundles_of_a_plane_give_a_serial_solve)
{
  for (const auto& side : {std::array<std::int64_t, 2>{40, 31}, {33, 32}, {7, 100}, {100, 65}, {1, 40}, {2, 33}}) {
    expect_serial_solve<Reads::cross>(side[0], side[1], 1);
    expect_serial_solve<Reads::corner>(side[0], side[1], 1);
    expect_serial_solve<Reads::box>(side[0], side[1], 1);
  }
}

TEST(LineGrids, bundles_in_space_give_a_serial_solve)
{
  for (const auto& side : {std::array<std::int64_t, 3>{13, 12, 11}, {8, 8, 4}, {9, 17, 13}, {3, 7, 3}, {30, 9, 2}})
    expect_serial_solve<Reads::space>(side[0], side[1], side[2]);
}

template <Reads reads> void expect_levels_of_triangle(const LineGrid& grid)
{
  EXPECT_EQ(grid.levels<reads>(), Triangle<reads>(grid).levels())
      << grid.line << " x " << grid.lines << " x " << grid.planes << ", entries " << LineForm<reads>::entries;
}

/// By which a grid is told from one that lacks neighbours.
TEST(LineGrids, know_their_levels)
{
  for (const auto& side : {std::array<std::int64_t, 2>{40, 31}, {2, 33}, {7, 100}, {100, 2}}) {
    const LineGrid grid = {side[0], side[1], 1, true};
    expect_levels_of_triangle<Reads::cross>(grid);
    expect_levels_of_triangle<Reads::corner>(grid);
    expect_levels_of_triangle<Reads::box>(grid);
  }
  for (const auto& side : {std::array<std::int64_t, 3>{13, 12, 11}, {2, 8, 4}, {9, 1, 13}, {30, 9, 2}})
    expect_levels_of_triangle<Reads::space>({side[0], side[1], side[2], true});
}

TEST(LineGrids, rows_of_an_upper_triangle_count_from_the_end)
{
  const LineGrid lower = {5, 4, 3, true}, upper = {5, 4, 3, false};
  EXPECT_EQ(lower.row_of(7), 7);
  EXPECT_EQ(upper.row_of(7), 52);
}

}  // namespace
}  // namespace syncfree
