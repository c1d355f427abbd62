#pragma once

/// Renumbers rows and columns of a pattern in host memory.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "syncfree/array.hpp"

namespace syncfree {

/// Gives row i, and column i, the number number[i]; columns of a row ascend.
///   row_begin, column  of the pattern
///   entry              [out] index that each entry had before
///   cost               O(nnz log(entries of a row)). Throws std::bad_alloc
template <class I>
void renumber_rows(const std::vector<I>& number, Array<I>* row_begin, Array<I>* column, Array<I>* entry)
{
  const std::size_t n = number.size();
  std::vector<I> row(n);
  for (std::size_t i = 0; i < n; ++i) row[number[i]] = static_cast<I>(i);
  Array<I> begin(n + 1), from(column->size()), to(column->size());
  begin[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const I first = (*row_begin)[row[i]], count = (*row_begin)[row[i] + 1] - first;
    I* const own = from.data() + begin[i];
    for (I e = 0; e < count; ++e) own[e] = first + e;
    std::sort(own, own + count, [&](I a, I b) { return number[(*column)[a]] < number[(*column)[b]]; });
    begin[i + 1] = begin[i] + count;
  }
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = number[(*column)[from[k]]];
  *row_begin = std::move(begin), *column = std::move(to), *entry = std::move(from);
}

/// Returns the values of entries that renumber_rows() has moved.
template <class T, class I> Array<T> values_of_entries(const Array<T>& value, const Array<I>& entry)
{
  Array<T> moved(entry.size());
  std::transform(entry.begin(), entry.end(), moved.begin(), [&](I k) { return value[k]; });
  return moved;
}

}  // namespace syncfree
