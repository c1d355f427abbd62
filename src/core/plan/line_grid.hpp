#pragma once

/// Grids whose lines are solved side by side by the lanes of a warp: where cells, lines and numbers stand.
///
/// A bundle is 32 lines: side by side in a plane, or 8 of a plane in 4 planes. In a step each lane solves a cell of its
/// line, `skew` cells behind the line before, so that all it reads was solved in the steps before. Bundles read the
/// last lines of bundles before: the stack's are those of the plane before, in space, else of the same plane; in space
/// the bundle beside hands over lines of the same plane, too.

#include <cstddef>
#include <cstdint>

#include "syncfree/host_device.hpp"

namespace syncfree {

/// Which earlier neighbours a cell reads: in a plane those to the west and the south, and on the corners south of it;
/// in space one along each axis.
enum class Reads { cross, corner, box, space };

/// Where a neighbour is: cells, lines and planes before; south-east is a line before and a cell behind.
struct Neighbour {
  int cell, line, plane;
};

template <Reads reads> struct LineForm {
  static constexpr bool in_space = reads == Reads::space;
  static constexpr int entries = reads == Reads::cross ? 2 : reads == Reads::box ? 4 : 3;
  static constexpr int height = in_space ? 8 : 32, depth = 32 / height;  ///< lines of a plane, planes
  static constexpr int skew = reads == Reads::box ? 2 : 1;
  static constexpr int lead = skew - 1;  ///< steps before the first cell
  /// Numbers of a step that the next bundle and that beside read, and how many steps the one that they come from is
  /// ahead of the one that reads them.
  static constexpr int stack_width = in_space ? height : 1, side_width = in_space ? depth : 0;
  static constexpr int stack_delay = in_space ? depth - 1 : skew * height - 1, side_delay = height - 1;

  /// Entry j of a cell, the nearest in the order of a serial solve first.
  static SYNCFREE_HD Neighbour neighbour(int j)
  {
    constexpr Neighbour west = {1, 0, 0}, south_east = {-1, 1, 0}, south = {0, 1, 0}, south_west = {1, 1, 0};
    if (j == 0) return west;
    if (reads == Reads::space) return j == 1 ? south : Neighbour{0, 0, 1};
    if (reads != Reads::box) return j == 1 ? south : south_west;
    return j == 1 ? south_east : j == 2 ? south : south_west;
  }
  /// That a block of so many bundles behind each other sends: those of the last to the next block, then of each bundle
  /// to the block beside.
  static SYNCFREE_HD std::size_t numbers_sent(std::size_t steps, unsigned bundles)
  {
    return steps * (stack_width + bundles * side_width);
  }
  static SYNCFREE_HD int lag_of(int lane) { return lead + skew * (lane % height) + lane / height; }
};

constexpr int chunk_steps = 8;  ///< whose numbers are moved at once
constexpr int bundle_lines = 32;

/// Cells of a line, lines of a plane, planes, in the order of a serial solve.
struct LineGrid {
  std::int64_t line, lines, planes;
  bool lower;
  bool has_south_west = true;  ///< where cells read corners

  std::int64_t rows() const { return line * lines * planes; }
  /// Of a triangle whose cells have all their neighbours; lines have two cells at least.
  template <Reads reads> std::int64_t levels() const
  {
    return line + LineForm<reads>::skew * (lines - 1) + planes - 1;
  }
  SYNCFREE_HD std::int64_t row_of(std::int64_t serial) const
  {
    return lower ? serial : line * lines * planes - 1 - serial;
  }
};

/// One line: what stands at step 0 if it were a cell, and whether it is there.
struct LanePlace {
  std::int64_t line_of_plane, plane, lag;
  bool is_there;

  SYNCFREE_HD std::int64_t serial(const LineGrid& grid, std::int64_t step) const
  {
    return (plane * grid.lines + line_of_plane) * grid.line + step - lag;
  }
  SYNCFREE_HD bool has_cell(const LineGrid& grid, std::int64_t step) const
  {
    return is_there && step >= lag && step - lag < grid.line;
  }
};

/// A bundle: its place beside others of its planes, and how many stand before it.
struct LineBundle {
  std::int64_t beside, behind;

  template <Reads reads> SYNCFREE_HD LanePlace lane(const LineGrid& grid, int lane) const
  {
    using Form = LineForm<reads>;
    const std::int64_t line = beside * Form::height + lane % Form::height;
    const std::int64_t plane = behind * Form::depth + lane / Form::height;
    return {line, plane, Form::lag_of(lane), line < grid.lines && plane < grid.planes};
  }
};

/// Of a form: bundles of a plane side by side, and behind each other; steps of each, whole chunks.
struct BundleCounts {
  std::int64_t across, stacked, steps;

  template <Reads reads> static BundleCounts of(const LineGrid& grid)
  {
    using Form = LineForm<reads>;
    const std::int64_t last = Form::lag_of(bundle_lines - 1) + grid.line;
    return {(grid.lines + Form::height - 1) / Form::height, (grid.planes + Form::depth - 1) / Form::depth,
            (last + chunk_steps - 1) / chunk_steps * chunk_steps};
  }
  std::int64_t bundles() const { return across * stacked; }
  /// With what is none.
  double cells() const
  {
    return static_cast<double>(bundles()) * static_cast<double>(steps) * static_cast<double>(bundle_lines);
  }
};

}  // namespace syncfree
