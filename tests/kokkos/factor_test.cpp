/// Which of spiluk and the host factors, and that both agree: random matrices, fill and orders, every pivot rule,
/// pivots that spiluk hides, values that are not finite, and the state after a failure.

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "../factor_oracle.hpp"
#include "kokkos_test.hpp"

namespace syncfree {
namespace {

template <class P> class Factor : public testing::Test {};
TYPED_TEST_SUITE(Factor, AllTypes);

template <class T> double epsilon() { return std::numeric_limits<real_t<T>>::epsilon(); }

/// Makes an n x n unsymmetric matrix with about `degree` entries per row, dominated by its diagonal.
template <class T, class I> OwnedCsr<T, I> random_matrix(I n, I degree, unsigned seed)
{
  std::mt19937 engine(seed);
  const auto value = random_vector<T>(static_cast<std::size_t>(n * n), seed);
  OwnedCsr<T, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = 0; j < n; ++j) {
      if (i != j && static_cast<I>(engine() % n) >= degree) continue;
      A.column.push_back(j);
      A.value.push_back(i == j ? T(real_t<T>(2 * degree)) : value[i * n + j]);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

TYPED_TEST(Factor, of_random_matrices_is_that_of_the_definition)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const I n = static_cast<I>(3 + 7 * seed);
    FactorTask<T, I> task{random_matrix<T, I>(n, 5, seed), Kind::ilu, static_cast<int>(seed % 3), {}, {}};
    if (seed % 2 == 0) task.row_order = task.column_order = random_order(n, seed);
    Pair<T, I> both(task.A.pattern(), task.symbolic());
    ASSERT_EQ(both.kokkos->refresh(task.A.view(), PivotRule()).message(), "success");
    ASSERT_TRUE(by_spiluk(*both.kokkos)) << both.kokkos->summarize().reason;
    const auto truth = oracle_factor(task, PivotRule());
    const auto made = make_dense(both.kokkos->pattern(), both.kokkos->values());
    EXPECT_EQ(difference(made, truth, 20 * epsilon<T>()), "") << "seed " << seed;
  }
}

template <class T, class I> void expect_equal_numbers(const Preconditioner<T, I>& a, const Preconditioner<T, I>& b)
{
  const auto made = make_dense(a.pattern(), a.values()), truth = make_dense(b.pattern(), b.values());
  EXPECT_EQ(difference(made, truth, 4 * epsilon<T>()), "") << a.summarize().reason;
}

TYPED_TEST(Factor, of_icc_and_of_shifts_is_the_hosts_and_the_summary_says_so)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = make_poisson<T, I>(3, 4, 5);
  for (Kind kind : {Kind::ilu, Kind::icc})
    for (Shift shift : {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks}) {
      auto B = A;
      if (shift != Shift::none) B.value[0] = shift == Shift::positive_definite ? T(-1) : T(0);
      PivotRule rule;
      rule.shift = shift;
      rule.shift_amount = 0.5;
      SymbolicOptions<I> symbolic;
      symbolic.kind = kind;
      Pair<T, I> both(B.pattern(), symbolic);
      ASSERT_EQ(both.host->refresh(B.view(), rule).message(), "success");
      ASSERT_EQ(both.kokkos->refresh(B.view(), rule).message(), "success");
      const Summary ours = both.kokkos->summarize(), theirs = both.host->summarize();
      EXPECT_EQ(by_spiluk(*both.kokkos), kind == Kind::ilu && shift == Shift::none) << ours.reason;
      const char* why = kind == Kind::icc ? "by the host: IC" : shift == Shift::none ? "spiluk" : "by the host: shifts";
      EXPECT_NE(ours.reason.find(why), std::string::npos) << ours.reason;
      EXPECT_EQ(ours.pivots.shifts, theirs.pivots.shifts);
      EXPECT_EQ(ours.pivots.shift_amount, theirs.pivots.shift_amount);
      expect_equal_numbers(*both.kokkos, *both.host);
    }
}

/// Makes the battery's chain with `pivot` as the pivot of row `row`: the row has no entries left of the diagonal.
template <class T, class I> OwnedCsr<T, I> with_pivot(I row, const T& pivot)
{
  auto A = make_battery_matrix<T, I>("chain");
  for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k) {
    if (A.column[k] < row) A.value[k] = T(0);
    if (A.column[k] == row) A.value[k] = pivot;
  }
  return A;
}

