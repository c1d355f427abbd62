#pragma once

/// Tiles: sets of rows, each solved by one thread block on one multiprocessor.
///
/// A tile is a part of a grid or a run of consecutive rows in the order of a serial solve (tiling.hpp), so tiles wait
/// for earlier tiles only. Inside a tile rows are sorted by level and solved in steps: a step is a level or a part of
/// one, whose rows do not read each other. All values that a row reads are in shared memory: those of its own tile in
/// the slots where they are computed, and each value of another tile in a slot after those of the tile's own rows. That
/// copy, its ghost, is fetched once for all rows that read it. A row that another tile reads has a slot in a mailbox in
/// global memory: it is one of its tile's exported values. Rows must be short, and the ghosts of each tile must fit;
/// otherwise there is no plan. A plane that does not fit next to the plane before it, which it reads, aliases it:
/// values, also those of ghosts, are in the order of steps, and ghosts are shifted by a number of slots such that a
/// row's value takes the slot of a ghost that only rows of earlier levels read.
///
/// Positions number a tile's rows in the order of its steps. The data of positions are stored in panels of 128
/// positions, so that they can be streamed; the last panel of a tile is padded with positions without a row.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/status.hpp"
#include "tiling.hpp"

namespace syncfree {

constexpr int panel_rows = 128;              ///< positions
constexpr std::uint32_t not_exported = ~0u;      ///< no other tile reads the row
constexpr std::uint16_t no_ghost = 0xffff;  ///< the same in a field
constexpr int fields_per_unit = 8;             ///< fields of a unit: 16 bytes that are read at once

/// Groups of warps that solve the steps in turn.
constexpr int compute_groups = 3;
/// Largest number of entries of a row, in three sizes: panels hold the entries and the scale in pairs.
constexpr int ghost_sizes = 3;
constexpr int row_capacities[ghost_sizes] = {3, 5, 13};
/// Most warps of a group.
constexpr int warps_per_group(int row_capacity) { return row_capacity > row_capacities[1] ? 2 : 4; }
/// True if values of rows of that length may take slots of ghosts. Tiles of shorter rows fit without.
constexpr bool may_be_aliased(int row_capacity) { return row_capacity == row_capacities[ghost_sizes - 1]; }

struct TileRule {
  std::int64_t most_slots = 0x7fff;  ///< for the rows of a tile, if they fit
  std::int64_t rows = 0;           ///< of a tile; 0: chosen by the triangle
  int warps = 0;                   ///< a step has at most rows_a_warp rows per warp; 0: chosen by the triangle
  int most_warps = 4;              ///< for inodes; for rows warps_per_group() limits it further
  int threads = 1;                 ///< that make the plan; it does not depend on their number
  int multiprocessors = 132;       ///< each has one tile at a time
  std::int64_t ghost_slots[ghost_sizes] = {0xfff0, 0xfff0, 0xfff0};  ///< by size, slots of all kinds; 0: none
  bool tiles = true;               ///< use tiles of a grid if there is one
  TileShape shape = {};            ///< of a tile; no cells: chosen by the triangle
  int rows_a_warp = 32;            ///< of a step; fewer for inodes, each of which takes several lanes
  std::int64_t plane_slots = 0xfff0;    ///< for two planes next to each other
  std::int64_t alias_slots = 0xfff0;  ///< if local values alias ghosts; 0: no aliasing

