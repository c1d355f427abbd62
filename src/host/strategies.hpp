#pragma once

/// What every host strategy offers: one function make_<name>, and the row of a
/// triangular solve that most of them share.

#include <memory>

#include "../core/strategy_list.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// Each throws std::bad_alloc.
#define SYNCFREE_DECLARE_MAKE(name, reproducible, summary) \
  template <class T, class V, class I>                     \
  std::unique_ptr<TriangularSolver<T, V, I>> make_##name(TriangleView<V, I> triangle, int threads);
SYNCFREE_HOST_STRATEGIES(SYNCFREE_DECLARE_MAKE)
#undef SYNCFREE_DECLARE_MAKE

/// x_i = (b_i - sum_k value_k x_column(k)) * inverse_diagonal_i, for one column.
///
/// The entry nearest to the diagonal is the one whose x is the youngest, so it is used
/// last: the far entries are summed while it is still being computed.
template <class T, class V, class I, bool conjugated> struct SolveRow {
  TriangleView<V, I> triangle;

  static T stored(const V& v)
  {
    if constexpr (conjugated) return conjugate(static_cast<T>(v));
    else return static_cast<T>(v);
  }

  void operator()(I i, const T* b, T* x) const
  {
    const I begin = triangle.pattern.row_begin[i];
    const I end = triangle.pattern.row_begin[i + 1];
    T sum = b[i];
    if (triangle.lower)
      for (I k = begin; k < end; ++k) sum -= multiply(stored(triangle.value[k]), x[triangle.pattern.column[k]]);
    else
      for (I k = end; k-- > begin;) sum -= multiply(stored(triangle.value[k]), x[triangle.pattern.column[k]]);
    x[i] = triangle.inverse_diagonal ? multiply(sum, stored(triangle.inverse_diagonal[i])) : sum;
  }
};

/// Calls solve(row, b, x) for each column with the row function for `conjugate`.
template <class T, class V, class I, class Solve>
void for_each_column(const TriangleView<V, I>& triangle, const T* b, T* x, const Columns<I>& columns, bool conjugate,
                     Solve solve)
{
  for (I c = 0; c < columns.count; ++c) {
    const T* from = b + static_cast<std::size_t>(c) * columns.b_leading;
    T* to = x + static_cast<std::size_t>(c) * columns.x_leading;
    if (is_complex_v<T> && conjugate) solve(SolveRow<T, V, I, is_complex_v<T>>{triangle}, from, to);
    else solve(SolveRow<T, V, I, false>{triangle}, from, to);
  }
}

}  // namespace syncfree
