/// Waits that end: a kernel that omits one publication gives up and computes NaN, and the next call reports it.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../../battery.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree {
namespace {

using cuda::WaitMonitor;
constexpr double limit = 0.2;  ///< seconds
constexpr int longest = 3;     ///< seconds of a solve with two such waits beside 13 other programs; 1.9 was seen

bool waits_end() { return std::getenv("SYNCFREE_WAIT_LIMIT") == nullptr; }

SolverOptions options_of(const std::string& strategy)
{
  SolverOptions options{strategy, 2};
  if (strategy.find("_block") != std::string::npos) options.blocks = {"h200", 500};
  options.wait_limit = limit;
  return options;
}

/// A strategy, a matrix for it, a part of its plan's description, and the name in the report of an expired wait.
struct Waiting {
  std::string strategy;
  OwnedCsr<double, I> A;
  std::string plan;
  const char* name;
  bool reproducible = true;
  std::optional<OrderingOptions> ordering = {};
};

OwnedCsr<double, I> chain(I n) { return line_of_points(n, 1, 2); }

/// Expands each row to `unknowns` rows, coupled with all unknowns of the rows it was coupled with; dominant by rows.
OwnedCsr<double, I> with_unknowns(const OwnedCsr<double, I>& A, I unknowns)
{
  OwnedCsr<double, I> B;
  B.n = A.n * unknowns;
  const auto value = random_vector<double>(A.column.size() * static_cast<std::size_t>(unknowns * unknowns), 4);
  for (I i = 0; i < B.n; ++i) {
    const I p = i / unknowns;
    const double most = unknowns * (A.row_begin[p + 1] - A.row_begin[p]);
    for (I k = A.row_begin[p]; k < A.row_begin[p + 1]; ++k)
      for (I u = 0; u < unknowns; ++u) {
        const I j = A.column[k] * unknowns + u;
        B.column.push_back(j);
        B.value.push_back(i == j ? most : value[B.value.size()]);
      }
    B.row_begin.push_back(static_cast<I>(B.column.size()));
  }
  return B;
}

std::vector<Waiting> all_that_wait()
{
  std::vector<Waiting> all;
  const auto add = [&](const char* strategy, OwnedCsr<double, I> A, const char* plan, bool reproducible = true) {
    all.push_back({strategy, std::move(A), plan, strategy, reproducible});
  };
  add("level_order", chain(3000), "lane");
  add("level_order", waves_of_rows(12, 600, 3), "lane");  // L and U in one launch
  add("level_order", waves_of_rows(2, 210000, 2), "level after level");
  add("level_order", line_of_points(700, 3, 1), "nodes of 3");
  add("level_order", make_poisson<double, I>(20, 19, 18), "blocks of rows by a warp");
  all.back().ordering = {OrderingKind::abmc, 16, 16};
  add("csr_level_order", chain(3000), "lane");
  add("csr_two_phase", chain(3000), "");
  add("csr_writing_first", chain(3000), "");
  add("csc_sync_free", chain(3000), "", false);
  add("csc_level_order", chain(3000), "", false);
  add("merged", chain(3000), "groups");
  add("loop", chain(3000), "iteration");
  for (const char* blocks : {"column_block", "row_block", "recursive_block"})  // their triangles wait
    all.push_back({blocks, chain(3000), "level_order", "level_order", false});
  add("wavefront", make_poisson<double, I>(70, 66, 1), "pencils");
  add("wavefront", make_poisson<double, I>(33, 32, 31), "8 x 4 pencils");
  add("wavefront", make_poisson<double, I>(260, 16, 32), "stacks in rings");
  add("tiled", make_poisson<double, I>(33, 32, 31), "tiles");
  add("tiled", box_of_points(30, 30, 30, 1), "ghosts");
  add("tiled", box_of_points(110, 110, 3, 1), "in one place");
  add("tiled", box_of_points(20, 20, 18, 3), "nodes of 3");
  return all;
}

std::unique_ptr<Cuda> made(const Waiting& w)
{
  auto p = make_cuda_preconditioner<double, I>();
  SymbolicOptions<I> symbolic;
  symbolic.ordering = w.ordering;
  EXPECT_EQ(p->analyse(w.A.pattern(), symbolic, options_of(w.strategy)).message(), "success");
  EXPECT_EQ(p->refresh(w.A.view(), PivotRule()).message(), "success");
  EXPECT_NE(p->summarize().plan.find(w.plan), std::string::npos) << p->summarize().plan;
  return p;
}

bool has_nan(const std::vector<double>& x)
{
  return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

double seconds_of(const std::function<void()>& body)
{
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void expect_failure(const Status& status, const Waiting& w)
{
  EXPECT_EQ(status.code, Code::wait_expired) << status.message();
  EXPECT_EQ(status.detail, w.name);
  EXPECT_GE(status.row, 0);
  EXPECT_LT(status.row, w.A.n);
  EXPECT_EQ(status.value, limit);
}

/// Expects the same solution as before, with the same plan and then after a refresh.
void expect_as_before(Cuda* p, const Waiting& w, const DeviceVector& b, const std::vector<double>& truth)
{
  const DeviceVector x(w.A.n);
  for (const bool refreshes : {false, true}) {
    p->use(Memory::host, nullptr);
    if (refreshes) {
      ASSERT_EQ(p->refresh(w.A.view(), PivotRule()).message(), "success");
    }
    solve(*p, b, x, w.A.n);
    expect_near(x.get(), truth);
    EXPECT_TRUE(!w.reproducible || x.get() == truth);
  }
}

/// Omits the n-th publication of a kernel, or one of the next, until one causes an expired wait: no other row reads
/// some values. Even values that no row reads may be waited for before a thread block ends.
void drop_one(const Waiting& w, unsigned n)
{
  SCOPED_TRACE(testing::Message() << w.strategy << ", " << w.plan << ", publication " << n);
  const Watchdog watchdog(w.strategy + " without a publication", 60);
  const auto p = made(w);
  const DeviceVector b(random_vector<double>(w.A.n, 5)), x(w.A.n), other(w.A.n);
  solve(*p, b, x, w.A.n);
  const auto truth = x.get();
  ASSERT_FALSE(has_nan(truth));
  bool was_missed = false;
  for (unsigned further = 0; further < 64 && !was_missed; ++further) {
    ASSERT_GT(WaitMonitor::drop_publication(w.name, n + further), 0);
    solve(*p, b, x, w.A.n);
    const double seconds = seconds_of([&] { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); });
    EXPECT_LT(seconds, seconds_of_patience(longest)) << "of L and of U";
    const Status status = p->solve(Operation::none, b.data(), other.data(), {1, w.A.n, w.A.n});
    if (status.ok()) continue;
    expect_failure(status, w);
    was_missed = has_nan(x.get());
    if (w.strategy != "csr_two_phase") {
      EXPECT_GT(seconds, 0.5 * limit) << "gave up at once";
    }
  }
  EXPECT_TRUE(was_missed);
  expect_as_before(p.get(), w, b, truth);
}

TEST(DeviceWaits, end_in_every_strategy)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  for (const Waiting& w : all_that_wait()) drop_one(w, w.strategy == "tiled" || w.strategy == "wavefront" ? 100 : 1);
}

/// With host memory the call itself reports it.
TEST(DeviceWaits, are_reported_at_once_to_callers_with_host_memory)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const Waiting w = {"level_order", chain(3000), "", "level_order"};
  const Watchdog watchdog("a wait", 30);
  const auto p = made(w);
  const auto b = random_vector<double>(w.A.n, 5);
  std::vector<double> x(b.size()), truth(b.size());
  ASSERT_EQ(p->solve(Operation::none, b.data(), truth.data(), {1, w.A.n, w.A.n}).message(), "success");
  ASSERT_GT(WaitMonitor::drop_publication(w.name, 1), 0);
  expect_failure(p->solve(Operation::none, b.data(), x.data(), {1, w.A.n, w.A.n}), w);
  EXPECT_TRUE(has_nan(x));
  ASSERT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, w.A.n, w.A.n}).message(), "success");
  EXPECT_EQ(x, truth);
}

