/// The complete preconditioner: every operation, several columns, orders, both halves, single storage, new values, new
/// patterns and refusals, with all strategies of a backend. A solve is judged by its residual with the product of the
/// factors, formed densely in long double. The file is compiled once and linked into the test program of each backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "../factor_oracle.hpp"
#include "../larger.hpp"
#include "../types.hpp"
#include "backend.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

constexpr Kind both_kinds[] = {Kind::ilu, Kind::icc};
constexpr Operation all_operations[] = {Operation::none, Operation::transpose, Operation::adjoint,
                                        Operation::conjugate};

/// True for the strategies of the tested backend that have a plan for any matrix: wavefront requires a real grid.
bool is_tested(const StrategyInfo& info)
{
  return std::string(info.backend) == tested().name && info.name != std::string("wavefront");
}

template <class T> double epsilon() { return std::numeric_limits<real_t<T>>::epsilon(); }

/// Factors a task with the given options; every call must succeed.
template <class T, class I>
std::unique_ptr<Preconditioner<T, I>> make(const FactorTask<T, I>& task, const SolverOptions& options = {})
{
  auto made = make_tested<T, I>();
  EXPECT_EQ(made->analyse(task.A.pattern(), task.symbolic(), options).message(), "success");
  EXPECT_EQ(made->refresh(task.A.view(), PivotRule()).message(), "success");
  return made;
}

/// Computes L U in the caller's rows and columns, transposed and conjugated as requested. IC in single storage is
/// symmetric to single precision only; its transposed solve is the solve itself.
template <class T, class I>
Dense<Wide<T>> product(const FactorTask<T, I>& task, const Preconditioner<T, I>& p, Operation op)
{
  const OracleFactor<T> factor = make_dense(p.pattern(), p.values());
  const bool rounded = task.kind == Kind::icc && p.summarize().single_storage;
  const bool transposed = !rounded && (op == Operation::transpose || op == Operation::adjoint);
  const I n = task.A.n;
  Dense<Wide<T>> A(n);
  for (I i = 0; i < n; ++i)
    for (I j = 0; j < n; ++j) {
      Wide<T> sum = 0;
      for (I k = 0; k <= std::min(i, j); ++k) sum += factor.L(i, k) * factor.U(k, j);
      if constexpr (is_complex_v<T>)
        if (op == Operation::adjoint || op == Operation::conjugate) sum = std::conj(sum);
      if (transposed) A(task.column(j), task.row(i)) = sum;
      else A(task.row(i), task.column(j)) = sum;
    }
  return A;
}

/// Computes max_i |b - A x|_i / (|A| |x| + |b|)_i.
template <class T> double residual(const Dense<Wide<T>>& A, const T* b, const T* x)
{
  double worst = 0;
  for (std::int64_t i = 0; i < A.n; ++i) {
    Wide<T> rest = widen(b[i]);
    long double scale = std::abs(rest);
    for (std::int64_t j = 0; j < A.n; ++j) {
      rest -= A(i, j) * widen(x[j]);
      scale += std::abs(A(i, j)) * std::abs(widen(x[j]));
    }
    const double r = static_cast<double>(std::abs(rest) / (scale > 0 ? scale : 1));
    worst = larger(worst, r);
  }
  return worst;
}

template <class T, class I>
void expect_solves(const FactorTask<T, I>& task, Preconditioner<T, I>& p, double tolerance = 100 * epsilon<T>())
{
  const I n = task.A.n, count = 3;
  const Columns<I> columns{count, n + 2, n + 1};
  const auto b = random_vector<T>(static_cast<std::size_t>(count * (n + 2)), 5);
  for (Operation op : all_operations) {
    std::vector<T> x(static_cast<std::size_t>(count * (n + 1)), T(77));
    ASSERT_EQ(p.solve(op, b.data(), x.data(), columns).message(), "success");
    const auto A = product(task, p, op);
    for (I c = 0; c < count; ++c) {
      EXPECT_LT(residual<T>(A, &b[c * (n + 2)], &x[c * (n + 1)]), tolerance) << static_cast<int>(op);
      EXPECT_EQ(x[c * (n + 1) + n], T(77)) << "wrote between two columns";
    }
  }
}

