#pragma once

/// Recognizes a grid whose rows come level by level, as in (reverse) Cuthill-McKee order.
///
/// On a grid of 5 or 7 points, the levels are the points of equal distance from a corner, x + y + z. If rows come level
/// by level, each entry is on the same side of the diagonal as in the natural order that begins at that corner. So
/// ILU(0), IC(0) and their solves are, but for the order of additions, those of the natural order.

#include <array>
#include <cstdint>

#include "grid.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// The points of a grid by row. The first row is a corner.
///   axes   2 or 3; sides of further axes are 1
///   first  for each axis, the row that is next to the corner
///   point  packed coordinates of each row
template <class I> struct GridPoints {
  int axes = 0;
  std::array<I, 3> side = {1, 1, 1}, first = {0, 0, 0};
  Array<std::uint64_t> point;
};

/// The axes along a line, from line to line, and from plane to plane.
using GridAxes = std::array<int, 3>;

/// Returns the grid of these points.
template <class I> Grid<I> grid_along(const GridPoints<I>& points, const GridAxes& axis)
{
  Grid<I> grid;
  grid.line = points.side[axis[0]], grid.lines = points.side[axis[1]], grid.planes = points.side[axis[2]];
  grid.star = true;
  return grid;
}

/// Returns how many entries are below the diagonal.
template <class I> std::int64_t entries_below(const GridPoints<I>& points)
{
  const auto rows = static_cast<std::int64_t>(points.point.size());
  std::int64_t entries = 0;
  for (const I side : points.side) entries += rows - rows / side;
  return entries;
}

/// Finds the points. Returns false if below the diagonal the rows are not those of a grid of 5 or 7 points without
/// gaps, or if a row that is not next to the corner comes third: then lines come first, which find_grid() knows. Two
/// rows may still have the same point. Throws std::bad_alloc.
///   A     columns ascend, or are unchecked: then the result means nothing; those above the diagonal are not read
///   cost  O(nnz), serial, if the points are found; otherwise mostly that of a few rows
template <class I> bool find_grid_points(const PatternView<I>& A, GridPoints<I>* out);

/// The same of a whole matrix, which must have as many entries above the diagonal as below.
template <class I> bool find_points_of_matrix(const PatternView<I>& A, GridPoints<I>* out)
{
  return find_grid_points(A, out) && A.nnz() == A.n + 2 * entries_below(*out);
}

/// True if the first three rows do not contradict that; `A` contains these.
template <class Rows> bool may_come_by_levels(const Rows& A)
{
  if (A.n < 4) return false;
  for (const int row : {0, 1, 2}) {
    int before = 0;
    bool reads_corner = false;
    for_side(A, true, static_cast<decltype(A.n)>(row), [&](auto k) {
      ++before;
      reads_corner = A.column[k] == 0;
    });
    if (row == 0 ? before > 0 : before != 1 || !reads_corner) return false;
  }
  return true;
}

/// Finds the natural order: row[k] is the row with point k, where points are numbered line by line and plane by plane.
/// Returns false if two rows have the same point: then it is no order of a grid. Throws std::bad_alloc.
template <class I> bool order_by_points(const GridPoints<I>& points, const GridAxes& axis, Array<I>* row);

}  // namespace syncfree
