#pragma once

/// How a triangle is cut into the blocks of tile_plan.hpp, from little that is known of it, so that plans that are
/// made here and on a device begin alike.

#include "tile_plan.hpp"

namespace syncfree {

///   reach    typical_row_bandwidth() of the triangle
///   longest  entries in a row at most
///   grid     of the triangle, its levels measured; all rows are one line where there is none
template <class I> struct CutInput {
  I rows = 0;
  std::int64_t entries = 0;
  bool lower = true;
  I levels = 0;
  std::int64_t row_bandwidth = 0, longest = 0;
  Grid<I> grid;
};

/// Index in ghost_near of the size of rows, or -1 where they are too long or have no room.
int size_of_ghosts(std::int64_t longest, const TileRule& rule);

/// no_plan: why size_of_ghosts() is -1; and for blocks of that many rows at most, whose ghosts have no room.
///   slots  of a block that there are
Status no_tiles_for_rows(std::int64_t longest, const TileRule& rule);
Status no_tiles_for_ghosts(std::int64_t rows, std::int64_t slots, const TileRule& rule);

template <class I> struct TileCut {
  Tiling<I> tiling;
  bool has_tiles = false;  ///< of a star's grid
  bool has_room = true;    ///< for the ghosts of blocks, as far as the reach tells
  bool aliased = false;   ///< numbers are to take the slots of ghosts
};

/// Tiles of a star's grid, planes, parts of planes, runs of whole lines, or of rows. Throws std::bad_alloc.
///   size  size_of_ghosts(), not -1
template <class I> TileCut<I> cut(const CutInput<I>& triangle, int size, const TileRule& rule);

/// The plan's runs, slots and blocks, of these their rows and pages. Throws std::bad_alloc. Returns the pages of all.
template <class I> std::int64_t take_blocks(const Tiling<I>& tiling, TilePlan<I>* plan);

/// Warps for so many levels and rows of the widest level in each block: for twice the mean width, because levels begin
/// and end narrow, and not for more than there is.
int warps_for(const std::vector<Tile>& block, const std::vector<std::uint32_t>& levels, std::uint32_t widest,
              int most, int rows_a_warp);

}  // namespace syncfree
