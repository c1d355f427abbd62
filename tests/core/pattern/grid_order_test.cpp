/// Grids whose rows come level by level are recognized, and their natural order is found.

#include "core/pattern/grid_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "core/ordering/graphs.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Box = std::array<I, 3>;

OwnedPattern<I> star(const Box& side) { return grid_pattern<I>(side[0], side[1], side[2], false); }

I degree(const OwnedPattern<I>& A, I row) { return A.row_begin[row + 1] - A.row_begin[row]; }

/// Breadth-first search; of the neighbours of a row those of least degree come first.
std::vector<I> cuthill_mckee(const OwnedPattern<I>& A, I root)
{
  std::vector<I> order = {root};
  std::vector<bool> is_in(A.n);
  is_in[root] = true;
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::size_t first = order.size();
    for (I k = A.row_begin[order[next]]; k < A.row_begin[order[next] + 1]; ++k) {
      const I other = A.column[k];
      if (!is_in[other]) order.push_back(other);
      is_in[other] = true;
    }
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
                     [&](I a, I b) { return degree(A, a) < degree(A, b); });
  }
  return order;
}

std::vector<I> levels_at_random(const Box& side, unsigned seed)
{
  return order_by_levels<I>(side[0], side[1], side[2], seed);
}

std::vector<I> corners(const Box& side)
{
  std::vector<I> all;
  for (const I k : {I(0), side[2] - 1})
    for (const I j : {I(0), side[1] - 1})
      for (const I i : {I(0), side[0] - 1}) all.push_back((k * side[1] + j) * side[0] + i);
  return all;
}

std::vector<Box> boxes()
{
  return {{2, 2, 1}, {2, 3, 1}, {3, 2, 1}, {5, 7, 1}, {9, 1, 4}, {1, 6, 6}, {31, 2, 1}, {2, 2, 2}, {2, 5, 3}, {4, 4, 4},
          {7, 3, 2}, {2, 2, 9}, {6, 7, 8}};
}

/// True if A(row, row) is a star stencil's grid in natural order.
bool is_natural(const OwnedPattern<I>& A, const Array<I>& row, const Grid<I>& grid)
{
  const OwnedPattern<I> natural = in_order(A, {row.begin(), row.end()});
  const OwnedPattern<I> expected = star({grid.line, grid.lines, grid.planes});
  return natural.row_begin == expected.row_begin && natural.column == expected.column;
}

/// Expects that the order that is found for all sequences of axes gives the pattern of a grid in its natural order.
void expect_grid(const OwnedPattern<I>& A, Box side)
{
  GridPoints<I> points;
  ASSERT_TRUE(find_grid_points(A.view(), &points));
  EXPECT_EQ(2 * entries_below(points) + A.n, A.view().nnz());
  const auto extended = [](I s) { return s > 1; };
  EXPECT_EQ(points.axes, std::count_if(side.begin(), side.end(), extended));
  Box found = points.side;
  std::sort(side.begin(), side.end()), std::sort(found.begin(), found.end());
  EXPECT_EQ(found, side);
  GridAxes axis = {0, 1, 2};
  do {
    Array<I> row;
    ASSERT_TRUE(order_by_points(points, axis, &row));
    const Grid<I> grid = grid_along(points, axis);
    EXPECT_TRUE(grid.star);
    EXPECT_EQ(grid.levels(), side[0] + side[1] + side[2] - 2);
    I distance = 1;
    EXPECT_EQ(row[0], 0);
    for (int a = 0; a < points.axes; ++a, distance *= points.side[axis[a - 1]])
      EXPECT_EQ(row[distance], points.first[axis[a]]);
    EXPECT_TRUE(is_natural(A, row, grid));
    std::vector<I> place(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) place[row[k]] = static_cast<I>(k);
    for (I i = 0; i < A.n; ++i)
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
        ASSERT_EQ(A.column[k] < i, place[A.column[k]] < place[i]) << "an entry changes its side of the diagonal";
  } while (std::next_permutation(axis.begin(), axis.begin() + points.axes));
}

