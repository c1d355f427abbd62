#pragma once

/// What others ask of strategy `courier`.

#include "core/tiling.hpp"

namespace syncfree::cuda {

/// The tiles that it takes on a star's grid with numbers T stored in V; no cells where none fit. Throws Failure.
template <class T, class V, class I> TileChoice choose_courier_tile(const Grid<I>& grid);

}  // namespace syncfree::cuda
