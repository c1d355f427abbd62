#pragma once

/// Plans of the three block algorithms of Lu et al. 2020: a triangle is cut into smaller triangles and rectangles,
/// which are processed one after the other on one vector.
///
/// Positions number the rows in the order of the plan, so that an entry's column has an earlier position than its row,
/// for lower and upper triangles alike. A triangle solves its range of positions in place; a rectangle ("square" in the
/// paper) subtracts its product with an earlier range from its own.
///
///   column_block     triangle, then the rectangle below it
///   row_block        rectangle to the left of a triangle, then the triangle
///   recursive_block  upper half, the square below it, lower half, each half cut again; the rows of every part are
///                    sorted by the part's own levels before it is cut

#include <cstdint>
#include <string>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

enum class BlockShape { column, row, recursive };

enum class BlockKernel {
  diagonal,     ///< triangles from here
  level_set,
  sync_free,
  level_order,  ///< not in the paper
  vendor,
  scalar_csr,   ///< rectangles from here: a thread or a warp per row; all rows or only those with entries
  vector_csr,
  scalar_dcsr,
  vector_dcsr,
};
const char* name_of(BlockKernel kernel);

/// One block and the location of its entries in the plan's arrays.
template <class I> struct Block {
  BlockKernel kernel;
  I first_row, rows;        ///< positions
  I first_column, columns;  ///< positions; those of the rows if it is a triangle
  I levels;                 ///< of a triangle; 0 for a rectangle
  I filled;                 ///< rows that have entries
  I stored;                 ///< rows in storage: all, or the filled ones
  std::size_t begin;        ///< in BlockPlan::row_begin, which has stored + 1 elements for this block
  std::size_t entry;        ///< in column and source
  std::size_t stored_row;   ///< in BlockPlan::stored_row, if only filled rows are stored

  bool triangle() const { return kernel < BlockKernel::scalar_csr; }
  bool only_filled() const { return kernel >= BlockKernel::scalar_dcsr; }
};

/// Blocks in the order of execution, with their entries in that order. Rectangles without entries are left out.
///   row         n rows of the triangle by position
///   row_begin   offsets into a block's own entries
///   stored_row  rows that are stored, relative to the block's first
///   column      relative to the block's first column, ascending in a row
///   source      the entry of the triangle's pattern
template <class I> struct BlockPlan {
  std::vector<I> row;
  std::vector<Block<I>> blocks;
  Array<I> row_begin, stored_row, column, source;

  const I* begin_of(const Block<I>& block) const { return row_begin.data() + block.begin; }
  PatternView<I> pattern_of(const Block<I>& block) const
  {
    return {block.stored, begin_of(block), column.data() + block.entry};
  }
  std::size_t block_plan_bytes() const
  {
    return blocks.size() * sizeof(Block<I>) +
           (row.size() + row_begin.size() + stored_row.size() + column.size() + source.size()) * sizeof(I);
  }
};

/// Thresholds between kernels. "paper" has those of the paper's algorithm 7; "h200" those of a sweep on that device,
/// tests/bench/results/sweep.csv (tests/bench/sweep.sh).
struct BlockTable {
  const char* name;
  std::int64_t least_rows;         ///< a part with fewer than twice as many rows is not cut
  double most_rows_a_level;        ///< nor is one whose levels are wider (recursive algorithm)
  double level_set_entries;        ///< level sets: at most this many entries per row
  std::int64_t level_set_levels;   ///< and at most this many levels
  double single_entries;           ///< or at most this many entries per row
  std::int64_t single_levels;      ///< and at most this many levels
  std::int64_t vendor_levels;      ///< the vendor's kernel above this number of levels
  BlockKernel otherwise;           ///< for every other triangle
  bool by_filled_rows;             ///< entries per row of a rectangle: mean over rows with entries
  double scalar_entries;           ///< a thread per row up to this many entries per row, else a warp
  double scalar_empty;             ///< thread per row: above this fraction of empty rows only filled ones are stored
  double vector_empty;             ///< the same for a warp per row
};
/// Returns nullptr if no table has that name.
const BlockTable* find_block_table(const std::string& name);

/// Chooses kernels. Entries per row are counted without the diagonal.
BlockKernel choose_triangle_kernel(const BlockTable& table, double entries_a_row, std::int64_t levels);
BlockKernel choose_rectangle_kernel(const BlockTable& table, double entries_a_row, double empty_ratio);

/// Copies the table that the options name, with the options' least rows.
Status read_block_options(const BlockOptions& options, BlockTable* out);

/// Makes the plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   errors  out_of_memory
///   cost    O(nnz) for each level of recursion, serial
template <class I>
Status make_block_plan(PatternView<I> T, bool lower, BlockShape shape, const BlockTable& table, BlockPlan<I>* out);

}  // namespace syncfree
