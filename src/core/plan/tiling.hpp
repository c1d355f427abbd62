#pragma once

/// Which rows a block of tile_plan.hpp owns.
///
/// Rows follow each other in the order of a serial solve. On a grid in natural order they stand in lines, and lines in
/// planes; a tile has some neighbouring cells of some neighbouring lines of some neighbouring planes, and tiles follow
/// each other cell by cell, line by line and plane by plane, too. On a stencil that reaches along the axes only, a tile
/// waits for earlier tiles only. Elsewhere tiles are runs of whole lines or, without a grid, of rows.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/pattern/grid.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

struct TileShape {
  std::int64_t cells = 0, lines = 1, planes = 1;
};

/// Parts of nearly equal size of a side of a grid, none larger than `most`.
struct AxisParts {
  std::int64_t size = 0, count = 1;

  AxisParts() = default;
  AxisParts(std::int64_t all, std::int64_t most) : size(all), count(1)
  {
    if (most > 0 && most < all) count = (all + most - 1) / most;
  }
  SYNCFREE_HD std::int64_t begin(std::int64_t part) const { return part * size / count; }
  SYNCFREE_HD std::int64_t largest() const { return (size + count - 1) / count; }
};

/// The shape for which a solve of a star's triangle should take the least time, by a model of tiles that follow each
/// other; no cells where no tile fits.
///   most_slots       of a tile, with those of its ghosts
///   multiprocessors  each has one tile at a time
///   time             microseconds on an H200
struct TileChoice {
  TileShape shape;
  double time = 0;
};
template <class I> TileChoice choose_tile(const Grid<I>& grid, std::int64_t most_slots, int multiprocessors);

/// Tiles of that shape in the order in which they can begin, by the same model: each behind those that it waits for.
template <class I> std::vector<std::uint32_t> tiles_by_begin(const Grid<I>& grid, const TileShape& shape);

/// Rows that follow each other, and where their numbers stand in a tile.
struct RowSegment {
  std::int64_t first_row = 0;
  std::uint32_t rows = 0, slot = 0;
};

/// Where a row is: its tile, and the slot of its number there.
struct RowLocation {
  std::uint32_t tile, slot;
};

/// Where rows are in tiles of whole lines, of which one stands behind the other in the order of a serial solve; may be
/// copied to a device with the arrays.
///   tile, slot  by line: of its first row in that order
template <class I> struct LineTiles {
  I rows, line;
  bool lower;
  const std::uint32_t *tile, *slot;

  SYNCFREE_HD RowLocation place_of(I row) const
  {
    const I serial = lower ? row : rows - 1 - row, own = serial / line, cell = serial - own * line;
    return {tile[own], slot[own] + static_cast<std::uint32_t>(lower ? cell : line - 1 - cell)};
  }
  /// Row k where lines follow each other in the order of a serial solve and rows ascend in each.
  SYNCFREE_HD I row_of(I k) const
  {
    const I begin = k / line * line, end = rows - begin < line ? rows : begin + line;
    return lower ? k : rows - end + (k - begin);
  }
};

/// Tiles of nearly equal size. Lines are set apart in a tile so that rows of a level stand in different banks of shared
/// memory.
template <class I> class Tiling {
public:
  Tiling() = default;
  /// No tile is larger than the shape.
  Tiling(I rows, bool lower, const Grid<I>& grid, const TileShape& shape);

  std::size_t count() const { return runs_begin_.empty() ? 0 : runs_begin_.size() - 1; }
  RowLocation place_of(I row) const
  {
    const I serial = lower_ ? row : rows_ - 1 - row, line = serial / grid_.line, cell = serial - line * grid_.line;
    const std::uint32_t part = cell_tile_[cell];
    const I slot = lower_ ? cell - cell_begin_[part] : cell_begin_[part + 1] - 1 - cell;
    return {line_tile_[line] + part, line_slot_[line] + static_cast<std::uint32_t>(slot)};
  }
  /// One more than there are tiles: its first among the runs.
  const std::vector<std::int64_t>& runs_begin() const { return runs_begin_; }
  const std::vector<RowSegment>& runs() const { return runs_; }
  std::uint32_t most_slots() const { return most_slots_; }
  /// Where tiles have whole lines; of so many lines, with arrays of this object.
  bool has_whole_lines() const { return cell_begin_.size() == 2; }
  std::size_t lines() const { return line_tile_.size(); }
  LineTiles<I> line_tiles() const { return {rows_, grid_.line, lower_, line_tile_.data(), line_slot_.data()}; }

private:
  struct Range {
    std::int64_t begin, end;
  };
  /// Those of these lines and planes.
  void add_tiles(Range lines, Range planes);
  void add_runs(std::int64_t line, std::size_t part);

  I rows_ = 0;
  bool lower_ = true;
  Grid<I> grid_;
  std::int64_t stride_ = 0;  ///< slots of a line
  std::uint32_t most_slots_ = 0, longest_ = 0;  ///< longest: rows of a line in a tile
  std::vector<std::uint32_t> line_tile_, line_slot_;  ///< by line: tile of its first cell, slot in each tile
  std::vector<std::uint32_t> cell_tile_;              ///< by cell of a line: how many tiles further
  std::vector<I> cell_begin_;                         ///< by part of a line, and the end
  std::vector<std::int64_t> runs_begin_;
  std::vector<RowSegment> runs_;
};

}  // namespace syncfree
