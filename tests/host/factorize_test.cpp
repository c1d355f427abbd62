/// The numeric factorization against its definition: ILU(k) and IC(k) in all scalars and indices, all pivot rules on
/// matrices that need them, rows that fail, values that are not finite, and teams of 1 to 8 threads with identical
/// bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "../factor_oracle.hpp"
#include "../types.hpp"
#include "host/factorize.hpp"

namespace syncfree {
namespace {

/// A factorization with its pattern, values, report and status.
template <class T, class I> struct Made {
  FactorPattern<I> pattern;
  std::unique_ptr<Factorization<T, I>> factorization;
  FactorValues<T> values;
  PivotReport report;
  Status status;

  explicit Made(const FactorTask<T, I>& task, int threads = 1)
  {
    status = make_factor_pattern(task.A.pattern(), task.symbolic(), &pattern);
    if (!status.ok()) return;
    factorization = std::make_unique<Factorization<T, I>>(pattern, task.A.pattern(), threads);
    values.lower.resize(pattern.lower_column.size());
    values.upper.resize(pattern.upper_column.size());
    values.inverse_pivot.resize(pattern.n);
  }

  Made& factor(const FactorTask<T, I>& task, const PivotRule& rule)
  {
    if (status.ok()) status = factorization->factorize_rows(task.A.view(), rule, &values, &report);
    return *this;
  }
};

template <class T> bool same_bits(const Array<T>& a, const Array<T>& b)
{
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T> bool same_bits(const FactorValues<T>& a, const FactorValues<T>& b)
{
  return same_bits(a.lower, b.lower) && same_bits(a.upper, b.upper) && same_bits(a.inverse_pivot, b.inverse_pivot);
}

/// Makes the matrix A with A(r, c) = B: entries (r_i, c_j), and explicit zeros on A's own diagonal where B has none.
template <class T, class I>
OwnedCsr<T, I> unpermute(const OwnedCsr<T, I>& B, const std::vector<I>& r, const std::vector<I>& c)
{
  std::vector<std::map<I, T>> rows(B.n);
  for (I i = 0; i < B.n; ++i)
    for (I k = B.row_begin[i]; k < B.row_begin[i + 1]; ++k) rows[r[i]].emplace(c[B.column[k]], B.value[k]);
  OwnedCsr<T, I> A;
  A.n = B.n;
  for (I i = 0; i < B.n; ++i) {
    rows[i].emplace(i, T(0));
    for (const auto& [column, value] : rows[i]) {
      A.column.push_back(column);
      A.value.push_back(value);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes a tridiagonal matrix with the given diagonal and off-diagonals -1.
template <class T, class I> OwnedCsr<T, I> tridiagonal(const std::vector<double>& diagonal)
{
  OwnedCsr<T, I> A;
  A.n = static_cast<I>(diagonal.size());
  for (I i = 0; i < A.n; ++i) {
    for (I j = std::max<I>(0, i - 1); j <= std::min<I>(A.n - 1, i + 1); ++j) {
      A.column.push_back(j);
      A.value.push_back(j == i ? T(static_cast<real_t<T>>(diagonal[i])) : T(-1));
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes Neumann's Laplacian on a line: singular, the last pivot is 0 in any arithmetic.
template <class T, class I> OwnedCsr<T, I> neumann(I n)
{
  std::vector<double> diagonal(n, 2);
  diagonal.front() = diagonal.back() = 1;
  return tridiagonal<T, I>(diagonal);
}

template <class T, class I> T& diagonal_of(OwnedCsr<T, I>& A, I i)
{
  for (I k = A.row_begin[i];; ++k)
    if (A.column[k] == i) return A.value[k];
}

template <class T> double epsilon() { return std::numeric_limits<real_t<T>>::epsilon(); }

/// Returns PETSc's defaults for the precision of T.
template <class T> PivotRule rule_of(Shift shift)
{
  PivotRule rule;
  rule.shift = shift;
  rule.shift_amount = rule.zero_pivot = 100 * epsilon<T>();
  return rule;
}

constexpr Shift all_shifts[] = {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks};
constexpr Kind both_kinds[] = {Kind::ilu, Kind::icc};

template <class T, class I>
void expect_agreement(const FactorTask<T, I>& task, const PivotRule& rule, const std::string& what, double tolerance)
{
  const OracleFactor<T> truth = oracle_factor(task, rule);
  Made<T, I> made(task);
  made.factor(task, rule);
  if (truth.failed_row >= 0) {
    EXPECT_EQ(made.status.code, Code::zero_pivot) << what;
    EXPECT_EQ(made.status.row, truth.failed_row) << what;
    return;
  }
  ASSERT_TRUE(made.status.ok()) << what << ": " << made.status.message();
  EXPECT_EQ(difference(make_dense(made.pattern, made.values), truth, tolerance), "") << what;
  EXPECT_EQ(made.report.shifts, truth.report.shifts) << what;
  EXPECT_NEAR(made.report.shift_amount, truth.report.shift_amount, 1e-6 * truth.report.shift_amount) << what;
  EXPECT_DOUBLE_EQ(made.report.shift_fraction, truth.report.shift_fraction) << what;
  const double top = truth.report.shifts > 0 ? truth.report.shift_top : 0;  // without shifts it is not computed
  EXPECT_NEAR(made.report.shift_top, top, 1e-6 * top) << what;
}

template <class P> class Factorize : public testing::Test {};
TYPED_TEST_SUITE(Factorize, AllTypes);

template <class T, class I> std::vector<std::pair<std::string, OwnedCsr<T, I>>> small_matrices()
{
  std::vector<std::pair<std::string, OwnedCsr<T, I>>> list;
  for (const char* name : {"empty", "one", "diagonal", "dense65", "n_31", "n_33"})
    list.push_back({name, make_battery_matrix<T, I>(name)});
  list.push_back({"poisson", make_poisson<T, I>(4, 5, 3)});
  return list;
}

TYPED_TEST(Factorize, agrees_with_the_definition_for_levels_0_to_3)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& [name, A] : small_matrices<T, I>())
    for (Kind kind : both_kinds)
      for (int levels = 0; levels <= 3; ++levels) {
        const FactorTask<T, I> task{A, kind, levels, {}, {}};
        expect_agreement(task, rule_of<T>(Shift::none), name + " " + std::to_string(levels), 500 * epsilon<T>());
      }
}

TYPED_TEST(Factorize, agrees_in_random_orders)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& [name, A] : small_matrices<T, I>())
    for (Kind kind : both_kinds)
      for (int levels = 0; levels <= 2; ++levels) {
        const auto r = random_order(A.n, 7), c = kind == Kind::icc ? r : random_order(A.n, 8);
        const FactorTask<T, I> task{unpermute(A, r, c), kind, levels, r, c};
        expect_agreement(task, rule_of<T>(Shift::none), name + " " + std::to_string(levels), 2000 * epsilon<T>());
      }
}

TYPED_TEST(Factorize, shifts_as_often_and_as_far_as_PETSc)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  std::vector<std::pair<std::string, OwnedCsr<T, I>>> list = small_matrices<T, I>();
  list.push_back({"neumann", neumann<T, I>(30)});
  for (const I bad : {0, 14, 29}) {
    std::vector<double> diagonal(30, 4);
    diagonal[bad] = 0;
    list.push_back({"zero " + std::to_string(bad), tridiagonal<T, I>(diagonal)});
    diagonal[bad] = -3;
    list.push_back({"negative " + std::to_string(bad), tridiagonal<T, I>(diagonal)});
  }
  list.push_back({"indefinite", tridiagonal<T, I>({1, 1, 1, 1, 1, 1, 1})});
  list.push_back({"null", tridiagonal<T, I>({0, 0, 0})});
  for (const auto& [name, A] : list)
    for (Kind kind : both_kinds)
      for (Shift shift : all_shifts)
        for (double amount : {0.0, 0.5}) {
          PivotRule rule = rule_of<T>(shift);
          if (amount > 0) rule.shift_amount = amount;
          if (amount == 0 && shift != Shift::positive_definite) continue;  // pivots of 1e-14: nothing left to compare
          const FactorTask<T, I> task{A, kind, 0, {}, {}};
          expect_agreement(task, rule, name + " shift " + std::to_string(static_cast<int>(shift)), 1e4 * epsilon<T>());
        }
}

TYPED_TEST(Factorize, compares_a_pivot_with_L_and_U_for_ilu_but_with_U_for_icc)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (Shift shift : {Shift::nonzero, Shift::positive_definite}) {
      PivotRule rule = rule_of<T>(shift);
      rule.zero_pivot = 0.5;  // pivots 1 and 0.2, |l| = |u| = 1
      rule.shift_amount = 0.25;
      const FactorTask<T, I> task{tridiagonal<T, I>({1, 1.2}), kind, 0, {}, {}};
      Made<T, I> made(task);
      ASSERT_TRUE(made.factor(task, rule).status.ok());
      EXPECT_EQ(made.report.shifts > 0, kind == Kind::ilu);
      expect_agreement(task, rule, "weak last pivot", 1e4 * epsilon<T>());
    }
}

TYPED_TEST(Factorize, doubles_the_default_shift_until_the_pivot_stands)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{neumann<T, I>(30), Kind::ilu, 0, {}, {}};
  const PivotRule rule = rule_of<T>(Shift::nonzero);
  Made<T, I> made(task);
  ASSERT_TRUE(made.factor(task, rule).status.ok());
  EXPECT_GE(made.report.shifts, 1);
  EXPECT_DOUBLE_EQ(made.report.shift_amount, rule.shift_amount * std::pow(2, made.report.shifts - 1));
  made.factor(FactorTask<T, I>{tridiagonal<T, I>(std::vector<double>(30, 4)), Kind::ilu, 0, {}, {}}, rule);
  EXPECT_EQ(made.report.shifts, 0) << "a report of the attempt before";
}

TYPED_TEST(Factorize, reports_the_first_zero_pivot)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (const I bad : {0, 11, 39}) {
      auto A = make_battery_matrix<T, I>("diagonal");
      diagonal_of(A, bad) = T(static_cast<real_t<T>>(1e-3));
      diagonal_of<T, I>(A, 60) = T(0);
      PivotRule rule = rule_of<T>(Shift::none);
      rule.zero_pivot = 2e-3;
      const FactorTask<T, I> task{A, kind, 0, {}, {}};
      Made<T, I> made(task);
      made.factor(task, rule);
      EXPECT_EQ(made.status.code, Code::zero_pivot);
      EXPECT_EQ(made.status.row, bad);
      EXPECT_NEAR(made.status.value, 1e-3, 1e-9);
      EXPECT_DOUBLE_EQ(made.status.tolerance, 2e-3);
    }
}

TYPED_TEST(Factorize, ends_where_no_shift_helps)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{tridiagonal<T, I>({0, 0, 0, 0}), Kind::ilu, 0, {}, {}};
  PivotRule rule = rule_of<T>(Shift::nonzero);
  for (double amount : {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    rule.shift_amount = amount;
    Made<T, I> made(task);
    EXPECT_EQ(made.factor(task, rule).status.code, Code::zero_pivot) << amount;
    EXPECT_EQ(made.status.row, 0);
  }
  rule = rule_of<T>(Shift::positive_definite);
  rule.zero_pivot = 5;
  auto A = tridiagonal<T, I>({3, 3, 3, 3});  // row sum 4: requires a pivot of 20, the largest shift is 1.1 * 5
  for (auto& v : A.value) v *= v == T(-1) ? T(4) : T(1);
  for (Kind kind : both_kinds) {
    const FactorTask<T, I> hopeless{A, kind, 0, {}, {}};
    Made<T, I> made(hopeless);
    EXPECT_EQ(made.factor(hopeless, rule).status.code, Code::zero_pivot);
    EXPECT_EQ(made.status.row, 0);
  }
  rule.zero_pivot = std::numeric_limits<double>::infinity();
  for (Shift shift : {Shift::none, Shift::nonzero, Shift::positive_definite}) {
    rule.shift = shift;
    Made<T, I> made(task);
    EXPECT_EQ(made.factor(task, rule).status.code, Code::zero_pivot) << static_cast<int>(shift);
  }
}

TYPED_TEST(Factorize, a_repair_that_leaves_zero_is_no_repair)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{tridiagonal<T, I>({1, 1, 5}), Kind::ilu, 0, {}, {}};
  PivotRule rule = rule_of<T>(Shift::inblocks);
  rule.shift_amount = 0;
  Made<T, I> made(task);
  made.factor(task, rule);
  EXPECT_EQ(made.status.code, Code::zero_pivot);
  EXPECT_EQ(made.status.row, 1);
}

