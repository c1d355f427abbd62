#include "syncfree/blocks.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "pattern_copy.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"

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

template <class I> I row_length(const PatternView<I>& A, I row) { return A.row_begin[row + 1] - A.row_begin[row]; }

/// True if block row i consists of full blocks: its first row does, and the others have the same columns.
template <class I> bool has_full_row(const PatternView<I>& A, I size, I i)
{
  const I length = row_length(A, i * size);
  const I* first = A.column + A.row_begin[i * size];
  if (length % size != 0) return false;
  for (I r = 1; r < size; ++r)
    if (row_length(A, i * size + r) != length) return false;
  for (I k = 0; k < length; k += size) {
    if (first[k] % size != 0) return false;
    for (I c = 1; c < size; ++c)
      if (first[k + c] != first[k] + c) return false;
  }
  for (I r = 1; r < size; ++r)
    if (!std::equal(first, first + length, A.column + A.row_begin[i * size + r])) return false;
  return true;
}

}  // namespace

Status check_block_size(std::int64_t n, std::int64_t size)
{
  if (size >= 1 && size <= std::numeric_limits<int>::max() && n % size == 0) return {};
  const std::string given = "block size " + std::to_string(size);
  if (size < 1) return failed(Code::invalid_argument, given + " must be at least 1");
  return failed(Code::invalid_argument,
                given + " does not divide the number of rows of this process, " + std::to_string(n));
}

Status check_no_blocks(const SolverOptions& options)
{
  if (options.block_size == 1) return {};
  return failed(Code::invalid_argument, "block size " + std::to_string(options.block_size) +
                                            ": this preconditioner factors by entries");
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

template <class I> bool find_full_blocks(PatternView<I> A, int size, int threads, BlockPattern<I>* out)
{
  const I s = static_cast<I>(size);
  if (A.n % s != 0) return false;
  const I n = A.n / s;
  const bool full = all_rows(n, worthwhile_threads(A.nnz(), threads), [&](I i) { return has_full_row(A, s, i); });
  if (!full || !out) return full;
  BlockPattern<I> made;
  made.size = size;
  made.n = n;
  made.row_begin.resize(static_cast<std::size_t>(n) + 1);
  made.row_begin[0] = 0;
  for (I i = 0; i < n; ++i) made.row_begin[i + 1] = made.row_begin[i] + row_length(A, i * s) / s;
  made.column.resize(static_cast<std::size_t>(made.row_begin[n]));
  for (I i = 0; i < n; ++i)
    for (I k = made.row_begin[i]; k < made.row_begin[i + 1]; ++k)
      made.column[k] = A.column[A.row_begin[i * s] + (k - made.row_begin[i]) * s] / s;
  *out = std::move(made);
  return true;
}

template <class I> bool consists_of_blocks(PatternView<I> A, const BlockPattern<I>& full, int threads)
{
  const I s = static_cast<I>(full.size);
  if (A.n != full.n * s || static_cast<std::size_t>(A.nnz()) != full.values()) return false;
  return all_rows(full.n, worthwhile_threads(A.nnz(), threads), [&](I i) {
    const I begin = full.row_begin[i], count = full.row_begin[i + 1] - begin;
    for (I r = 0; r < s; ++r) {
      const I first = A.row_begin[i * s + r];
      if (first != s * (s * begin + r * count) || row_length(A, i * s + r) != s * count) return false;
      for (I k = 0; k < s * count; ++k)
        if (A.column[first + k] != full.column[begin + k / s] * s + k % s) return false;
    }
    return true;
  });
}

template <class I> bool keeps_blocks(const I* order, I n, I size)
{
  for (I i = 0; order && i < n; i += size)
    for (I r = 0; r < size; ++r)
      if (order[i] % size != 0 || order[i + r] != order[i] + r) return false;
  return true;
}

template <class T, class I>
void copy_to_blocks(const BlockPattern<I>& pattern, const T* value, T* blocks, int threads)
{
  const auto entries = static_cast<std::int64_t>(pattern.place.size());
  const auto values = static_cast<std::int64_t>(pattern.values());
  const int most = worthwhile_threads(entries, threads);
  if (pattern.padding > 0)
    for_parts(most, parts_of(values), [&](std::size_t part) {
      std::fill(blocks + first_of_part<std::int64_t>(part), blocks + end_of_part(part, values), T(0));
    });
  for_parts(most, parts_of(entries), [&](std::size_t part) {
    const std::int64_t end = end_of_part(part, entries);
    for (std::int64_t k = first_of_part<std::int64_t>(part); k < end; ++k) blocks[pattern.place[k]] = value[k];
  });
}

#define INSTANTIATE(I)                                                              \
  template Status make_block_pattern<I>(PatternView<I>, int, BlockPattern<I>*);     \
  template bool find_full_blocks<I>(PatternView<I>, int, int, BlockPattern<I>*);    \
  template bool consists_of_blocks<I>(PatternView<I>, const BlockPattern<I>&, int); \
  template bool keeps_blocks<I>(const I*, I, I);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, I) template void copy_to_blocks<T, I>(const BlockPattern<I>&, const T*, T*, int);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
