#pragma once

/// Matrices of dense blocks, for several unknowns a point.
///
/// With blocks of `size` unknowns, a matrix of n block rows has n * size rows. Its pattern is that of the blocks. Its
/// values are those of the blocks in the order of the pattern, size * size each, column by column inside a block, as in
/// PETSc's MATBAIJ: row r, column c of block k is value[(k * size + c) * size + r].

#include <cstdint>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/options.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// The blocks of a matrix that is given by entries.
///   size       unknowns of a block
///   n          number of block rows
///   row_begin  n + 1 offsets
///   column     block columns, ascending and distinct in each block row
///   place      for each entry of the matrix, its index among the values of the blocks
///   padding    number of values that belong to no entry: zeros that a factorization by blocks adds
template <class I> struct BlockPattern {
  int size = 1;
  I n = 0;
  Array<I> row_begin, column, place;
  std::int64_t padding = 0;

  PatternView<I> view() const { return {n, row_begin.data(), column.data()}; }
  std::size_t values() const { return column.size() * static_cast<std::size_t>(size) * static_cast<std::size_t>(size); }
};

/// How the values of full blocks are given: block by block, as above, or row by row as the entries of a matrix
enum class BlockValues { by_blocks, by_rows };

/// Checks that a block has at least one row, and that n rows can be divided into blocks.
///   errors  invalid_argument, with both numbers
Status check_block_size(std::int64_t n, std::int64_t size);

/// For backends without dense blocks: checks that the options ask for none.
///   errors  invalid_argument
Status check_no_blocks(const SolverOptions& options);

/// Finds the blocks of A.
///   A       n x n, already checked by check_pattern; size divides n
///   out     [out] unchanged on failure
///   errors  invalid_argument: size does not divide n, or the values of the blocks do not fit an index; out_of_memory
///   cost    O(nnz + nnz of the blocks * log of their number in a block row), serial
template <class I> Status make_block_pattern(PatternView<I> A, int size, BlockPattern<I>* out);

/// Finds the blocks of A if they are full, so that none needs padding.
///   A        n x n; at least its row offsets are checked. Its columns are read only
///   size     at least 1
///   out      [out] without `place`: row r, column c of the m-th of the `count` blocks of block row i is entry
///            size * (size * row_begin[i] + r * count + m) + c. nullptr: the test only
///   returns  whether they are full; if not, *out is unchanged
///   cost     O(nnz), up to the first block that is not full. Throws std::bad_alloc
template <class I> bool find_full_blocks(PatternView<I> A, int size, int threads, BlockPattern<I>* out);

/// Tests whether A has these full blocks and no other entries, which includes their order.
template <class I> bool consists_of_blocks(PatternView<I> A, const BlockPattern<I>& full, int threads);

/// Tests whether an order of n rows keeps the rows of each block together and in their order; size divides n.
///   order  nullptr: the natural order
template <class I> bool keeps_blocks(const I* order, I n, I size);

/// Copies the values of a matrix to its blocks, and sets the padding to 0.
///   value   of the entries of A
///   blocks  [out] pattern.values() values
template <class T, class I>
void copy_to_blocks(const BlockPattern<I>& pattern, const T* value, T* blocks, int threads = 1);

}  // namespace syncfree
