#pragma once

/// The plan of tile_plan.hpp for the tiles of a star's grid, by arithmetic.
///
/// Tiles are of eight kinds at most, because sides are cut into parts of two sizes. What the plan says of a position is
/// the same for all tiles of a kind but at the grid's border. It is made once for each kind, as if rows read a
/// neighbour along each axis; then positions are filled in any order, here or on a device (star_fill.hpp), from that
/// table and the rows of the triangle, which also prove that it is a star's.

#include <cstdint>
#include <vector>

#include "tile_plan.hpp"
#include "star_fill.hpp"

namespace syncfree {

/// Tables of all kinds, one after the other, and the plan without what is said of positions and ghosts, its blocks as
/// tiles are numbered.
struct StarTables {
  std::vector<TileCell> place;
  std::vector<StarFields> field;
  std::vector<StarGhost> ghost;
  std::vector<std::uint16_t> face_mail;
};
template <class I> struct StarPlan {
  TilePlan<I> frame;
  std::int64_t pages = 0, ghosts = 0;
  StarTables tables;
  StarView<I> view;  ///< with the tables above; moves with them
  std::vector<std::uint32_t> order;  ///< of tiles, in which they should be begun

  std::vector<Tile> blocks_in_order() const;
};

/// Returns false where the grid is not a star's or its tiles have no room. Throws std::bad_alloc.
///   rows, lower  of the triangle
///   rule         as in make_tile_plan
///   cost         O(rows of a tile) for each kind, O(lines)
template <class I>
bool make_star_tables(I rows, bool lower, const Grid<I>& grid, const TileRule& rule, StarPlan<I>* out);

/// Returns false where the triangle is not a star's or its tiles have no room; the plan is of no use then. Throws
/// std::bad_alloc.
///   T, rule, plan  as in make_tile_plan
///   cost           O(nnz) on rule.threads threads, and that of make_star_tables()
template <class I> bool make_star_plan(PatternView<I> T, bool lower, const TileRule& rule, TilePlan<I>* plan);

}  // namespace syncfree
