#pragma once

/// Solves with triangles of dense blocks, against the residual of the exact triangle in a wider type.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "../device_support.hpp"
#include "cuda/solve/dense/dense_solver.hpp"
#include "syncfree/options.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

template <class T> struct WideOf {
  using type = long double;
};
template <class R> struct WideOf<std::complex<R>> {
  using type = std::complex<long double>;
};
template <class T> using Wide = typename WideOf<T>::type;

template <class T> Wide<T> widened(const T& v, bool conjugated = false)
{
  if constexpr (is_complex_v<T>) return {v.real(), conjugated ? -v.imag() : v.imag()};
  else return v;
}

/// A triangle of blocks with the arrays of a factor.
///   source  empty: block k of the pattern is block k of `value`
template <class T, class I> struct BlockTriangle {
  OwnedPattern<I> pattern;
  bool lower, unit, transposed = false;
  int size;
  std::vector<T> value, inverse;
  std::vector<I> source;

  std::size_t values() const { return static_cast<std::size_t>(size) * static_cast<std::size_t>(size); }
  std::size_t rows() const { return static_cast<std::size_t>(pattern.n) * static_cast<std::size_t>(size); }
  std::size_t index(std::size_t block, int r, int c) const
  {
    return block * values() + static_cast<std::size_t>(transposed ? r * size + c : c * size + r);
  }
  T entry(std::size_t k, int r, int c) const { return value[index(source.empty() ? k : source[k], r, c)]; }
  T inverse_entry(std::size_t i, int r, int c) const { return inverse[index(i, r, c)]; }

  /// Blocks so small that solutions do not grow, and inverse diagonal blocks near 2.
  void draw_values(std::uint64_t seed)
  {
    I longest = 1;
    for (I i = 0; i < pattern.n; ++i) longest = std::max(longest, pattern.row_begin[i + 1] - pattern.row_begin[i]);
    value = random_vector<T>(pattern.column.size() * values(), seed);
    for (T& v : value) v /= static_cast<real_t<T>>(std::min<I>(longest, 30) * size);
    inverse = random_vector<T>(unit ? 0 : static_cast<std::size_t>(pattern.n) * values(), seed + 1);
    for (std::size_t k = 0; k < inverse.size(); ++k) {
      inverse[k] /= static_cast<real_t<T>>(2 * size);
      if (k % values() % static_cast<std::size_t>(size + 1) == 0) inverse[k] += real_t<T>(2);
    }
  }

  DeviceTriangle<I> triangle() const
  {
    DeviceTriangle<I> t(lower, pattern.view(), source.empty() ? nullptr : source.data(), unit);
    t.block_size = size;
    t.transposed_blocks = transposed;
    return t;
  }
};

template <class T, class I>
BlockTriangle<T, I> triangle_of(OwnedPattern<I> pattern, bool lower, bool unit, int size, std::uint64_t seed = 3)
{
  BlockTriangle<T, I> t;
  t.pattern = std::move(pattern);
  t.lower = lower, t.unit = unit, t.size = size;
  t.draw_values(seed);
  return t;
}

/// Returns the largest residual of x_i = inverse_i (b_i - sum_k block_ik x_k), relative to the modulus of its terms and
/// the number of these; NaN where x is not finite.
template <class T, class I>
double worst_residual(const BlockTriangle<T, I>& t, const std::vector<T>& b, const std::vector<T>& x, bool conjugated)
{
  using W = Wide<T>;
  const int size = t.size;
  double worst = 0;
  std::vector<W> rest(size), result(size);
  std::vector<long double> terms(size), result_terms(size);
  for (I i = 0; i < t.pattern.n; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    const I begin = t.pattern.row_begin[i], end = t.pattern.row_begin[i + 1];
    for (int r = 0; r < size; ++r) {
      rest[r] = widened(b[at + r]);
      terms[r] = std::abs(rest[r]);
      for (I k = begin; k < end; ++k)
        for (int c = 0; c < size; ++c) {
          const W term = widened(t.entry(k, r, c), conjugated) *
                         widened(x[static_cast<std::size_t>(t.pattern.column[k]) * size + c]);
          rest[r] -= term;
          terms[r] += std::abs(term);
        }
    }
    for (int r = 0; r < size; ++r) {
      result[r] = t.unit ? rest[r] : W(0);
      result_terms[r] = t.unit ? terms[r] : 0;
      for (int c = 0; c < size && !t.unit; ++c) {
        const W factor = widened(t.inverse_entry(i, r, c), conjugated);
        result[r] += factor * rest[c];
        result_terms[r] += std::abs(factor) * terms[c];
      }
      const auto error = static_cast<double>(std::abs(widened(x[at + r]) - result[r]));
      const double scale = static_cast<double>(result_terms[r]) * (static_cast<double>(end - begin + 1) * size + 5);
      if (!(error <= worst * scale)) worst = scale > 0 ? error / scale : error;
      if (std::isnan(worst)) return worst;
    }
  }
  return worst;
}

template <class T, class V, class I> class Solves {
public:
  explicit Solves(const BlockTriangle<T, I>& t)
      : Solves(t, make_dense_block_solver<T, V, I>(t.triangle(), SolverOptions()))
  {
  }
  Solves(const BlockTriangle<T, I>& t, std::unique_ptr<DeviceSolver<T, I>> solver)
      : t_(t), solver_(std::move(solver)), b_(t.rows()), x_(t.rows())
  {
    refresh(t);
  }

  void refresh(const BlockTriangle<T, I>& t)
  {
    const DeviceVectorOf<T> value(t.value), inverse(t.inverse);
    solver_->update_values(value.data(), t.unit ? nullptr : inverse.data(), UpdatePart::whole, nullptr);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // before the vectors end
    t_ = t;
  }

  /// Solves with poisoned memory for x, or in place.
  std::vector<T> solve(const std::vector<T>& b, bool conjugated, bool in_place)
  {
    x_.set(std::vector<T>(b.size(), T(std::numeric_limits<real_t<T>>::quiet_NaN())));
    b_.set(b);
    if (in_place) x_.set(b);
    solve_column<T, I>(solver_.get(), in_place ? x_.data() : b_.data(), x_.data(), {conjugated, false}, nullptr);
    const auto x = x_.get();
    if (!in_place) {
      EXPECT_EQ(std::memcmp(b_.get().data(), b.data(), b.size() * sizeof(T)), 0) << "b was changed";
    }
    return x;
  }

  /// Several solves, each of another kind: mailboxes are cleared in between.
  void expect_solutions()
  {
    const double eps = static_cast<double>(std::numeric_limits<real_t<V>>::epsilon());
    std::vector<T> first;
    for (int round = 0; round < 6; round += short_run() ? 3 : 1) {
      const bool conjugated = is_complex_v<T> && round % 2, in_place = round / 2 % 2;
      const auto b = random_vector<T>(t_.rows(), 20 + round);
      const auto x = solve(b, conjugated, in_place);
      EXPECT_LE(worst_residual(t_, b, x, conjugated), 4 * eps) << "round " << round;
      if (round == 0) first = x;
    }
    EXPECT_EQ(solve(random_vector<T>(t_.rows(), 20), false, false), first) << "reproducible";
  }

  DeviceSolver<T, I>* solver() { return solver_.get(); }

private:
  BlockTriangle<T, I> t_;
  std::unique_ptr<DeviceSolver<T, I>> solver_;
  DeviceVectorOf<T> b_, x_;
};

}  // namespace syncfree::cuda
