/// Numbers at the ends of their range, with every strategy of a backend: right-hand sides scaled by powers of two and
/// over many orders of magnitude, subnormal solutions, infinity in A, and NaN that looks like a value that has not
/// arrived: in a real or an imaginary part, and in one of several columns.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "backend.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

template <class P> class Numerics : public testing::Test {};
TYPED_TEST_SUITE(Numerics, EachScalar);

/// Calls body(preconditioner, whether its runs are bitwise equal) with every strategy that has a plan for A, factored.
template <class T, class I, class Body> void with_strategies(const OwnedCsr<T, I>& A, Body body)
{
  for (const StrategyInfo& info : strategies()) {
    if (std::string(info.backend) != tested().name) continue;
    SCOPED_TRACE(info.name);
    const auto p = make_tested<T, I>();
    const Status analysed = p->analyse(A.pattern(), {}, {info.name, 2});
    if (has_no_plan(info.name, analysed)) continue;
    ASSERT_EQ(analysed.message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    body(*p, info.reproducible);
  }
}

template <class T, class I> std::vector<T> solve(Preconditioner<T, I>& p, const std::vector<T>& b, I columns = 1)
{
  std::vector<T> x(b.size(), T(7));
  const I n = static_cast<I>(b.size()) / columns;
  EXPECT_EQ(p.solve(Operation::none, b.data(), x.data(), {columns, n, n}).message(), "success");
  return x;
}

/// A grid, which all strategies solve, and a matrix with rows of many lengths.
template <class T, class I> std::vector<OwnedCsr<T, I>> test_matrices()
{
  if (short_run()) return {make_poisson<T, I>(12, 11, 3)};
  return {make_poisson<T, I>(33, 12, 8), make_battery_matrix<T, I>("power_law")};
}

template <class T> bool are_same(const std::vector<T>& x, const std::vector<T>& y)
{
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Sums and products commute with powers of two.
TYPED_TEST(Numerics, a_scaled_right_hand_side_gives_the_scaled_solution_bit_by_bit)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  constexpr int power = sizeof(real_t<T>) == 8 ? 60 : 20;
  for (const auto& A : test_matrices<T, I>())
    with_strategies(A, [&](Preconditioner<T, I>& p, bool reproducible) {
      if (!reproducible) return;
      const auto b = random_vector<T>(A.n, 3);
      const auto x = solve(p, b);
      for (const int sign : {-1, 1}) {
        const auto scale = static_cast<real_t<T>>(std::ldexp(1.0, sign * power));
        std::vector<T> scaled_b = b, scaled_x = x;
        for (T& v : scaled_b) v *= scale;
        for (T& v : scaled_x) v *= scale;
        EXPECT_TRUE(are_same(solve(p, scaled_b), scaled_x)) << "2^" << sign * power;
      }
    });
}

/// Returns the factor's triangle as the oracle takes it.
template <class T, class I> OwnedTriangle<T, I> triangle(const Preconditioner<T, I>& p, bool lower)
{
  const FactorPattern<I>& pattern = p.pattern();
  const FactorValues<T> values = p.values();
  OwnedTriangle<T, I> R;
  R.lower = lower;
  R.n = pattern.n;
  const auto copy = [](const auto& from, auto* to) { to->assign(from.begin(), from.end()); };
  copy(lower ? pattern.lower_begin : pattern.upper_begin, &R.row_begin);
  copy(lower ? pattern.lower_column : pattern.upper_column, &R.column);
  copy(lower ? values.lower : values.upper, &R.value);
  if (!lower) copy(values.inverse_pivot, &R.inverse_diagonal);
  return R;
}

template <class T, class I> std::vector<T> serial_solve(const Preconditioner<T, I>& p, const std::vector<T>& b)
{
  const auto L = triangle(p, true), U = triangle(p, false);
  const Solution<T> y = oracle_solve<T>(L.view(), b.data(), false);
  return oracle_solve<T>(U.view(), y.x.data(), false).x;
}

template <class T> bool is_nan(const T& v) { return std::isnan(real_part(v)) || std::isnan(imaginary_part(v)); }

/// L is unit bidiagonal with ones and U the identity, so sums of multiples of the least subnormal number are exact.
TYPED_TEST(Numerics, subnormal_solutions_are_exact)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  constexpr I n = 700;
  OwnedCsr<T, I> A;
  A.n = n;
  A.row_begin = {0};
  for (I i = 0; i < n; ++i) {
    if (i % 35 != 0) A.column.push_back(i - 1), A.value.push_back(T(1));
    A.column.push_back(i), A.value.push_back(T(1));
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  std::vector<T> b(n), expected(n);
  for (I i = 0; i < n; ++i) {
    b[i] = T(std::numeric_limits<real_t<T>>::denorm_min()) * static_cast<real_t<T>>(1 + i % 5);
    expected[i] = i % 35 != 0 ? b[i] - expected[i - 1] : b[i];
  }
  with_strategies(A, [&](Preconditioner<T, I>& p, bool) { EXPECT_EQ(solve(p, b), expected); });
}

/// Sizes from 1e-12 to 1e12 (1e-6 to 1e6 in float): the backward error of each row is small with respect to the sizes
/// in that row.
TYPED_TEST(Numerics, right_hand_sides_over_many_orders_of_magnitude_are_solved)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const double orders = sizeof(real_t<T>) == 8 ? 24 : 12;
  for (const auto& A : test_matrices<T, I>())
    with_strategies(A, [&](Preconditioner<T, I>& p, bool) {
      auto b = random_vector<T>(A.n, 8);
      for (I i = 0; i < A.n; ++i) b[i] *= static_cast<real_t<T>>(std::pow(10.0, orders * (i % 97) / 96 - orders / 2));
      const auto x = solve(p, b), truth = serial_solve(p, b);
      double largest = 0, apart = 0;
      for (I i = 0; i < A.n; ++i) {
        largest = std::max(largest, static_cast<double>(std::abs(truth[i])));
        apart = std::max(apart, static_cast<double>(std::abs(x[i] - truth[i])));
      }
      EXPECT_LE(apart, 1e3 * std::numeric_limits<real_t<T>>::epsilon() * largest);
    });
}

