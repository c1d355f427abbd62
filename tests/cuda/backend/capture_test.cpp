/// Captured solves and sweeps and their lifetime: valid ones use the values of the last refresh; void ones fill x with
/// NaN, wait for nothing and write nothing else, and the next call reports them.

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "../../battery.hpp"
#include "../../larger.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

class CapturedSolves : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }

  void refresh(Cuda& p, const OwnedCsr<double, I>& A)
  {
    p.use(Memory::host, stream_);
    ASSERT_EQ(p.refresh(A.view(), PivotRule()).message(), "success");
  }

  cudaStream_t stream_ = nullptr;
};

/// Makes a lower bidiagonal matrix with diagonal 1 and `multiplier` below it.
OwnedCsr<double, I> lower_chain(I n, double multiplier)
{
  OwnedCsr<double, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = std::max(i - 1, 0); j <= i; ++j) A.column.push_back(j), A.value.push_back(i == j ? 1 : multiplier);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Computes b = A x, a right-hand side of a solution that does not grow.
std::vector<double> side_of(const OwnedCsr<double, I>& A, const std::vector<double>& x)
{
  std::vector<double> b(x.size());
  for (std::size_t i = 0; i < b.size(); ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) b[i] += A.value[k] * x[A.column[k]];
  return b;
}

/// Computes max_i |b - A x|_i / (|A| |x| + |b|)_i; a NaN is kept.
double backward_error(const OwnedCsr<double, I>& A, const double* x, const double* b)
{
  double worst = 0;
  for (I i = 0; i < A.n; ++i) {
    double rest = b[i], size = std::abs(b[i]);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      rest -= A.value[k] * x[A.column[k]];
      size += std::abs(A.value[k] * x[A.column[k]]);
    }
    const double error = std::abs(rest) / (size > 0 ? size : 1);
    worst = larger(worst, error);
  }
  return worst;
}

bool all_nan(const std::vector<double>& x)
{
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

/// Repeats a column `count` times, without gaps.
std::vector<double> repeated(const std::vector<double>& column, I count)
{
  std::vector<double> all;
  for (I c = 0; c < count; ++c) all.insert(all.end(), column.begin(), column.end());
  return all;
}

/// The guard of `merged` makes other groups, and with them other grids, counters and mailboxes. With one launch for L
/// and U, with two, and with several columns.
TEST_F(CapturedSolves, that_know_an_old_plan_are_void)
{
  const Watchdog watchdog("captures of an old plan", patience);
  const I n = 700;
  const auto tame = lower_chain(n, 0.5), wild = lower_chain(n, 2);
  const auto solution = random_vector<double>(n, 9);
  for (const I columns : {1, 3, 20})
    for (const bool ordered : {false, true}) {
      SCOPED_TRACE(testing::Message() << columns << " columns" << (ordered ? ", ordered" : ""));
      std::vector<I> order(n);
      std::iota(order.rbegin(), order.rend(), I(0));
      SymbolicOptions<I> symbolic;
      if (ordered) symbolic.row_order = symbolic.column_order = order.data();
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(tame.pattern(), symbolic, {"merged", 1}).message(), "success");
      refresh(*p, tame);
      DeviceVector from(repeated(side_of(tame, solution), columns));
      const DeviceVector x(std::size_t{n} * columns);
      const auto call = [&] {
        p->use(Memory::device, stream_);
        return p->solve(Operation::none, from.data(), x.data(), {columns, n, n});
      };
      const auto expect_right = [&](const OwnedCsr<double, I>& A) {
        const auto found = x.get(), b = from.get();
        for (I c = 0; c < columns; ++c) EXPECT_LE(backward_error(A, &found[c * n], &b[c * n]), 1e-10) << c;
      };
      ASSERT_EQ(call().message(), "success");
      const Replay first(stream_, [&] { ASSERT_EQ(call().message(), "success"); });
      first.run();
      expect_right(tame);
      const auto generation = p->generation();
      refresh(*p, tame);
      EXPECT_EQ(p->generation(), generation);
      EXPECT_EQ(p->summarize().captured_bytes, 0u);
      first.run();
      expect_right(tame);

      refresh(*p, wild);
      EXPECT_NE(p->generation(), generation);
      EXPECT_GT(p->summarize().captured_bytes, 0u);
      from.set(repeated(side_of(wild, solution), columns));
      ASSERT_EQ(call().message(), "success");
      expect_right(wild);
      for (int round = 0; round < 3; ++round) {
        first.run();
        EXPECT_TRUE(all_nan(x.get()));
        EXPECT_EQ(call().code, Code::stale_capture);
        ASSERT_EQ(call().message(), "success");
        expect_right(wild);
      }
      const Replay second(stream_, [&] { ASSERT_EQ(call().message(), "success"); });
      for (int round = 0; round < 3; ++round) {
        second.run();
        expect_right(wild);
        ASSERT_EQ(call().message(), "success");
        expect_right(wild);
      }
    }
}