/// On the device merged rows and scaled rows of pencils are values of their own, stored in the factor's precision.
template <class T, class I> double accuracy(const Preconditioner<T, I>& p)
{
  const Summary s = p.summarize();
  const bool rounded = s.strategy == "wavefront" || (s.strategy == "merged" && std::string(tested().name) == "cuda");
  return s.single_storage && rounded ? epsilon<single_t<T>>() : epsilon<T>();
}

template <class P> class PreconditionerTest : public testing::Test {};
TYPED_TEST_SUITE(PreconditionerTest, AllTypes);

template <class T, class I> std::vector<FactorTask<T, I>> tasks(Kind kind)
{
  std::vector<FactorTask<T, I>> list;
  for (const auto& A :
       {make_battery_matrix<T, I>("empty"), make_battery_matrix<T, I>("one"), make_poisson<T, I>(3, 4, 5)})
    for (int levels : {0, 1}) list.push_back({A, kind, levels, {}, {}});
  for (int levels : {0, 1}) {
    const auto A = make_battery_matrix<T, I>("dense65");
    const auto r = random_order(A.n, 1);
    list.push_back({A, kind, levels, r, r});
    if (kind == Kind::icc) continue;
    auto c = r;  // neighbours exchanged: row and column orders differ, pivots stay away from 0
    auto B = A;
    for (I k = 0; k + 1 < A.n; k += 2) {
      std::swap(c[k], c[k + 1]);
      for (I e = B.row_begin[r[k]]; e < B.row_begin[r[k] + 1]; ++e)
        if (B.column[e] == r[k + 1]) B.value[e] = T(90);
      for (I e = B.row_begin[r[k + 1]]; e < B.row_begin[r[k + 1] + 1]; ++e)
        if (B.column[e] == r[k]) B.value[e] = T(90);
    }
    list.push_back({B, kind, levels, r, c});
  }
  return list;
}

TYPED_TEST(PreconditionerTest, solves_with_every_operation)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (const auto& task : tasks<T, I>(kind)) expect_solves(task, *make(task));
}

TYPED_TEST(PreconditionerTest, solves_with_every_strategy_and_storage)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const StrategyInfo& info : strategies())
    for (int threads : {1, 2})
      for (bool single : {false, true})
        for (Kind kind : both_kinds) {
          if (!is_tested(info)) continue;
          const FactorTask<T, I> task{make_poisson<T, I>(3, 4, 5), kind, 1, {}, {}};
          const auto p = make(task, {info.name, threads, single, {"paper", 7}});
          EXPECT_EQ(p->summarize().strategy, info.name);
          EXPECT_EQ(p->summarize().reason.rfind("forced", 0), 0u) << p->summarize().reason;
          expect_solves(task, *p, 100 * accuracy(*p));
        }
}

TYPED_TEST(PreconditionerTest, halves_make_a_whole)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (bool permuted : {false, true})
      for (bool single : {false, true}) {
        const auto A = make_poisson<T, I>(3, 4, 5);
        const auto r = permuted ? random_order(A.n, 2) : std::vector<I>();
        const FactorTask<T, I> task{A, kind, 0, r, r};
        const auto p = make(task, {"auto", 1, single});
        const auto b = random_vector<T>(A.n, 3);
        std::vector<T> y(A.n), x(A.n), scaled(A.n);
        ASSERT_EQ(p->solve_forward_half(b.data(), y.data()).message(), "success");
        ASSERT_EQ(p->solve_backward_half(y.data(), x.data()).message(), "success");
        EXPECT_LT(residual<T>(product(task, *p, Operation::none), b.data(), x.data()), 200 * accuracy(*p));
        /* the first half alone: L D^(1/2) y = b(r), with D = 1 for ILU */
        OracleFactor<T> factor = make_dense(p->pattern(), p->values());
        for (I i = 0; i < A.n; ++i)
          for (I j = 0; j <= i; ++j)
            if (kind == Kind::icc) factor.L(i, j) *= std::sqrt(std::real(factor.U(j, j)));
        for (I i = 0; i < A.n; ++i) scaled[i] = b[task.row(i)];
        EXPECT_LT(residual<T>(factor.L, scaled.data(), y.data()), 100 * accuracy(*p));
      }
}