  bool of_nodes() const { return rows_a_warp < 32; }
  int most_warps_of(int row_capacity) const
  {
    return of_nodes() ? most_warps : std::min(most_warps, warps_per_group(row_capacity));
  }
};

/// One tile; first_... are offsets into the plan's arrays, except first_row, its smallest row. `width`: of its first
/// steps.
struct Tile {
  std::int64_t first_row = 0, first_run = 0, first_panel = 0, first_step = 0, first_ghost = 0;
  std::uint32_t runs = 0, rows = 0, panels = 0, steps = 0, first_exported = 0, exports = 0, ghosts = 0;
  std::uint32_t width[compute_groups] = {};
};

/// Runs assign slots to the rows of a tile; slot `slots` of each tile holds a zero. A position has `units` times 8
/// fields: the row's slot; the slots of the values it reads; and two fields at the end. One of these describes the next
/// step of the position's group: its begin relative to this step's (9 bits), and its width less 1. The other is the
/// row's index among its tile's exported values, or no_ghost. The values that it reads are stored in pairs. Ghost k of
/// a tile has slot `slots` + 1 + k.
///   step_end     by step: the position after its last
///   index        by panel, units of 128 positions: fields
///   source       by panel, (row_capacity + 1) / 2 pairs of 128 positions: the triangle's entry, or -1
///   row          by panel: the triangle's row, or -1
///   ghost_place  by ghost, in the order in which a tile's rows read them: index in the mailbox
/// Tiles are a pipeline (is_chain) if each has ghosts of the tile before it only. Then exported values are numbered as
/// they are read: ghost k of a tile is exported value k of the tile before. If ghosts alias local values (in a pipeline
/// only), the value of a tile's position p has slot p, is exported value p of the tile and has slot p + alias_shift as
/// a ghost. The slot of the zero is after all these. The field of the row's slot then holds the row's offset from the
/// tile's smallest row; a tile's rows are consecutive.
///   position     by row, in its tile
template <class I> struct TilePlan {
  bool is_chain = false;
  int row_capacity = row_capacities[0], warps = 1;
  std::uint32_t slots = 0;  ///< of a tile, at most
  std::uint32_t alias_shift = 0;  ///< 0: ghosts keep their slots
  std::uint32_t most_ghosts = 0;  ///< of a tile
  std::uint32_t exports = 0;
  std::vector<Tile> tiles;
  std::vector<RowSegment> run;
  std::vector<std::uint32_t> step_end;
  Array<std::uint16_t> index;
  Array<I> source, row;
  std::vector<std::uint32_t> ghost_place;
  Array<std::uint16_t> position;

  std::uint32_t zero_slot() const { return alias_shift ? alias_shift + slots : slots; }
  std::uint32_t first_ghost_slot() const { return alias_shift ? alias_shift : slots + 1; }
  std::uint32_t ghost_slot(const Tile& own, std::uint32_t k) const
  {
    if (!alias_shift) return first_ghost_slot() + k;
    return first_ghost_slot() + ghost_place[own.first_ghost + k] - (&own - 1)->first_exported;
  }
  /// Number of slots of a tile, of all kinds.
  std::uint32_t numbers() const { return zero_slot() + 1 + (alias_shift ? 0 : most_ghosts); }
  /// Sets the shift and the number of slots; `rows` is the largest number of rows of a tile.
  void set_alias_shift(std::uint32_t distance, std::uint32_t rows) { alias_shift = distance, slots = rows; }

  /// Locations of the fields and entries of a position; positions are numbered over all tiles, panel after panel.
  static constexpr int units_of(int row_capacity) { return (row_capacity + 3 + fields_per_unit - 1) / fields_per_unit; }
  int units() const { return units_of(row_capacity); }
  int pairs() const { return (row_capacity + 1) / 2; }
  std::size_t field_place(std::int64_t position, int field) const
  {
    const std::int64_t unit = position / panel_rows * units() + field / fields_per_unit;
    return (unit * panel_rows + position % panel_rows) * fields_per_unit + field % fields_per_unit;
  }
  std::size_t near_place(std::int64_t position, int j) const
  {
    const std::int64_t pair = position / panel_rows * pairs() + j / 2;
    return (pair * panel_rows + position % panel_rows) * 2 + j % 2;
  }
  /// The row's slot; not valid with aliasing.
  std::uint16_t own_slot(std::int64_t position) const { return index[field_place(position, 0)]; }
  std::uint16_t near_slot(std::int64_t position, int j) const { return index[field_place(position, j + 1)]; }
  /// Next step of the position's group: its begin relative to this step's, and its width.
  std::uint32_t group_begin(std::int64_t position) const { return group_field(position) & 511; }
  std::uint32_t group_width(std::int64_t position) const { return 1 + (group_field(position) >> 9); }
  std::uint32_t exported_of(const Tile& own, std::int64_t position) const
  {
    const std::uint32_t field = index[field_place(position, units() * fields_per_unit - 1)];
    return field == no_ghost ? not_exported : own.first_exported + field;
  }
  std::uint16_t group_field(std::int64_t position) const
  {
    return index[field_place(position, units() * fields_per_unit - 2)];
  }
  std::size_t tile_plan_bytes() const
  {
    const std::size_t words = step_end.size() + ghost_place.size();
    return tiles.size() * sizeof(Tile) + run.size() * sizeof(RowSegment) + words * 4 +
           (index.size() + position.size()) * 2 + (source.size() + row.size()) * sizeof(I);
  }
};

/// Makes the plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory; no_plan if a row is too long or ghosts do not fit
///   cost    O(nnz) on rule.threads threads
template <class I>
Status make_tile_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const TileRule& rule,
                         TilePlan<I>* out);

}  // namespace syncfree
