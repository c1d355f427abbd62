#pragma once

/// What others ask of strategy `courier`.

#include "core/tiling.hpp"
#include "solver.hpp"

namespace syncfree::cuda {

/// The tiles that it takes on a star's grid with numbers T stored in V; no cells where none fit. Throws Failure.
template <class T, class V, class I> TileChoice choose_courier_tile(const Grid<I>& grid);

/// Will its plan probably be made on the device? Throws Failure.
template <class T, class V, class I> bool may_plan_courier_on_device(const DeviceTriangle<I>& triangle);

}  // namespace syncfree::cuda
