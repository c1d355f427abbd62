#pragma once

/// `level_order` and `tiled` with dense blocks as entries: rows of the triangle are block rows.

#include <cstdint>
#include <memory>

#include "core/pattern/grid.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree {
struct SolverOptions;
}

namespace syncfree::cuda {

/// Makes the solver of a triangle with triangle.block_size > 1. Vectors have n * block_size entries. Blocks of the
/// factor's arrays are stored column by column: entry (r, c) of block k is value[(k * size + c) * size + r]; `source`
/// has indices of blocks; the inverse diagonal has n blocks. Throws Failure and std::bad_alloc.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_dense_block_solver(const DeviceTriangle<I>& triangle,
                                                            const SolverOptions& options);

/// What decides whether a triangle of dense blocks is solved by tiles of a grid's points (point_tiles.cuh).
///   grid     one line: there are no tiles
///   n, nnz   block rows, and blocks without the diagonal
///   longest  most blocks of a row
template <class I> struct PointTriangle {
  Grid<I> grid = {};
  bool lower = true, unit = true;
  int block_size = 1;
  I n = 0, nnz = 0, levels = 0;
  std::int64_t longest = 0;
};

/// True if it can probably be solved by these tiles, sooner than level by level. Throws Failure and std::bad_alloc.
template <class T, class V, class I> bool may_tile_points(const PointTriangle<I>& points);
template <class T, class V, class I> bool may_tile_points(const DeviceTriangle<I>& triangle);

/// As make_dense_block_solver(), by these tiles. Returns nullptr if there are none: the points are not those of a grid
/// or read too many others, or their tiles have no room.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_point_tiles_solver(const DeviceTriangle<I>& triangle);

}  // namespace syncfree::cuda
