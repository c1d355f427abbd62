#pragma once

/// Time models of tiles and of pencils on a grid; the constants are in device_model.hpp. The model of tiles also gives
/// the best shape and the order in which a plan takes them.

#include <cstdint>
#include <vector>

#include "core/pattern/grid.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

struct TileShape {
  std::int64_t cells = 0, lines = 1, planes = 1;
};

/// Divides a side of a grid into parts of nearly equal size, none larger than `most`.
struct AxisParts {
  std::int64_t size = 0, count = 1;

  AxisParts() = default;
  AxisParts(std::int64_t all, std::int64_t most) : size(all), count(1)
  {
    if (most > 0 && most < all) count = (all + most - 1) / most;
  }
  SYNCFREE_HD std::int64_t begin_of_part(std::int64_t part) const { return part * size / count; }
  SYNCFREE_HD std::int64_t largest() const { return (size + count - 1) / count; }
};

/// Chooses the shape with the smallest estimated solve time for the triangle of a star stencil, by a model of tiles
/// that follow each other; the shape has no cells if no tile fits.
///   most_slots       of a tile, with those of its ghosts
///   multiprocessors  each has one tile at a time
///   time             microseconds on an H200
struct TileChoice {
  TileShape shape;
  double time = 0;
};
template <class I> TileChoice choose_tile(const Grid<I>& grid, std::int64_t most_slots, int multiprocessors);

/// Tiles of that shape in the order in which they can start, by the same model: each after those that it waits for.
template <class I> std::vector<std::uint32_t> tiles_by_begin(const Grid<I>& grid, const TileShape& shape);

/// What a solve by pencils (pencil_grid.hpp) consists of. A pencil group is the share of one warp.
struct PencilWork {
  bool in_space;  ///< the grid has several planes
  double steps;   ///< of the longest chain, with the delays between pencil groups
  double hops_x, hops_z;  ///< pencil groups behind the first, along each axis
  double cells;
};

/// Returns microseconds on an H100.
double time_of_pencil_work(const PencilWork& work);

}  // namespace syncfree
