#pragma once

/// Levels of a triangle and the row-block schedule that several backends share.
///
/// The level of a row is 0 if it waits for nobody, else 1 + the deepest row it reads.
/// Rows of equal level are independent of each other.

#include <cstdint>
#include <vector>

#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Rows grouped by level.
///   row          n rows, by level, ascending inside a level
///   level_begin  count + 1 offsets into row
template <class I> struct LevelSets {
  I count = 0;  ///< number of levels: 0 for n = 0
  std::vector<I> row;
  std::vector<I> level_begin;
};

/// Depth of every row.
///   T       strictly lower (lower = true, rows ascend) or strictly upper pattern (rows descend)
///   depth   [out] n entries in [0, levels)
///   returns number of levels: 0 for n = 0, 1 when all rows are free
///   cost    O(nnz), serial, allocates nothing
///   source  Anderson & Saad 1989
template <class I> I find_levels(PatternView<I> T, bool lower, I* depth);

/// Rows sorted by depth (counting sort, stable).
template <class I> Status make_level_sets(PatternView<I> T, bool lower, LevelSets<I>* out);

/// A step of a block waits until another block has finished `steps` of its own steps.
struct StepWait {
  std::int32_t block;
  std::int64_t steps;
};

/// Contiguous blocks of rows of about equal work, each walked level by level.
///
/// Block p owns the rows in [block_row[p], block_row[p+1]). Its rows of one level form a step; its
/// steps ascend in level. A step may start when every entry of its wait list holds; waits
/// that an earlier step of the block already implies are dropped. Every wait is for a
/// lower level, so a thread that walks its blocks in level order never deadlocks,
/// however many blocks it has.
///   row              n rows, block by block, by level inside a block, ascending in a step
///   block_step       blocks + 1 offsets into steps
///   step_begin       steps + 1 offsets into row
///   step_level       level of each step
///   wait_begin       steps + 1 offsets into wait
template <class I> struct RowBlocks {
  std::int32_t blocks = 0;
  I levels = 0;
  std::vector<I> block_row;
  std::vector<I> row;
  std::vector<I> block_step, step_begin, step_level, wait_begin;
  std::vector<StepWait> wait;
};

/// Cuts the rows into `blocks` contiguous blocks of about equal (nnz + rows).
///   blocks  >= 1; more blocks than rows leave some empty
///   errors  out_of_memory
///   cost    O(nnz + n), serial
template <class I> Status make_row_blocks(PatternView<I> T, bool lower, std::int32_t blocks, RowBlocks<I>* out);

}  // namespace syncfree
