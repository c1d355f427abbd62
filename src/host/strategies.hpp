#pragma once

/// What every host strategy offers: one function make_<name>, and the rows of a
/// triangular solve that most of them share.

#include <memory>
#include <new>
#include <type_traits>

#include "../core/strategy_list.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// Each throws std::bad_alloc. The triangle's numbers may still be missing (nullptr) and come by refresh().
#define SYNCFREE_DECLARE_MAKE(name, reproducible, summary) \
  template <class T, class V, class I>                     \
  std::unique_ptr<TriangularSolver<T, V, I>> make_##name(TriangleView<V, I> triangle, int threads);
SYNCFREE_HOST_STRATEGIES(SYNCFREE_DECLARE_MAKE)
#undef SYNCFREE_DECLARE_MAKE

/// x_i = (b_i - sum_k value_k x_column(k)) * inverse_diagonal_i.
///
/// The entry nearest to the diagonal is the one whose x is the youngest, so it is used
/// last: the far entries are summed while it is still being computed.
template <class T, class V, class I, bool lower, bool conjugated, bool unit> struct SolveRow {
  TriangleView<V, I> triangle;

  static T stored(const V& v)
  {
    if constexpr (conjugated) return conjugate(static_cast<T>(v));
    else return static_cast<T>(v);
  }

  void operator()(I i, const T* b, T* x) const
  {
    const I* column = triangle.pattern.column;
    const I begin = triangle.pattern.row_begin[i], end = triangle.pattern.row_begin[i + 1];
    T sum = b[i];
    if constexpr (lower)
      for (I k = begin; k < end; ++k) sum -= multiply(stored(triangle.value[k]), x[column[k]]);
    else
      for (I k = end; k-- > begin;) sum -= multiply(stored(triangle.value[k]), x[column[k]]);
    if constexpr (unit) x[i] = sum;
    else x[i] = multiply(sum, stored(triangle.inverse_diagonal[i]));
  }

  /// Rows at places [begin, end) of the substitution, for each column.
  void walk(I begin, I end, const T* b, T* x, const Columns<I>& columns) const
  {
    const I last = triangle.pattern.n - 1;
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (I s = begin; s < end; ++s) (*this)(lower ? s : last - s, b, x);
  }
};

/// Calls solve(row) with the SolveRow for this triangle and `conjugate`.
template <class T, class V, class I, class Solve>
void with_row(const TriangleView<V, I>& triangle, bool conjugate, const Solve& solve)
{
  const auto choose = [&](auto lower, auto conjugated) {
    if (triangle.inverse_diagonal) solve(SolveRow<T, V, I, lower(), conjugated(), false>{triangle});
    else solve(SolveRow<T, V, I, lower(), conjugated(), true>{triangle});
  };
  if (is_complex_v<T> && conjugate) {
    constexpr std::bool_constant<is_complex_v<T>> conjugated;
    if (triangle.lower) choose(std::true_type(), conjugated);
    else choose(std::false_type(), conjugated);
  } else {
    if (triangle.lower) choose(std::true_type(), std::false_type());
    else choose(std::false_type(), std::false_type());
  }
}

/// The number of levels for describe() of strategies that do without levels: found when first asked for.
/// 0 where there is no memory to find it.
template <class I> class LevelCount {
public:
  std::int64_t get(const PatternView<I>& pattern, bool lower) const
  {
    if (count_ < 0) {
      const std::unique_ptr<I[]> depth(new (std::nothrow) I[pattern.n]);
      if (!depth) return 0;
      count_ = find_levels(pattern, lower, depth.get());
    }
    return count_;
  }

private:
  mutable std::int64_t count_ = -1;
};

}  // namespace syncfree
