/// Is this a CSR pattern at all? Everything behind relies on it.

#include <atomic>

#include "instantiate.hpp"
#include "parallel.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// All offsets come before the first column: one too large points behind the columns.
template <class I> static Status check_offsets(const PatternView<I>& A)
{
  if (A.n < 0) return failed(Code::bad_row_offsets, 0);
  if (A.n > 0 && A.row_begin[0] != 0) return failed(Code::bad_row_offsets, 0);
  for (I i = 0; i < A.n; ++i)
    if (A.row_begin[i + 1] < A.row_begin[i]) return failed(Code::bad_row_offsets, i);
  return {};
}

template <class I> static Status check_row(const PatternView<I>& A, I i)
{
  I previous = -1;
  for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
    const I j = A.column[k];
    if (j < 0 || j >= A.n) return failed(Code::column_out_of_range, i, j);
    if (j == previous) return failed(Code::duplicate_column, i, j);
    if (j < previous) return failed(Code::unsorted_columns, i, j);
    previous = j;
  }
  return {};
}

/// Ascending columns between 0 and n - 1, seen without a branch for each entry.
template <class I> static bool ascends(const PatternView<I>& A, I i)
{
  const I begin = A.row_begin[i], end = A.row_begin[i + 1];
  if (begin == end) return true;
  unsigned descents = (A.column[begin] < 0) | (A.column[end - 1] >= A.n);
  for (I k = begin + 1; k < end; ++k) descents |= A.column[k] <= A.column[k - 1];
  return descents == 0;
}

template <class I> static bool all_ascend(const PatternView<I>& A, int threads)
{
  std::atomic<bool> good{true};
  for_parts(threads, parts_of(A.n), [&](std::size_t part) {
    bool mine = true;
    for (I i = first_of_part<I>(part); i < end_of_part(part, A.n); ++i) mine &= ascends(A, i);
    if (!mine) good = false;
  });
  return good;
}

template <class I> Status check_pattern(PatternView<I> A, int threads)
{
  Status status = check_offsets(A);
  if (status.ok() && all_ascend(A, threads)) return status;
  for (I i = 0; status.ok() && i < A.n; ++i) status = check_row(A, i);
  return status;
}

#define INSTANTIATE(I) template Status check_pattern<I>(PatternView<I>, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
