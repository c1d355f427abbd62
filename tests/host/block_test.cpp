/// Block ILU on CPU threads. A factor is judged by what defines it: L U equals A on the pattern of blocks. A solve is
/// judged by its residual with L U. All in long double, for all scalars and indices, block sizes that are compiled and
/// others, levels, orders, strategies and operations; and the blocks that are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "../factor_oracle.hpp"
#include "../larger.hpp"
#include "block_task.hpp"

namespace syncfree {
namespace {

/// A matrix of blocks as a dense one.
template <class T, class I, class BlockOf>
Dense<Wide<T>> dense(I n, int size, const BlockOf& block_of)
{
  Dense<Wide<T>> made(static_cast<std::int64_t>(n) * size);
  for (I i = 0; i < n; ++i)
    for (I j = 0; j < n; ++j)
      if (const T* block = block_of(i, j))
        for (int r = 0; r < size; ++r)
          for (int c = 0; c < size; ++c) made(i * size + r, j * size + c) = widen(block[c * size + r]);
  return made;
}

template <class T, class I>
const T* find_block(const PatternView<I>& pattern, const T* value, std::size_t values, I i, I j)
{
  for (I k = pattern.row_begin[i]; k < pattern.row_begin[i + 1]; ++k)
    if (pattern.column[k] == j) return value + values * static_cast<std::size_t>(k);
  return nullptr;
}

template <class W> Dense<W> product(const Dense<W>& A, const Dense<W>& B)
{
  Dense<W> C(A.n);
  for (std::int64_t i = 0; i < A.n; ++i)
    for (std::int64_t k = 0; k < A.n; ++k)
      for (std::int64_t j = 0; j < A.n; ++j) C(i, j) += A(i, k) * B(k, j);
  return C;
}

/// The factors in the caller's block rows and columns are L U = A~; U's diagonal blocks are computed from L, U and A.
template <class T, class I> struct Factors {
  Dense<Wide<T>> A, L, U, inverse;  ///< in the factor's order
  Dense<int> kept;                  ///< entries of the pattern

  Factors(const BlockTask<T, I>& task, const Preconditioner<T, I>& p)
      : A(task.rows()), L(task.rows()), U(task.rows()), inverse(task.rows()), kept(task.rows())
  {
    const FactorValues<T> v = p.values();
    const FactorPattern<I>& pattern = p.pattern();
    const std::size_t values = task.values();
    A = dense<T, I>(task.n(), task.size, [&](I i, I j) {
      return find_block(task.pattern.pattern(), task.value.data(), values, task.row(i), task.column(j));
    });
    L = dense<T, I>(task.n(), task.size,
                    [&](I i, I j) { return find_block(pattern.lower(), v.lower.data(), values, i, j); });
    U = dense<T, I>(task.n(), task.size,
                    [&](I i, I j) { return find_block(pattern.upper(), v.upper.data(), values, i, j); });
    inverse = dense<T, I>(task.n(), task.size, [&](I i, I j) {
      return i == j ? v.inverse_pivot.data() + values * static_cast<std::size_t>(i) : nullptr;
    });
    for (I i = 0; i < task.n(); ++i)
      for (I j = 0; j < task.n(); ++j)
        for (int r = 0; r < task.size; ++r)
          for (int c = 0; c < task.size; ++c)
            kept(i * task.size + r, j * task.size + c) =
                i == j || find_block(pattern.lower(), v.lower.data(), values, i, j) != nullptr ||
                find_block(pattern.upper(), v.upper.data(), values, i, j) != nullptr;
    const Dense<Wide<T>> below = product(L, U);
    for (std::int64_t i = 0; i < A.n; ++i) {
      L(i, i) = 1;
      for (std::int64_t j = i / task.size * task.size; j < (i / task.size + 1) * task.size; ++j)
        U(i, j) = A(i, j) - below(i, j);
    }
  }
};

template <class W> double largest_modulus(const Dense<W>& A)
{
  double most = 0;
  for (const W& v : A.a) most = std::max(most, static_cast<double>(std::abs(v)));
  return most;
}

/// The largest |L U - A| on the pattern, and |U_ii D_i - 1|.
template <class T, class I> void expect_factors(const Factors<T, I>& f, int size, double tolerance)
{
  const Dense<Wide<T>> LU = product(f.L, f.U), identity = product(f.U, f.inverse);
  double worst = 0, worst_pivot = 0;
  for (std::int64_t i = 0; i < f.A.n; ++i)
    for (std::int64_t j = 0; j < f.A.n; ++j) {
      if (f.kept(i, j)) worst = std::max(worst, static_cast<double>(std::abs(LU(i, j) - f.A(i, j))));
      else EXPECT_EQ(f.A(i, j), Wide<T>(0)) << "an entry of A is not in the pattern";
      if (i / size != j / size) continue;
      const Wide<T> rest = identity(i, j) - Wide<T>(i == j ? 1 : 0);
      worst_pivot = std::max(worst_pivot, static_cast<double>(std::abs(rest)));
    }
  EXPECT_LT(worst, tolerance * largest_modulus(f.A));
  EXPECT_LT(worst_pivot, 10 * tolerance);
}

/// max |b - op(A~) x| / max (|A~| |x| + |b|), with x and b in the caller's order.
template <class T, class I>
double residual(const BlockTask<T, I>& task, const Dense<Wide<T>>& LU, Operation op, const T* b, const T* x)
{
  const bool transposed = op == Operation::transpose || op == Operation::adjoint;
  [[maybe_unused]] const bool conjugated = op == Operation::conjugate || op == Operation::adjoint;
  const I size = static_cast<I>(task.size);
  std::vector<Wide<T>> rest(b, b + task.rows());
  std::vector<long double> scale(rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) scale[i] = std::abs(rest[i]);
  for (I i = 0; i < task.rows(); ++i)
    for (I j = 0; j < task.rows(); ++j) {
      I row = task.row(i / size) * size + i % size, column = task.column(j / size) * size + j % size;
      Wide<T> value = LU(i, j);
      if constexpr (is_complex_v<T>)
        if (conjugated) value = std::conj(value);
      if (transposed) std::swap(row, column);
      rest[row] -= value * widen(x[column]);
      scale[row] += std::abs(value) * std::abs(widen(x[column]));
    }
  double worst = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const double r = static_cast<double>(std::abs(rest[i]) / scale[i]);
    worst = larger(worst, r);
  }
  return worst;
}

template <class T, class I>
void expect_solves(const BlockTask<T, I>& task, Preconditioner<T, I>& p, const Dense<Wide<T>>& LU, double tolerance)
{
  const I n = task.rows(), count = 2;
  const Columns<I> columns{count, n + 2, n + 1};
  const auto b = random_vector<T>(static_cast<std::size_t>(count * (n + 2)), 5);
  for (Operation op : all_operations) {
    std::vector<T> x(static_cast<std::size_t>(count * (n + 1)), T(77));
    ASSERT_EQ(p.solve(op, b.data(), x.data(), columns).message(), "success");
    for (I c = 0; c < count; ++c) {
      EXPECT_LT(residual(task, LU, op, &b[c * (n + 2)], &x[c * (n + 1)]), tolerance) << static_cast<int>(op);
      EXPECT_EQ(x[c * (n + 1) + n], T(77)) << "wrote between two columns";
    }
  }
}

template <class T, class I> std::vector<BlockTask<T, I>> tasks(int size)
{
  std::vector<BlockTask<T, I>> list;
  for (int levels : {0, 1, 2}) {
    list.push_back(make_task<T, I>(3, 2, 2, size));
    list.back().levels = levels;
    const auto order = random_order<I>(12, 3);
    list.push_back(list.back());
    list.back().row_order = list.back().column_order = order;
    if (levels == 0) continue;
    list.push_back(list.back());  // orders that differ: the diagonal is kept by a symmetric exchange of neighbours
    std::swap(list.back().row_order[4], list.back().row_order[5]);
    std::swap(list.back().column_order[4], list.back().column_order[5]);
  }
  return list;
}

template <class P> class BlockTest : public testing::Test {};
TYPED_TEST_SUITE(BlockTest, AllTypes);

TYPED_TEST(BlockTest, factors_and_solves_are_those_of_block_ilu)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 11})
    for (const auto& task : tasks<T, I>(size)) {
      SCOPED_TRACE("size " + std::to_string(size) + ", levels " + std::to_string(task.levels));
      const auto p = make(task, options_of(size));
      const Factors<T, I> factors(task, *p);
      expect_factors(factors, size, 40 * size * epsilon<T>());
      expect_solves(task, *p, product(factors.L, factors.U), 200 * size * epsilon<T>());
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(BlockTest, follows_new_values_also_in_transposes)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  auto task = make_task<T, I>(3, 2, 2, 3);
  const auto p = make(task, options_of(3));
  const auto b = random_vector<T>(static_cast<std::size_t>(task.rows()), 1);
  std::vector<T> x(b.size());
  ASSERT_TRUE(p->solve(Operation::transpose, b.data(), x.data(), {1, task.rows(), task.rows()}).ok());
  task.value = make_task<T, I>(3, 2, 2, 3, 99).value;
  ASSERT_EQ(p->refresh(task.view(), PivotRule()).message(), "success");
  const Factors<T, I> factors(task, *p);
  expect_factors(factors, 3, 100 * epsilon<T>());
  expect_solves(task, *p, product(factors.L, factors.U), 500 * epsilon<T>());
}

