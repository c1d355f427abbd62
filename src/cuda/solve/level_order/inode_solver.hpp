#pragma once

/// `level_order` with inodes as rows (cuda/analysis/inodes.hpp).

#include <memory>

#include "cuda/analysis/triangle.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// Makes the solver of a triangle with known inodes. Throws Failure and std::bad_alloc.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_node_solver(const DeviceTriangle<I>& triangle);

}  // namespace syncfree::cuda
