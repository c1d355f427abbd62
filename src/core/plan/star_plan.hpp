#pragma once

/// The plan of tile_plan.hpp for tiles of a grid with a star stencil, computed by arithmetic.
///
/// There are at most eight kinds of tiles, because sides are cut into parts of two sizes. The plan's data of a position
/// are the same for all tiles of a kind except at the grid's border. They are computed once for each kind, as if rows
/// read a neighbour along each axis; then positions are filled in any order, on the host or on a device
/// (star_fill.hpp), from that table and the rows of the triangle, which also verifies that its pattern is a star
/// stencil.

#include <cstdint>
#include <vector>

#include "tile_plan.hpp"
#include "star_fill.hpp"

namespace syncfree {

/// Tables of all kinds, concatenated; and the plan without the data of positions and ghosts, its tiles in their
/// numbering.
struct StarTables {
  std::vector<TileCell> place;
  std::vector<StarFields> field;
  std::vector<StarGhost> ghost;
  std::vector<std::uint16_t> face_exported;
};
template <class I> struct StarPlan {
  TilePlan<I> frame;
  std::int64_t panels = 0, ghosts = 0;
  StarTables tables;
  StarView<I> view;  ///< with the tables above; moves with them
  std::vector<std::uint32_t> order;  ///< order in which the tiles should start

  std::vector<Tile> tiles_in_order() const;
};

/// Returns false if the grid has no star stencil or its tiles do not fit. Throws std::bad_alloc.
///   rows, lower  of the triangle
///   rule         as in make_tile_plan
///   cost         O(rows of a tile) for each kind, O(lines)
template <class I>
bool make_star_tables(I rows, bool lower, const Grid<I>& grid, const TileRule& rule, StarPlan<I>* out);

/// Returns false if the triangle's pattern is no star stencil or its tiles do not fit; then the plan is unusable.
/// Throws std::bad_alloc.
///   T, rule, plan  as in make_tile_plan
///   cost           O(nnz) on rule.threads threads, and that of make_star_tables()
template <class I> bool make_star_plan(PatternView<I> T, bool lower, const TileRule& rule, TilePlan<I>* plan);

}  // namespace syncfree