template <class P> class BlockDoubleTest : public testing::Test {};
TYPED_TEST_SUITE(BlockDoubleTest, DoubleTypes);

TYPED_TEST(BlockDoubleTest, single_storage_rounds_the_factor_only)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (int size : {2, 3, 9}) {
    const auto task = make_task<T, I>(3, 2, 2, size);
    SolverOptions options = options_of(size);
    const auto whole = make(task, options);
    options.single_storage = true;
    const auto p = make(task, options);
    const Factors<T, I> factors(task, *p);
    expect_factors(factors, size, 1e-5);
    EXPECT_LT(p->summarize().factor_bytes, whole->summarize().factor_bytes);
    const std::size_t n = static_cast<std::size_t>(task.rows());
    const auto b = random_vector<T>(n, 5);
    for (Operation op : all_operations) {
      std::vector<T> x(n), y(n);
      ASSERT_TRUE(p->solve(op, b.data(), x.data(), {1, task.rows(), task.rows()}).ok());
      ASSERT_TRUE(whole->solve(op, b.data(), y.data(), {1, task.rows(), task.rows()}).ok());
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i) worst = std::max(worst, static_cast<double>(std::abs(x[i] - y[i])));
      EXPECT_LT(worst, 1e-6);
      EXPECT_GT(worst, 1e-12) << "the factor is not rounded";
    }
  }
}

