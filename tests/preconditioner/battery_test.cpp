/// Every matrix of the battery in every scalar and index type, in its own order and in those that give few levels:
/// values entry by entry, and solves with L, U, their transposes and several right-hand sides within the bound of two
/// correct solves.

#include <gtest/gtest.h>

#include <limits>

#include "../oracle.hpp"
#include "../ordered.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "backend.hpp"

namespace syncfree {
namespace {

template <class P> class Battery : public testing::Test {};
TYPED_TEST_SUITE(Battery, AllTypes);

template <class T> T inverse(const T& v) { return T(1) / v; }

/// Copies one triangle of the factor of p.
template <class T, class I> OwnedTriangle<T, I> triangle(const Preconditioner<T, I>& p, bool lower)
{
  const FactorPattern<I>& pattern = p.pattern();
  const FactorValues<T> values = p.values();
  const auto copy = [](const auto& array) {
    return std::vector<std::decay_t<decltype(array[0])>>(array.begin(), array.end());
  };
  if (lower) return {true, pattern.n, copy(pattern.lower_begin), copy(pattern.lower_column), copy(values.lower), {}};
  return {false, pattern.n, copy(pattern.upper_begin), copy(pattern.upper_column), copy(values.upper),
          copy(values.inverse_pivot)};
}

template <class T, class I> OwnedTriangle<T, I> transposed(const OwnedTriangle<T, I>& R)
{
  std::vector<std::vector<std::pair<I, T>>> rows(R.n);
  for (I i = 0; i < R.n; ++i)
    for (I k = R.row_begin[i]; k < R.row_begin[i + 1]; ++k) rows[R.column[k]].emplace_back(i, R.value[k]);
  OwnedTriangle<T, I> S;
  S.lower = !R.lower;
  S.n = R.n;
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      S.column.push_back(column);
      S.value.push_back(value);
    }
    S.row_begin.push_back(static_cast<I>(S.column.size()));
  }
  S.inverse_diagonal = R.inverse_diagonal;
  return S;
}

/// Returns the first entry of L or U that differs from the oracle's by more than `tolerance` times its scale; empty if
/// there is none.
template <class T, class I>
std::string factor_difference(const Preconditioner<T, I>& p, const OwnedCsr<T, I>& truth, double tolerance)
{
  const auto L = triangle(p, true), U = triangle(p, false);
  for (I i = 0; i < truth.n; ++i) {
    I l = L.row_begin[i], u = U.row_begin[i];
    for (I k = truth.row_begin[i]; k < truth.row_begin[i + 1]; ++k) {
      const I j = truth.column[k];
      const T made = j < i ? L.value[l++] : j == i ? inverse(U.inverse_diagonal[i]) : U.value[u++];
      const double scale = std::abs(truth.value[k]) + (j < i ? 1 : std::abs(inverse(U.inverse_diagonal[i])));
      if (!(std::abs(made - truth.value[k]) <= tolerance * scale))
        return "entry (" + std::to_string(i) + ", " + std::to_string(j) + ")";
    }
    if (l != L.row_begin[i + 1] || u != U.row_begin[i + 1]) return "pattern of row " + std::to_string(i);
  }
  return {};
}

/// Solves with two triangles in turn. The intermediate vector is not known, so the second solve uses the oracle's first
/// solution as its exact right-hand side, and its bound is increased by the effect of the first bound.
template <class T, class I>
Solution<T> two_solves(const OwnedTriangle<T, I>& first, const OwnedTriangle<T, I>& second, const T* b, bool conjugated)
{
  const Solution<T> between = oracle_solve<T>(first.view(), b, conjugated);
  Solution<T> x = oracle_solve<T>(second.view(), between.x.data(), conjugated);
  /* |second^-1| times the bound of the first, by substitution with magnitudes */
  const PatternView<I> pattern = second.pattern();
  std::vector<double> inherited(pattern.n);
  for (I step = 0; step < pattern.n; ++step) {
    const I i = second.lower ? step : pattern.n - 1 - step;
    double sum = between.bound[i];
    for (I k = pattern.row_begin[i]; k < pattern.row_begin[i + 1]; ++k)
      sum += std::abs(second.value[k]) * inherited[pattern.column[k]];
    inherited[i] = sum * (second.unit() ? 1 : std::abs(second.inverse_diagonal[i]));
    x.bound[i] += inherited[i];
  }
  return x;
}

template <class T, class I> void expect_halves(Preconditioner<T, I>& p, const std::vector<T>& b)
{
  std::vector<T> x(b.size());
  ASSERT_TRUE(p.solve_forward_half(b.data(), x.data()).ok());
  EXPECT_EQ(difference(x.data(), oracle_solve<T>(triangle(p, true).view(), b.data(), false)), "") << "L";
  ASSERT_TRUE(p.solve_backward_half(b.data(), x.data()).ok());
  EXPECT_EQ(difference(x.data(), oracle_solve<T>(triangle(p, false).view(), b.data(), false)), "") << "U";
}