/// Several right-hand sides in one launch: tiles, pencils, level order and merged.
TEST(DeviceWaits, end_in_solves_of_several_columns)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const I count = 5;
  const std::vector<Waiting> all = {{"level_order", chain(3000), "", "level_order"},
                                    {"merged", chain(3000), "", "merged"},
                                    {"wavefront", make_poisson<double, I>(33, 32, 31), "pencils", "wavefront"},
                                    {"tiled", box_of_points(30, 30, 30, 1), "ghosts", "tiled"}};
  for (const Waiting& w : all) {
    SCOPED_TRACE(w.strategy + " " + w.plan);
    const Watchdog watchdog("columns of " + w.strategy, 30);
    const auto p = made(w);
    p->use(Memory::device, nullptr);
    const DeviceVector b(random_vector<double>(static_cast<std::size_t>(w.A.n) * count, 5));
    const DeviceVector x(static_cast<std::size_t>(w.A.n) * count);
    const auto solved = [&] { return p->solve(Operation::none, b.data(), x.data(), {count, w.A.n, w.A.n}); };
    ASSERT_EQ(solved().message(), "success");
    const auto truth = x.get();
    bool was_missed = false;
    for (unsigned n = 200; n < 264 && !was_missed; ++n) {
      ASSERT_GT(WaitMonitor::drop_publication(w.name, n), 0);
      ASSERT_EQ(solved().message(), "success");
      const bool is_nan = has_nan(x.get());
      const Status status = solved();
      if (status.ok()) continue;
      expect_failure(status, w);
      was_missed = is_nan;
    }
    EXPECT_TRUE(was_missed);
    ASSERT_EQ(solved().message(), "success");
    EXPECT_EQ(x.get(), truth);
  }
}