/// Memory for more columns is allocated anew, and the old memory is kept for the graph.
TEST_F(CapturedSolves, of_few_columns_stay_valid_after_solves_of_many)
{
  const Watchdog watchdog("captures of few columns", patience);
  const auto A = random_band(1000, 3, 200, 0, 3), B = random_band(1000, 3, 200, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  for (const char* strategy : {"level_order", "merged", "tiled", "cusparse"}) {
    SCOPED_TRACE(strategy);
    const auto p = analysed(A, strategy);
    const DeviceVector from(repeated(b, 20)), x(std::size_t{20} * A.n);
    const auto call = [&](I columns) {
      p->use(Memory::device, stream_);
      ASSERT_EQ(p->solve(Operation::none, from.data(), x.data(), {columns, A.n, A.n}).message(), "success");
    };
    const auto expect_right = [&](const OwnedCsr<double, I>& matrix, I columns) {
      const auto found = x.get();
      for (I c = 0; c < columns; ++c)
        expect_near({found.begin() + c * A.n, found.begin() + (c + 1) * A.n}, solution(matrix, b));
    };
    call(2);
    const Replay replay(stream_, [&] { call(2); });
    const auto generation = p->generation();
    call(20);
    expect_right(A, 20);
    replay.run();
    expect_right(A, 2);
    refresh(*p, B);
    EXPECT_EQ(p->generation(), generation);
    replay.run();
    expect_right(B, 2);
    call(20);
    expect_right(B, 20);
  }
}

/// A new pattern, a failed refresh, the end of the object: the memory of a graph captured before stays valid.
TEST_F(CapturedSolves, end_with_their_analysis)
{
  const Watchdog watchdog("captures of an old analysis", patience);
  const auto A = random_band(1000, 3, 200, 0, 3), other = random_band(short_run() ? 700 : 3000, 4, 100, 0, 3);
  const auto b = random_vector<double>(A.n, 5), c = random_vector<double>(other.n, 5);
  const DeviceVector from(b), x(A.n), from_other(c), x_other(other.n);
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    auto p = analysed(A, strategy);
    solve(*p, from, x, A.n, stream_);
    auto replay = std::make_unique<Replay>(stream_, [&] { solve(*p, from, x, A.n, stream_); });
    const auto generation = p->generation();
    auto broken = A;
    broken.value[broken.value.size() / 2] = std::nan("");
    p->use(Memory::host, stream_);
    EXPECT_FALSE(p->refresh(broken.view(), PivotRule()).ok());
    replay->run();
    EXPECT_TRUE(all_nan(x.get())) << "no numbers";
    EXPECT_EQ(p->refresh(A.view(), PivotRule()).code, Code::stale_capture);
    refresh(*p, A);
    if (p->generation() == generation) {
      replay->run();
      expect_near(x.get(), solution(A, b));
    }

    p->use(Memory::host, stream_);
    ASSERT_EQ(p->analyse(other.pattern(), {}, {strategy, 1, false, {"paper", other.n / 7 + 1}}).message(), "success");
    refresh(*p, other);
    EXPECT_NE(p->generation(), generation);
    EXPECT_GT(p->summarize().captured_bytes, 0u);
    replay->run();
    EXPECT_TRUE(all_nan(x.get())) << "another analysis";
    p->use(Memory::device, stream_);
    EXPECT_EQ(p->solve(Operation::none, from_other.data(), x_other.data(), {}).code, Code::stale_capture);
    solve(*p, from_other, x_other, other.n, stream_);
    expect_near(x_other.get(), solution(other, c));

    const Replay last(stream_, [&] { solve(*p, from_other, x_other, other.n, stream_); });
    p.reset();
    replay->run();
    last.run();
    EXPECT_TRUE(all_nan(x.get())) << "the object has ended";
    EXPECT_TRUE(all_nan(x_other.get())) << "the object has ended";
  }
}

