#pragma once

/// Blocks of rows that stay on one multiprocessor each.
///
/// A block is a tile of a grid or a run of rows that follow each other in the order of a serial solve (tiling.hpp), so
/// blocks wait for earlier blocks only. Inside a block rows are sorted by level and taken in steps: rows of one step do
/// not read each other. All numbers that a row reads are in shared memory: those of its own block where they are
/// computed, and each number of another block in a slot after those of the block's own rows. That copy is called its
/// ghost, and is fetched once for all rows that read it. A row that another block reads has a place in a mailbox in
/// memory: its exported values. Rows must be short, and the ghosts of each block must have room; else there is no plan.
/// Planes that have no room beside the plane before them, which they read, are laid over it: numbers stand in the order
/// of steps, those of ghosts, too, so many slots further that a row's number takes the slot of a ghost that rows of
/// earlier levels were the last to read.
///
/// Positions count a block's rows in the order of its steps. What is said of a position is kept in pages of 128
/// positions, so that it can be streamed; the last page of a block ends in positions without a row.

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
constexpr std::uint32_t not_exported = ~0u;      ///< no other block reads the row
constexpr std::uint16_t no_ghost = 0xffff;  ///< the same
constexpr int fields_per_unit = 8;             ///< of a unit: 16 bytes that are read at once

/// Groups of warps that take a step each in turn.
constexpr int compute_groups = 3;
/// Entries of a row at most, in three sizes: pages hold them and the scale in pairs.
constexpr int ghost_sizes = 3;
constexpr int ghost_near[ghost_sizes] = {3, 5, 13};
/// Warps of a group, at most.
constexpr int ghost_warps(int row_capacity) { return row_capacity > ghost_near[1] ? 2 : 4; }
/// May numbers of rows that long take slots of ghosts? Blocks of shorter ones have room.
constexpr bool may_be_aliased(int row_capacity) { return row_capacity == ghost_near[ghost_sizes - 1]; }

struct TileRule {
  std::int64_t most_slots = 0x7fff;  ///< for rows of a block, if there is room for them
  std::int64_t rows = 0;           ///< of a block; 0: by the triangle
  int warps = 0;                   ///< a step has at most rows_a_warp rows for each; 0: by the triangle
  int most_warps = 4;              ///< of nodes; of rows ghost_warps() is the limit, too
  int threads = 1;                 ///< that make the plan, which does not depend on them
  int multiprocessors = 132;       ///< each has one block at a time
  std::int64_t ghost_slots[ghost_sizes] = {0xfff0, 0xfff0, 0xfff0};  ///< by size, of all kinds; 0: none
  bool tiles = true;               ///< where there is a grid
  TileShape shape = {};            ///< of a tile; no cells: by the triangle
  int rows_a_warp = 32;            ///< of a step; less for nodes, each of which takes several lanes
  std::int64_t plane_slots = 0xfff0;    ///< of two planes, beside each other, that have room
  std::int64_t alias_slots = 0xfff0;  ///< where numbers take slots of ghosts; 0: none

  bool of_nodes() const { return rows_a_warp < 32; }
  int most_warps_of(int row_capacity) const
  {
    return of_nodes() ? most_warps : std::min(most_warps, ghost_warps(row_capacity));
  }
};

/// One block; firsts count in the arrays of the plan, but for its least row. `width` is that of the first steps.
struct Tile {
  std::int64_t first_row = 0, first_run = 0, first_page = 0, first_step = 0, first_ghost = 0;
  std::uint32_t runs = 0, rows = 0, pages = 0, steps = 0, first_exported = 0, exports = 0, ghosts = 0;
  std::uint32_t width[compute_groups] = {};
};

/// Runs give the rows of a block slots; slot `slots` of each block holds a zero. A position has `units` times 8 fields:
/// the row's slot, the slots of its near numbers, and at the end two fields: of its group's next step where it begins,
/// from this step's begin on (9 bits), and its width less 1; and the row's place among its block's exported values, or
/// no_ghost. Its near numbers are read in pairs. Ghost k of a block has slot `slots` + 1 + k.
///   step_end    by step: the position behind its last
///   index       by page, units of 128 positions: fields
///   source      by page, (near + 1) / 2 pairs of 128 positions: the triangle's entry, or -1
///   row         by page: the triangle's row, or -1
///   ghost_place  by ghost, in the order in which a block's rows read them: place in the mailbox
/// Blocks are a chain where each has ghosts of the block before and of no other. Then exported values are numbered as
/// it is read: ghost k of a block is exported value k of the block before. Where ghosts alias local values, in a chain,
/// the number of a block's position p has slot p, is exported value p of the block and has slot p + alias_shift where
/// it is a ghost. The slot of zero comes behind all these. Where the row's slot else is, there is how far it is behind
/// the block's least row; a block's rows follow each other.
///   position  by row, in its block
template <class I> struct TilePlan {
  bool is_chain = false;
  int row_capacity = ghost_near[0], warps = 1;
  std::uint32_t slots = 0;  ///< of a block, at most
  std::uint32_t alias_shift = 0;  ///< 0: ghosts keep their slots
  std::uint32_t most_ghosts = 0;  ///< of a block
  std::uint32_t exports = 0;
  std::vector<Tile> block;
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
  /// Slots of a block, of all kinds.
  std::uint32_t numbers() const { return zero_slot() + 1 + (alias_shift ? 0 : most_ghosts); }
  /// As so many rows in each block can have it.
  void set_alias_shift(std::uint32_t distance, std::uint32_t rows) { alias_shift = distance, slots = rows; }

  /// Where fields and near entries of a position stand; positions of all blocks, page after page.
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
  /// Without aliasing.
  std::uint16_t own_slot(std::int64_t position) const { return index[field_place(position, 0)]; }
  std::uint16_t near_slot(std::int64_t position, int j) const { return index[field_place(position, j + 1)]; }
  /// Of the next step of the position's group: where it begins, and its width.
  std::uint32_t group_begin(std::int64_t position) const { return group_field(position) & 511; }
  std::uint32_t group_width(std::int64_t position) const { return 1 + (group_field(position) >> 9); }
  std::uint32_t mail_of(const Tile& own, std::int64_t position) const
  {
    const std::uint32_t field = index[field_place(position, units() * fields_per_unit - 1)];
    return field == no_ghost ? not_exported : own.first_exported + field;
  }
  std::uint16_t group_field(std::int64_t position) const
  {
    return index[field_place(position, units() * fields_per_unit - 2)];
  }
  std::size_t bytes() const
  {
    const std::size_t words = step_end.size() + ghost_place.size();
    return block.size() * sizeof(Tile) + run.size() * sizeof(RowSegment) + words * 4 +
           (index.size() + position.size()) * 2 + (source.size() + row.size()) * sizeof(I);
  }
};

/// The plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory; no_plan where a row is too long or ghosts have no room
///   cost    O(nnz) on rule.threads threads
template <class I>
Status make_tile_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const TileRule& rule,
                         TilePlan<I>* out);

}  // namespace syncfree