bool is_found(const OwnedPattern<I>& A)
{
  GridPoints<I> points;
  Array<I> row;
  return find_grid_points(A.view(), &points) && order_by_points(points, {0, 1, 2}, &row);
}

TEST(GridOrder, is_found_in_cuthill_mckee_order_from_each_corner)
{
  for (const Box& side : boxes())
    for (const I corner : corners(side))
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << side[0] << " x " << side[1] << " x " << side[2] << " from " << corner
                                        << (reverse ? ", reverse" : ""));
        std::vector<I> order = cuthill_mckee(star(side), corner);
        if (reverse) std::reverse(order.begin(), order.end());
        expect_grid(in_order(star(side), order), side);
      }
}

TEST(GridOrder, is_found_in_any_order_by_levels)
{
  for (const Box& side : boxes())
    for (unsigned seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(testing::Message() << side[0] << " x " << side[1] << " x " << side[2] << ", " << seed);
      expect_grid(in_order(star(side), levels_at_random(side, seed)), side);
    }
}

/// Each entry of the matrix in turn is removed from both triangles, or one is added.
TEST(GridOrder, is_found_only_if_no_entry_is_missing_or_added)
{
  for (const Box& side : {Box{2, 2, 1}, Box{3, 4, 1}, Box{3, 2, 3}}) {
    const OwnedPattern<I> A = in_order(star(side), levels_at_random(side, 1));
    for (I i = 0; i < A.n; ++i)
      for (I j = 0; j < i; ++j) {
        std::vector<std::pair<I, I>> entries;
        bool is_there = false;
        for (I row = 0; row < A.n; ++row)
          for (I k = A.row_begin[row]; k < A.row_begin[row + 1] && A.column[k] < row; ++k) {
            if (row == i && A.column[k] == j) is_there = true;
            else entries.emplace_back(row, A.column[k]);
          }
        if (!is_there) entries.emplace_back(i, j);
        EXPECT_FALSE(is_found(pattern_with(A.n, entries))) << A.n << " rows, entry " << i << ", " << j;
      }
  }
}

/// One entry below the diagonal is another one, in all ways. What is found then, if anything, is a grid.
TEST(GridOrder, is_not_found_with_a_wrong_entry)
{
  for (const Box& side : {Box{3, 4, 1}, Box{5, 2, 1}, Box{3, 2, 3}}) {
    const OwnedPattern<I> A = in_order(star(side), levels_at_random(side, 1));
    std::vector<std::pair<I, I>> entries;
    for (I row = 0; row < A.n; ++row)
      for (I k = A.row_begin[row]; k < A.row_begin[row + 1] && A.column[k] < row; ++k)
        entries.emplace_back(row, A.column[k]);
    int found = 0;
    for (auto& [row, column] : entries) {
      const I right = column;
      for (column = 0; column < row; ++column) {
        const OwnedPattern<I> B = pattern_with(A.n, entries);
        GridPoints<I> points;
        Array<I> order;
        if (!find_grid_points(B.view(), &points) || !order_by_points(points, {0, 1, 2}, &order)) continue;
        ++found;
        EXPECT_TRUE(is_natural(B, order, grid_along(points, {0, 1, 2}))) << row << " reads " << column;
      }
      column = right;
    }
    EXPECT_GE(found, static_cast<int>(entries.size())) << "the right entry is among them";
    EXPECT_LE(found, static_cast<int>(2 * entries.size()));
  }
}

