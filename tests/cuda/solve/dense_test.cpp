/// Solves with triangles of dense blocks by levels, of one and of both in one launch.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "../device_support.hpp"
#include "dense_solves.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/options.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

/// A chain, rows without blocks, and a last row that reads all others.
template <class I> OwnedPattern<I> odd_pattern(I n, bool lower)
{
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i) {
    const I row = lower ? i : n - 1 - i, before = lower ? row - 1 : row + 1;
    if (i == n - 1)
      for (I j = 0; j < n; ++j) {
        if (j != row) rows[row].push_back(j);
      }
    else if (i > 0 && i % 5 != 3) rows[row].push_back(before);
  }
  return pattern_of(rows);
}

template <class I> std::vector<OwnedPattern<I>> small_patterns(bool lower)
{
  if (short_run()) return {pattern_of<I>({{}}), odd_pattern<I>(20, lower), random_deep_triangle<I>(8, 40, 4, lower)};
  std::vector<OwnedPattern<I>> all = {pattern_of<I>({{}}), pattern_of<I>({{}, {}, {}}), odd_pattern<I>(80, lower),
                                      random_deep_triangle<I>(8, 150, 4, lower),
                                      random_triangle<I>(9, 60, 50, lower)};
  return all;
}

/// All sizes of blocks, or under a sanitizer those that are compiled and one other.
std::vector<int> some_sizes(std::vector<int> all)
{
  return short_run() ? std::vector<int>{2, 3, 4, 5, 6, 7} : all;
}

template <class Type> class DenseSolves : public testing::Test {};
TYPED_TEST_SUITE(DenseSolves, EachScalar);

TYPED_TEST(DenseSolves, have_small_residuals_for_every_block_size)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("solves with dense blocks", 300);
  for (const int size : some_sizes({2, 3, 4, 5, 6, 7, 8, 11, 13, 31}))
    for (const bool lower : {true, false})
      for (const bool unit : {true, false})
        for (const auto& pattern : small_patterns<I>(lower)) {
          if (short_run() && unit != lower) continue;
          SCOPED_TRACE(testing::Message() << pattern.n << " rows of " << size << (lower ? " lower" : " upper")
                                          << (unit ? " unit" : ""));
          auto t = triangle_of<T>(pattern, lower, unit, size);
          Solves<T, T, I> solves(t);
          solves.expect_solutions();
          t.draw_values(7);
          solves.refresh(t);
          solves.expect_solutions();
        }
}

TYPED_TEST(DenseSolves, round_to_single_storage)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  using V = single_t<T>;
  if constexpr (!std::is_same_v<T, V>) {
    const Watchdog watchdog("single storage", 100);
    for (const int size : {2, 3, 4, 5, 6, 9})
      for (const bool unit : {true, false}) {
        if (short_run() && size % 3 != 0) continue;
        SCOPED_TRACE(size);
        const auto t = triangle_of<T>(random_deep_triangle<I>(8, short_run() ? 40 : 150, 4, unit), unit, unit, size);
        Solves<T, V, I>(t).expect_solutions();
      }
  }
}

/// The blocks of a transposed factor are those of the factor in another order, each transposed.
TYPED_TEST(DenseSolves, transpose_blocks_taken_from_elsewhere)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("transposed blocks", 100);
  for (const int size : {2, 5, 7})
    for (const bool unit : {true, false})
      for (const bool transposed : {true, false}) {
        SCOPED_TRACE(testing::Message() << size << (transposed ? ", transposed" : ""));
        auto t = triangle_of<T>(random_deep_triangle<I>(4, short_run() ? 40 : 120, 5, !unit), !unit, unit, size);
        t.transposed = transposed;
        t.source = syncfree::random_order<I>(static_cast<I>(t.pattern.column.size()), 11u);
        Solves<T, T, I>(t).expect_solutions();
      }
}

/// Levels that many thread blocks share.
TYPED_TEST(DenseSolves, wait_for_other_thread_blocks)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("wide levels", 200);
  const I x = short_run() ? 6 : 14;
  for (const int size : {2, 3, 4, 5, 6, 8})
    for (const bool lower : {true, false})
      for (const bool box : {true, false}) {
        if (short_run() && (box != lower || (size != 3 && size != 8))) continue;
        SCOPED_TRACE(testing::Message() << size << (box ? ", box" : ", star"));
        const auto pattern = stencil_triangle<I>(x, x - 1, x - 2, box, lower);
        Solves<T, T, I>(triangle_of<T>(pattern, lower, lower, size)).expect_solutions();
      }
  if (short_run()) return;
  std::vector<std::vector<I>> rows(20000);  // two levels
  for (I i = 10000; i < 20000; ++i) rows[i] = {i - 10000, i - 5000};
  Solves<T, T, I>(triangle_of<T>(pattern_of(rows), true, false, 5)).expect_solutions();
}

