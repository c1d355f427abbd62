#pragma once

/// Guesses from a few rows whether a pattern is that of a grid in natural order.

#include <algorithm>
#include <cstdint>

#include "sampled_rows.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

/// Rows in a line, lines in a plane, planes. If the pattern is not a grid, all rows are one line.
///   next_line, next_plane  levels by which a row comes after its neighbour in the previous line or plane
///   star                   rows read only their neighbours along the axes, and no line is short
template <class I> struct Grid {
  I line = 0, lines = 1, planes = 1;
  I next_line = 1, next_plane = 1;
  bool star = false;

  /// Upper bound of the number of levels, if rows come after their neighbours by the offsets above.
  double levels_bound() const
  {
    return static_cast<double>(line) + static_cast<double>(lines) * next_line +
           static_cast<double>(planes) * next_plane;
  }
  /// Number of levels of all its points, with the offsets above.
  std::int64_t levels() const
  {
    return static_cast<std::int64_t>(line) + static_cast<std::int64_t>(lines - 1) * next_line +
           static_cast<std::int64_t>(planes - 1) * next_plane;
  }
  /// Most entries of a row of the triangle of a star stencil.
  std::int64_t longest_of_star() const { return planes > 1 ? 3 : 2; }
  /// True if it is worth testing whether the levels of the n = `rows` rows follow from their grid positions.
  bool may_have_levels(I rows) const { return lines > 1 && levels_bound() <= static_cast<double>(rows); }

  /// Level, from 1, of the point that a serial solve of a triangle of n rows visits after `step` others.
  SYNCFREE_HD std::int64_t level_of_step(I step) const
  {
    const I of_line = step / line, cell = step - of_line * line;
    return 1 + static_cast<std::int64_t>(cell) + static_cast<std::int64_t>(of_line % lines) * next_line +
           static_cast<std::int64_t>(of_line / lines) * next_plane;
  }
};

/// Guesses the grid of one triangle of A; A may consist of that triangle only. Examines a few rows: the result is a
/// guess, on which only the running time may depend.
///   node  rows in one cell, consecutive in the order of a serial solve
template <class I> Grid<I> find_grid(PatternView<I> A, bool lower, I node = 1);
/// The same from a sample, which contains rows_to_examine().
template <class I> Grid<I> find_grid(const SampledRows<I>& A, bool lower, I node = 1);

/// Sets next_line and next_plane from the levels of rows in the middle; find_grid() only guesses them.
///   depth_of(row)  level of the row
template <class I, class DepthOf> void measure_levels(const DepthOf& depth_of, I rows, bool lower, Grid<I>* grid)
{
  const std::int64_t middle = lower ? rows / 2 : (rows - 1) / 2;
  const auto levels_to = [&](std::int64_t away) {
    const std::int64_t other = lower ? middle + away : middle - away;
    return other < 0 || other >= rows ? I(1) : std::max<I>(1, depth_of(other) - depth_of(middle));
  };
  if (grid->lines > 1) grid->next_line = levels_to(grid->line);
  if (grid->planes > 1) grid->next_plane = levels_to(static_cast<std::int64_t>(grid->line) * grid->lines);
}

}  // namespace syncfree
