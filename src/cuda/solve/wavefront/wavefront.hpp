#pragma once

/// What others ask of strategy `wavefront`.

#include <memory>

#include "core/pattern/grid.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// Microseconds on an H100 that a triangle whose grid that seems to be takes by pencils, with numbers T stored in V; 0
/// where it would have none.
///   longest  entries in a row at most
///   levels   of the triangle, 0: not known; there are fewer where neighbours are missing
template <class T, class V, class I>
double time_of_pencils(const Grid<I>& grid, I rows, std::int64_t longest, std::int64_t levels);

}  // namespace syncfree::cuda