/// The factorization, with each of its kernels.
TEST(DeviceWaits, end_in_factorizations)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  PivotRule shifted;
  shifted.shift = Shift::inblocks;
  struct Factored {
    OwnedCsr<double, I> A;
    PivotRule rule;
    const char* strategy;
    const char* name;
    int block_size = 1;
  };
  const std::vector<Factored> all = {
      {line_of_points(1000, 3, 1), PivotRule(), "level_order", "factorization", 3},   // dense blocks
      {line_of_points(1000, 7, 1), PivotRule(), "level_order", "factorization", 7},
      {line_of_points(4, 97, 1), PivotRule(), "level_order", "factorization", 97},   // not in shared memory
      {chain(3000), PivotRule(), "level_order", "factorization"},                     // narrow levels: one row per warp
      {waves_of_rows(12, 4000, 4), PivotRule(), "level_order", "level_order"},        // rows that update pivots only
      {with_unknowns(waves_of_rows(8, 1000, 4), 3), PivotRule(), "level_order", "factorization"},  // several per warp
      {line_of_points(200, 12, 2), PivotRule(), "level_order", "factorization"},      // long rows, entry by entry
      {line_of_points(200, 12, 2), shifted, "level_order", "factorization"},          // the same, row by row
      {make_poisson<double, I>(40, 41, 1), PivotRule(), "wavefront", "wavefront"},    // pivots by a solver of L
      {make_poisson<double, I>(260, 16, 16), PivotRule(), "wavefront", "wavefront"},  // the same, with rings
      {chain(3000), PivotRule(), "loop", "loop"}};
  for (const Factored& f : all) {
    SCOPED_TRACE(testing::Message() << f.strategy << ", " << f.A.n << " rows");
    const Watchdog watchdog("a factorization", 30);
    const auto p =
        f.block_size > 1 ? make_cuda_blocked_preconditioner<double, I>() : make_cuda_preconditioner<double, I>();
    SolverOptions options = options_of(f.strategy);
    options.block_size = f.block_size;
    if (f.block_size > 8) options.wait_limit = 2;  // a row takes long beside other programs
    ASSERT_EQ(p->analyse(f.A.pattern(), {}, options).message(), "success");
    ASSERT_EQ(p->refresh(f.A.view(), f.rule).message(), "success");
    const auto truth = p->values();
    Status status;
    for (unsigned n = 1; n < 60000 && status.ok(); n += f.block_size > 8 ? 1 : 997) {
      ASSERT_GT(WaitMonitor::drop_publication(f.name, n), 0);
      status = p->refresh(f.A.view(), f.rule);
    }
    EXPECT_EQ(status.code, Code::wait_expired) << status.message();
    EXPECT_EQ(status.detail, f.name);
    std::vector<double> b(static_cast<std::size_t>(f.A.n), 1), x = b;
    EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, f.A.n, f.A.n}).code, Code::invalid_argument);
    ASSERT_EQ(p->refresh(f.A.view(), f.rule).message(), "success");
    EXPECT_TRUE(p->values().lower == truth.lower && p->values().upper == truth.upper &&
                p->values().inverse_pivot == truth.inverse_pivot);
  }
}

/// The next call reports a replay that gave up; then replays are right again.
TEST(DeviceWaits, end_in_replays_of_captured_solves)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const Waiting w = {"level_order", chain(3000), "", "level_order"};
  const Watchdog watchdog("a replay", 30);
  const auto p = made(w);
  const DeviceVector b(random_vector<double>(w.A.n, 5)), x(w.A.n), other(w.A.n);
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  solve(*p, b, x, w.A.n, stream);
  const auto truth = x.get();
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  solve(*p, b, x, w.A.n, stream);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&replay, graph, 0));
  ASSERT_GT(WaitMonitor::drop_publication(w.name, 1), 0);
  CUDA(cudaGraphLaunch(replay, stream));
  EXPECT_TRUE(has_nan(x.get()));
  expect_failure(p->solve(Operation::none, b.data(), other.data(), {1, w.A.n, w.A.n}), w);
  for (int round = 0; round < 3; ++round) {
    CUDA(cudaGraphLaunch(replay, stream));
    EXPECT_EQ(x.get(), truth);
  }
  CUDA(cudaGraphExecDestroy(replay));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
}

