#pragma once

/// The interface of the host strategies: one function make_<name> each, and the rows of a triangular solve that most of
/// them share.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "core/choose/strategy_list.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// Thrown if a strategy has no plan for a triangle.
struct NoPlan {
  Status status;
};

/// Make the solvers. Each throws std::bad_alloc, and `tiled` NoPlan. The triangle's values may still be missing
/// (nullptr) and be set by update_values().
#define SYNCFREE_DECLARE_MAKE(name, reproducible, summary) \
  template <class T, class V, class I>                     \
  std::unique_ptr<TriangularSolver<T, V, I>> make_##name(TriangleView<V, I> triangle, const SolverOptions& options);
SYNCFREE_HOST_STRATEGIES(SYNCFREE_DECLARE_MAKE)
#undef SYNCFREE_DECLARE_MAKE

/// Prefetches the entries that a substitution needs some rows later. A core alone keeps too few misses in flight to
/// stream a factor; the same number of lines is fetched after every `rows` rows, so the branches are predictable.
template <class V, class I> class Ahead {
public:
  Ahead(const TriangleView<V, I>& triangle, bool lower)
      : value_(triangle.value), column_(triangle.pattern.column), direction_(lower ? 1 : -1)
  {
    const std::size_t n = static_cast<std::size_t>(std::max<I>(triangle.pattern.n, 1));
    const std::size_t nnz = static_cast<std::size_t>(triangle.pattern.nnz());
    if (nnz * (sizeof(V) + sizeof(I)) < cached) return;
    std::size_t rows = 1;
    while (2 * rows * nnz <= entries_at_once * n) rows *= 2;
    const std::size_t entries = (rows * nnz + n - 1) / n;
    row_mask_ = static_cast<I>(rows - 1);
    value_lines_ = lines(entries * sizeof(V));
    column_lines_ = lines(entries * sizeof(I));
  }

  /// Called before the row at position s, whose first entry in the order of substitution is at k.
  void fetch(I s, I k) const
  {
    if ((s & row_mask_) != 0) return;
    /* addresses outside the arrays are allowed here: a prefetch never faults */
    const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(value_) + sizeof(V) * (k + direction_ * distance);
    const std::uintptr_t column = reinterpret_cast<std::uintptr_t>(column_) + sizeof(I) * (k + direction_ * distance);
    for (int l = 0; l < value_lines_; ++l) prefetch(value + direction_ * l * line);
    for (int l = 0; l < column_lines_; ++l) prefetch(column + direction_ * l * line);
  }

private:
  static constexpr std::size_t cached = std::size_t(2) << 20;  ///< bytes that a core's own cache holds anyway
  static constexpr std::size_t entries_at_once = 16;
  static constexpr std::intptr_t distance = 512;  ///< entries
  static constexpr std::intptr_t line = 64;       ///< bytes

  static void prefetch(std::uintptr_t address)
  {
#if defined(__GNUC__)
    __builtin_prefetch(reinterpret_cast<const void*>(address));
#else
    (void)address;
#endif
  }

  static int lines(std::size_t bytes) { return static_cast<int>((bytes + line - 1) / line); }

  const V* value_;
  const I* column_;
  std::intptr_t direction_;
  I row_mask_ = 0;
  int value_lines_ = 0, column_lines_ = 0;
};

/// Hint for the compiler to lay out the code for `true`.
inline bool likely(bool condition)
{
#if defined(__GNUC__)
  return __builtin_expect(condition, true);
#else
  return condition;
#endif
}

/// x_i = (b_i - sum_k value_k x_column(k)) * inverse_diagonal_i.
///
/// The entry nearest to the diagonal multiplies the most recent x, so it is used last: the far entries are summed while
/// that x is still being computed. In natural order it is mostly the previous row's, and a core waits for the
/// dependence chain through all rows; so it stays in a register, and the factor inverse_diagonal_i is multiplied into
/// the other operands before it is available.
template <class T, class V, class I, bool lower, bool conjugated, bool unit> struct SolveRow {
  TriangleView<V, I> triangle;
  bool chained;  ///< as reads_predecessors()

  static T widen_value(const V& v)
  {
    if constexpr (conjugated) return conjugate(static_cast<T>(v));
    else return static_cast<T>(v);
  }

  void operator()(I i, const T* b, T* x) const { x[i] = value(i, b, x, I(-1), T(0)); }

  /// Solves the rows at positions [begin, end) of the substitution, for each column.
  void solve_rows(I begin, I end, const T* b, T* x, const Columns<I>& columns) const
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      solve_column_rows(begin, end, b, x);
  }

private:
  /// Computes x_i, given x_near; near is -1 if there is no such row.
  T value(I i, const T* b, const T* x, I near, T x_near) const
  {
    const I* column = triangle.pattern.column;
    const V* entry = triangle.value;
    const I begin = triangle.pattern.row_begin[i], end = triangle.pattern.row_begin[i + 1];
    T sum = b[i];
    if (begin == end) return unit ? sum : multiply(sum, inverse_diagonal(i));
    if constexpr (lower)
      for (I k = begin; k < end - 1; ++k) sum -= multiply(widen_value(entry[k]), x[column[k]]);
    else
      for (I k = end - 1; k > begin; --k) sum -= multiply(widen_value(entry[k]), x[column[k]]);
    const I last = lower ? end - 1 : begin;
    T weight = widen_value(entry[last]);
    if constexpr (!unit) {
      sum = multiply(sum, inverse_diagonal(i));
      weight = multiply(weight, inverse_diagonal(i));
    }
    if (likely(column[last] == near)) return sum - multiply(weight, x_near);
    return sum - multiply(weight, x[column[last]]);
  }

  T inverse_diagonal(I i) const { return widen_value(triangle.inverse_diagonal[i]); }

  void solve_column_rows(I begin, I end, const T* b, T* x) const
  {
    const Ahead<V, I> ahead(triangle, lower);
    const I last = triangle.pattern.n - 1;
    I near = -1;  // the row before `begin` may belong to another thread
    T x_near(0);
    for (I s = begin; s < end; ++s) {
      const I i = lower ? s : last - s;
      ahead.fetch(s, triangle.pattern.row_begin[lower ? i : i + 1]);
      x_near = value(i, b, x, near, x_near);
      x[i] = x_near;
      if (chained) near = i;
    }
  }
};

/// True if nearly all rows read the row before them in the order of substitution; then the branch on it is predictable
/// and pays off. Examines a sample of the rows.
template <class I> bool reads_predecessors(const PatternView<I>& pattern, bool lower)
{
  const I step = pattern.n / 4096 + 1;
  std::int64_t looked_at = 0, found = 0;
  for (std::int64_t i = 0; i < pattern.n; i += step) {
    const I begin = pattern.row_begin[i], end = pattern.row_begin[i + 1];
    ++looked_at;
    if (begin < end) found += lower ? pattern.column[end - 1] == i - 1 : pattern.column[begin] == i + 1;
  }
  return 8 * found >= 7 * looked_at;
}

/// Calls solve(row) with the SolveRow for this triangle and `conjugate`.
///   chained  as reads_predecessors()
template <class T, class V, class I, class Solve>
void with_row(const TriangleView<V, I>& triangle, bool chained, bool conjugate, const Solve& solve)
{
  const auto choose = [&](auto lower, auto conjugated) {
    if (triangle.inverse_diagonal) solve(SolveRow<T, V, I, lower(), conjugated(), false>{triangle, chained});
    else solve(SolveRow<T, V, I, lower(), conjugated(), true>{triangle, chained});
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

}  // namespace syncfree
