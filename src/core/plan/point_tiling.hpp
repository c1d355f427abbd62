#pragma once

/// Tiles of a grid's points, for block rows of several unknowns a point.
///
/// Points are numbered in the order of a serial solve. A slab has some consecutive planes. A tile has some lines of
/// each plane of its slab, with all their points. In a stencil with corners a point also reads the line after its own
/// in the plane before, so the lines of a tile are shifted by one from plane to plane (`shift`); then points of a tile
/// read tiles with lower numbers and their own only. Tiles are numbered along a slab, and slab after slab.

#include <cstddef>
#include <cstdint>

#include "core/pattern/grid.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

struct PointTiling {
  std::int64_t rows = 0, line = 0, lines = 0, planes = 0;
  bool lower = true;
  int shift = 0;                        ///< lines by which a tile's begin moves back with each plane of its slab
  std::int64_t tile_lines = 0, tile_planes = 0;

  SYNCFREE_HD std::int64_t tiles_of_slab() const
  {
    return (lines + shift * (tile_planes - 1) + tile_lines - 1) / tile_lines;
  }
  std::int64_t tiles() const { return (planes + tile_planes - 1) / tile_planes * tiles_of_slab(); }
  SYNCFREE_HD std::int64_t tile_of(std::int64_t row) const
  {
    const std::int64_t serial = lower ? row : rows - 1 - row, of_line = serial / line;
    const std::int64_t plane = of_line / lines, slab = plane / tile_planes;
    return slab * tiles_of_slab() + (of_line % lines + shift * (plane - slab * tile_planes)) / tile_lines;
  }
};

/// What a solve costs.
struct PointCosts {
  int entries = 0;               ///< blocks that tiles store for each block row, at least its own
  int points_a_warp = 1;
  std::size_t value_bytes = 0;   ///< of a block's values, with its part of the inverse diagonal block
  std::size_t result_bytes = 0;  ///< of a point's results, in shared memory
  std::size_t memory = 0;        ///< shared memory of a tile, which has its results and those that it reads
  int multiprocessors = 132;     ///< each has one tile at a time
};

/// A tiling, and the time of a solve with it in microseconds; tile_lines is 0 if no tile fits.
struct PointTilingChoice {
  PointTiling tiling;
  double time = 0;
};

/// Chooses the tiles with the shortest predicted time. It depends on the grid only: whether points read what the grid
/// promises is to be tested when the plan is made.
///   grid    of the triangle; one line if there is none, for which there are no tiles
///   levels  of the triangle
template <class I>
PointTilingChoice choose_point_tiling(const Grid<I>& grid, I rows, bool lower, I levels, const PointCosts& costs);

/// Predicted time of a solve in which each level is handed over through global memory, in microseconds.
///   blocks  of the triangle, without its diagonal: unlike tiles, such a solve reads only these
double time_of_point_levels(std::int64_t rows, std::int64_t blocks, std::int64_t levels, const PointCosts& costs);

}  // namespace syncfree