/// Values and solutions of a task with the given options, for a comparison of bits.
template <class T, class I> std::vector<T> all_results(const BlockTask<T, I>& task, const SolverOptions& options)
{
  const auto p = make(task, options);
  const std::size_t n = static_cast<std::size_t>(task.rows());
  const auto b = random_vector<T>(2 * n, 5);
  const FactorValues<T> v = p->values();
  std::vector<T> all(v.lower.begin(), v.lower.end());
  all.insert(all.end(), v.upper.begin(), v.upper.end());
  all.insert(all.end(), v.inverse_pivot.begin(), v.inverse_pivot.end());
  for (Operation op : all_operations) {
    std::vector<T> x(2 * n);
    EXPECT_TRUE(p->solve(op, b.data(), x.data(), {2, task.rows(), task.rows()}).ok());
    all.insert(all.end(), x.begin(), x.end());
  }
  return all;
}

TEST(BlockThreads, have_the_bits_of_one_thread)
{
  using T = double;
  using I = std::int32_t;
  for (int size : {3, 9})
    for (bool permuted : {false, true}) {
      auto task = make_task<T, I>(12, 11, 10, size);
      if (permuted) task.row_order = task.column_order = random_order<I>(task.n(), 2);
      const auto alone = all_results(task, options_of(size));
      for (int threads : {2, 3, 4}) {
        const auto shared = all_results(task, options_of(size, "blocks", threads));
        ASSERT_EQ(shared.size(), alone.size());
        EXPECT_EQ(std::memcmp(shared.data(), alone.data(), alone.size() * sizeof(T)), 0) << size << " " << threads;
      }
    }
}

TEST(BlockThreads, are_reported_and_auto_uses_one_for_a_small_matrix)
{
  const auto task = make_task<double, std::int32_t>(12, 11, 10, 3);
  const Summary shared = make(task, options_of(3, "blocks", 3))->summarize();
  EXPECT_EQ(shared.strategy, "blocks");
  EXPECT_EQ(shared.threads, 3);
  EXPECT_EQ(make(task, options_of(3, "auto", 1))->summarize().strategy, "serial");
  const auto small = make_task<double, std::int32_t>(2, 2, 1, 3);
  EXPECT_EQ(make(small, options_of(3, "auto", 3))->summarize().strategy, "serial");
  EXPECT_EQ(make(task, options_of(3, "auto", 1))->choice_with(3).strategy, "blocks");
}

