/// The factor of the strategy `loop` equals the definition's; cases it does not support use the standard factorization.

#include "host/factorize_loop.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "../factor_oracle.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

template <class P> class LoopFactor : public testing::Test {};
TYPED_TEST_SUITE(LoopFactor, EachScalar);

TYPED_TEST(LoopFactor, is_that_of_the_definition)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const char* name : {"one", "diagonal", "dense65", "n_31", "n_33"})
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(testing::Message() << name << ", " << threads << " threads");
      const FactorTask<T, I> task{make_battery_matrix<T, I>(name), Kind::ilu, 0, {}, {}};
      FactorPattern<I> pattern;
      ASSERT_TRUE(make_factor_pattern(task.A.pattern(), task.symbolic(), &pattern).ok());
      ASSERT_TRUE((LoopFactorization<T, I>::suits(pattern, task.A.pattern())));
      LoopFactorization<T, I> loop(task.A.pattern(), threads);
      FactorValues<T> values;
      values.lower.resize(pattern.lower_column.size()), values.upper.resize(pattern.upper_column.size());
      values.inverse_pivot.resize(pattern.n);
      for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE(loop.factorize_by_loop(task.A.view(), PivotRule(), &values));
        const double tolerance = 500 * std::numeric_limits<real_t<T>>::epsilon();
        EXPECT_EQ(difference(make_dense(pattern, values), oracle_factor(task, PivotRule()), tolerance), "");
      }
    }
}

/// Values, pivots and errors of a preconditioner are the same with both factorizations.
TEST(LoopFactorIn, a_preconditioner_is_that_of_other_strategies)
{
  using I = std::int32_t;
  constexpr Shift shifts[] = {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks};
  for (const Kind kind : {Kind::ilu, Kind::icc})
    for (const int levels : {0, 1})
      for (const Shift shift : shifts)
        for (const double pivot : {1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
          SCOPED_TRACE(testing::Message() << "icc " << (kind == Kind::icc) << ", levels " << levels << ", shift "
                                          << static_cast<int>(shift) << ", pivot " << pivot);
          OwnedCsr<double, I> A = make_poisson<double, I>(6, 5, 4);
          if (pivot != 1) A.value[0] = pivot;
          SymbolicOptions<I> symbolic;
          symbolic.kind = kind;
          symbolic.levels = levels;
          PivotRule rule;
          rule.shift = shift;
          rule.shift_amount = 0.5;
          const auto ours = make_host_preconditioner<double, I>(), others = make_host_preconditioner<double, I>();
          ASSERT_TRUE(ours->analyse(A.pattern(), symbolic, {"loop", 2}).ok());
          ASSERT_TRUE(others->analyse(A.pattern(), symbolic, {"serial", 1}).ok());
          const Status status = ours->refresh(A.view(), rule), expected = others->refresh(A.view(), rule);
          ASSERT_EQ(status.message(), expected.message());
          EXPECT_EQ(ours->summarize().pivots.shifts, others->summarize().pivots.shifts);
          if (!status.ok()) continue;
          const auto made = make_dense<double, I>(ours->pattern(), ours->values());
          EXPECT_EQ(difference(made, make_dense<double, I>(others->pattern(), others->values()), 1e-13), "");
        }
}

/// Makes a full matrix; its factorization performs about n^3 / 3 updates.
OwnedCsr<double, std::int32_t> full(std::int32_t n)
{
  OwnedCsr<double, std::int32_t> A;
  A.n = n;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) A.column.push_back(j);
    A.row_begin.push_back(static_cast<std::int32_t>(A.column.size()));
  }
  A.value.assign(A.column.size(), 1);
  return A;
}

TEST(LoopFactorIn, large_traces_and_other_patterns_are_left_to_the_other_factorization)
{
  using I = std::int32_t;
  const auto suits = [](const OwnedCsr<double, I>& A, int levels) {
    FactorPattern<I> pattern;
    SymbolicOptions<I> symbolic;
    symbolic.levels = levels;
    EXPECT_TRUE(make_factor_pattern(A.pattern(), symbolic, &pattern).ok());
    return LoopFactorization<double, I>::suits(pattern, A.pattern());
  };
  EXPECT_TRUE(suits(make_poisson<double, I>(9, 8, 7), 0));
  EXPECT_FALSE(suits(make_poisson<double, I>(9, 8, 7), 1)) << "fill";
  EXPECT_TRUE(suits(full(390), 0));
  EXPECT_FALSE(suits(full(400), 0)) << "too much to trace";
}

/// Two matrices with as many entries; found by fuzzing.
TEST(LoopFactorIn, rows_of_another_length_are_refused)
{
  OwnedCsr<double, std::int32_t> upper, lower;
  upper.n = lower.n = 2;
  upper.row_begin = {0, 2, 3}, upper.column = {0, 1, 1};
  lower.row_begin = {0, 1, 3}, lower.column = {0, 0, 1};
  upper.value = lower.value = {2, 3, 4};
  const auto object = make_host_preconditioner<double, std::int32_t>();
  ASSERT_TRUE(object->analyse(upper.pattern(), {}, {"loop", 1}).ok());
  const Status status = object->refresh(lower.view(), PivotRule());
  EXPECT_EQ(status.code, Code::another_pattern);
  EXPECT_EQ(status.row, 0);
  EXPECT_TRUE(object->refresh(upper.view(), PivotRule()).ok());
}

}  // namespace
}  // namespace syncfree
