#pragma once

/// Textbook sparse kernels as loop bodies (syncfree/loop/body.hpp): products, triangular solves and Gauss-Seidel by
/// rows (CSR) and by columns (CSC), ILU(0) and IC(0) by rows. Each is a struct of the arrays with one iteration as
/// its operator(); Loop (syncfree/loop/loop.hpp) runs it on threads, a plain for-loop with PlainAccessor runs it in
/// sequence.
///
/// By rows an iteration reads what others wrote; by columns it adds to what others will read. So by rows the results
/// are bitwise those of the sequential loop; by columns a sum is formed in the order in which its parts arrive.
///
///   T  scalar of the vectors    V  scalar in which the matrix is stored    I  index
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2003; the selection of kernels: Somo and Cheshmi, SC25.

#include <cmath>
#include <complex>

#include "syncfree/csr.hpp"
#include "syncfree/loop/body.hpp"
#include "syncfree/sweep.hpp"

namespace syncfree {

/// Pattern of an n x n matrix by columns.
///   column_begin  n + 1 offsets, column_begin[0] = 0
///   row           rows in [0, n), ascending and distinct in each column
template <class I> struct ColumnsView {
  I n = 0;
  const I* column_begin = nullptr;
  const I* row = nullptr;

  SYNCFREE_HD I nnz() const { return n > 0 ? column_begin[n] : 0; }
};

/// y = A x by rows.
///   a, x, y  values of A in the order of its entries; n; n
template <class T, class I, class V = T> struct SpmvCsr {
  PatternView<I> A;
  Input<V, T> a_;
  Input<T> x_;
  InOut<T> y_;

  SpmvCsr(PatternView<I> pattern, const V* a, const T* x, T* y)
      : A(pattern), a_{a, A.nnz(), "a"}, x_{x, A.n, "x"}, y_{y, A.n, "y"}
  {
  }
  I iterations() const { return A.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I i) const
  {
    const auto a = at[a_];
    const auto x = at[x_];
    const auto y = at[y_];
    number_t<At, T> sum(0);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) sum += a[k] * x[A.column[k]];
    y[i] = sum;
  }
};

/// y += A x by columns.
template <class T, class I, class V = T> struct SpmvCsc {
  ColumnsView<I> A;
  Input<V, T> a_;
  Input<T> x_;
  InOut<T> y_;

  SpmvCsc(ColumnsView<I> pattern, const V* a, const T* x, T* y)
      : A(pattern), a_{a, A.nnz(), "a"}, x_{x, A.n, "x"}, y_{y, A.n, "y"}
  {
  }
  I iterations() const { return A.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I j) const
  {
    const auto a = at[a_];
    const auto x = at[x_];
    const auto y = at[y_];
    for (I k = A.column_begin[j]; k < A.column_begin[j + 1]; ++k) y[A.row[k]] += a[k] * x[j];
  }
};

/// x = L^-1 b or x = U^-1 b by rows, as in TriangleView (csr.hpp): the strict triangle, and d the inverted diagonal.
///   l, d, b, x  values of the strict triangle; n, or nullptr for a unit diagonal; n; n, x == b is allowed
template <class T, class I, bool lower, class V = T> struct TriangularSolveCsr {
  PatternView<I> L;
  bool unit;
  Input<V, T> l_, d_;
  Input<T> b_;
  InOut<T> x_;

  TriangularSolveCsr(PatternView<I> pattern, const V* l, const V* d, const T* b, T* x)
      : L(pattern), unit(d == nullptr), l_{l, L.nnz(), "l"}, d_{d, unit ? 0 : L.n, "d"}, b_{b, L.n, "b"},
        x_{x, L.n, "x"}
  {
  }
  I iterations() const { return L.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I s) const
  {
    const I i = lower ? s : L.n - 1 - s;
    const auto l = at[l_];
    const auto d = at[d_];
    const auto b = at[b_];
    const auto x = at[x_];
    auto sum = b[i];
    for (I k = L.row_begin[i]; k < L.row_begin[i + 1]; ++k) sum -= l[k] * x[L.column[k]];
    if (unit) x[i] = sum;
    else x[i] = sum * d[i];
  }
};
template <class T, class I, class V = T> using LowerSolveCsr = TriangularSolveCsr<T, I, true, V>;
template <class T, class I, class V = T> using UpperSolveCsr = TriangularSolveCsr<T, I, false, V>;

/// x = L^-1 x or x = U^-1 x by columns.
///   l, d, x  values of the strict triangle, by columns; n, or nullptr for a unit diagonal; n, initially b
template <class T, class I, bool lower, class V = T> struct TriangularSolveCsc {
  ColumnsView<I> L;
  bool unit;
  Input<V, T> l_, d_;
  InOut<T> x_;

  TriangularSolveCsc(ColumnsView<I> pattern, const V* l, const V* d, T* x)
      : L(pattern), unit(d == nullptr), l_{l, L.nnz(), "l"}, d_{d, unit ? 0 : L.n, "d"}, x_{x, L.n, "x"}
  {
  }
  I iterations() const { return L.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I s) const
  {
    const I j = lower ? s : L.n - 1 - s;
    const auto l = at[l_];
    const auto d = at[d_];
    const auto x = at[x_];
    if (!unit) x[j] *= d[j];
    const auto solved = load(x[j]);
    for (I k = L.column_begin[j]; k < L.column_begin[j + 1]; ++k) x[L.row[k]] -= l[k] * solved;
  }
};
template <class T, class I, class V = T> using LowerSolveCsc = TriangularSolveCsc<T, I, true, V>;
template <class T, class I, class V = T> using UpperSolveCsc = TriangularSolveCsc<T, I, false, V>;

