#pragma once

/// `level_order` and `tiled` with dense blocks as entries: rows of the triangle are block rows.

#include <memory>

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

/// True if the triangle can probably be solved by tiles of a grid's points (point_tiles.cuh), sooner than level by
/// level. Throws Failure and std::bad_alloc.
template <class T, class V, class I> bool may_tile_points(const DeviceTriangle<I>& triangle);

/// As make_dense_block_solver(), by these tiles. Returns nullptr if there are none: the points are not those of a grid
/// or read too many others, or their tiles have no room.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_point_tiles_solver(const DeviceTriangle<I>& triangle);

}  // namespace syncfree::cuda
