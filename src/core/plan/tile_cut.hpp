#pragma once

/// Cuts a triangle into the tiles of tile_plan.hpp. Uses only a few properties of the triangle, so that plans made on
/// the host and on a device start alike.

#include "tile_plan.hpp"

namespace syncfree {

///   row_bandwidth  typical_row_bandwidth() of the triangle
///   longest        number of entries of the longest row
///   grid           of the triangle, its levels measured; empty, or one line with all rows, if there is no grid
template <class I> struct CutInput {
  I rows = 0;
  std::int64_t entries = 0;
  bool lower = true;
  I levels = 0;
  std::int64_t row_bandwidth = 0, longest = 0;
  Grid<I> grid;
};

/// Index in row_capacities of the row capacity, or -1 if rows are too long or do not fit.
int size_of_ghosts(std::int64_t longest, const TileRule& rule);

/// Return no_plan: with the reason why size_of_ghosts() is -1; and for tiles of at most `rows` rows whose ghosts do not
/// fit.
///   slots  available slots of a tile
Status no_tiles_for_rows(std::int64_t longest, const TileRule& rule);
Status no_tiles_for_ghosts(std::int64_t rows, std::int64_t slots, const TileRule& rule);

template <class I> struct TileCut {
  Tiling<I> tiling;
  bool has_tiles = false;  ///< of a grid with a star stencil
  bool has_room = true;    ///< for the ghosts of tiles, as far as the bandwidth shows
  bool aliased = false;   ///< local values are to use the slots of ghosts
};

/// Chooses tiles of a star's grid, planes, parts of planes, runs of whole lines, or runs of rows. Throws
/// std::bad_alloc.
///   size  size_of_ghosts(), not -1
template <class I> TileCut<I> cut(CutInput<I> triangle, int size, const TileRule& rule);

/// Stores the plan's runs, slots and tiles; of the tiles only their rows and panels. Returns the number of panels.
/// Throws std::bad_alloc.
template <class I> std::int64_t cut_into_tiles(const Tiling<I>& tiling, TilePlan<I>* plan);

/// Number of warps for the levels of each tile and the rows of the widest level: enough for twice the mean width,
/// because levels are narrow at the start and at the end, but not for more than the widest.
int warps_for(const std::vector<Tile>& tiles, const std::vector<std::uint32_t>& levels, std::uint32_t widest,
              int most, int rows_a_warp);

}  // namespace syncfree
