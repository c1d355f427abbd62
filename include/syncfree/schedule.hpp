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

/// The rows dealt out to a team of threads, one block each, with point-to-point waits.
///
/// A block is walked step by step. A step may start when every entry of its wait list holds;
/// waits that an earlier step of the block already implies are dropped. Steps have keys,
/// ascending in each block, and every wait is for a step with a lower key, so a thread that walks
/// several blocks in the order of keys never deadlocks.
///
/// Two ways of dealing, whichever promises more (`speedup`):
///   runs    pieces of consecutive rows that start where a row reads nothing near, dealt out in turn and
///           walked in natural order: neighbouring threads follow each other through their pieces
///   levels  one contiguous piece a block, walked level by level
///
///   row              n rows, block by block in the order in which they are walked
///   block_step       blocks + 1 offsets into steps
///   step_begin       steps + 1 offsets into row
///   step_key         key of each step
///   wait_begin       steps + 1 offsets into wait
template <class I> struct RowBlocks {
  std::int32_t blocks = 0;
  I levels = 0;
  bool natural = false;  ///< dealt in runs: the rows of a step are consecutive
  double speedup = 0;    ///< over one thread, from a simulation of the plan; a rough figure
  std::vector<I> row;
  std::vector<I> block_step, step_begin, step_key, wait_begin;
  std::vector<StepWait> wait;
};

/// Deals out the rows to `blocks` blocks of about equal (nnz + rows).
///   T       strictly lower (lower = true) or strictly upper pattern
///   blocks  >= 1; more blocks than rows leave some empty
///   errors  invalid_argument, out_of_memory
///   cost    O(nnz + n log(n / levels)), serial
template <class I> Status make_row_blocks(PatternView<I> T, bool lower, std::int32_t blocks, RowBlocks<I>* out);

}  // namespace syncfree
