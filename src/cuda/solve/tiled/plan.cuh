#pragma once

/// Plans of core/plan/tile_plan.hpp, made on the device: the same as the host's, which is the oracle.

#include "cuda/solve/solver.hpp"
#include "cuda/solve/tiled/plan_arrays.cuh"

namespace syncfree::cuda {

/// Does the triangle, in device memory with its levels, have short enough rows?
template <class I> bool may_plan_ghosts(const DeviceTriangle<I>& triangle, const TileRule& rule);

/// The plan for parts of planes or runs of rows. Returns false where a star's grid has tiles. On the null stream;
/// throws std::bad_alloc and Failure, which is no_plan where blocks have no room for their ghosts.
///   triangle    may_plan_ghosts(), with its reach
///   shape       of the pages
///   frame       [out] what is not said of positions and ghosts
template <class I>
bool make_ghost_plan(const DeviceTriangle<I>& triangle, const TileRule& rule, const PanelShape& shape,
                     TilePlan<I>* frame, TileArrays<I>* arrays);

}  // namespace syncfree::cuda
