/// L and U of a factor in coloured blocks, each block solved by a warp, against the plain serial solve.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "core/choose/estimate.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree {
namespace {

OrderingOptions blocks_of(std::int64_t rows) { return {OrderingKind::abmc, 16, rows}; }

template <class P> bool is_by_warps(const P& p)
{
  return p.summarize().plan.find("both in one launch, blocks of rows by a warp") != std::string::npos;
}

/// The values, with the index as imaginary part where there is one.
template <class T, class I> OwnedCsr<T, I> converted(const OwnedCsr<double, std::int32_t>& A)
{
  OwnedCsr<T, I> B;
  B.n = static_cast<I>(A.n);
  B.row_begin.assign(A.row_begin.begin(), A.row_begin.end());
  B.column.assign(A.column.begin(), A.column.end());
  for (std::size_t k = 0; k < A.value.size(); ++k) {
    T value(static_cast<real_t<T>>(A.value[k]));
    if constexpr (!std::is_same_v<T, real_t<T>>)
      value += T(0, A.value[k] > 2 ? 0 : real_t<T>(0.1) * static_cast<real_t<T>>(k % 5));
    B.value.push_back(value);
  }
  return B;
}

/// x = U^-1 L^-1 b, or with conjugates, one row after the other, with the values of p.
template <class T, class I>
std::vector<T> solve_serially(const Preconditioner<T, I>& p, const std::vector<T>& b, bool conjugate)
{
  const FactorPattern<I>& F = p.pattern();
  const FactorValues<T> v = p.values();
  const auto plain = [](const auto& of) { return std::vector(of.begin(), of.end()); };
  const OwnedTriangle<T, I> L = {true, F.n, plain(F.lower_begin), plain(F.lower_column), plain(v.lower), {}};
  const OwnedTriangle<T, I> U = {false, F.n, plain(F.upper_begin), plain(F.upper_column), plain(v.upper),
                                 plain(v.inverse_pivot)};
  std::vector<T> x(b.size());
  for (I i = 0; i < F.n; ++i) x[i] = b[F.row_order[i]];
  const auto y = oracle_solve<T>(L.view(), x.data(), conjugate);
  const auto z = oracle_solve<T>(U.view(), y.x.data(), conjugate);
  for (I i = 0; i < F.n; ++i) x[F.column_order[i]] = z.x[i];
  return x;
}

template <class T> void expect_close(const std::vector<T>& x, const std::vector<T>& truth, double tolerance)
{
  double error = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ASSERT_TRUE(std::isfinite(std::abs(x[i]))) << i;
    error = std::max(error, static_cast<double>(std::abs(x[i] - truth[i])));
    size = std::max(size, static_cast<double>(std::abs(truth[i])));
  }
  EXPECT_LE(error, tolerance * size);
}

struct Factored {
  std::int64_t rows;  ///< of a block
  Kind kind;
  int levels;
  bool single;
};

