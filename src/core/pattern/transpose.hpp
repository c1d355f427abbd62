#pragma once

/// The pattern of a transposed triangle.

#include <vector>

#include "syncfree/csr.hpp"

namespace syncfree {

/// Constructs the transpose of T. Throws std::bad_alloc.
///   source  entry k is entry source[k] of the triangle
template <class I> struct Transposed {
  std::vector<I> row_begin, column, source;

  explicit Transposed(const PatternView<I>& T) : row_begin(T.n + 1, 0), column(T.nnz()), source(T.nnz())
  {
    for (I k = 0; k < T.nnz(); ++k) ++row_begin[T.column[k] + 1];
    for (I j = 0; j < T.n; ++j) row_begin[j + 1] += row_begin[j];
    std::vector<I> next(row_begin.begin(), row_begin.end());
    for (I i = 0; i < T.n; ++i)
      for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k) {
        const I place = next[T.column[k]]++;
        column[place] = i;
        source[place] = k;
      }
  }

  PatternView<I> pattern_view() const
  {
    return {static_cast<I>(row_begin.size() - 1), row_begin.data(), column.data()};
  }
};

}  // namespace syncfree