TYPED_TEST(DenseSolves, pass_on_what_is_not_finite_and_forget_it)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("NaN in dense blocks", 100);
  for (const int size : {3, 5, 9}) {
    const I n = short_run() ? 60 : 300, wrong = n / 3;
    std::vector<std::vector<I>> rows(n);
    for (I i = 1; i < n; ++i) rows[i] = {i - 1};
    const auto t = triangle_of<T>(pattern_of(rows), true, false, size);
    Solves<T, T, I> solves(t);
    const auto b = random_vector<T>(t.rows(), 5);
    const auto truth = solves.solve(b, false, false);
    T all_ones;  // the NaN that says "not written yet"
    std::fill_n(reinterpret_cast<unsigned char*>(&all_ones), sizeof all_ones, static_cast<unsigned char>(0xff));
    for (const T bad : {all_ones, T(std::numeric_limits<real_t<T>>::infinity())}) {
      auto with_bad = b;
      with_bad[static_cast<std::size_t>(wrong) * size + 1] = bad;
      const auto x = solves.solve(with_bad, false, false);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const bool comes_before = k < static_cast<std::size_t>(wrong) * size;
        EXPECT_EQ(std::isfinite(std::abs(x[k])), comes_before) << k;
        EXPECT_TRUE(!comes_before || x[k] == truth[k]) << k;
      }
      EXPECT_EQ(solves.solve(b, false, false), truth);
    }
  }
}

/// U x = y, L y = b, in the given orders.
template <class T, class V, class I> class DensePairs {
public:
  ///   swapped  U^T and then L^T
  DensePairs(const OwnedPattern<I>& lower, const OwnedPattern<I>& upper, int size, bool swapped)
      : first_(triangle_of<T>(lower, true, !swapped, size)), second_(triangle_of<T>(upper, false, swapped, size)),
        L_(first_), U_(second_), row_order_(syncfree::random_order<I>(lower.n, 3u)),
        column_order_(syncfree::random_order<I>(lower.n, 4u)), row_(row_order_), column_(column_order_)
  {
  }

  /// Many solves in a row, and after new values.
  void expect_halves()
  {
    for (const bool ordered : {false, true}) {
      const Orders<I> orders = ordered ? Orders<I>{row_.data(), column_.data()} : Orders<I>();
      const auto pair = U_.solver()->make_pair_solver(*L_.solver(), orders);
      ASSERT_TRUE(pair);
      for (const std::uint64_t seed : {3, 8}) {
        if (short_run() && seed == 3) continue;
        first_.draw_values(seed);
        second_.draw_values(seed + 5);
        L_.refresh(first_);
        U_.refresh(second_);
        ASSERT_TRUE(pair->accept_new_values());
        expect_halves(pair.get(), ordered);
      }
    }
  }

private:
  void expect_halves(PairSolver<T>* pair, bool ordered)
  {
    const std::size_t n = first_.rows(), size = static_cast<std::size_t>(first_.size);
    const auto permuted = [&](const std::vector<T>& v, const std::vector<I>& order, bool forth) {
      std::vector<T> to(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t other = ordered ? static_cast<std::size_t>(order[i / size]) * size + i % size : i;
        if (forth) to[i] = v[other];
        else to[other] = v[i];
      }
      return to;
    };
    const int rounds = short_run() ? 2 : 8;
    for (const bool conjugated : {false, true}) {
      if (short_run() && conjugated != is_complex_v<T>) continue;
      std::vector<std::vector<T>> truth;
      std::vector<std::unique_ptr<DeviceVectorOf<T>>> b, x;
      for (int round = 0; round < rounds; ++round) {
        const auto rhs = random_vector<T>(n, 40 + round);
        const auto y = L_.solve(permuted(rhs, row_order_, true), conjugated, false);
        truth.push_back(permuted(U_.solve(y, conjugated, false), column_order_, false));
        b.push_back(std::make_unique<DeviceVectorOf<T>>(rhs));
        x.push_back(std::make_unique<DeviceVectorOf<T>>(n));
      }
      for (int round = 0; round < rounds; ++round)
        pair->solve_pair(b[round]->data(), x[round]->data(), conjugated, nullptr);
      for (int round = 0; round < rounds; ++round) EXPECT_EQ(x[round]->get(), truth[round]) << "round " << round;
    }
  }

  BlockTriangle<T, I> first_, second_;
  Solves<T, V, I> L_, U_;
  std::vector<I> row_order_, column_order_;
  DeviceArray<I> row_, column_;
};