TEST(BlockTrials, compare_what_blocks_have)
{
  using I = std::int32_t;
  const auto task = make_task<double, I>(8, 8, 8, 3);
  SolverOptions options = options_of(3, "auto", 2);
  options.trials = true;
  const auto p = make(task, options);
  const Summary s = p->summarize();
  EXPECT_TRUE(s.strategy == "serial" || s.strategy == "blocks") << s.strategy;
  EXPECT_NE(s.reason.find("blocks"), std::string::npos) << s.reason;
  EXPECT_NE(s.reason.find("serial"), std::string::npos) << s.reason;
  options.trials = false;
  const auto by_model = make(task, options);
  EXPECT_EQ(p->values().inverse_pivot, by_model->values().inverse_pivot);
}

/// Diagonal blocks with zeros on their diagonals: no pivot by entries, no difficulty by blocks.
TEST(BlockPivots, are_found_inside_a_block)
{
  auto task = make_task<double, std::int32_t>(3, 2, 2, 2);
  for (double& v : task.value) v = 0;
  for (std::int32_t i = 0; i < task.n(); ++i)
    for (auto k = task.pattern.row_begin[i]; k < task.pattern.row_begin[i + 1]; ++k)
      if (task.pattern.column[k] == i) task.entry(k, 0, 1) = 2, task.entry(k, 1, 0) = 4;
  const auto p = make(task, options_of(2));
  const auto b = random_vector<double>(static_cast<std::size_t>(task.rows()), 3);
  std::vector<double> x(b.size());
  ASSERT_TRUE(p->solve(Operation::none, b.data(), x.data(), {1, task.rows(), task.rows()}).ok());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    EXPECT_EQ(x[i], b[i + 1] / 4);
    EXPECT_EQ(x[i + 1], b[i] / 2);
  }
}

TYPED_TEST(BlockTest, halves_are_one_after_the_other_the_solve)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (bool permuted : {false, true}) {
    auto task = make_task<T, I>(3, 2, 2, 3);
    if (permuted) task.row_order = task.column_order = random_order<I>(task.n(), 2);
    const auto p = make(task, options_of(3));
    const auto b = random_vector<T>(static_cast<std::size_t>(task.rows()), 3);
    std::vector<T> half(b.size()), x(b.size()), y(b.size());
    ASSERT_TRUE(p->solve_forward_half(b.data(), half.data()).ok());
    ASSERT_TRUE(p->solve_backward_half(half.data(), x.data()).ok());
    ASSERT_TRUE(p->solve(Operation::none, b.data(), y.data(), {1, task.rows(), task.rows()}).ok());
    EXPECT_EQ(x, y);
  }
}

/// The rows, entries, operations and bytes of what is stored.
TEST(BlockSummary, counts_single_rows_and_entries)
{
  const auto task = make_task<double, std::int32_t>(3, 2, 2, 3);
  const auto p = make(task, options_of(3));
  const Summary s = p->summarize();
  EXPECT_EQ(s.block_size, 3);
  EXPECT_EQ(s.rows, 36);
  const auto blocks = static_cast<std::int64_t>(task.pattern.column.size());
  EXPECT_EQ(s.lower_nnz + s.upper_nnz + 9 * 12, 9 * blocks);
  EXPECT_GE(s.factor_bytes, static_cast<std::size_t>(72 * blocks));
  EXPECT_EQ(s.transpose_bytes, 0u);
  EXPECT_EQ(p->levels().lower, 5);
  std::vector<double> b(36, 1), x(36);
  ASSERT_TRUE(p->solve(Operation::transpose, b.data(), x.data(), {1, 36, 36}).ok());
  EXPECT_GT(p->summarize().transpose_bytes, static_cast<std::size_t>(72 * blocks));
}

TEST(BlockPattern, is_recognized)
{
  for (int levels : {0, 1}) {
    auto task = make_task<double, std::int32_t>(3, 2, 2, 3), other = make_task<double, std::int32_t>(2, 3, 2, 3);
    task.levels = levels;
    const auto p = make(task, options_of(3));
    bool same = false;
    ASSERT_TRUE(p->has_pattern(task.pattern.pattern(), &same).ok());
    EXPECT_TRUE(same);
    ASSERT_TRUE(p->has_pattern(other.pattern.pattern(), &same).ok());
    EXPECT_FALSE(same);
    other = make_task<double, std::int32_t>(3, 2, 3, 3);
    EXPECT_EQ(p->refresh(other.view(), PivotRule()).code, Code::another_pattern);
    EXPECT_FALSE(p->solve(Operation::none, nullptr, nullptr, {1, 36, 36}).ok()) << "solved after a failed refresh";
  }
}