template <class T, class I>
std::unique_ptr<CudaPreconditioner<T, I>> factored_in_blocks(const OwnedCsr<T, I>& A, const Factored& how)
{
  auto p = make_cuda_preconditioner<T, I>();
  p->use(Memory::host, nullptr);
  SymbolicOptions<I> symbolic;
  symbolic.kind = how.kind;
  symbolic.levels = how.levels;
  symbolic.ordering = blocks_of(how.rows);
  EXPECT_EQ(p->analyse(A.pattern(), symbolic, {"level_order", 1, how.single}).message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  return p;
}

/// Whether warps should solve the blocks of p.
template <class T, class I>
bool suits_warps(const OwnedCsr<T, I>& A, const Preconditioner<T, I>& p, std::int64_t rows_of_block)
{
  Ordering<I> order;
  EXPECT_TRUE(make_ordering(A.pattern(), blocks_of(rows_of_block), 1, &order).ok());
  const auto longest = [](const auto& begin) {
    I most = 0;
    for (std::size_t i = 1; i < begin.size(); ++i) most = std::max<I>(most, begin[i] - begin[i - 1]);
    return most;
  };
  const FactorPattern<I>& F = p.pattern();
  return warps_solve_blocks(longest(order.block_begin), A.n, static_cast<std::int64_t>(order.block_begin.size()) - 1,
                            std::max(longest(F.lower_begin), longest(F.upper_begin)));
}

template <class Types> class DeviceBlockPairOf : public testing::Test {};
TYPED_TEST_SUITE(DeviceBlockPairOf, EachScalar);

/// Each solve twice with another one between, and again with new values.
template <class T, class I> void expect_serial_solves(const OwnedCsr<T, I>& A, const Factored& how)
{
  SCOPED_TRACE(testing::Message() << A.n << " rows in blocks of " << how.rows << ", kind " << static_cast<int>(how.kind)
                                  << "(" << how.levels << "), single storage " << how.single);
  const auto p = factored_in_blocks(A, how);
  ASSERT_EQ(is_by_warps(*p), suits_warps(A, *p, how.rows)) << p->summarize().plan;
  const double tolerance = how.single ? 1e-5 : 1000 * std::numeric_limits<real_t<T>>::epsilon();
  const auto b = random_vector<T>(A.n, 5), c = random_vector<T>(A.n, 6);
  const DeviceVectorOf<T> from(b), from_other(c);
  DeviceVectorOf<T> x(A.n);
  OwnedCsr<T, I> scaled = A;
  for (T& value : scaled.value) value *= T(3);
  const OwnedCsr<T, I>* const matrices[] = {&A, &scaled};
  for (const auto* matrix : matrices) {
    p->use(Memory::host, nullptr);
    ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
    p->use(Memory::device, nullptr);
    for (const Operation op : {Operation::none, Operation::conjugate}) {
      const auto solved = [&](const DeviceVectorOf<T>& vector) {
        x.set(std::vector<T>(static_cast<std::size_t>(A.n), T(7)));
        EXPECT_EQ(p->solve(op, vector.data(), x.data(), {1, A.n, A.n}).message(), "success");
        return x.get();
      };
      const std::vector<T> first = solved(from);
      expect_close(first, solve_serially(*p, b, op == Operation::conjugate), tolerance);
      expect_close(solved(from_other), solve_serially(*p, c, op == Operation::conjugate), tolerance);
      EXPECT_EQ(solved(from), first);
    }
  }
}

TYPED_TEST(DeviceBlockPairOf, every_factor_is_solved_as_by_one_thread)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("blocks of rows", short_run() ? 4 * patience : patience);
  std::vector<OwnedCsr<T, I>> all = {make_poisson<T, I>(1, 1, 1)};
  if (short_run()) {
    all.push_back(make_poisson<T, I>(5, 4, 4));
  } else {
    all.push_back(make_poisson<T, I>(8, 7, 6));
    all.push_back(make_poisson<T, I>(33, 32, 31));
    all.push_back(converted<T, I>(box_of_points(12, 11, 10, 1)));
    all.push_back(converted<T, I>(box_of_points(9, 8, 7, 3)));
  }
  for (const auto& A : all)
    for (const std::int64_t rows : {1, 2, 7, 16, 32, 33}) {
      if (short_run() && (rows < 7 || (A.n == 1 && rows != 16))) continue;
      expect_serial_solves(A, {rows, Kind::ilu, 0, false});
      expect_serial_solves(A, {rows, Kind::icc, 0, false});
      if (short_run() && rows != 16) continue;
      expect_serial_solves(A, {rows, Kind::ilu, 1, false});
      if (sizeof(real_t<T>) == 8) expect_serial_solves(A, {rows, Kind::ilu, 0, true});
    }
}

TYPED_TEST(DeviceBlockPairOf, a_factor_without_symmetry_is_solved_as_by_one_thread)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("blocks of rows of another pattern", short_run() ? 4 * patience : patience);
  for (const auto& [n, reach] : {std::pair(120, 20), {400, 20}, {20000, 300}}) {
    if (short_run() != (n == 120)) continue;
    const auto A = converted<T, I>(random_band(n, 3, reach, 0, 3));
    for (const std::int64_t rows : {8, 16, 32})
      for (const int levels : {0, 1})
        if (!short_run() || (levels == 1) == (rows == 16)) expect_serial_solves(A, {rows, Kind::ilu, levels, false});
  }
}

/// So that the tests above do not pass without the kernel.
TEST(DeviceBlockPair, blocks_of_up_to_32_rows_are_solved_by_warps)
{
  const auto grid = make_poisson<double, I>(12, 11, 10);
  const auto plan = [](const auto& A, std::int64_t rows) {
    return factored_in_blocks(A, {rows, Kind::ilu, 0, false})->summarize().plan;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(plan(grid, 8), "blocks of rows by a warp, 4 lanes a row")) << plan(grid, 8);
  EXPECT_TRUE(has(plan(grid, 16), "blocks of rows by a warp, 2 lanes a row")) << plan(grid, 16);
  EXPECT_TRUE(has(plan(grid, 32), "blocks of rows by a warp, 1 lane a row")) << plan(grid, 32);
  EXPECT_TRUE(has(plan(box_of_points(9, 8, 7, 3), 16), "blocks of rows by a warp")) << "nodes";
  EXPECT_FALSE(has(plan(grid, 64), "by a warp")) << plan(grid, 64);
  EXPECT_FALSE(has(plan(grid, 2), "by a warp")) << plan(grid, 2);
  EXPECT_FALSE(has(plan(random_band(2000, 1, 2000, 1500, 3), 16), "by a warp")) << "a long row";
}

/// The model counts colors, not levels.
TEST(DeviceBlockPair, is_what_auto_takes_for_blocks_of_a_grid)
{
  const auto A = make_poisson<double, I>(40, 39, 38);
  const auto p = make_cuda_preconditioner<double, I>();
  SymbolicOptions<I> symbolic;
  symbolic.ordering = blocks_of(16);
  ASSERT_EQ(p->analyse(A.pattern(), symbolic, {"auto", 1}).message(), "success");
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_EQ(p->summarize().strategy, "level_order") << p->summarize().reason;
  EXPECT_TRUE(is_by_warps(*p)) << p->summarize().plan;
}

