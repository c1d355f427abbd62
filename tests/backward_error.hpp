#pragma once

/// Backward errors of triangular solves, and right-hand sides over 24 orders of magnitude.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "larger.hpp"
#include "oracle.hpp"

namespace syncfree {

/// Residuals r_i of T x = b, with T's diagonal, in long double; NaN where x is NaN.
struct BackwardError {
  double by_component = 0;  ///< max_i |r_i| / (|T| |x| + |b|)_i
  double by_row = 0;        ///< max_i |r_i| / (sum_j |t_ij| max |x| + |b_i|): norm-wise, independent of row scaling
};

template <class I>
BackwardError backward_error(const OwnedTriangle<double, I>& T, const std::vector<double>& b,
                             const std::vector<double>& x)
{
  using Wide = long double;
  Wide largest = 0;
  for (const double v : x) largest = std::max(largest, std::abs(static_cast<Wide>(v)));
  BackwardError e;
  const auto raise = [](double* worst, Wide residual, Wide size) {
    const auto part = static_cast<double>(size > 0 ? residual / size : residual);
    *worst = larger(*worst, part);
  };
  for (I i = 0; i < T.n; ++i) {
    const Wide diagonal = T.unit() ? Wide(1) : 1 / static_cast<Wide>(T.inverse_diagonal[i]);
    Wide rest = b[i] - diagonal * x[i], read = std::abs(diagonal * x[i]) + std::abs(b[i]), row = std::abs(diagonal);
    for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k) {
      const Wide term = static_cast<Wide>(T.value[k]) * x[T.column[k]];
      rest -= term;
      read += std::abs(term);
      row += std::abs(T.value[k]);
    }
    raise(&e.by_component, std::abs(rest), read);
    raise(&e.by_row, std::abs(rest), row * largest + std::abs(b[i]));
  }
  return e;
}

/// Makes n values of random sign whose logarithms are uniform between 1e-12 and 1e12.
inline std::vector<double> log_uniform_vector(std::size_t n, std::uint64_t seed)
{
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::vector<double> v(n);
  for (double& entry : v) entry = std::pow(10.0, exponent(random)) * (random() % 2 ? 1 : -1);
  return v;
}

/// Computes T x in long double, rounded once.
template <class I> std::vector<double> product(const OwnedTriangle<double, I>& T, const std::vector<double>& x)
{
  std::vector<double> b(x.size());
  for (I i = 0; i < T.n; ++i) {
    long double sum = x[i];
    if (!T.unit()) sum /= T.inverse_diagonal[i];
    for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k)
      sum += static_cast<long double>(T.value[k]) * x[T.column[k]];
    b[i] = static_cast<double>(sum);
  }
  return b;
}

/// Makes a lower triangle with diagonal 1, `multiplier` left of the diagonal and, in every second row from `distance`
/// on, `far` at that distance left of it.
template <class I> OwnedTriangle<double, I> chain_triangle(I n, double multiplier, I distance = 0, double far = 0)
{
  OwnedTriangle<double, I> T;
  T.n = n;
  for (I i = 0; i < n; ++i) {
    if (far != 0 && i >= distance && i % 2 == 0) T.column.push_back(i - distance), T.value.push_back(far);
    if (i > 0) T.column.push_back(i - 1), T.value.push_back(multiplier);
    T.row_begin.push_back(static_cast<I>(T.column.size()));
  }
  return T;
}

/// Makes the triangle a matrix; its ILU(0) is the triangle and the identity.
template <class I> OwnedCsr<double, I> matrix_of(const OwnedTriangle<double, I>& T)
{
  OwnedCsr<double, I> A;
  A.n = T.n;
  for (I i = 0; i < T.n; ++i) {
    for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k) {
      A.column.push_back(T.column[k]);
      A.value.push_back(T.value[k]);
    }
    A.column.push_back(i), A.value.push_back(1);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

}  // namespace syncfree
