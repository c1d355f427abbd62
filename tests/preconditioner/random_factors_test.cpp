/// Ten thousand random matrices, each compared with the definition of its factor; and a thousand refreshes with one
/// analysis.

#include <algorithm>
#include <cmath>
#include <random>

#include "../factor_oracle.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "backend.hpp"

namespace syncfree {
namespace {

using T = double;
using I = std::int32_t;

/// Makes a task of at most 40 rows, dominant by rows; symmetric for IC. Some have a zero as first diagonal entry, some
/// have permuted rows and columns, and half have levels of fill.
FactorTask<T, I> random_task(std::mt19937& random)
{
  const auto below = [&random](unsigned n) { return static_cast<I>(random() % n); };
  const auto number = [&random] { return std::uniform_real_distribution<double>(-1, 1)(random); };
  FactorTask<T, I> task;
  const I n = 1 + below(40), entries = below(6);
  task.kind = below(2) ? Kind::icc : Kind::ilu;
  task.levels = std::max<I>(0, below(4) - 1);
  const bool symmetric = task.kind == Kind::icc;
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0));
  for (I i = 0; i < n; ++i)
    for (I e = 0; e < entries; ++e) {
      const I j = below(n);
      a[i][j] = number();
      if (symmetric) a[j][i] = a[i][j];
    }
  const bool zero = below(8) == 0;
  for (I i = 0; i < n; ++i) {
    a[i][i] = 1 + entries;
    for (I j = 0; j < n; ++j)
      if (j != i) a[i][i] += std::abs(a[i][j]);
  }
  task.A.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = 0; j < n; ++j) {
      if (a[i][j] == 0) continue;
      task.A.column.push_back(j);
      task.A.value.push_back(zero && i == 0 && j == 0 ? 0 : a[i][j]);
    }
    task.A.row_begin.push_back(static_cast<I>(task.A.column.size()));
  }
  if (!zero && below(4) == 0) task.row_order = task.column_order = random_order(n, random());
  return task;
}

PivotRule random_rule(std::mt19937& random)
{
  constexpr Shift shifts[] = {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks};
  PivotRule rule;
  rule.shift = shifts[random() % 4];
  rule.shift_amount = 0.5;
  return rule;
}

void expect_definition(Preconditioner<T, I>& p, const FactorTask<T, I>& task, const PivotRule& rule)
{
  const OracleFactor<T> truth = oracle_factor(task, rule);
  ASSERT_EQ(p.analyse(task.A.pattern(), task.symbolic(), {}).message(), "success");
  const Status status = p.refresh(task.A.view(), rule);
  if (truth.failed_row >= 0) {
    EXPECT_EQ(status.code, Code::zero_pivot) << status.message();
    EXPECT_EQ(status.row, truth.failed_row);
    return;
  }
  ASSERT_EQ(status.message(), "success");
  EXPECT_EQ(difference(make_dense<T, I>(p.pattern(), p.values()), truth, 1e-11), "");
  EXPECT_EQ(p.summarize().pivots.shifts, truth.report.shifts);
}

TEST(RandomFactors, are_those_of_the_definition)
{
  const auto p = make_tested<T, I>();
  std::mt19937 random(20);
  int failures = 0, shifts = 0;
  const int count = short_run() ? 300 : 10000;
  for (int k = 0; k < count; ++k) {
    const FactorTask<T, I> task = random_task(random);
    const PivotRule rule = random_rule(random);
    SCOPED_TRACE(testing::Message() << "matrix " << k << ", " << task.A.n << " rows, levels " << task.levels << ", icc "
                                    << (task.kind == Kind::icc) << ", shift " << static_cast<int>(rule.shift));
    expect_definition(*p, task, rule);
    if (HasFailure()) return;
    failures += p->values().inverse_pivot.empty();
    shifts += p->summarize().pivots.shifts > 0;
  }
  EXPECT_GT(failures, count / 100) << "zero pivots that nothing repairs";
  EXPECT_GT(shifts, count / 100);
}

/// 991 refreshes, like as many Newton steps of a program.
TEST(RandomFactors, of_many_refreshes_on_one_analysis_are_those_of_new_objects)
{
  const int count = short_run() ? 30 : 991;
  const auto p = make_tested<T, I>();
  const OwnedCsr<T, I> pattern = make_poisson<T, I>(6, 5, 4);
  ASSERT_EQ(p->analyse(pattern.pattern(), {}, {}).message(), "success");
  for (int k = 1; k <= count; ++k) {
    SCOPED_TRACE(k);
    FactorTask<T, I> task{make_poisson<T, I>(6, 5, 4, k), Kind::ilu, 0, {}, {}};
    const bool zero = k % 10 == 0;
    if (zero) task.A.value[0] = 0;
    const Status status = p->refresh(task.A.view(), {});
    ASSERT_EQ(status.code, zero ? Code::zero_pivot : Code::ok);
    if (zero) ASSERT_EQ(status.row, 0);
    else ASSERT_EQ(difference(make_dense<T, I>(p->pattern(), p->values()), oracle_factor(task, {}), 1e-11), "");
  }
}

}  // namespace
}  // namespace syncfree
