#pragma once

/// Grids whose pencils are solved concurrently by the lanes of a warp: positions of cells, pencils and values.
///
/// A pencil group is 32 pencils: adjacent ones of a plane, or 8 of a plane in 4 planes. In a step each lane solves a
/// cell of its pencil, `skew` cells later than the pencil before, so that everything it reads was solved in earlier
/// steps. A pencil group reads the last pencils of earlier groups: in space, those of the group before it in z (the
/// planes before) and, in the same planes, of the group before it in x; in a plane, those of the group before it.

#include <cstddef>
#include <cstdint>

#include "syncfree/host_device.hpp"

namespace syncfree {

/// Earlier neighbours that a cell reads: in a plane those to the west and the south, and the corners next to the
/// southern one; in space one along each axis.
enum class Stencil { star5, lower7, box9, star7 };

/// Distance back to a neighbour, in cells, pencils and planes; south-east is one pencil back and one cell ahead.
struct Neighbour {
  int cell, line, plane;
};

template <Stencil reads> struct PencilForm {
  static constexpr bool in_space = reads == Stencil::star7;
  static constexpr int entries = reads == Stencil::star5 ? 2 : reads == Stencil::box9 ? 4 : 3;
  static constexpr int height = in_space ? 8 : 32, depth = 32 / height;  ///< pencils of a plane, planes
  static constexpr int skew = reads == Stencil::box9 ? 2 : 1;
  static constexpr int lead = skew - 1;  ///< steps before the first cell
  /// Number of values of a step that the next pencil group (stack) and the adjacent one (side) read, and the number of
  /// steps by which the group that computes them is ahead of the group that reads them.
  static constexpr int stack_width = in_space ? height : 1, side_width = in_space ? depth : 0;
  static constexpr int stack_delay = in_space ? depth - 1 : skew * height - 1, side_delay = height - 1;

  /// Neighbour of entry j of a cell; the nearest in the order of a serial solve first.
  static SYNCFREE_HD Neighbour neighbour(int j)
  {
    constexpr Neighbour west = {1, 0, 0}, south_east = {-1, 1, 0}, south = {0, 1, 0}, south_west = {1, 1, 0};
    if (j == 0) return west;
    if (reads == Stencil::star7) return j == 1 ? south : Neighbour{0, 0, 1};
    if (reads != Stencil::box9) return j == 1 ? south : south_west;
    return j == 1 ? south_east : j == 2 ? south : south_west;
  }
  /// Number of values that a thread block of `pencil_groups` consecutive groups sends: those of the last group to the
  /// next thread block, then those of each group to the adjacent thread block.
  static SYNCFREE_HD std::size_t numbers_sent(std::size_t steps, unsigned pencil_groups)
  {
    return steps * (stack_width + pencil_groups * side_width);
  }
  static SYNCFREE_HD int lag_of(int lane) { return lead + skew * (lane % height) + lane / height; }
};

constexpr int chunk_steps = 8;  ///< steps whose values are moved at once
constexpr int pencils_per_group = 32;

/// Cells of a pencil, pencils of a plane, planes, in the order of a serial solve.
struct PencilGrid {
  std::int64_t line, lines, planes;
  bool lower;
  bool has_south_west = true;  ///< if cells read corners

  std::int64_t count_cells() const { return line * lines * planes; }
  /// Number of levels of a triangle whose cells have all their neighbours; pencils have at least two cells.
  template <Stencil reads> std::int64_t count_stencil_levels() const
  {
    return line + PencilForm<reads>::skew * (lines - 1) + planes - 1;
  }
  SYNCFREE_HD std::int64_t row_of_serial(std::int64_t serial) const
  {
    return lower ? serial : line * lines * planes - 1 - serial;
  }
};

/// One pencil: its plane, its index in the plane, the step of its first cell, and whether it exists.
struct PencilLane {
  std::int64_t line_of_plane, plane, lag;
  bool is_there;

  SYNCFREE_HD std::int64_t serial(const PencilGrid& grid, std::int64_t step) const
  {
    return (plane * grid.lines + line_of_plane) * grid.line + step - lag;
  }
  SYNCFREE_HD bool has_cell(const PencilGrid& grid, std::int64_t step) const
  {
    return is_there && step >= lag && step - lag < grid.line;
  }
};

/// A pencil group: its index in x (within its planes) and in z.
struct PencilGroup {
  std::int64_t group_x, group_z;

  template <Stencil reads> SYNCFREE_HD PencilLane lane(const PencilGrid& grid, int lane) const
  {
    using Form = PencilForm<reads>;
    const std::int64_t line = group_x * Form::height + lane % Form::height;
    const std::int64_t plane = group_z * Form::depth + lane / Form::height;
    return {line, plane, Form::lag_of(lane), line < grid.lines && plane < grid.planes};
  }
};

/// Numbers of pencil groups in x (within a plane) and in z; steps of each, rounded up to whole chunks.
struct PencilGroupCounts {
  std::int64_t groups_x, groups_z, steps;

  template <Stencil reads> static PencilGroupCounts count_groups(const PencilGrid& grid)
  {
    using Form = PencilForm<reads>;
    const std::int64_t last = Form::lag_of(pencils_per_group - 1) + grid.line;
    return {(grid.lines + Form::height - 1) / Form::height, (grid.planes + Form::depth - 1) / Form::depth,
            (last + chunk_steps - 1) / chunk_steps * chunk_steps};
  }
  std::int64_t pencil_groups() const { return groups_x * groups_z; }
  /// Number of cells, including those that do not exist.
  double cells() const
  {
    return static_cast<double>(pencil_groups()) * static_cast<double>(steps) * static_cast<double>(pencils_per_group);
  }
};

}  // namespace syncfree