/// No memory is kept without a capture, nor longer than the graph lives; CUDA reports the graph's end with a delay.
TEST_F(CapturedSolves, hold_memory_while_their_graph_lives)
{
  const auto A = random_band(1000, 3, 200, 0, 3);
  const DeviceVector from(random_vector<double>(A.n, 5)), x(A.n);
  const auto p = analysed(A);
  const auto analyse = [&] {
    p->use(Memory::host, stream_);
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"level_order", 1}).message(), "success");
    refresh(*p, A);
  };
  analyse();
  EXPECT_EQ(p->summarize().captured_bytes, 0u);
  {
    const Replay replay(stream_, [&] { solve(*p, from, x, A.n, stream_); });
    analyse();
    const std::size_t once = p->summarize().captured_bytes;
    EXPECT_GT(once, 0u);
    EXPECT_LE(once, 2 * (p->summarize().factor_bytes + p->summarize().plan_bytes));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (p->summarize().captured_bytes > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(p->summarize().captured_bytes, 0u);
}

/// Other calls fail with a clear status, and the capture continues.
TEST_F(CapturedSolves, are_of_solves_with_device_memory_only)
{
  const auto A = random_band(1000, 3, 200, 0, 3);
  const auto b = random_vector<double>(A.n, 5);
  std::vector<double> y(b.size());
  const DeviceVector from(b), x(A.n);
  const auto p = analysed(A);
  const Replay replay(stream_, [&] {
    p->use(Memory::host, stream_);
    EXPECT_EQ(p->solve(Operation::none, b.data(), y.data(), {}).code, Code::invalid_argument);
    EXPECT_EQ(p->refresh(A.view(), PivotRule()).code, Code::invalid_argument);
    EXPECT_EQ(p->analyse(A.pattern(), {}, {"level_order", 1}).code, Code::invalid_argument);
    solve(*p, from, x, A.n, stream_);
  });
  replay.run();
  expect_near(x.get(), solution(A, b));
}

TEST_F(CapturedSolves, of_sweeps_end_with_their_analysis)
{
  const Watchdog watchdog("captures of sweeps", patience);
  const auto A = random_band(1000, 3, 200, 0, 3), other = random_band(900, 4, 100, 0, 3);
  const DeviceVector from(random_vector<double>(A.n, 5)), x(A.n);
  const auto relaxation = make_cuda_relaxation<double, I>();
  const auto prepare = [&](const OwnedCsr<double, I>& matrix) {
    relaxation->use(Memory::host, stream_);
    ASSERT_EQ(relaxation->analyse(matrix.pattern(), {}, {"level_order", 1}).message(), "success");
    ASSERT_EQ(relaxation->refresh(matrix.view(), 1, 0, 0).message(), "success");
    relaxation->use(Memory::device, stream_);
  };
  const auto sweep = [&] { return relaxation->relax(Sweep::symmetric, true, 1, from.data(), x.data()); };
  prepare(A);
  const Replay replay(stream_, [&] { ASSERT_EQ(sweep().message(), "success"); });
  const auto generation = relaxation->generation();
  replay.run();
  const auto replayed = x.get();
  ASSERT_EQ(sweep().message(), "success");
  EXPECT_EQ(x.get(), replayed);
  prepare(other);
  EXPECT_NE(relaxation->generation(), generation);
  EXPECT_GT(relaxation->summarize().captured_bytes, 0u);
  replay.run();
  EXPECT_TRUE(all_nan(x.get()));
  EXPECT_EQ(sweep().code, Code::stale_capture);
  EXPECT_EQ(sweep().message(), "success");
}

/// Vectors in device memory, each thread on a stream of its own: launches of one object must never overlap.
TEST(DeviceThreads, with_one_object_and_two_streams_do_not_hang)
{
  const Watchdog watchdog("two threads with one object on two streams", patience);
  const auto A = random_band(20000, 3, 900, 0, 3);
  const auto b = random_vector<double>(A.n, 5), truth = solution(A, b);
  for (const char* strategy : {"level_order", "merged", "tiled"}) {
    SCOPED_TRACE(strategy);
    const auto p = analysed(A, strategy);
    int right[2] = {}, turned_away[2] = {}, other[2] = {};
    std::atomic<int> prepared{0};
    const auto call = [&](int which) {
      cudaStream_t own;
      ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
      const DeviceVector from(b), x(A.n);
      for (++prepared; prepared < 2;) {}
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);  // others may use the device, too
      for (int k = 0; k < (short_run() ? 100 : 5000) && std::chrono::steady_clock::now() < end; ++k) {
        p->use(Memory::device, own);
        const Status status = p->solve(Operation::none, from.data(), x.data(), {1, A.n, A.n});
        ++(status.ok() ? right[which] : status.code == Code::busy ? turned_away[which] : other[which]);
        if (!status.ok() || k % 100 != 0) continue;
        expect_near(x.get(), truth);
      }
      ASSERT_EQ(cudaStreamDestroy(own), cudaSuccess);
    };
    std::thread second([&] { call(1); });
    call(0);
    second.join();
    EXPECT_EQ(other[0] + other[1], 0);
    EXPECT_GT(right[0], 0);
    EXPECT_GT(right[1], 0);
    EXPECT_GT(turned_away[0] + turned_away[1], 0);
  }
}

}  // namespace
}  // namespace syncfree