TYPED_TEST(Factorize, never_hides_a_number_that_is_not_finite)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto good = make_poisson<T, I>(4, 4, 4);
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (Kind kind : both_kinds)
      for (Shift shift : all_shifts)
        for (I row : {0, 21, 63})
          for (I k = good.row_begin[row]; k < good.row_begin[row + 1]; ++k) {
            if (kind == Kind::icc && good.column[k] < row) continue;
            FactorTask<T, I> task{good, kind, 0, {}, {}};
            task.A.value[k] = T(static_cast<real_t<T>>(bad));
            Made<T, I> made(task);
            made.factor(task, rule_of<T>(shift));
            EXPECT_EQ(made.status.code, Code::not_finite) << made.status.message();
            EXPECT_EQ(made.status.row, row);
          }
}

TYPED_TEST(Factorize, icc_does_not_look_below_the_diagonal)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  auto A = make_poisson<T, I>(4, 4, 4);
  const FactorTask<T, I> clean{A, Kind::icc, 0, {}, {}};
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] < i) A.value[k] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  const FactorTask<T, I> dirty{A, Kind::icc, 0, {}, {}};
  Made<T, I> a(clean), b(dirty);
  ASSERT_TRUE(a.factor(clean, rule_of<T>(Shift::none)).status.ok());
  ASSERT_TRUE(b.factor(dirty, rule_of<T>(Shift::none)).status.ok());
  EXPECT_TRUE(same_bits(a.values, b.values));
}