TYPED_TEST(PreconditionerTest, halves_of_icc_refuse_a_negative_pivot)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  FactorTask<T, I> task{make_battery_matrix<T, I>("diagonal"), Kind::icc, 0, {}, {}};
  for (auto& v : task.A.value) v = T(2);
  task.A.value[41] = T(-4);
  std::vector<T> b(task.A.n, T(1)), x(task.A.n);
  auto p = make(task);
  for (const Status& status : {p->solve_forward_half(b.data(), x.data()), p->solve_backward_half(b.data(), x.data())}) {
    EXPECT_EQ(status.code, Code::negative_pivot);
    EXPECT_EQ(status.row, 41);
    EXPECT_DOUBLE_EQ(status.value, -4);
  }
  EXPECT_TRUE(p->solve(Operation::none, b.data(), x.data(), {1, task.A.n, task.A.n}).ok()) << "the whole needs no root";
  task.kind = Kind::ilu;
  EXPECT_TRUE(make(task)->solve_forward_half(b.data(), x.data()).ok());
  if constexpr (is_complex_v<T>) {
    task.kind = Kind::icc;
    task.A.value[41] = T(2);
    task.A.value[17] = T(2, 1);
    EXPECT_EQ(make(task)->solve_forward_half(b.data(), x.data()).row, 17);
  }
}

template <class T, class I> std::vector<T> all_solutions(Preconditioner<T, I>& p, I n)
{
  const auto b = random_vector<T>(n, 9);
  std::vector<T> x(4 * static_cast<std::size_t>(n));
  for (int op = 0; op < 4; ++op)
    EXPECT_TRUE(p.solve(all_operations[op], b.data(), x.data() + op * static_cast<std::size_t>(n), {1, n, n}).ok());
  return x;
}

/// Returns the largest difference of x and y divided by the largest value of x.
template <class T> double relative_difference(const std::vector<T>& x, const std::vector<T>& y)
{
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max<double>(error, std::abs(x[i] - y[i]));
    size = std::max<double>(size, std::abs(x[i]));
  }
  return error / size;
}

TYPED_TEST(PreconditionerTest, refresh_equals_a_new_object_bit_by_bit)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (Kind kind : both_kinds)
    for (bool single : {false, true})
      for (const StrategyInfo& info : strategies()) {
        if (!info.reproducible || !is_tested(info)) continue;
        const FactorTask<T, I> first{make_battery_matrix<T, I>("n_511", 0), kind, 1, {}, {}};
        const FactorTask<T, I> second{make_battery_matrix<T, I>("n_511", 1), kind, 1, {}, {}};
        const SolverOptions options{info.name, 2, single, {"paper", 60}};
        const auto used = make(first, options), fresh = make(second, options);
        all_solutions(*used, first.A.n);  // makes the transposes
        ASSERT_TRUE(used->refresh(second.A.view(), PivotRule()).ok());
        const auto a = all_solutions(*used, first.A.n), b = all_solutions(*fresh, first.A.n);
        EXPECT_EQ(0, std::memcmp(a.data(), b.data(), a.size() * sizeof(T))) << info.name;
      }
}

TYPED_TEST(PreconditionerTest, single_storage_errs_like_float)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{make_poisson<T, I>(8, 8, 8), Kind::ilu, 0, {}, {}};
  const auto full = make(task, {tested().automatic, 1, false}), single = make(task, {tested().automatic, 1, true});
  const auto x = all_solutions(*full, task.A.n), y = all_solutions(*single, task.A.n);
  const double error = relative_difference(x, y);
  EXPECT_LT(error, 20 * std::numeric_limits<float>::epsilon());
  const bool halves = sizeof(real_t<T>) > sizeof(float);
  EXPECT_EQ(error > 0, halves);
  EXPECT_EQ(single->summarize().factor_bytes < full->summarize().factor_bytes, halves && tested().single_is_smaller);
  EXPECT_TRUE(single->summarize().single_storage);
}

template <class P> class SingleStorageTest : public testing::Test {};
TYPED_TEST_SUITE(SingleStorageTest, DoubleTypes);

