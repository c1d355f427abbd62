#pragma once

/// What others ask of strategy `tiled`.

#include <memory>

#include "core/plan/tile_plan.hpp"
#include "core/plan/tiling.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// The tiles that it takes on a star's grid with numbers T stored in V; no cells where none fit. Throws Failure.
template <class T, class V, class I> TileChoice choose_star_tile(const Grid<I>& grid);

/// Will its plan probably be made on the device? Throws Failure.
template <class T, class V, class I> bool may_plan_tiles_on_device(const DeviceTriangle<I>& triangle);

/// Has the triangle, whose nodes are known, such that there is probably a plan of them? Throws Failure and
/// std::bad_alloc.
template <class T, class V, class I> bool may_plan_tiles_of_inodes(const DeviceTriangle<I>& triangle);

/// Nothing where it has none or tiles of them have no room. Throws Failure, out_of_memory among others, and
/// std::bad_alloc.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_tiled_inodes(const DeviceTriangle<I>& triangle, const TileRule& rule);

}  // namespace syncfree::cuda
