#pragma once

/// Common to the tests of loops: a matrix with its triangles by rows and by columns, the kernels of
/// syncfree/loop/loops.hpp with their values, and comparisons of their results.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "battery.hpp"
#include "oracle.hpp"
#include "syncfree/loop/loops.hpp"
#include "syncfree/loop/trace.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree {

/// A matrix by columns, that is, its transpose by rows.
template <class T, class I> struct ByColumns {
  I n = 0;
  std::vector<I> begin, row;
  std::vector<T> value;

  ByColumns(PatternView<I> A, const std::vector<T>& values)
      : n(A.n), begin(static_cast<std::size_t>(A.n) + 1, 0), row(values.size()), value(values.size())
  {
    for (I k = 0; k < A.nnz(); ++k) ++begin[A.column[k] + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<I> next(begin.begin(), begin.end() - 1);
    for (I i = 0; i < n; ++i)
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
        row[next[A.column[k]]] = i;
        value[next[A.column[k]]++] = values[k];
      }
  }
  ColumnsView<I> view() const { return {n, begin.data(), row.data()}; }
};

template <class I> std::vector<I> diagonal_places(I n, const std::vector<I>& begin, const std::vector<I>& index)
{
  std::vector<I> place(n);
  for (I i = 0; i < n; ++i)
    place[i] = static_cast<I>(std::find(index.begin() + begin[i], index.begin() + begin[i + 1], i) - index.begin());
  return place;
}

/// A with its triangles and two vectors, by rows and by columns.
template <class Scalar, class Index> struct LoopProblem {
  using T = Scalar;
  using I = Index;
  OwnedCsr<T, I> A;
  OwnedTriangle<T, I> L, U;  ///< L unit; U with its inverted diagonal
  OwnedCsr<T, I> low;        ///< lower triangle with diagonal
  ByColumns<T, I> columns, L_columns, U_columns;
  std::vector<I> row_diagonal, column_diagonal;
  std::vector<T> b, start;

  explicit LoopProblem(const OwnedCsr<T, I>& matrix)
      : A(matrix), L(take_triangle<T>(A, true, true, true)), U(take_triangle<T>(A, false, false)),
        columns(A.pattern(), A.value), L_columns(L.pattern(), L.value), U_columns(U.pattern(), U.value),
        row_diagonal(diagonal_places(A.n, A.row_begin, A.column)),
        column_diagonal(diagonal_places(A.n, columns.begin, columns.row)), b(random_vector<T>(A.n, 3)),
        start(random_vector<T>(A.n, 4))
  {
    low.n = A.n;
    for (I i = 0; i < A.n; ++i) {
      low.column.insert(low.column.end(), A.column.begin() + A.row_begin[i], A.column.begin() + row_diagonal[i] + 1);
      low.value.insert(low.value.end(), A.value.begin() + A.row_begin[i], A.value.begin() + row_diagonal[i] + 1);
      low.row_begin.push_back(static_cast<I>(low.column.size()));
    }
  }

  std::vector<T> residual() const
  {
    std::vector<T> r = b;
    for (I i = 0; i < A.n; ++i)
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) r[i] -= A.value[k] * start[A.column[k]];
    return r;
  }
};

template <class T> double largest(const std::vector<T>& v)
{
  double most = 0;
  for (const T& number : v) most = std::max<double>(most, std::abs(number));
  return most;
}

/// The output of a kernel.
///   first_r   largest value of r before the run: the scale of rounding errors
template <class T> struct LoopOutput {
  std::vector<T> x, r;
  double first_r = 0;
};

/// Reinterprets the values as another type of the same layout.
template <class N, class T> N* as(std::vector<T>& v) { return reinterpret_cast<N*>(v.data()); }
template <class N, class T> const N* as(const std::vector<T>& v) { return reinterpret_cast<const N*>(v.data()); }

