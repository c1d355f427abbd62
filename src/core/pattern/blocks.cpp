#include "syncfree/blocks.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// Appends the block columns of a block row, in ascending order.
///   seen  seen[j] > row: block column j is already listed; n entries, 0 before the first row
template <class I> void list_blocks(const PatternView<I>& A, I size, I row, std::vector<I>* seen, Array<I>* column)
{
  const std::size_t first = column->size();
  for (I k = A.row_begin[row * size]; k < A.row_begin[(row + 1) * size]; ++k) {
    const I j = A.column[k] / size;
    if ((*seen)[j] > row) continue;
    (*seen)[j] = row + 1;
    column->push_back(j);
  }
  std::sort(column->begin() + static_cast<std::ptrdiff_t>(first), column->end());
}

/// Finds the places of the entries of a block row.
///   block_at  [work] n entries
template <class I> void find_places(const PatternView<I>& A, I row, std::vector<I>* block_at, BlockPattern<I>* made)
{
  const I size = static_cast<I>(made->size);
  for (I k = made->row_begin[row]; k < made->row_begin[row + 1]; ++k) (*block_at)[made->column[k]] = k;
  for (I r = 0; r < size; ++r)
    for (I k = A.row_begin[row * size + r]; k < A.row_begin[row * size + r + 1]; ++k) {
      const I block = (*block_at)[A.column[k] / size];
      made->place[k] = (block * size + A.column[k] % size) * size + r;
    }
}

}  // namespace

Status check_block_size(std::int64_t n, std::int64_t size)
{
  if (size >= 1 && size <= std::numeric_limits<int>::max() && n % size == 0) return {};
  const std::string given = "block size " + std::to_string(size);
  if (size < 1) return failed(Code::invalid_argument, given + " must be at least 1");
  return failed(Code::invalid_argument, given + " does not divide the number of rows, " + std::to_string(n));
}

Status check_no_blocks(const SolverOptions& options)
{
  if (options.block_size == 1) return {};
  return failed(Code::invalid_argument, "block size " + std::to_string(options.block_size) +
                                            ": this preconditioner factors by entries; by blocks the host does");
}

template <class I> Status make_block_pattern(PatternView<I> A, int size, BlockPattern<I>* out)
try {
  const Status status = check_block_size(A.n, size);
  if (!status.ok()) return status;
  BlockPattern<I> made;
  made.size = size;
  made.n = A.n / static_cast<I>(size);
  std::vector<I> work(made.n, 0);
  made.row_begin.push_back(0);
  for (I i = 0; i < made.n; ++i) {
    list_blocks(A, static_cast<I>(size), i, &work, &made.column);
    made.row_begin.push_back(static_cast<I>(made.column.size()));
  }
  if (made.values() > static_cast<std::size_t>(std::numeric_limits<I>::max()))
    return failed(Code::invalid_argument, "the values of the blocks of size " + std::to_string(size) +
                                              " do not fit an index; use 64-bit indices");
  made.place.resize(static_cast<std::size_t>(A.nnz()));
  for (I i = 0; i < made.n; ++i) find_places(A, i, &work, &made);
  made.padding = static_cast<std::int64_t>(made.values()) - static_cast<std::int64_t>(A.nnz());
  *out = std::move(made);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

template <class T, class I> void copy_to_blocks(const BlockPattern<I>& pattern, const T* value, T* blocks)
{
  if (pattern.padding > 0) std::fill_n(blocks, pattern.values(), T(0));
  for (std::size_t k = 0; k < pattern.place.size(); ++k) blocks[pattern.place[k]] = value[k];
}

#define INSTANTIATE(I) template Status make_block_pattern<I>(PatternView<I>, int, BlockPattern<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, I) template void copy_to_blocks<T, I>(const BlockPattern<I>&, const T*, T*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