TYPED_TEST(SingleStorageTest, tells_what_it_cannot_hold)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto good = make_battery_matrix<T, I>("chain");
  const I n = good.n, row = 500;
  PivotRule rule;
  rule.zero_pivot = 0;
  std::vector<T> b(n), x(n);
  for (double bad : {1e60, 1e-60}) {
    auto A = good;
    for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k) A.value[k] *= bad;
    const auto p = make_tested<T, I>();
    ASSERT_TRUE(p->analyse(A.pattern(), {}, {tested().automatic, 1, true}).ok());
    const Status status = p->refresh(A.view(), rule);
    EXPECT_EQ(status.code, Code::not_finite) << bad;
    EXPECT_EQ(status.row, row);
    EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, n, n}).code, Code::invalid_argument);
    EXPECT_TRUE(p->refresh(good.view(), rule).ok());
  }
}

TYPED_TEST(PreconditionerTest, refuses_calls_out_of_order)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{make_poisson<T, I>(3, 3, 3), Kind::ilu, 0, {}, {}};
  const I n = task.A.n;
  std::vector<T> b(n, T(1)), x(n);
  const auto p = make_tested<T, I>();
  const auto refused = [&](const Status& status) {
    EXPECT_EQ(status.code, Code::invalid_argument) << status.message();
  };
  const auto refuse_solves = [&] {
    refused(p->solve(Operation::none, b.data(), x.data(), {1, n, n}));
    refused(p->solve(Operation::transpose, b.data(), x.data(), {1, n, n}));
    refused(p->solve_forward_half(b.data(), x.data()));
    refused(p->solve_backward_half(b.data(), x.data()));
    EXPECT_TRUE(p->values().inverse_pivot.empty());
  };
  refuse_solves();
  refused(p->refresh(task.A.view(), PivotRule()));
  EXPECT_EQ(p->summarize().strategy, "");
  ASSERT_TRUE(p->analyse(task.A.pattern(), task.symbolic(), {}).ok());
  refuse_solves();
  ASSERT_TRUE(p->refresh(task.A.view(), PivotRule()).ok());
  EXPECT_TRUE(p->solve(Operation::none, b.data(), x.data(), {1, n, n}).ok());
  const auto other = make_poisson<T, I>(3, 3, 4);
  EXPECT_EQ(p->refresh(other.view(), PivotRule()).code, Code::another_pattern);
  refuse_solves();
  EXPECT_EQ(p->refresh(make_battery_matrix<T, I>("n_31").view(), PivotRule()).code, Code::another_pattern);
  auto bad = task.A;
  bad.value[0] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  ASSERT_TRUE(p->refresh(task.A.view(), PivotRule()).ok());
  EXPECT_EQ(p->refresh(bad.view(), PivotRule()).code, Code::not_finite);
  refuse_solves();
  ASSERT_TRUE(p->refresh(task.A.view(), PivotRule()).ok());
  expect_solves(task, *p);
}

TYPED_TEST(PreconditionerTest, a_failed_analysis_leaves_a_new_object)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> good{make_poisson<T, I>(3, 3, 3), Kind::ilu, 0, {}, {}};
  const auto expect_failure = [&](const char* name, const SolverOptions& options, Code code) {
    const auto p = make(good);
    EXPECT_EQ(p->analyse(make_battery_matrix<T, I>(name).pattern(), good.symbolic(), options).code, code);
    EXPECT_EQ(p->refresh(good.A.view(), PivotRule()).code, Code::invalid_argument);
    EXPECT_EQ(p->pattern().n, 0);
    ASSERT_TRUE(p->analyse(good.A.pattern(), good.symbolic(), {}).ok());
    ASSERT_TRUE(p->refresh(good.A.view(), PivotRule()).ok());
    expect_solves(good, *p);
  };
  expect_failure("unsorted", {}, Code::unsorted_columns);
  expect_failure("missing_diagonal", {}, Code::missing_diagonal);
  expect_failure("n_31", {"no such strategy", 1, false}, Code::unknown_strategy);
  SolverOptions of_blocks;
  of_blocks.block_size = 2;
  expect_failure("n_32", of_blocks, Code::invalid_argument);
  expect_failure("n_31", {"auto", 0, false}, Code::invalid_argument);
}