TEST(GridOrder, is_not_found_where_rows_come_in_other_orders)
{
  for (const Box& side : {Box{5, 7, 1}, Box{4, 5, 6}}) {
    const OwnedPattern<I> A = star(side);
    EXPECT_FALSE(is_found(A)) << "natural";
    for (unsigned seed = 0; seed < 20; ++seed) EXPECT_FALSE(is_found(in_order(A, random_order<I>(seed, A.n))));
    std::vector<I> red_black, from_the_middle = cuthill_mckee(A, A.n / 2);
    for (const I color : {0, 1})
      for (I r = 0; r < A.n; ++r)
        if ((r % side[0] + r / side[0] % side[1] + r / side[0] / side[1]) % 2 == color) red_black.push_back(r);
    EXPECT_FALSE(is_found(in_order(A, red_black)));
    EXPECT_FALSE(is_found(in_order(A, from_the_middle)));
  }
}

TEST(GridOrder, is_not_found_in_other_patterns)
{
  for (const auto& other : ordering_patterns<I>()) {
    EXPECT_FALSE(is_found(other.A)) << other.name;
    if (other.A.n == 0 || !other.symmetric || !other.diagonal || other.name.rfind("grid_", 0) == 0) continue;
    const std::vector<I> order = cuthill_mckee(other.A, 0);
    if (static_cast<I>(order.size()) < other.A.n) continue;  // of one part only
    EXPECT_FALSE(is_found(in_order(other.A, order))) << other.name;
  }
  EXPECT_FALSE(is_found(pattern_with<I>(9, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 6}, {5, 7}, {6, 8}})))
      << "a line from its middle";
  std::vector<std::pair<I, I>> two;  // of 3 x 3 points, one after the other
  const OwnedPattern<I> one = in_order(star({3, 3, 1}), levels_at_random({3, 3, 1}, 1));
  for (I i = 0; i < one.n; ++i)
    for (I k = one.row_begin[i]; k < one.row_begin[i + 1]; ++k)
      for (const I first : {0, 9}) two.emplace_back(first + i, first + one.column[k]);
  EXPECT_FALSE(is_found(pattern_with<I>(18, two)));
}

/// A grid of 3 x 2 points needs (2, 1), but (1, 1) is there twice.
TEST(GridOrder, has_each_point_once)
{
  const auto A = pattern_with<I>(6, {{1, 0}, {2, 0}, {3, 1}, {4, 1}, {4, 2}, {5, 1}, {5, 2}});
  GridPoints<I> points;
  Array<I> row;
  ASSERT_TRUE(find_grid_points(A.view(), &points));
  EXPECT_FALSE(order_by_points(points, {0, 1, 2}, &row));
  const auto more = pattern_with<I>(5, {{1, 0}, {2, 0}, {3, 1}, {3, 2}, {4, 1}, {4, 2}});
  EXPECT_FALSE(find_grid_points(more.view(), &points)) << "2 x 2 points and one twice";
  const auto forked = pattern_with<I>(
      8, {{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}, {5, 2}, {6, 3}, {6, 5}, {7, 4}, {7, 5}});
  EXPECT_FALSE(find_grid_points(forked.view(), &points)) << "an axis goes on twice";
  const auto four_axes = pattern_with<I>(5, {{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  EXPECT_FALSE(find_grid_points(four_axes.view(), &points));
}

/// Columns are not checked before.
TEST(GridOrder, reads_nothing_outside_of_its_arrays)
{
  const OwnedPattern<I> A = in_order(star({3, 4, 2}), levels_at_random({3, 4, 2}, 1));
  for (std::size_t k = 0; k < A.column.size(); ++k)
    for (const I bad : {I(-1), I(-1000000), A.n, I(1000000)}) {
      OwnedPattern<I> B = A;
      B.column[k] = bad;
      GridPoints<I> points;
      Array<I> row;
      if (find_grid_points(B.view(), &points)) (void)order_by_points(points, {0, 1, 2}, &row);
    }
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    OwnedPattern<I> B = A;
    const auto column = B.column.begin();
    for (I i = 0; i < B.n; ++i) std::shuffle(column + B.row_begin[i], column + B.row_begin[i + 1], random);
    (void)is_found(B);
  }
}

}  // namespace
}  // namespace syncfree