TYPED_TEST(Factorize, tells_overflow_of_a_tiny_pivot)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  auto A = tridiagonal<T, I>({4, 4, 4});
  A.value[0] = T(std::numeric_limits<real_t<T>>::denorm_min());
  PivotRule rule = rule_of<T>(Shift::none);
  rule.zero_pivot = 0;
  const FactorTask<T, I> task{A, Kind::ilu, 0, {}, {}};
  Made<T, I> made(task);
  EXPECT_EQ(made.factor(task, rule).status.code, Code::not_finite);
  EXPECT_EQ(made.status.row, 0);
}

TYPED_TEST(Factorize, sums_that_overflow_over_finite_numbers_are_no_failure)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const T large = T(std::numeric_limits<real_t<T>>::max() / real_t<T>(1.5));
  FactorTask<T, I> task{tridiagonal<T, I>({1, 1, 1}), Kind::ilu, 0, {}, {}};
  task.A.value = {large, large, T(0), T(1), large, T(0), T(1)};
  Made<T, I> made(task);
  EXPECT_EQ(made.factor(task, rule_of<T>(Shift::none)).status.message(), "success");
}

template <class T, class I>
void expect_equal_teams(const FactorTask<T, I>& task, const PivotRule& rule, bool must_share)
{
  Made<T, I> one(task);
  one.factor(task, rule);
  for (int threads : {2, 3, 8}) {
    Made<T, I> many(task, threads);
    if (must_share) { EXPECT_EQ(many.factorization->factor_threads(), threads); }
    for (int again = 0; again < 2; ++again) {
      many.factor(task, rule);
      EXPECT_EQ(many.status.code, one.status.code);
      EXPECT_EQ(many.status.row, one.status.row);
      EXPECT_EQ(many.status.value, one.status.value);
      EXPECT_EQ(many.status.tolerance, one.status.tolerance);
      if (!one.status.ok()) break;
      EXPECT_TRUE(same_bits(many.values, one.values)) << threads;
      EXPECT_EQ(many.report.shifts, one.report.shifts);
      EXPECT_EQ(many.report.shift_amount, one.report.shift_amount);
    }
  }
}