/// Calls visit(name, make) for every kernel; make(problem, output) sets the output up and returns the body.
///   N  scalar of the bodies, with the layout of the problem's
template <class P, class N = typename P::T, class Visit> void for_each_kernel(const Visit& visit)
{
  using T = typename P::T;
  using I = typename P::I;
  using Out = LoopOutput<T>;
  visit("product by rows", [](const P& p, Out& out) {
    out.x.assign(p.A.n, T(9));
    return SpmvCsr<N, I>(p.A.pattern(), as<N>(p.A.value), as<N>(p.b), as<N>(out.x));
  });
  visit("product by columns", [](const P& p, Out& out) {
    out.x = p.start;
    return SpmvCsc<N, I>(p.columns.view(), as<N>(p.columns.value), as<N>(p.b), as<N>(out.x));
  });
  visit("solve with L by rows", [](const P& p, Out& out) {
    out.x.assign(p.A.n, T(9));
    return LowerSolveCsr<N, I>(p.L.pattern(), as<N>(p.L.value), nullptr, as<N>(p.b), as<N>(out.x));
  });
  visit("solve with U by rows, in place", [](const P& p, Out& out) {
    out.x = p.b;
    return UpperSolveCsr<N, I>(p.U.pattern(), as<N>(p.U.value), as<N>(p.U.inverse_diagonal), as<N>(out.x),
                               as<N>(out.x));
  });
  visit("solve with L by columns", [](const P& p, Out& out) {
    out.x = p.b;
    return LowerSolveCsc<N, I>(p.L_columns.view(), as<N>(p.L_columns.value), nullptr, as<N>(out.x));
  });
  visit("solve with U by columns", [](const P& p, Out& out) {
    out.x = p.b;
    return UpperSolveCsc<N, I>(p.U_columns.view(), as<N>(p.U_columns.value), as<N>(p.U.inverse_diagonal),
                               as<N>(out.x));
  });
  for (const Sweep sweep : {Sweep::forward, Sweep::backward, Sweep::symmetric}) {
    const std::string name = "Gauss-Seidel " + std::to_string(static_cast<int>(sweep));
    visit(name + " by rows", [sweep](const P& p, Out& out) {
      out.x = p.start;
      return GaussSeidelCsr<N, I>(sweep, p.A.pattern(), p.row_diagonal.data(), as<N>(p.A.value), as<N>(p.b),
                                  as<N>(out.x));
    });
    visit(name + " by columns", [sweep](const P& p, Out& out) {
      out.x = p.start;
      out.r = p.residual();
      out.first_r = largest(out.r);
      return GaussSeidelCsc<N, I>(sweep, p.columns.view(), p.column_diagonal.data(), as<N>(p.columns.value),
                                  as<N>(out.r), as<N>(out.x));
    });
  }
  visit("ILU(0)", [](const P& p, Out& out) {
    out.x = p.A.value;
    return Ilu0Csr<N, I>(p.A.pattern(), p.row_diagonal.data(), as<N>(out.x));
  });
  visit("IC(0)", [](const P& p, Out& out) {
    out.x = p.low.value;
    return Ic0Csr<N, I>(p.low.pattern(), as<N>(out.x));
  });
}

template <class Body> void run_in_sequence(const Body& body)
{
  PlainAccessor at;
  for (index_of<Body> i = 0; i < body.iterations(); ++i) body(at, i);
}

template <class R> bool same_number(R a, R b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Returns true if all bits are equal, apart from the signs of zeros and of NaN.
template <class T> bool same_numbers(const std::vector<T>& a, const std::vector<T>& b)
{
  const auto same = [](const T& u, const T& v) {
    return same_number(real_part(u), real_part(v)) && same_number(imaginary_part(u), imaginary_part(v));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Compares in the maximum norm, relative to the largest of a and `most`; false if any value is not finite.
template <class T> bool close_numbers(const std::vector<T>& a, const std::vector<T>& b, double most = 0)
{
  if (a.size() != b.size()) return false;
  double apart = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!is_finite(a[k]) || !is_finite(b[k])) return false;
    apart = std::max<double>(apart, std::abs(a[k] - b[k]));
  }
  most = std::max(most, largest(a));
  return apart <= 4096 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * most;
}

}  // namespace syncfree