TYPED_TEST(PreconditionerTest, takes_a_new_pattern)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto p = make_tested<T, I>();
  for (Kind kind : both_kinds)
    for (const auto& task : tasks<T, I>(kind)) {
      ASSERT_TRUE(p->analyse(task.A.pattern(), task.symbolic(), {"auto", 2, false}).ok());
      ASSERT_TRUE(p->refresh(task.A.view(), PivotRule()).ok());
      expect_solves(task, *p);
    }
}

/// Makes patterns with as many rows and entries that differ in one entry: moved within its row above the diagonal, or
/// to the next row, above the diagonal there, too.
template <class T, class I> std::vector<OwnedCsr<T, I>> neighbours_of(const OwnedCsr<T, I>& A)
{
  std::vector<OwnedCsr<T, I>> all;
  for (I i = 0; i + 1 < A.n; ++i) {
    const I last = A.row_begin[i + 1] - 1, above = A.column[last];
    if (above <= i + 1) continue;
    if (A.column[last - 1] < above - 1) {
      all.push_back(A);
      --all.back().column[last];
    }
    const I next_last = A.column[A.row_begin[i + 2] - 1];
    if (next_last < A.n - 1) {
      all.push_back(A);
      auto& column = all.back().column;
      column.insert(column.begin() + A.row_begin[i + 2], A.n - 1);
      column.erase(column.begin() + last);
      --all.back().row_begin[i + 1];
    }
  }
  return all;
}

/// Whatever is stored of a pattern, a change of any single entry is detected.
TYPED_TEST(PreconditionerTest, knows_its_pattern_entry_by_entry)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto p = make_tested<T, I>();
  const auto has = [&](PatternView<I> A) {
    bool same = true;
    EXPECT_EQ(p->has_pattern(A, &same).message(), "success");
    return same;
  };
  const auto A = make_poisson<T, I>(3, 4, 5);
  EXPECT_FALSE(has(A.pattern())) << "nothing was analysed";
  std::size_t changes = 0;
  for (Kind kind : both_kinds)
    for (const auto& task : tasks<T, I>(kind)) {
      ASSERT_TRUE(p->analyse(task.A.pattern(), task.symbolic(), {"auto", 2, false}).ok());
      const auto copy = task.A;
      EXPECT_TRUE(has(copy.pattern())) << "as often as anybody asks";
      EXPECT_TRUE(has(task.A.pattern()));
      for (const auto& other : neighbours_of(task.A)) {
        EXPECT_FALSE(has(other.pattern()));
        ++changes;
      }
      EXPECT_FALSE(has(make_poisson<T, I>(3, 4, 6).pattern()));
      const Orders<I> orders = p->orders();
      ASSERT_EQ(orders.row == nullptr, task.row_order.empty());
      EXPECT_TRUE(std::equal(task.row_order.begin(), task.row_order.end(), orders.row));
      EXPECT_TRUE(std::equal(task.column_order.begin(), task.column_order.end(), orders.column));
    }
  EXPECT_GT(changes, 100u);
  ASSERT_FALSE(p->analyse(make_battery_matrix<T, I>("missing_diagonal").pattern(), {}, {}).ok());
  EXPECT_FALSE(has(A.pattern())) << "the analysis has failed";
  EXPECT_EQ(p->orders().row, nullptr);
}