/// A task one of whose diagonal blocks is changed, in block row 5.
template <class Change> Status refresh_changed(int size, int threads, const Change& change, Shift shift = Shift::none)
{
  auto task = make_task<double, std::int32_t>(12, 12, 12, size);
  const auto p = make(task, options_of(size, "blocks", threads));
  for (auto k = task.pattern.row_begin[5]; k < task.pattern.row_begin[6]; ++k)
    if (task.pattern.column[k] == 5) change(&task, k);
  PivotRule rule;
  rule.shift = shift;
  return p->refresh(task.view(), rule);
}

TEST(BlockFailures, of_values_name_the_first_block_row)
{
  const auto nan = [](auto* task, auto k) { task->entry(k, 1, 0) = std::numeric_limits<double>::quiet_NaN(); };
  const auto infinity = [](auto* task, auto k) { task->entry(k + 1, 1, 0) = std::numeric_limits<double>::infinity(); };
  const auto singular = [](auto* task, auto k) {
    for (auto r = task->pattern.row_begin[5]; r < task->pattern.row_begin[6]; ++r)
      for (int c = 0; c < task->size; ++c) task->entry(r, task->size - 1, c) = 0;  // the last row of the block row
    (void)k;
  };
  for (int size : {2, 3, 9})
    for (int threads : {1, 3}) {
      for (const Status& status : {refresh_changed(size, threads, nan), refresh_changed(size, threads, infinity)}) {
        EXPECT_EQ(status.code, Code::not_finite) << size;
        EXPECT_NE(status.message().find("block row 5"), std::string::npos) << status.message();
      }
      const Status status = refresh_changed(size, threads, singular);
      EXPECT_EQ(status.code, Code::zero_pivot) << size << status.message();
      EXPECT_EQ(status.row, 5);
      EXPECT_NE(status.message().find("block row 5"), std::string::npos) << status.message();
    }
}

TEST(BlockFailures, of_shifts_that_blocks_do_not_have_are_refused)
{
  const auto nothing = [](auto*, auto) {};
  EXPECT_TRUE(refresh_changed(3, 1, nothing, Shift::inblocks).ok());
  for (Shift shift : {Shift::nonzero, Shift::positive_definite})
    EXPECT_EQ(refresh_changed(3, 1, nothing, shift).code, Code::invalid_argument);
}

/// Three zeros in the first column of a diagonal block: PETSc's rule replaces the pivot, and the report says so.
TEST(BlockFailures, of_a_pivot_that_is_not_the_last_are_repaired)
{
  auto task = make_task<double, std::int32_t>(1, 1, 1, 3);
  task.value = {0, 0, 0, 0, 1, 0, 0, 0, 1};
  const auto p = make(task, options_of(3));
  EXPECT_EQ(p->summarize().pivots.shifts, 1);
  EXPECT_EQ(p->summarize().pivots.shift_amount, PivotRule().shift_amount);
  PivotRule none;
  none.shift_amount = 0;
  EXPECT_EQ(p->refresh(task.view(), none).code, Code::zero_pivot);
}

TEST(BlockFailures, of_the_analysis_name_block_rows_strategies_and_sizes)
{
  using I = std::int32_t;
  auto p = make_host_block_preconditioner<double, I>();
  const std::vector<I> row_begin = {0, 1, 2, 3}, column = {0, 0, 2};
  const PatternView<I> no_diagonal = {3, row_begin.data(), column.data()};
  const Status missing = p->analyse(no_diagonal, {}, options_of(2));
  EXPECT_EQ(missing.code, Code::missing_diagonal);
  EXPECT_NE(missing.message().find("diagonal block in block row 1"), std::string::npos) << missing.message();
  const auto task = make_task<double, I>(3, 2, 2, 2);
  EXPECT_EQ(p->analyse(task.pattern.pattern(), {}, options_of(0)).code, Code::invalid_argument);
  EXPECT_EQ(p->analyse(task.pattern.pattern(), {}, options_of(2, "tiled")).code, Code::invalid_argument);
  EXPECT_EQ(p->analyse(task.pattern.pattern(), {}, options_of(2, "fastest")).code, Code::unknown_strategy);
  EXPECT_EQ(p->analyse(task.pattern.pattern(), {}, options_of(2, "blocks", 0)).code, Code::invalid_argument);
  SymbolicOptions<I> icc;
  icc.kind = Kind::icc;
  EXPECT_EQ(p->analyse(task.pattern.pattern(), icc, options_of(2)).code, Code::invalid_argument);
  EXPECT_EQ(p->refresh(task.view(), PivotRule()).code, Code::invalid_argument) << "an analysis survived";
}

}  // namespace
}  // namespace syncfree
