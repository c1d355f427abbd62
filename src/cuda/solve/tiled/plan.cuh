#pragma once

/// Makes plans of core/plan/tile_plan.hpp on the device. They equal the host's, which is the oracle.

#include "cuda/analysis/triangle.hpp"
#include "cuda/solve/tiled/plan_arrays.cuh"

namespace syncfree::cuda {

/// True if the triangle is in device memory with its levels and its rows are short enough.
template <class I> bool may_plan_ghosts(const DeviceTriangle<I>& triangle, const TileRule& rule);

/// Makes the plan for parts of planes or runs of rows, on the null stream. Returns false if a star stencil's grid has
/// tiles.
///   triangle    satisfies may_plan_ghosts(); its row_bandwidth is known
///   shape       of the panels
///   frame       [out] the plan without its arrays of positions and ghosts
///   errors      throws std::bad_alloc and Failure, which is no_plan if tiles have no room for their ghosts
template <class I>
bool make_ghost_plan(const DeviceTriangle<I>& triangle, const TileRule& rule, const PanelShape& shape,
                     TilePlan<I>* frame, TileArrays<I>* arrays);

}  // namespace syncfree::cuda