template <class T, class I> void expect_operations(Preconditioner<T, I>& p)
{
  const I n = p.pattern().n, count = 3;
  const auto L = triangle(p, true), U = triangle(p, false), Lt = transposed(L), Ut = transposed(U);
  const auto b = random_vector<T>(static_cast<std::size_t>(count * (n + 2)), 5);
  std::vector<T> x(static_cast<std::size_t>(count * (n + 1)));
  for (Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate}) {
    ASSERT_EQ(p.solve(op, b.data(), x.data(), {count, n + 2, n + 1}).message(), "success");
    const bool turned = op == Operation::transpose || op == Operation::adjoint;
    const bool conjugated = op == Operation::adjoint || op == Operation::conjugate;
    for (I c = 0; c < count; ++c) {
      const T* from = &b[c * (n + 2)];
      const auto expected = turned ? two_solves(Ut, Lt, from, conjugated) : two_solves(L, U, from, conjugated);
      EXPECT_EQ(difference(&x[c * (n + 1)], expected), "") << static_cast<int>(op) << ", column " << c;
    }
  }
}

/// Solves with A~ in the order of A, by the factors, which have another.
template <class T, class I> void expect_ordered_solves(Preconditioner<T, I>& p, const std::vector<I>& order)
{
  const I n = p.pattern().n;
  const auto L = triangle(p, true), U = triangle(p, false);
  const auto gathered = [&](const std::vector<T>& all) {
    std::vector<T> part;
    for (const I row : order) part.push_back(all[row]);
    return part;
  };
  const auto b = random_vector<T>(static_cast<std::size_t>(n), 6);
  std::vector<T> x(b.size());
  ASSERT_EQ(p.solve(Operation::none, b.data(), x.data(), {1, n, n}).message(), "success");
  EXPECT_EQ(difference(gathered(x).data(), two_solves(L, U, gathered(b).data(), false)), "");
  ASSERT_EQ(p.solve(Operation::transpose, b.data(), x.data(), {1, n, n}).message(), "success");
  EXPECT_EQ(difference(gathered(x).data(), two_solves(transposed(U), transposed(L), gathered(b).data(), false)), "")
      << "transposed";
}

TYPED_TEST(Battery, has_the_factors_and_solutions_of_the_oracle_and_again_after_refresh)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || (short_run() && entry.name == std::string("n_100000"))) continue;
    SCOPED_TRACE(entry.name);
    const double tolerance = 100 * std::numeric_limits<real_t<T>>::epsilon();
    const auto first = make_battery_matrix<T, I>(entry.name, 0), second = make_battery_matrix<T, I>(entry.name, 1);
    const auto p = make_tested<T, I>();
    ASSERT_EQ(p->analyse(first.pattern(), {}, {}).message(), "success");
    for (const auto& A : {first, second}) {
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      EXPECT_EQ(factor_difference(*p, oracle_ilu0(A), tolerance), "");
      if (entry.bounded) expect_halves(*p, random_vector<T>(A.n, 3));
      if (entry.bounded) expect_operations(*p);
    }
  }
}

TYPED_TEST(Battery, has_the_factors_and_solutions_of_the_oracle_in_every_order)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || !entry.bounded) continue;
    const bool large = entry.name == std::string("n_100000");
    const auto first = make_battery_matrix<T, I>(entry.name, 0), second = make_battery_matrix<T, I>(entry.name, 1);
    for (const auto& [name, options] : tested_orderings()) {
      if (large && (short_run() || options.kind != OrderingKind::multicolor)) continue;
      SCOPED_TRACE(std::string(entry.name) + ", " + name);
      const std::vector<I> order = order_of(first.pattern(), options);
      SymbolicOptions<I> symbolic;
      symbolic.row_order = symbolic.column_order = order.data();
      SolverOptions solver;
      if (large) solver.threads = 3;  // enough rows to be permuted by several
      const auto p = make_tested<T, I>();
      ASSERT_EQ(p->analyse(first.pattern(), symbolic, solver).message(), "success");
      for (const auto& A : {first, second}) {
        ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
        const double tolerance = 100 * std::numeric_limits<real_t<T>>::epsilon();
        EXPECT_EQ(factor_difference(*p, oracle_ilu0(permuted(A, order)), tolerance), "");
        expect_ordered_solves(*p, order);
      }
    }
  }
}

/// An infinity in the middle of a solve gives values that are not finite, and does not affect later solves.
TYPED_TEST(Battery, overflows_where_the_oracle_does)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = make_battery_matrix<T, I>("growth_overflow");
  const auto p = make_tested<T, I>();
  ASSERT_TRUE(p->analyse(A.pattern(), {}, {}).ok());
  ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
  expect_halves(*p, random_vector<T>(A.n, 3));
}

TYPED_TEST(Battery, is_refused_with_a_row_where_it_cannot_be_factored)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  int refused = 0;
  for (const BatteryEntry& entry : battery()) {
    if (entry.factorable) continue;
    const auto A = make_battery_matrix<T, I>(entry.name);
    const auto p = make_tested<T, I>();
    Status status = p->analyse(A.pattern(), {}, {});
    if (status.ok()) status = p->refresh(A.view(), PivotRule());
    EXPECT_FALSE(status.ok()) << entry.name;
    EXPECT_GE(status.row, 0) << entry.name << ": " << status.message();
    ++refused;
  }
  EXPECT_EQ(refused, 3);
}

}  // namespace
}  // namespace syncfree
