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
constexpr std::int64_t courier_most_rows = 0x7fff;  ///< of a block: slots have 15 bits

struct CourierRule {
  std::int64_t rows = 16384;  ///< at most in a block, at most courier_most_rows
  std::int64_t blocks = 132;  ///< at least, where there are so many rows
  int near = 0;               ///< 2, 4, 8 or 16; 0: by the triangle
  int most_near = 16;
  int warps = 0;              ///< a step has at most 32 rows for each; 0: by the triangle
  int most_warps = 8;
};

/// One block; firsts count in the arrays of the plan.
struct RowBlock {
  std::int64_t first_row = 0, first_page = 0, first_step = 0, first_far_row = 0, first_far_begin = 0, first_far = 0;
  std::uint32_t rows = 0, pages = 0, steps = 0, far_rows = 0, first_mail = 0, mails = 0;
};

/// Slots are rows counted from the block's first; slot `rows` holds a zero.
///   step_end    by step: the position behind its last
///   index       by page, near + 3 planes of 128: the row's slot (with courier_far), the slots of its near numbers, the
///               low and the high half of its place in the mailbox
///   source      by page, near planes of 128: the triangle's entry, or -1
///   row         by page: the triangle's row, or -1
///   far_begin   by block far_rows + 1 offsets, from 0 on: what a row reads by mail
///   far_slot    by row that reads mail, in the order of positions
///   far_place, far_source   by entry: place in the mailbox, the triangle's entry
template <class I> struct CourierPlan {
  int near = 2, warps = 1;
  std::uint32_t mails = 0;
  std::vector<RowBlock> block;
  std::vector<std::uint32_t> step_end;
  Array<std::uint16_t> index;
  Array<I> source, row;
  std::vector<std::uint32_t> far_begin;
  std::vector<std::uint16_t> far_slot;
  std::vector<std::uint32_t> far_place;
  std::vector<I> far_source;

  std::size_t planes() const { return static_cast<std::size_t>(near) + 3; }
  std::size_t pages() const { return row.size() / courier_page; }
  std::uint16_t* page_index(std::int64_t page) { return index.data() + page * planes() * courier_page; }
  const std::uint16_t* page_index(std::int64_t page) const { return index.data() + page * planes() * courier_page; }
  std::size_t bytes() const
  {
    return block.size() * sizeof(RowBlock) + (step_end.size() + far_begin.size() + far_place.size()) * 4 +
           (index.size() + far_slot.size()) * 2 + (source.size() + row.size() + far_source.size()) * sizeof(I);
  }
};

/// The plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   levels  of T
///   errors  out_of_memory; invalid_argument where a block's mail would have 2^32 entries or more
///   cost    O(nnz), serial
template <class I>
Status make_courier_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule,
                         CourierPlan<I>* out);

}  // namespace syncfree
