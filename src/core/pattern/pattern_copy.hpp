#pragma once

/// Tests, entry by entry, whether a pattern is the one that something was made from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/support/parallel.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// True if copies of columns in [0, n) are stored in words shorter than an index; an entry then takes 4 bytes. In a
/// matrix of more than 2^32 columns it takes 8: a hash would be shorter, but it proves nothing.
template <class I, class Word = std::uint32_t> constexpr bool are_copied_to_words(I n)
{
  constexpr std::uint64_t most = std::uint64_t{1} + std::numeric_limits<Word>::max();
  return sizeof(Word) < sizeof(I) && static_cast<std::uint64_t>(n) <= most;
}

/// Copy of a pattern, for objects that do not store the pattern's entries otherwise.
///   Word  types other than the default are for tests
template <class I, class Word = std::uint32_t> class PatternCopy {
public:
  void keep_pattern(const PatternView<I>& A)
  {
    if (A.n == 0) return;
    copy_indices(A.row_begin, static_cast<std::size_t>(A.n) + 1, &row_begin_);
    if (are_copied_to_words<I, Word>(A.n)) copy_indices(A.column, static_cast<std::size_t>(A.nnz()), &word_);
    else copy_indices(A.column, static_cast<std::size_t>(A.nnz()), &column_);
  }
  /// True if A equals the copy.
  ///   A  has as many rows and entries as the copy
  bool are(const PatternView<I>& A) const
  {
    return is_copy(row_begin_, A.row_begin) && is_copy(word_, A.column) && is_copy(column_, A.column);
  }
  std::size_t pattern_copy_bytes() const
  {
    return (row_begin_.size() + column_.size()) * sizeof(I) + word_.size() * sizeof(Word);
  }

private:
  template <class V> static void copy_indices(const I* from, std::size_t size, Array<V>* to)
  {
    to->resize(size);
    std::transform(from, from + size, to->begin(), [](I number) { return static_cast<V>(number); });
  }
  template <class V> static bool is_copy(const Array<V>& kept, const I* of)
  {
    return std::equal(kept.begin(), kept.end(), of, [](V k, I number) { return static_cast<I>(k) == number; });
  }

  Array<I> row_begin_, column_;
  Array<Word> word_;  ///< used instead of column_ if the columns fit
};

/// True if is_same(row) holds for all n rows. Uses several threads. Throws std::bad_alloc.
template <class I, class IsSame> bool all_rows(I n, int threads, const IsSame& is_same)
{
  std::vector<unsigned char> same(parts_of(n), 1);
  for_parts(threads, same.size(), [&](std::size_t part) {
    const I end = end_of_part(part, n);
    for (I row = first_of_part<I>(part); row < end && same[part]; ++row) same[part] = is_same(row);
  });
  return std::find(same.begin(), same.end(), 0) == same.end();
}

/// True if a row of A consists of L's row, the columns [begin, end) and U's row, in this order.
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

/// True if a row of A ends with its diagonal and the row of U, which is all that IC reads of it.
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
