/// Checks that the input is a valid CSR pattern. All later code relies on it.

#include <atomic>

#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// True if is_good(begin, end) holds for every part of the rows.
template <class I, class IsGood> static bool all_parts(I rows, int threads, IsGood is_good)
{
  std::atomic<bool> good{true};
  for_parts(threads, parts_of(rows), [&](std::size_t part) {
    if (!is_good(first_of_part<I>(part), end_of_part(part, rows))) good = false;
  });
  return good;
}

template <class I> Status check_row_offsets(PatternView<I> A, int threads)
{
  if (A.n < 0) return failed(Code::bad_row_offsets, 0);
  if (A.n > 0 && A.row_begin[0] != 0) return failed(Code::bad_row_offsets, 0);
  const auto ascend = [&](I begin, I end) {
    unsigned descents = 0;
    for (I i = begin; i < end; ++i) descents |= A.row_begin[i + 1] < A.row_begin[i];
    return descents == 0;
  };
  constexpr int offsets_an_entry = 8;  ///< that take as long to check as one entry
  if (all_parts(A.n, worthwhile_threads(A.n / offsets_an_entry, threads), ascend)) return {};
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

/// True if the columns are in [0, n) and strictly ascending. Has no branch per entry.
template <class I> static bool ascends(const PatternView<I>& A, I i)
{
  const I begin = A.row_begin[i], end = A.row_begin[i + 1];
  if (begin == end) return true;
  unsigned descents = (A.column[begin] < 0) | (A.column[end - 1] >= A.n);
  for (I k = begin + 1; k < end; ++k) descents |= A.column[k] <= A.column[k - 1];
  return descents == 0;
}

/// Checks all offsets before it reads any column: an offset that is too large would point past the columns.
template <class I> Status check_pattern(PatternView<I> A, int threads)
{
  const auto all_ascend = [&](I begin, I end) {
    bool all = true;
    for (I i = begin; i < end; ++i) all &= ascends(A, i);
    return all;
  };
  Status status = check_row_offsets(A, threads);
  if (status.ok() && all_parts(A.n, threads, all_ascend)) return status;
  for (I i = 0; status.ok() && i < A.n; ++i) status = check_row(A, i);
  return status;
}

#define INSTANTIATE(I)                                              \
  template Status check_row_offsets<I>(PatternView<I>, int); \
  template Status check_pattern<I>(PatternView<I>, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