/// The orders that the analysis makes, and those that make_ordering() makes, give the same factor and solutions: bit
/// for bit, but to rounding where a backend solves blocks of rows, which only its own analysis knows, in another way.
TYPED_TEST(PreconditionerTest, makes_its_orders_itself)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const double rounding = 100 * std::numeric_limits<real_t<T>>::epsilon();
  for (const Kind kind : both_kinds)
    for (const int levels : {0, 1})
      for (const OrderingKind ordering : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc}) {
        FactorTask<T, I> task{make_poisson<T, I>(5, 6, 7), kind, levels, {}, {}};
        SymbolicOptions<I> symbolic = task.symbolic();
        symbolic.ordering = OrderingOptions{ordering, 4, 6};
        Ordering<I> order;
        ASSERT_TRUE(make_ordering(task.A.pattern(), *symbolic.ordering, 1, &order).ok());
        task.row_order.assign(order.order.begin(), order.order.end());
        task.column_order = task.row_order;
        const auto given = make(task), made = make(task);
        ASSERT_EQ(made->analyse(task.A.pattern(), symbolic, {"auto", 1, false}).message(), "success");
        const Orders<I> orders = made->orders();
        ASSERT_TRUE(orders.row && orders.column);
        EXPECT_TRUE(std::equal(task.row_order.begin(), task.row_order.end(), orders.row));
        EXPECT_TRUE(std::equal(task.row_order.begin(), task.row_order.end(), orders.column));
        EXPECT_EQ(made->pattern().column_place, given->pattern().column_place);
        EXPECT_EQ(made->levels().lower, given->levels().lower);
        bool same = false;
        ASSERT_TRUE(made->has_pattern(task.A.pattern(), &same).ok());
        EXPECT_TRUE(same);
        ASSERT_EQ(made->refresh(task.A.view(), PivotRule()).message(), "success");
        ASSERT_EQ(given->refresh(task.A.view(), PivotRule()).message(), "success");
        const auto found = all_solutions(*made, task.A.n), expected = all_solutions(*given, task.A.n);
        if (made->summarize().plan == given->summarize().plan) EXPECT_EQ(found, expected);
        else EXPECT_LT(relative_difference(found, expected), rounding) << made->summarize().plan;
      }
}

TYPED_TEST(PreconditionerTest, refuses_orders_that_it_cannot_make)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  FactorTask<T, I> task{make_poisson<T, I>(3, 4, 5), Kind::ilu, 0, {}, {}};
  const auto p = make(task);
  SymbolicOptions<I> symbolic;
  symbolic.ordering = OrderingOptions{OrderingKind::abmc, 16, most_abmc_rows + 1};
  const auto analyse = [&] { return p->analyse(task.A.pattern(), symbolic, {"auto", 1, false}); };
  const Status too_many = analyse();
  EXPECT_EQ(too_many.code, Code::invalid_argument);
  EXPECT_EQ(too_many.message(), check_ordering_options(*symbolic.ordering).message());
  symbolic.ordering = OrderingOptions();
  EXPECT_EQ(analyse().message(), "success");
  task.row_order = task.column_order = random_order<I>(task.A.n, 4);
  symbolic.row_order = symbolic.column_order = task.row_order.data();
  EXPECT_EQ(analyse().code, Code::invalid_argument) << "orders both given and made";
  EXPECT_EQ(p->orders().row, nullptr);
  const auto holed = make_battery_matrix<T, I>("missing_diagonal");
  symbolic = SymbolicOptions<I>();
  symbolic.ordering = OrderingOptions();
  EXPECT_EQ(p->analyse(holed.pattern(), symbolic, {"auto", 1, false}).code, Code::missing_diagonal);
}

TYPED_TEST(PreconditionerTest, says_what_it_is)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const FactorTask<T, I> task{make_poisson<T, I>(3, 4, 5), Kind::ilu, 0, {}, {}};
  SolverOptions options;
  options.expected_applies = 1;  // no plan pays for itself
  const auto p = make(task, options);
  Summary s = p->summarize();
  EXPECT_EQ(s.strategy, tested().automatic);
  EXPECT_EQ(s.reason.rfind(tested().reason, 0), 0u) << s.reason;
  EXPECT_EQ(p->levels().lower, 10);  // x + y + z of the last point, plus one
  EXPECT_EQ(p->levels().upper, 10);
  EXPECT_EQ(s.lower_nnz, 2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4);
  EXPECT_EQ(s.upper_nnz, s.lower_nnz);
  EXPECT_EQ(s.threads, 1);
  EXPECT_GE(s.factor_bytes, (s.lower_nnz + s.upper_nnz) * (sizeof(T) + sizeof(I)));
  EXPECT_EQ(s.transpose_bytes, 0u);
  all_solutions(*p, task.A.n);
  EXPECT_GE(p->summarize().transpose_bytes, (s.lower_nnz + s.upper_nnz) * (sizeof(T) + sizeof(I)));
}

}  // namespace
}  // namespace syncfree