TYPED_TEST(Factorize, is_bitwise_equal_for_any_number_of_threads)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds) {
    expect_equal_teams(FactorTask<T, I>{make_poisson<T, I>(16, 20, 40), kind, 0, {}, {}}, rule_of<T>(Shift::none),
                       true);
    for (const char* name : {"empty", "one", "chain", "random_wide", "power_law", "n_513"})
      expect_equal_teams(FactorTask<T, I>{make_battery_matrix<T, I>(name), kind, 0, {}, {}},
                         rule_of<T>(Shift::positive_definite), false);
    expect_equal_teams(FactorTask<T, I>{make_poisson<T, I>(12, 12, 12), kind, 2, {}, {}}, rule_of<T>(Shift::none),
                       false);
  }
  const auto A = make_poisson<T, I>(16, 16, 30);
  const auto r = random_order(A.n, 3), c = random_order(A.n, 4);
  expect_equal_teams(FactorTask<T, I>{unpermute(A, r, c), Kind::ilu, 0, r, c}, rule_of<T>(Shift::none), false);
}

TYPED_TEST(Factorize, fails_in_the_same_row_for_any_number_of_threads)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  auto A = make_poisson<T, I>(16, 20, 40);
  for (I i : {12000, 5003, 5001}) {
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] <= i) A.value[k] = T(0);
    for (Shift shift : all_shifts)
      expect_equal_teams(FactorTask<T, I>{A, Kind::ilu, 0, {}, {}}, rule_of<T>(shift), true);
  }
  diagonal_of<T, I>(A, 5002) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  for (Shift shift : all_shifts)
    expect_equal_teams(FactorTask<T, I>{A, Kind::ilu, 0, {}, {}}, rule_of<T>(shift), true);
}

