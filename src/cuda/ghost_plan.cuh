#pragma once

/// Plans of core/courier_plan.hpp with ghosts, made on the device: the same as the host's, which is the oracle.

#include "courier_arrays.cuh"
#include "solver.hpp"

namespace syncfree::cuda {

/// Does the triangle, in device memory with its levels, have short enough rows?
template <class I> bool may_plan_ghosts(const DeviceTriangle<I>& triangle, const CourierRule& rule);

/// The plan for parts of planes or runs of rows. Returns false where blocks wait for later blocks or have no room for
/// ghosts, or a star's grid has tiles. On the null stream; throws Failure and std::bad_alloc.
///   triangle    may_plan_ghosts(), with its reach
///   shape       of the pages
///   frame       [out] what is not said of positions and ghosts
template <class I>
bool make_ghost_plan(const DeviceTriangle<I>& triangle, const CourierRule& rule, const PageShape& shape,
                     CourierPlan<I>* frame, GhostArrays<I>* arrays);

}  // namespace syncfree::cuda
