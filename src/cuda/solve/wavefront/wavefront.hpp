#pragma once

/// Queries of strategy `wavefront` for other parts of the backend.

#include <memory>

#include "core/pattern/grid.hpp"

namespace syncfree::cuda {

/// Returns the estimated microseconds of a solve by pencils on an H100, with values T stored in V, if the triangle's
/// grid is the one it seems to be; 0 if pencils do not apply.
///   longest  entries of the longest row
///   levels   of the triangle, 0 if not known; fewer than the grid's if neighbours are missing
template <class T, class V, class I>
double time_of_pencils(const Grid<I>& grid, I rows, std::int64_t longest, std::int64_t levels);

}  // namespace syncfree::cuda
