#pragma once

/// Queries and factories of strategy `tiled` for other parts of the backend.

#include <memory>

#include "core/plan/tile_plan.hpp"
#include "core/plan/tiling.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// Returns the tile shape for a star stencil's grid with values T stored as V; without cells if none fits. Throws
/// Failure.
template <class T, class V, class I> TileChoice choose_star_tile(const Grid<I>& grid);

/// True if the plan can probably be made on the device. Throws Failure.
template <class T, class V, class I> bool may_plan_tiles_on_device(const DeviceTriangle<I>& triangle);

/// True if the triangle, if its inodes are known, probably has a plan of them. Throws Failure and std::bad_alloc.
template <class T, class V, class I> bool may_plan_tiles_of_inodes(const DeviceTriangle<I>& triangle);

/// Returns nullptr if there are no inodes or tiles of them have no room. Throws Failure, also out_of_memory, and
/// std::bad_alloc.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_tiled_inodes(const DeviceTriangle<I>& triangle, const TileRule& rule);

}  // namespace syncfree::cuda
