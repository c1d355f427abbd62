/// Is this a CSR pattern at all? Everything behind relies on it.

#include "instantiate.hpp"
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

template <class I> Status check_pattern(PatternView<I> A)
{
  Status status = check_offsets(A);
  for (I i = 0; status.ok() && i < A.n; ++i) status = check_row(A, i);
  return status;
}

#define INSTANTIATE(I) template Status check_pattern<I>(PatternView<I>);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
