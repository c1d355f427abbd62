#pragma once

/// Plans of the three block algorithms of Lu et al. 2020: a triangle is cut into smaller triangles and rectangles,
/// which are worked off one after the other on one vector.
///
/// Positions number the rows in the order of the plan, so that an entry's column has an earlier position than its row,
/// for lower and upper triangles alike. A triangle solves its range of positions in place; a rectangle, "square" in the
/// paper, subtracts its product with an earlier range from its own.
///
///   column_block     triangle, then all that is below it
///   row_block        all that is left of a triangle, then the triangle
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
  scalar_csr,   ///< rectangles from here: a thread or a warp a row, all rows or only those that have entries
  vector_csr,
  scalar_dcsr,
  vector_dcsr,
};
const char* name_of(BlockKernel kernel);

/// One block and where its entries stand in the plan's arrays.
template <class I> struct Block {
  BlockKernel kernel;
  I first_row, rows;        ///< positions
  I first_column, columns;  ///< positions; those of the rows if it is a triangle
  I levels;                 ///< of a triangle; 0 for a rectangle
  I filled;                 ///< rows that have entries
  I stored;                 ///< rows in storage: all, or the filled ones
  std::size_t begin;        ///< in BlockPlan::row_begin, which has stored + 1 numbers for this block
  std::size_t entry;        ///< in column and source
  std::size_t stored_row;   ///< in BlockPlan::stored_row, if only filled rows are stored

  bool triangle() const { return kernel < BlockKernel::scalar_csr; }
  bool only_filled() const { return kernel >= BlockKernel::scalar_dcsr; }
};

/// Blocks in the order of execution, with their entries in that order. Rectangles without entries are left out.
///   row         n rows of the triangle by position
///   row_begin   offsets into a block's own entries
///   stored_row  rows that are stored, counted from the block's first
///   column      counted from the block's first column, ascending in a row
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
  std::size_t bytes() const
  {
    return blocks.size() * sizeof(Block<I>) +
           (row.size() + row_begin.size() + stored_row.size() + column.size() + source.size()) * sizeof(I);
  }
};

/// Where one kernel takes over from another. Algorithm 7 of the paper with its thresholds is "paper"; "h200" is that of
/// a sweep on that device, tests/bench/results/sweep.csv (tests/bench/sweep.sh).
struct BlockTable {
  const char* name;
  std::int64_t least_rows;         ///< a part with fewer than two times as many rows is not cut
  double most_rows_a_level;        ///< nor one by the recursive algorithm whose levels are wider
  double level_set_entries;        ///< up to so many entries a row
  std::int64_t level_set_levels;   ///< and so many levels
  double single_entries;           ///< or up to so many entries a row
  std::int64_t single_levels;      ///< and so many levels: by level sets
  std::int64_t vendor_levels;      ///< above it the vendor's kernel
  BlockKernel otherwise;           ///< for every other triangle
  bool by_filled_rows;             ///< "a row" of a rectangle means a row that has entries
  double scalar_entries;           ///< up to so many entries a row a thread takes a row, else a warp
  double scalar_empty;             ///< above this part of empty rows only filled ones are stored, for threads
  double vector_empty;             ///< for warps
};
/// nullptr if no table has that name.
const BlockTable* find_block_table(const std::string& name);

/// Entries a row without the diagonal.
BlockKernel choose_triangle_kernel(const BlockTable& table, double entries_a_row, std::int64_t levels);
BlockKernel choose_rectangle_kernel(const BlockTable& table, double entries_a_row, double empty_ratio);

/// Table and least rows that the options name.
Status read_block_options(const BlockOptions& options, BlockTable* out);

/// The plan of one triangle.
///   T       strictly lower or strictly upper pattern
///   errors  out_of_memory
///   cost    O(nnz) for each depth of cutting, serial
template <class I>
Status make_block_plan(PatternView<I> T, bool lower, BlockShape shape, const BlockTable& table, BlockPlan<I>* out);

}  // namespace syncfree
