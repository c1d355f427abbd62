#pragma once

/// The oracle: the plain serial solve, ILU(0) by its definition, and a bound on the difference of two correct solves.
/// It shares no code with the library.

#include <string>
#include <vector>

#include "battery.hpp"

namespace syncfree {

/// One triangle of a factor that owns its arrays.
///   inverse_diagonal  n entries, or empty for a unit diagonal
template <class V, class I> struct OwnedTriangle {
  bool lower = true;
  I n = 0;
  std::vector<I> row_begin{0};
  std::vector<I> column;
  std::vector<V> value;
  std::vector<V> inverse_diagonal;

  bool unit() const { return inverse_diagonal.empty() && n > 0; }
  PatternView<I> pattern() const { return {n, row_begin.data(), column.data()}; }
  TriangleView<V, I> view() const
  {
    return {lower, pattern(), value.data(), inverse_diagonal.empty() ? nullptr : inverse_diagonal.data()};
  }
};

/// Computes ILU(0) of A with A's pattern: L strictly below the diagonal, U on and above it.
///   A  sorted, with its diagonal; no pivot may be zero
template <class T, class I> OwnedCsr<T, I> oracle_ilu0(const OwnedCsr<T, I>& A);

/// Copies the strictly lower or upper triangle of A, rounded to V.
///   unit  true: no diagonal, rows divided by |a_ii| if `scaled`; false: diagonal 1 / a_ii
template <class V, class T, class I>
OwnedTriangle<V, I> take_triangle(const OwnedCsr<T, I>& A, bool lower, bool unit, bool scaled = false);

/// A solution with a bound for each component: |computed - exact| <= bound for any order of
/// the sums in x_i = (b_i - sum l_ij x_j) d_i. The bound e follows the solve itself,
///   e_i = |d_i| (sum |l_ij| e_j + g (|b_i| + sum |l_ij| |x_j|)),  g = (entries + 3) u, four times that for complex T.
template <class T> struct Solution {
  std::vector<T> x;
  std::vector<double> bound;
};

/// Computes x = Triangle^-1 b or conj(Triangle)^-1 b, with sums in T.
///   b  n entries
template <class T, class V, class I>
Solution<T> oracle_solve(const TriangleView<V, I>& triangle, const T* b, bool conjugated);

/// Returns an empty string if x is within the bound of two correct solves, and not finite exactly where the solution is
/// not; else a sentence about the first wrong row.
template <class T> std::string difference(const T* x, const Solution<T>& solution);

}  // namespace syncfree
