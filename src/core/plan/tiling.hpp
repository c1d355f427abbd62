#pragma once

/// Assignment of rows to the tiles of tile_plan.hpp.
///
/// Rows are numbered in the order of a serial solve. On a grid in natural order they form lines, and lines form planes.
/// A tile has some neighbouring cells of some neighbouring lines of some neighbouring planes, and tiles are also
/// numbered cell by cell, line by line and plane by plane. With a stencil along the axes only, a tile waits for earlier
/// tiles only. For other patterns tiles are runs of whole lines or, without a grid, of rows.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/choose/grid_times.hpp"
#include "core/pattern/grid.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

/// Consecutive rows, and the slot of the first row's value in its tile.
struct RowSegment {
  std::int64_t first_row = 0;
  std::uint32_t rows = 0, slot = 0;
};

/// Location of a row: its tile, and the slot of its value in the tile.
struct RowLocation {
  std::uint32_t tile, slot;
};

/// Locations of rows in tiles of whole lines, numbered in the order of a serial solve; may be copied to a device with
/// the arrays.
///   tile, slot  by line: of its first row in that order
template <class I> struct LineTiles {
  I rows, line;
  bool lower;
  const std::uint32_t *tile, *slot;

  SYNCFREE_HD RowLocation locate_row(I row) const
  {
    const I serial = lower ? row : rows - 1 - row, own = serial / line, cell = serial - own * line;
    return {tile[own], slot[own] + static_cast<std::uint32_t>(lower ? cell : line - 1 - cell)};
  }
  /// Row k when lines are taken in the order of a serial solve and rows ascend within each line.
  SYNCFREE_HD I row_in_lines(I k) const
  {
    const I begin = k / line * line, end = rows - begin < line ? rows : begin + line;
    return lower ? k : rows - end + (k - begin);
  }
};

/// Tiles of nearly equal size. Lines are padded in a tile so that the rows of a level are in different banks of shared
/// memory.
template <class I> class Tiling {
public:
  Tiling() = default;
  /// Makes tiles no larger than the shape.
  Tiling(I rows, bool lower, const Grid<I>& grid, const TileShape& shape);

  std::size_t count_tiles() const { return runs_begin_.empty() ? 0 : runs_begin_.size() - 1; }
  RowLocation locate_row(I row) const
  {
    const I serial = lower_ ? row : rows_ - 1 - row, line = serial / grid_.line, cell = serial - line * grid_.line;
    const std::uint32_t part = cell_tile_[cell];
    const I slot = lower_ ? cell - cell_begin_[part] : cell_begin_[part + 1] - 1 - cell;
    return {line_tile_[line] + part, line_slot_[line] + static_cast<std::uint32_t>(slot)};
  }
  /// Offsets of the tiles in runs(); count_tiles() + 1 elements.
  const std::vector<std::int64_t>& runs_begin() const { return runs_begin_; }
  const std::vector<RowSegment>& runs() const { return runs_; }
  std::uint32_t most_slots() const { return most_slots_; }
  /// True if tiles consist of whole lines. Then lines() and line_tiles() apply; the latter points to this object's
  /// arrays.
  bool has_whole_lines() const { return cell_begin_.size() == 2; }
  std::size_t lines() const { return line_tile_.size(); }
  LineTiles<I> line_tiles() const { return {rows_, grid_.line, lower_, line_tile_.data(), line_slot_.data()}; }

private:
  struct Range {
    std::int64_t begin, end;
  };
  /// Adds the tiles of these lines and planes.
  void add_tiles(Range lines, Range planes);
  void add_runs(std::int64_t line, std::size_t part);

  I rows_ = 0;
  bool lower_ = true;
  Grid<I> grid_;
  std::int64_t stride_ = 0;  ///< slots of a line
  std::uint32_t most_slots_ = 0, longest_ = 0;  ///< longest: rows of a line in a tile
  std::vector<std::uint32_t> line_tile_, line_slot_;  ///< by line: tile of its first cell, slot in each tile
  std::vector<std::uint32_t> cell_tile_;              ///< by cell of a line: offset of its tile from the line's first
  std::vector<I> cell_begin_;                         ///< by part of a line, and the end
  std::vector<std::int64_t> runs_begin_;
  std::vector<RowSegment> runs_;
};

}  // namespace syncfree