/// The row of each iteration of a sweep.
template <class I> struct SweepOrder {
  Sweep sweep;
  I n;

  I step_count() const { return sweep == Sweep::symmetric ? 2 * n : n; }
  SYNCFREE_HD I operator[](I s) const
  {
    if (sweep == Sweep::forward) return s;
    if (sweep == Sweep::backward) return n - 1 - s;
    return s < n ? s : 2 * n - 1 - s;
  }
};

/// A Gauss-Seidel sweep for A x = b by rows: x_i = (b_i - sum over j != i of a_ij x_j) / a_ii, with the current x_j.
///   diagonal  n: index of (i, i) among the entries of A
///   a, b, x   values of A; n; n, initially the start vector
template <class T, class I> struct GaussSeidelCsr {
  PatternView<I> A;
  const I* diagonal;
  SweepOrder<I> row;
  Input<T> a_, b_;
  InOut<T> x_;

  GaussSeidelCsr(Sweep sweep, PatternView<I> pattern, const I* diagonal_places, const T* a, const T* b, T* x)
      : A(pattern), diagonal(diagonal_places), row{sweep, A.n}, a_{a, A.nnz(), "a"}, b_{b, A.n, "b"}, x_{x, A.n, "x"}
  {
  }
  I iterations() const { return row.step_count(); }

  template <class At> SYNCFREE_HD void operator()(At& at, I s) const
  {
    const I i = row[s];
    const auto a = at[a_];
    const auto b = at[b_];
    const auto x = at[x_];
    auto sum = b[i];
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (k != diagonal[i]) sum -= a[k] * x[A.column[k]];
    x[i] = sum / a[diagonal[i]];
  }
};

/// Same by columns. It updates the residual r = b - A x: a change of x_j makes row j of r zero.
///   diagonal  n: index of (j, j) among the entries of A, by columns
///   a, r, x   values of A, by columns; n, b - A x before and after; n, initially the start vector
template <class T, class I> struct GaussSeidelCsc {
  ColumnsView<I> A;
  const I* diagonal;
  SweepOrder<I> column;
  Input<T> a_;
  InOut<T> r_, x_;

  GaussSeidelCsc(Sweep sweep, ColumnsView<I> pattern, const I* diagonal_places, const T* a, T* r, T* x)
      : A(pattern), diagonal(diagonal_places), column{sweep, A.n}, a_{a, A.nnz(), "a"}, r_{r, A.n, "r"},
        x_{x, A.n, "x"}
  {
  }
  I iterations() const { return column.step_count(); }

  template <class At> SYNCFREE_HD void operator()(At& at, I s) const
  {
    const I j = column[s];
    const auto a = at[a_];
    const auto r = at[r_];
    const auto x = at[x_];
    const auto change = load(r[j]) / a[diagonal[j]];
    x[j] += change;
    for (I k = A.column_begin[j]; k < A.column_begin[j + 1]; ++k) r[A.row[k]] -= a[k] * change;
  }
};

/// ILU(0) in place of A, by rows (Saad 2003, algorithm 10.4): L with unit diagonal below the diagonal, U from the
/// diagonal on. A zero pivot gives infinities.
///   diagonal  n: index of (i, i) among the entries of A
///   a         initially the values of A, at the end those of L and U
template <class T, class I> struct Ilu0Csr {
  PatternView<I> A;
  const I* diagonal;
  InOut<T> a_;

  Ilu0Csr(PatternView<I> pattern, const I* diagonal_places, T* a)
      : A(pattern), diagonal(diagonal_places), a_{a, A.nnz(), "a"}
  {
  }
  I iterations() const { return A.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I i) const
  {
    const auto a = at[a_];
    const I end = A.row_begin[i + 1];
    for (I k = A.row_begin[i]; k < diagonal[i]; ++k) {
      const I p = A.column[k];
      a[k] /= a[diagonal[p]];
      const auto factor = load(a[k]);
      I q = k + 1;
      for (I u = diagonal[p] + 1; u < A.row_begin[p + 1]; ++u) {  // row i minus factor times row p of U
        while (q < end && A.column[q] < A.column[u]) ++q;
        if (q < end && A.column[q] == A.column[u]) a[q] -= factor * a[u];
      }
    }
  }
};

/// IC(0) in place of the lower triangle of A with its diagonal, by rows: A ~ L L^T without conjugation. A pivot that
/// is not positive gives NaN in real arithmetic.
///   A  lower triangle: the last entry of each row is its diagonal
///   a  initially the values of A, at the end those of L
template <class T, class I> struct Ic0Csr {
  PatternView<I> A;
  InOut<T> a_;

  Ic0Csr(PatternView<I> pattern, T* a) : A(pattern), a_{a, A.nnz(), "a"} {}
  I iterations() const { return A.n; }

  template <class At> SYNCFREE_HD void operator()(At& at, I i) const
  {
    using std::sqrt;
    const auto a = at[a_];
    const I begin = A.row_begin[i], last = A.row_begin[i + 1] - 1;
    auto pivot = load(a[last]);
    for (I k = begin; k < last; ++k) {
      const I p = A.column[k], diagonal = A.row_begin[p + 1] - 1;
      auto sum = load(a[k]);
      I q = begin;
      for (I l = A.row_begin[p]; l < diagonal; ++l) {  // row i times row p, before column p
        while (q < k && A.column[q] < A.column[l]) ++q;
        if (q < k && A.column[q] == A.column[l]) sum -= a[q] * a[l];
      }
      sum /= a[diagonal];
      a[k] = sum;
      pivot -= sum * sum;
    }
    a[last] = sqrt(pivot);
  }
};

}  // namespace syncfree