TYPED_TEST(DenseSolves, take_both_triangles_in_one_launch)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("pairs with dense blocks", 200);
  const I x = short_run() ? 4 : 14, n = short_run() ? 20 : 70;
  for (const int size : some_sizes({2, 3, 4, 5, 6, 7, 11}))
    for (const bool swapped : {false, true}) {
      if (short_run() && swapped && size != 3) continue;
      SCOPED_TRACE(testing::Message() << size << (swapped ? ", transposed" : ""));
      DensePairs<T, T, I>(pattern_of<I>({{}}), pattern_of<I>({{}}), size, swapped).expect_halves();
      DensePairs<T, T, I>(odd_pattern<I>(n, true), odd_pattern<I>(n, false), size, swapped).expect_halves();
      DensePairs<T, T, I>(stencil_triangle<I>(x, x, x - 1, size == 3, true),
                          stencil_triangle<I>(x, x, x - 1, size == 3, false), size, swapped)
          .expect_halves();
    }
  DensePairs<T, single_t<T>, I>(odd_pattern<I>(n, true), odd_pattern<I>(n, false), 5, false).expect_halves();
}

TEST(DenseSolve, is_captured_in_a_graph)
{
  const Watchdog watchdog("a graph", 60);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const auto lower = stencil_triangle<I>(9, 8, 7, false, true), upper = stencil_triangle<I>(9, 8, 7, false, false);
  const auto L = triangle_of<double>(lower, true, true, 5), U = triangle_of<double>(upper, false, false, 5);
  Solves<double, double, I> first(L), second(U);
  const auto pair = second.solver()->make_pair_solver(*first.solver(), {});
  ASSERT_TRUE(pair && pair->accept_new_values());
  const std::size_t n = L.rows();
  DeviceVector b(n), x(n), y(n), z(n);
  const auto solve_all = [&] {
    pair->solve_pair(b.data(), x.data(), false, stream);
    solve_column<double, I>(first.solver(), b.data(), y.data(), {}, stream);
    solve_column<double, I>(second.solver(), y.data(), z.data(), {false, true}, stream);
  };
  b.set(random_vector<double>(n, 1));
  solve_all();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  {
    const Replay replay(stream, solve_all);
    for (int round = 0; round < 4; ++round) {
      const auto rhs = random_vector<double>(n, 30 + round);
      b.set(rhs);
      x.set(std::vector<double>(n, NAN)), z.set(std::vector<double>(n, NAN));
      replay.run();
      const auto truth = second.solve(first.solve(rhs, false, false), false, false);
      EXPECT_EQ(x.get(), truth);
      EXPECT_EQ(z.get(), truth);
    }
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// Without a publication the launch gives up: NaN, a report, and the next solve is as before.
TEST(DenseSolve, ends_without_a_publication)
{
  if (std::getenv("SYNCFREE_WAIT_LIMIT")) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const auto monitor = std::make_shared<WaitMonitor>();
  monitor->set_limit(0.2);
  const WaitMonitor::Use use(monitor);
  for (const int size : {3, 5, 8}) {
    SCOPED_TRACE(size);
    const Watchdog watchdog("a publication is missing", 60);
    const auto L = triangle_of<double>(stencil_triangle<I>(9, 8, 7, true, true), true, true, size);
    const auto U = triangle_of<double>(stencil_triangle<I>(9, 8, 7, true, false), false, false, size);
    Solves<double, double, I> first(L), second(U);
    const auto pair = second.solver()->make_pair_solver(*first.solver(), {});
    ASSERT_TRUE(pair && pair->accept_new_values());
    const DeviceVector b(random_vector<double>(L.rows(), 5)), x(L.rows());
    const auto solved = [&] {
      pair->solve_pair(b.data(), x.data(), false, nullptr);
      return x.get();
    };
    const auto truth = solved();
    ASSERT_FALSE(monitor->has_failed());
    for (const unsigned which : {1u, 700u}) {  // of L, whose values are all read by U
      ASSERT_GT(WaitMonitor::drop_publication("level_order", which), 0);
      const auto without = solved();
      EXPECT_TRUE(std::any_of(without.begin(), without.end(), [](double v) { return std::isnan(v); }));
      ASSERT_TRUE(monitor->has_failed());
      const Status status = monitor->take_failure(nullptr);
      EXPECT_EQ(status.code, Code::wait_expired);
      EXPECT_EQ(status.detail, "level_order");
      EXPECT_EQ(solved(), truth);
      EXPECT_FALSE(monitor->has_failed());
    }
  }
}

}  // namespace
}  // namespace syncfree::cuda
