#pragma once

/// Blocks of rows that stay on one multiprocessor each.
///
/// A block is a run of rows that follow each other in the order of a serial solve, so blocks wait for earlier blocks
/// only. Inside a block rows are sorted by level and taken in steps: rows of one step do not read each other. A row
/// reads at most `near` numbers of its own block where they are computed, in shared memory; every other number, of
/// another block or one row too many of its own, comes by mail: its row has a place in a mailbox in memory.
///
/// Positions count a block's rows in the order of its steps. What is said of a position is kept in pages of 128
/// positions, so that it can be streamed; the last page of a block ends in positions without a row.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

constexpr int courier_page = 128;              ///< positions
constexpr std::uint32_t courier_no_mail = ~0u; ///< nobody waits for the row by mail
constexpr std::uint16_t courier_far = 0x8000;  ///< in the slot of a row that reads mail
constexpr int courier_fields = 8;             ///< of a unit: 16 bytes that are read at once
constexpr std::int64_t courier_most_rows = 0x7fff;  ///< of a block: slots have 15 bits

struct CourierRule {
  std::int64_t most_rows = 16384;  ///< of a block, at most courier_most_rows
  std::int64_t rows = 0;           ///< of a block; 0: by the triangle
  int near = 0;                    ///< 2, 4, 8 or 16; 0: by the triangle
  int most_near = 16;
  int warps = 0;                   ///< a step has at most 32 rows for each; 0: by the triangle
  int most_warps = 8;
  int most_warps_of_long = 8;      ///< where `near` is most_near
  int threads = 1;                 ///< that make the plan, which does not depend on them
};

/// One block; firsts count in the arrays of the plan. first_width is that of the first step.
struct RowBlock {
  std::int64_t first_row = 0, first_page = 0, first_step = 0, first_bundle = 0;
  std::uint32_t rows = 0, pages = 0, steps = 0, first_width = 0, bundles = 0, first_mail = 0, mails = 0;
};

/// Slots are rows counted from the block's first; slot `rows` holds a zero. A position has `units` times 8 fields: the
/// row's slot (with courier_far), the slots of its near numbers, and at the end the width of the next step and the low
/// and the high half of its place in the mailbox. Its near numbers are read in pairs.
///   step_end    by step: the position behind its last
///   index       by page, units of 128 positions: fields
///   source      by page, near / 2 pairs of 128 positions: the triangle's entry, or -1
///   row         by page: the triangle's row, or -1
/// Rows that read mail are bundled, in the order of their positions, for 32 lanes, far_lanes for a row. Entry e of a
/// row stands in layer e / far_lanes of its bundle, for lane e % far_lanes of the row's.
///   bundle_begin     one more than there are bundles: layers of 32
///   bundle_position  by bundle and lane: the row's position in its block, or -1
///   far_place, far_source   by layer and lane: place in the mailbox, or courier_no_mail; the triangle's entry, or -1
template <class I> struct CourierPlan {
  int near = 2, warps = 1, far_lanes = 1;
  std::uint32_t most_rows = 0;  ///< of a block
  std::uint32_t mails = 0;
  std::vector<RowBlock> block;
  std::vector<std::uint32_t> step_end;
  Array<std::uint16_t> index;
  Array<I> source, row;
  std::vector<std::uint32_t> bundle_begin, bundle_position;
  Array<std::uint32_t> far_place;
  Array<I> far_source;

  /// Where fields and near entries of a position stand; positions of all blocks, page after page.
  static constexpr int units_of(int near) { return (near + 4 + courier_fields - 1) / courier_fields; }
  std::size_t field_place(std::int64_t position, int field) const
  {
    const std::int64_t unit = position / courier_page * units_of(near) + field / courier_fields;
    return (unit * courier_page + position % courier_page) * courier_fields + field % courier_fields;
  }
  std::size_t near_place(std::int64_t position, int j) const
  {
    const std::int64_t pair = position / courier_page * (near / 2) + j / 2;
    return (pair * courier_page + position % courier_page) * 2 + j % 2;
  }
  std::uint16_t own_slot(std::int64_t position) const { return index[field_place(position, 0)] & ~courier_far; }
  bool reads_mail(std::int64_t position) const { return index[field_place(position, 0)] & courier_far; }
  std::uint16_t near_slot(std::int64_t position, int j) const { return index[field_place(position, j + 1)]; }
  std::uint32_t next_width(std::int64_t position) const
  {
    return index[field_place(position, units_of(near) * courier_fields - 3)];
  }
  std::uint32_t mail_of(std::int64_t position) const
  {
    const int last = units_of(near) * courier_fields - 1;
    return index[field_place(position, last - 1)] |
           static_cast<std::uint32_t>(index[field_place(position, last)]) << 16;
  }
  std::size_t bytes() const
  {
    const std::size_t words = step_end.size() + bundle_begin.size() + bundle_position.size() + far_place.size();
    return block.size() * sizeof(RowBlock) + words * 4 +
           index.size() * 2 + (source.size() + row.size() + far_source.size()) * sizeof(I);
  }
};

/// Do most rows reach equally far, as on a grid? Then chains stay inside blocks, and blocks follow each other at equal
/// distances in time; elsewhere the same chain may cross borders again and again.
template <class I> bool reaches_regularly(PatternView<I> T);

/// The plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory; invalid_argument for 2^32 rows or layers and more
///   cost    O(nnz) on rule.threads threads
template <class I>
Status make_courier_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule,
                         CourierPlan<I>* out);

}  // namespace syncfree
