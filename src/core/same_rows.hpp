#pragma once

/// Is a pattern, entry by entry, the one that something was made of?

#include <algorithm>
#include <vector>

#include "parallel.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// A copy of a pattern, for what does not hold its entries otherwise.
template <class I> struct KeptRows {
  Array<I> row_begin, column;

  void keep(const PatternView<I>& A)
  {
    if (A.n == 0) return;
    row_begin.resize(static_cast<std::size_t>(A.n) + 1), column.resize(static_cast<std::size_t>(A.nnz()));
    std::copy_n(A.row_begin, row_begin.size(), row_begin.data());
    std::copy_n(A.column, column.size(), column.data());
  }
  /// A  has as many rows and entries
  bool are(const PatternView<I>& A) const
  {
    return std::equal(row_begin.begin(), row_begin.end(), A.row_begin) &&
           std::equal(column.begin(), column.end(), A.column);
  }
  std::size_t bytes() const { return (row_begin.size() + column.size()) * sizeof(I); }
};

/// is_same(row) for each of n rows, on a number of threads? Throws std::bad_alloc.
template <class I, class IsSame> bool all_rows(I n, int threads, const IsSame& is_same)
{
  std::vector<unsigned char> same(parts_of(n), 1);
  for_parts(threads, same.size(), [&](std::size_t part) {
    const I end = end_of_part(part, n);
    for (I row = first_of_part<I>(part); row < end && same[part]; ++row) same[part] = is_same(row);
  });
  return std::find(same.begin(), same.end(), 0) == same.end();
}

/// Is a row of A that of L, the columns from `begin` to before `end`, and that of U, one after the other?
template <class I> bool is_row_of(const FactorPattern<I>& p, const PatternView<I>& A, I row, I begin, I end)
{
  const I lower = p.lower_begin[row + 1] - p.lower_begin[row], upper = p.upper_begin[row + 1] - p.upper_begin[row];
  const I* column = A.column + A.row_begin[row];
  if (A.row_begin[row + 1] - A.row_begin[row] != lower + (end - begin) + upper) return false;
  if (!std::equal(column, column + lower, p.lower_column.data() + p.lower_begin[row])) return false;
  column += lower;
  for (I j = begin; j < end; ++j)
    if (*column++ != j) return false;
  return std::equal(column, column + upper, p.upper_column.data() + p.upper_begin[row]);
}

/// Does a row of A end in its diagonal and the row of U? All that IC reads of it.
template <class I> bool ends_in_row_of(const FactorPattern<I>& p, const PatternView<I>& A, I row)
{
  const I begin = A.row_begin[row], upper = p.upper_begin[row + 1] - p.upper_begin[row];
  const I diagonal = A.row_begin[row + 1] - upper - 1;
  if (diagonal < begin || A.column[diagonal] != row) return false;
  for (I k = begin; k < diagonal; ++k)
    if (A.column[k] >= A.column[k + 1]) return false;
  return std::equal(A.column + diagonal + 1, A.column + diagonal + 1 + upper,
                    p.upper_column.data() + p.upper_begin[row]);
}

}  // namespace syncfree
