#pragma once

/// The plan of courier_plan.hpp for the tiles of a star's grid, by arithmetic.
///
/// Tiles are of eight kinds at most, because sides are cut into parts of two sizes. What the plan says of a position is
/// the same for all tiles of a kind but at the grid's border. It is made once for each kind, as if rows read a
/// neighbour along each axis; then positions are filled in any order, from that table and the rows of the triangle,
/// which also prove that it is a star's.

#include <array>
#include <cstdint>
#include <vector>

#include "courier_plan.hpp"

namespace syncfree {

/// Coordinates and extents: cells, lines, planes, in the order of a serial solve.
using StarPlace = std::array<std::uint16_t, 3>;

/// The number that a row of an earlier tile along an axis sends: that of its last face.
struct StarGhost {
  std::uint32_t axis, cell;  ///< cell: of the face
};

/// Tables of one kind of tile; what has no page begins at its position.
///   field       8 of each position: as in the plan, but near slots by axis
///   place       of each position
///   step_end    by step: the position behind its last
///   ghost       by ghost, in the order in which rows read them
///   face_mail   by axis and cell of the last face: its row's place among its tile's mail
struct StarKind {
  StarPlace extent = {};
  std::uint32_t mails = 0;
  std::vector<std::array<std::uint16_t, courier_fields>> field;
  std::vector<StarPlace> place;
  std::vector<std::uint32_t> step_end;
  std::vector<StarGhost> ghost;
  std::array<std::vector<std::uint16_t>, 3> face_mail;

  std::uint32_t rows() const { return static_cast<std::uint32_t>(place.size()); }
};

/// Returns false where the triangle is not a star's or its tiles have no room; the plan is of no use then. Throws
/// std::bad_alloc.
///   T, rule, plan  as in make_courier_plan
///   cost           O(nnz) on rule.threads threads, and O(rows of a tile) for each kind
template <class I> bool make_star_plan(PatternView<I> T, bool lower, const CourierRule& rule, CourierPlan<I>* plan);

}  // namespace syncfree
