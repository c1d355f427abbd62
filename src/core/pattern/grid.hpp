#pragma once

/// Does a pattern look like that of a grid in natural order? A guess, from a few rows.

#include <algorithm>
#include <cstdint>

#include "syncfree/csr.hpp"

namespace syncfree {

/// Rows of a line, lines of a plane, planes; all rows are one line where there is no grid.
///   next_line, next_plane  levels by which a row comes after its neighbour there
///   star                   rows read their neighbours along the axes and nobody else, and no line is short
template <class I> struct Grid {
  I line = 0, lines = 1, planes = 1;
  I next_line = 1, next_plane = 1;
  bool star = false;

  /// At most, where rows come after their neighbours as said.
  double levels() const
  {
    return static_cast<double>(line) + static_cast<double>(lines) * next_line +
           static_cast<double>(planes) * next_plane;
  }
  /// Is it worth a look whether the levels of so many rows follow from where they stand?
  bool may_have_levels(I rows) const { return lines > 1 && levels() <= static_cast<double>(rows); }
};

/// The grid of one triangle of A, which may be all that A has. Looks at a few rows: the grid is a guess, of which
/// nothing but time may depend.
///   node  so many rows in the order of a serial solve are one cell
template <class I> Grid<I> find_grid(PatternView<I> A, bool lower, I node = 1);

/// Takes next_line and next_plane from the levels of rows in the middle; find_grid() guesses them.
///   depth_of(row)  its level
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