TYPED_TEST(Factor, fails_in_the_row_and_with_the_value_that_the_host_names)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const T nan(std::numeric_limits<real_t<T>>::quiet_NaN()), infinity(std::numeric_limits<real_t<T>>::infinity());
  const auto good = make_battery_matrix<T, I>("chain");
  const I n = good.n;
  std::vector<T> b(n, T(1)), x(n);
  Pair<T, I> both(good.pattern());
  for (const T& pivot : {T(0), T(real_t<T>(1e-15)), nan, infinity, T(std::numeric_limits<real_t<T>>::denorm_min())})
    for (I row : {I(0), I(500), I(n - 1)})
      for (double tolerance : {PivotRule().zero_pivot, 0.0}) {
        PivotRule rule;
        rule.zero_pivot = tolerance;
        const auto A = with_pivot<T, I>(row, pivot);
        const Status ours = both.kokkos->refresh(A.view(), rule), theirs = both.host->refresh(A.view(), rule);
        EXPECT_EQ(ours.message(), theirs.message()) << pivot << " in row " << row;
        EXPECT_EQ(ours.code, theirs.code);
        if (ours.ok()) continue;
        EXPECT_EQ(ours.row, row);
        EXPECT_EQ(both.kokkos->solve(Operation::none, b.data(), x.data(), {1, n, n}).code, Code::invalid_argument);
        EXPECT_TRUE(both.kokkos->values().lower.empty());
        ASSERT_TRUE(both.kokkos->refresh(good.view(), rule).ok()) << "a failure did lasting harm";
        EXPECT_TRUE(by_spiluk(*both.kokkos));
        ASSERT_TRUE(both.host->refresh(good.view(), rule).ok());
        expect_equal_numbers(*both.kokkos, *both.host);
      }
}

/// spiluk replaces a zero pivot by 1e6, so a computed pivot of 1e6 has to be checked.
TYPED_TEST(Factor, takes_an_honest_pivot_of_a_million)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = with_pivot<T, I>(500, T(1e6));
  Pair<T, I> both(A.pattern());
  ASSERT_TRUE(both.kokkos->refresh(A.view(), PivotRule()).ok());
  ASSERT_TRUE(both.host->refresh(A.view(), PivotRule()).ok());
  EXPECT_NE(both.kokkos->summarize().reason.find("a pivot in doubt"), std::string::npos);
  expect_equal_numbers(*both.kokkos, *both.host);
}

TYPED_TEST(Factor, fails_at_nan_anywhere_in_the_matrix)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto good = make_poisson<T, I>(4, 4, 4);
  Pair<T, I> both(good.pattern());
  for (std::size_t k = 0; k < good.value.size(); k += 7) {
    auto A = good;
    A.value[k] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
    const Status ours = both.kokkos->refresh(A.view(), PivotRule()), theirs = both.host->refresh(A.view(), PivotRule());
    EXPECT_EQ(ours.code, Code::not_finite);
    EXPECT_EQ(ours.message(), theirs.message()) << "entry " << k;
  }
}

TYPED_TEST(Factor, of_a_matrix_without_rows_solves_at_once)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : {Kind::ilu, Kind::icc}) {
    SymbolicOptions<I> symbolic;
    symbolic.kind = kind;
    Pair<T, I> both({}, symbolic);
    ASSERT_TRUE(both.kokkos->refresh({}, PivotRule()).ok());
    for (Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate})
      EXPECT_TRUE(both.kokkos->solve(op, nullptr, nullptr, {2, 0, 0}).ok());
    EXPECT_TRUE(both.kokkos->solve_forward_half(nullptr, nullptr).ok());
    EXPECT_TRUE(both.kokkos->solve_backward_half(nullptr, nullptr).ok());
    EXPECT_EQ(both.kokkos->levels().lower, 0);
    EXPECT_TRUE(both.kokkos->values().inverse_pivot.empty());
  }
}

/// One NaN in the right-hand side affects only the components that read it, and the solve ends.
TYPED_TEST(Factor, lets_nan_on_the_right_hand_side_through_and_forgets_it)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = make_battery_matrix<T, I>("diagonal");
  const I n = A.n;
  Pair<T, I> both(A.pattern());
  ASSERT_TRUE(both.kokkos->refresh(A.view(), PivotRule()).ok());
  std::vector<T> b(n, T(1)), x(n), y(n);
  b[41] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  ASSERT_TRUE(both.kokkos->solve(Operation::none, b.data(), x.data(), {1, n, n}).ok());
  for (I i = 0; i < n; ++i) EXPECT_EQ(is_finite(x[i]), i != 41) << i;
  b[41] = T(1);
  ASSERT_TRUE(both.kokkos->solve(Operation::none, b.data(), y.data(), {1, n, n}).ok());
  EXPECT_TRUE(is_finite(y[41]));
  x[41] = y[41];
  EXPECT_EQ(std::memcmp(x.data(), y.data(), n * sizeof(T)), 0);
}

}  // namespace
}  // namespace syncfree