TEST(DeviceWaits, end_in_sweeps)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const auto A = chain(3000);
  const Watchdog watchdog("a sweep", 30);
  const auto r = make_cuda_relaxation<double, I>();
  ASSERT_EQ(r->analyse(A.pattern(), {}, options_of("level_order")).message(), "success");
  ASSERT_EQ(r->refresh(A.view(), 1, 0, 0).message(), "success");
  const auto b = random_vector<double>(A.n, 5);
  std::vector<double> x(b.size(), 0), truth = x;
  ASSERT_EQ(r->relax(Sweep::forward, true, 1, b.data(), truth.data()).message(), "success");
  ASSERT_GT(WaitMonitor::drop_publication("level_order", 1), 0);
  EXPECT_EQ(r->relax(Sweep::forward, true, 1, b.data(), x.data()).code, Code::wait_expired);
  ASSERT_EQ(r->relax(Sweep::forward, true, 1, b.data(), x.data()).message(), "success");
  EXPECT_EQ(x, truth);
}

/// An object whose limit was refused is like one that was never analysed, and accepts a valid limit.
TEST(DeviceWaits, have_no_limit_that_is_no_number)
{
  if (!waits_end()) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const auto A = chain(300);
  const auto p = make_cuda_preconditioner<double, I>();
  setenv("SYNCFREE_WAIT_LIMIT", "soon", 1);
  const Status status = p->analyse(A.pattern(), {}, options_of("level_order"));
  unsetenv("SYNCFREE_WAIT_LIMIT");
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_NE(status.message().find("SYNCFREE_WAIT_LIMIT is 'soon'"), std::string::npos) << status.message();
  EXPECT_EQ(p->analyse(A.pattern(), {}, options_of("level_order")).message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
}

/// The sentinel, the NaN that means "not written yet", in the right-hand side, in each part of a value and in all rows.
template <class T> class DeviceSentinelOf : public testing::Test {};
TYPED_TEST_SUITE(DeviceSentinelOf, Scalars);

template <class R> void set_sentinel(R* part) { std::memset(part, 0xff, sizeof *part); }
template <class R> void set_sentinel(std::complex<R>* v, bool imaginary)
{
  set_sentinel(reinterpret_cast<R*>(v) + (imaginary ? 1 : 0));
}
template <class R> void set_sentinel(R* v, bool) { set_sentinel(v); }

TYPED_TEST(DeviceSentinelOf, right_sides_are_data)
{
  using T = TypeParam;
  const I count = 3, bad = 1;
  for (const auto& [x, y, z] : {std::array<I, 3>{20, 17, 1}, {9, 8, 7}}) {
    const auto A = make_poisson<T, I>(x, y, z);
    const auto clean = random_vector<T>(static_cast<std::size_t>(A.n) * count, 5);
    for (const std::string& strategy : device_strategies())
      for (const bool imaginary : {true, false})
        for (const bool everywhere : {false, true}) {
          SCOPED_TRACE(testing::Message() << strategy << (imaginary ? " imaginary" : " real") << everywhere);
          const Watchdog watchdog(strategy + " of sentinels", patience);
          auto p = make_cuda_preconditioner<T, I>();
          ASSERT_EQ(p->analyse(A.pattern(), {}, {strategy, 1, false, {"paper", A.n / 7 + 1}}).message(), "success");
          ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
          auto numbers = clean;
          for (I i = 0; i < A.n; ++i)
            if (everywhere || i == A.n / 2) set_sentinel(&numbers[static_cast<std::size_t>(bad * A.n + i)], imaginary);
          const DeviceVectorOf<T> b(numbers), of_clean(clean), found(clean.size());
          p->use(Memory::device, nullptr);
          const auto solved = [&](const DeviceVectorOf<T>& from) {
            EXPECT_EQ(p->solve(Operation::none, from.data(), found.data(), {count, A.n, A.n}).message(), "success");
            return found.get();
          };
          const auto v = solved(b);
          const auto is_finite = [](const T& a) { return std::isfinite(std::abs(a)); };
          EXPECT_FALSE(is_finite(v[static_cast<std::size_t>(bad * A.n + A.n / 2)]));
          for (const I c : {0, 2})
            EXPECT_TRUE(std::all_of(&v[c * A.n], &v[c * A.n] + A.n, is_finite)) << "column " << c;
          const auto after = solved(of_clean);
          EXPECT_TRUE(std::all_of(after.begin(), after.end(), is_finite)) << "a solve after it";
        }
  }
}

}  // namespace
}  // namespace syncfree
