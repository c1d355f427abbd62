#pragma once

/// Grids whose pencils are solved side by side by the lanes of a warp: where cells, pencils and numbers stand.
///
/// A pencil group is 32 pencils: side by side in a plane, or 8 of a plane in 4 planes. In a step each lane solves a
/// cell of its line, `skew` cells behind the line before, so that all it reads was solved in the steps before. Bundles
/// read the last pencils of pencil groups before: the stack's are those of the plane before, in space, else of the same
/// plane; in space the pencil group beside hands over pencils of the same plane, too.

#include <cstddef>
#include <cstdint>

#include "syncfree/host_device.hpp"

namespace syncfree {

/// Which earlier neighbours a cell reads: in a plane those to the west and the south, and on the corners south of it;
/// in space one along each axis.
enum class Stencil { star5, lower7, box9, star7 };

/// Where a neighbour is: cells, pencils and planes before; south-east is a line before and a cell behind.
struct Neighbour {
  int cell, line, plane;
};

template <Stencil reads> struct PencilForm {
  static constexpr bool in_space = reads == Stencil::star7;
  static constexpr int entries = reads == Stencil::star5 ? 2 : reads == Stencil::box9 ? 4 : 3;
  static constexpr int height = in_space ? 8 : 32, depth = 32 / height;  ///< pencils of a plane, planes
  static constexpr int skew = reads == Stencil::box9 ? 2 : 1;
  static constexpr int lead = skew - 1;  ///< steps before the first cell
  /// Numbers of a step that the next pencil group and that beside read, and how many steps the one that they come from
  /// is ahead of the one that reads them.
  static constexpr int stack_width = in_space ? height : 1, side_width = in_space ? depth : 0;
  static constexpr int stack_delay = in_space ? depth - 1 : skew * height - 1, side_delay = height - 1;

  /// Entry j of a cell, the nearest in the order of a serial solve first.
  static SYNCFREE_HD Neighbour neighbour(int j)
  {
    constexpr Neighbour west = {1, 0, 0}, south_east = {-1, 1, 0}, south = {0, 1, 0}, south_west = {1, 1, 0};
    if (j == 0) return west;
    if (reads == Stencil::star7) return j == 1 ? south : Neighbour{0, 0, 1};
    if (reads != Stencil::box9) return j == 1 ? south : south_west;
    return j == 1 ? south_east : j == 2 ? south : south_west;
  }
  /// That a block of so many pencil groups behind each other sends: those of the last to the next block, then of each
  /// pencil group to the block beside.
  static SYNCFREE_HD std::size_t numbers_sent(std::size_t steps, unsigned pencil_groups)
  {
    return steps * (stack_width + pencil_groups * side_width);
  }
  static SYNCFREE_HD int lag_of(int lane) { return lead + skew * (lane % height) + lane / height; }
};

constexpr int chunk_steps = 8;  ///< whose numbers are moved at once
constexpr int pencils_per_group = 32;

/// Cells of a line, pencils of a plane, planes, in the order of a serial solve.
struct PencilGrid {
  std::int64_t line, lines, planes;
  bool lower;
  bool has_south_west = true;  ///< where cells read corners

  std::int64_t rows() const { return line * lines * planes; }
  /// Of a triangle whose cells have all their neighbours; pencils have two cells at least.
  template <Stencil reads> std::int64_t levels() const
  {
    return line + PencilForm<reads>::skew * (lines - 1) + planes - 1;
  }
  SYNCFREE_HD std::int64_t row_of(std::int64_t serial) const
  {
    return lower ? serial : line * lines * planes - 1 - serial;
  }
};

/// One line: what stands at step 0 if it were a cell, and whether it is there.
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

/// A pencil group: its place beside others of its planes, and how many stand before it.
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

/// Of a form: pencil groups of a plane side by side, and behind each other; steps of each, whole chunks.
struct PencilGroupCounts {
  std::int64_t groups_x, groups_z, steps;

  template <Stencil reads> static PencilGroupCounts of(const PencilGrid& grid)
  {
    using Form = PencilForm<reads>;
    const std::int64_t last = Form::lag_of(pencils_per_group - 1) + grid.line;
    return {(grid.lines + Form::height - 1) / Form::height, (grid.planes + Form::depth - 1) / Form::depth,
            (last + chunk_steps - 1) / chunk_steps * chunk_steps};
  }
  std::int64_t pencil_groups() const { return groups_x * groups_z; }
  /// With what is none.
  double cells() const
  {
    return static_cast<double>(pencil_groups()) * static_cast<double>(steps) * static_cast<double>(pencils_per_group);
  }
};

}  // namespace syncfree
