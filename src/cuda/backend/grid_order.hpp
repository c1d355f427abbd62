#pragma once

/// Decides whether rows that come level by level (core/pattern/grid_order.hpp) are solved in the natural order of their
/// grid, by pencils or tiles. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <optional>

#include "core/pattern/grid_order.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree::cuda {

/// What may solve on a grid.
///   compares  only where it is predicted to be faster than the strategies of the given order, with the time of plans
struct GridWishes {
  bool wavefront = false, tiles = false, compares = true, single_storage = false;
  std::int64_t expected_applies = 50;
};

/// The fastest axes, and the input of choose_strategy() on that grid.
///   natural  rows of A are then in their own order: b and x need not be permuted
struct GridProspect {
  GridAxes axis;
  ChoiceInput input;
  bool natural;
};

/// Returns nothing if no axes are wanted, or if the rows already have the natural order.
///   order  of the rows of A, whose row order[r] has point r; nullptr: natural
template <class T, class I>
std::optional<GridProspect> find_fastest_axes(const GridPoints<I>& points, const I* order, const GridWishes& wishes);

}  // namespace syncfree::cuda