/// What is not finite reaches the rows that depend on it, not others of the same block.
TEST(DeviceBlockPair, passes_on_what_is_not_finite_and_forgets_it)
{
  const auto A = random_band(short_run() ? 300 : 5000, 1, 40, 0, 3);
  for (const std::int64_t rows : {8, 16, 32}) {
    SCOPED_TRACE(testing::Message() << "blocks of " << rows);
    const auto p = factored_in_blocks(A, {rows, Kind::ilu, 0, false});
    ASSERT_TRUE(is_by_warps(*p)) << p->summarize().plan;
    const auto b = random_vector<double>(A.n, 5);
    for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::quiet_NaN()}) {
      auto numbers = b;
      numbers[A.n / 2] = bad;
      const DeviceVector from(numbers), clean(b), x(A.n);
      solve(*p, from, x, A.n);
      const auto found = x.get(), truth = solve_serially<double, I>(*p, numbers, false);
      for (I i = 0; i < A.n; ++i) ASSERT_EQ(std::isfinite(found[i]), std::isfinite(truth[i])) << i;
      EXPECT_FALSE(std::isfinite(found[A.n / 2]));
      solve(*p, clean, x, A.n);
      expect_close(x.get(), solve_serially<double, I>(*p, b, false), 1e-12);
    }
  }
}

/// Replays after a refresh; in the graph solves follow each other directly.
TEST(DeviceBlockPair, can_be_captured)
{
  const I side = short_run() ? 6 : 24;
  const auto A = make_poisson<double, I>(side, side, side), B = make_poisson<double, I>(side, side, side, 2);
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), x(A.n), y(A.n);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  {
    const auto p = factored_in_blocks(A, {16, Kind::ilu, 0, false});
    ASSERT_TRUE(is_by_warps(*p)) << p->summarize().plan;
    solve(*p, from, x, A.n, stream);
    const Replay replay(stream, [&] {
      solve(*p, from, x, A.n, stream);
      solve(*p, x, y, A.n, stream);
    });
    for (const auto* matrix : {&A, &B}) {
      p->use(Memory::host, stream);
      ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
      const auto once = solve_serially<double, I>(*p, b, false), twice = solve_serially<double, I>(*p, once, false);
      for (int round = 0; round < 3; ++round) {
        CUDA(cudaMemsetAsync(x.data(), 0xfe, A.n * sizeof(double), stream));
        CUDA(cudaMemsetAsync(y.data(), 0xfe, A.n * sizeof(double), stream));
        replay.run();
        expect_close(x.get(), once, 1e-12);
        expect_close(y.get(), twice, 1e-11);
      }
    }
  }
  CUDA(cudaStreamDestroy(stream));
}

/// Launches overlap: many solves in a row, of which each reads what the last one has stored.
TEST(DeviceBlockPair, solves_in_a_row_are_those_one_by_one)
{
  const I side = short_run() ? 6 : 40;
  const auto A = make_poisson<double, I>(side, side, side);
  const auto p = factored_in_blocks(A, {16, Kind::icc, 0, false});
  ASSERT_TRUE(is_by_warps(*p)) << p->summarize().plan;
  const DeviceVector from(random_vector<double>(A.n, 5)), x(A.n), y(A.n);
  std::vector<double> first;
  for (int round = 0; round < (short_run() ? 2 : 50); ++round) {
    solve(*p, from, x, A.n);
    solve(*p, x, y, A.n);
    solve(*p, y, x, A.n);
    if (round == 0) first = x.get();
    ASSERT_EQ(x.get(), first) << "round " << round;
  }
}

/// One triangle, and several columns, are solved by rows that are stored in blocks, too.
TEST(DeviceBlockPair, halves_and_columns_are_those_of_the_pair)
{
  const auto A = make_poisson<double, I>(short_run() ? 6 : 20, 7, 6);
  const auto p = factored_in_blocks(A, {16, Kind::ilu, 0, false});
  const I count = 3;
  const auto b = random_vector<double>(static_cast<std::size_t>(count) * A.n, 5);
  const DeviceVector from(b), x(b.size()), y(A.n), z(A.n);
  p->use(Memory::device, nullptr);
  ASSERT_EQ(p->solve(Operation::none, from.data(), x.data(), {count, A.n, A.n}).message(), "success");
  const auto found = x.get();
  for (I c = 0; c < count; ++c) {
    const std::vector<double> of_c(b.begin() + c * A.n, b.begin() + (c + 1) * A.n);
    expect_close({found.begin() + c * A.n, found.begin() + (c + 1) * A.n}, solve_serially<double, I>(*p, of_c, false),
                 1e-12);
  }
  ASSERT_EQ(p->solve_forward_half(from.data(), y.data()).message(), "success");
  ASSERT_EQ(p->solve_backward_half(y.data(), z.data()).message(), "success");
  expect_close(z.get(), {found.begin(), found.begin() + A.n}, 1e-12);
}

}  // namespace
}  // namespace syncfree