/// Makes an arrow: the first rows are full; transposed it has as many rows and entries.
template <class T, class I> OwnedCsr<T, I> arrow(I n, bool turned)
{
  std::vector<std::vector<I>> row(n);
  for (I i = 0; i < n; ++i)
    for (I j = i; j < n; ++j)
      if (i == j || i < 8) row[turned ? j : i].push_back(turned ? i : j);
  OwnedCsr<T, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    A.column.insert(A.column.end(), row[i].begin(), row[i].end());
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  for (I i = 0; i < n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) A.value.push_back(T(A.column[k] == i ? 9 : 1));
  A.value.shrink_to_fit();  // lets a sanitizer detect reads beyond the last value
  return A;
}

/// A matrix with rows of other lengths is refused before any value outside its arrays is read. Rows of equal length
/// with other columns are not detected here.
TYPED_TEST(Factorize, refuses_rows_of_another_length)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (int threads : {1, 4}) {
      const I n = threads == 1 ? 40 : 4000;
      const FactorTask<T, I> upwards{arrow<T, I>(n, false), kind, 0, {}, {}};
      const FactorTask<T, I> turned{arrow<T, I>(n, true), kind, 0, {}, {}};
      ASSERT_EQ(upwards.A.value.size(), turned.A.value.size());
      Made<T, I> made(upwards, threads);
      ASSERT_TRUE(made.factorization->rows_of_A());
      EXPECT_EQ(made.factor(turned, rule_of<T>(Shift::none)).status.code, Code::another_pattern);
      EXPECT_EQ(made.status.row, 0);
      made.status = Status();
      EXPECT_TRUE(made.factor(upwards, rule_of<T>(Shift::none)).status.ok()) << "the next one that fits";
    }
}

TYPED_TEST(Factorize, new_numbers_leave_no_trace_of_the_old_ones)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (int levels : {0, 2})
      for (const char* name : {"dense65", "n_512", "poisson_ilu0"}) {
        const FactorTask<T, I> first{make_battery_matrix<T, I>(name, 0), kind, levels, {}, {}};
        const FactorTask<T, I> second{make_battery_matrix<T, I>(name, 1), kind, levels, {}, {}};
        Made<T, I> used(first), fresh(second);
        used.factor(first, rule_of<T>(Shift::inblocks)).factor(second, rule_of<T>(Shift::inblocks));
        ASSERT_TRUE(fresh.factor(second, rule_of<T>(Shift::inblocks)).status.ok());
        EXPECT_TRUE(same_bits(used.values, fresh.values)) << name;
      }
}

TYPED_TEST(Factorize, recovers_after_a_failure)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto good = make_poisson<T, I>(5, 5, 5);
  FactorTask<T, I> task{good, Kind::ilu, 0, {}, {}};
  task.A.value[200] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  Made<T, I> used(task), fresh(task);
  EXPECT_FALSE(used.factor(task, rule_of<T>(Shift::none)).status.ok());
  task.A = good;
  used.status = Status();
  ASSERT_TRUE(used.factor(task, rule_of<T>(Shift::none)).status.ok());
  ASSERT_TRUE(fresh.factor(task, rule_of<T>(Shift::none)).status.ok());
  EXPECT_TRUE(same_bits(used.values, fresh.values));
}

}  // namespace
}  // namespace syncfree