/// The word of all ones is what a mailbox holds while a value has not arrived.
template <class R> R sentinel_nan()
{
  R v;
  std::memset(&v, 0xff, sizeof v);
  return v;
}

/// The entry is NaN in its real part, or in its imaginary part only.
template <class T> std::vector<T> nans()
{
  using R = real_t<T>;
  if constexpr (is_complex_v<T>) return {T(sentinel_nan<R>(), R(1)), T(R(1), sentinel_nan<R>())};
  else return {sentinel_nan<R>(), std::numeric_limits<R>::quiet_NaN()};
}

TYPED_TEST(Numerics, nan_reaches_the_rows_that_depend_on_it_and_no_others)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("NaN that looks like a value that has not arrived", patience);
  for (const auto& A : test_matrices<T, I>())
    with_strategies(A, [&](Preconditioner<T, I>& p, bool) {
      for (const T& nan : nans<T>())
        for (const I row : {I(0), A.n / 2, A.n - 1}) {
          auto b = random_vector<T>(A.n, 4);
          b[row] = nan;
          const auto x = solve(p, b), truth = serial_solve(p, b);
          for (I i = 0; i < A.n; ++i)
            ASSERT_EQ(is_nan(x[i]), is_nan(truth[i])) << "NaN in row " << row << ", solution in row " << i;
        }
      const auto clean = random_vector<T>(A.n, 4);
      for (const T& v : solve(p, clean)) ASSERT_FALSE(is_nan(v)) << "left from the solve before";
    });
}

TYPED_TEST(Numerics, nan_in_one_column_stays_there)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  constexpr I columns = 5;
  for (const auto& A : test_matrices<T, I>())
    with_strategies(A, [&](Preconditioner<T, I>& p, bool) {
      const auto whole = random_vector<T>(static_cast<std::size_t>(A.n) * columns, 6);
      const auto good = solve(p, whole, columns);
      for (const T& nan : nans<T>()) {
        auto b = whole;
        b[static_cast<std::size_t>(A.n) * 2 + A.n / 3] = nan;
        const auto x = solve(p, b, columns);
        bool reached = false;
        for (std::size_t k = 0; k < x.size(); ++k) {
          const bool own = k / A.n == 2;
          reached = reached || (own && is_nan(x[k]));
          ASSERT_TRUE(own || std::abs(x[k] - good[k]) <= 1e-3 * (1 + std::abs(good[k]))) << "entry " << k;
        }
        EXPECT_TRUE(reached);
      }
    });
}

TYPED_TEST(Numerics, infinity_in_A_is_reported_with_its_row_and_then_forgotten)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& A : test_matrices<T, I>())
    with_strategies(A, [&](Preconditioner<T, I>& p, bool reproducible) {
      const auto b = random_vector<T>(A.n, 9);
      const auto before = solve(p, b);
      auto bad = A;
      bad.value[A.row_begin[A.n / 2]] = T(std::numeric_limits<real_t<T>>::infinity());
      const Status status = p.refresh(bad.view(), PivotRule());
      ASSERT_EQ(status.code, Code::not_finite) << status.message();
      EXPECT_EQ(status.row, A.n / 2);
      ASSERT_EQ(p.refresh(A.view(), PivotRule()).message(), "success");
      const auto after = solve(p, b);
      EXPECT_TRUE(!reproducible || are_same(after, before));
    });
}

}  // namespace
}  // namespace syncfree
