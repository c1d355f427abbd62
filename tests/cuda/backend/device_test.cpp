/// Tests beyond the contract of all backends: device memory, streams, captures, lanes.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "../../battery.hpp"
#include "../../larger.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree {
namespace {

/// Tridiagonal: as many levels as rows.
OwnedCsr<double, I> long_chain(I n)
{
  OwnedCsr<double, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) {
      A.column.push_back(j);
      A.value.push_back(i == j ? 3 : -1);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

TEST(Device, there_is_one_that_runs_this_library)
{
  std::string why;
  EXPECT_TRUE(has_cuda_device(&why)) << why;
}

TEST(Device, solves_rows_of_every_length)
{
  struct Shape {
    I n, entries, band, last;
  };
  for (Shape s : {Shape{1, 1, 1, 0}, Shape{33, 2, 5, 0}, Shape{5000, 3, 900, 0}, Shape{5000, 8, 400, 0},
                  Shape{4000, 15, 300, 0}, Shape{3000, 60, 700, 0}, Shape{20000, 3, 5000, 3000},
                  Shape{20000, 1, 2, 0}, Shape{30000, 12, 3000, 0}}) {
    if (short_run()) s.n = std::min(s.n, 400), s.last = std::min(s.last, 200);
    SCOPED_TRACE(testing::Message() << s.n << " rows, " << s.entries << " entries, last " << s.last);
    const auto A = random_band(s.n, s.entries, s.band, s.last, 3);
    const auto b = random_vector<double>(s.n, 5);
    const auto truth = solution(A, b);
    for (const std::string& strategy : device_strategies()) {
      SCOPED_TRACE(strategy);
      const auto p = analysed(A, strategy);
      const DeviceVector from(b), to(s.n);
      for (int round = 0; p && round < (short_run() ? 2 : 3); ++round) {
        solve(*p, from, to, s.n);
        expect_near(to.get(), truth);
      }
    }
  }
}

/// With 8 and 16 lanes per inode, and more entries than an inode's lanes hold at once.
TEST(Device, solves_nodes_of_every_size)
{
  for (const auto& [unknowns, reach, size] : {std::tuple<I, I, int>{2, 2, 2}, {2, 50, 2}, {3, 1, 3}, {3, 9, 3},
                                              {3, 70, 3}, {4, 3, 2}, {5, 5, 3}, {6, 4, 3}, {9, 20, 3}}) {
    const auto A = line_of_points(short_run() ? 160 : 400, unknowns, reach);
    SCOPED_TRACE(testing::Message() << unknowns << " unknowns, reach " << reach);
    const auto b = random_vector<double>(A.n, 5);
    const auto truth = solution(A, b);
    const auto p = analysed(A);
    EXPECT_NE(p->summarize().plan.find("nodes of " + std::to_string(size)), std::string::npos) << p->summarize().plan;
    const DeviceVector from(b), to(A.n);
    for (int round = 0; round < 3; ++round) {
      solve(*p, from, to, A.n);
      expect_near(to.get(), truth);
    }
    solve(*p, from, from, A.n);
    expect_near(from.get(), truth);
  }
}

/// Each kernel of the block algorithms, and its description in the view.
TEST(Device, block_algorithms_use_the_kernels_of_their_table)
{
  const auto expect_plan = [](const OwnedCsr<double, I>& A, const BlockOptions& blocks, const std::string& part) {
    SCOPED_TRACE(part);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"recursive_block", 1, false, blocks}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_NE(p->summarize().plan.find(part), std::string::npos) << p->summarize().plan;
    const auto b = random_vector<double>(A.n, 5);
    const DeviceVector from(b), to(A.n);
    for (int round = 0; round < 2; ++round) solve(*p, from, to, A.n);
    expect_near(to.get(), solution(A, b));
  };
  expect_plan(random_band(5000, 3, 900, 0, 3), {"paper", 5000}, "1 csc_sync_free");
  expect_plan(random_band(5000, 3, 900, 0, 3), {"h200", 5000}, "1 level_order");
  expect_plan(random_band(5000, 3, 4999, 0, 3), {"paper", 600}, "level_set");
  expect_plan(random_band(5000, 3, 4999, 0, 3), {"paper", 600}, "scalar_csr");
  expect_plan(random_band(5000, 60, 4999, 0, 3), {"paper", 600}, "vector_csr");
  expect_plan(random_band(5000, 1, 3, 0, 3), {"paper", 600}, "scalar_dcsr");
  expect_plan(long_chain(30000), {"paper", 30000}, "1 cusparse");
}

TEST(Device, runs_are_bitwise_equal)
{
  const auto A = random_band(30000, 4, 3000, 0, 3);
  for (const std::string& strategy : device_strategies(true)) {
    const auto p = analysed(A, strategy);
    const DeviceVector b(random_vector<double>(A.n, 5)), x(A.n);
    solve(*p, b, x, A.n);
    const auto first = x.get();
    for (int round = 0; round < 100; ++round) {
      solve(*p, b, x, A.n);
      ASSERT_EQ(x.get(), first) << strategy << round;
    }
  }
}

TEST(Device, a_clean_solve_after_one_of_nan_is_right)
{
  const auto A = random_band(short_run() ? 1000 : 5000, 3, short_run() ? 200 : 900, 0, 3);
  const auto b = random_vector<double>(A.n, 5);
  for (const std::string& strategy : device_strategies()) {
    const auto p = analysed(A, strategy);
    for (std::uint64_t bits : {0xffffffffffffffffull, 0x7ff8000000000000ull, 0x7ff0000000000000ull}) {
      if (short_run() && bits != 0xffffffffffffffffull) continue;
      auto bad = b;
      std::memcpy(&bad[A.n / 2], &bits, sizeof bits);
      const DeviceVector from(bad), to(A.n);
      solve(*p, from, to, A.n);
      const auto x = to.get();
      EXPECT_FALSE(std::isfinite(x[A.n / 2]));
      const DeviceVector clean(b);
      solve(*p, clean, to, A.n);
      expect_near(to.get(), solution(A, b));
    }
  }
}

/// Computes max_i |b - L x|_i / (|L| |x| + |b|)_i for L lower bidiagonal with diagonal 1 and `multiplier` below it.
double backward_error_of_chain(double multiplier, const std::vector<double>& b, const std::vector<double>& x)
{
  long double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const long double before = i ? static_cast<long double>(multiplier) * x[i - 1] : 0;
    const long double size = std::abs(before) + std::abs(static_cast<long double>(x[i])) + std::abs(b[i]);
    const long double part = std::abs(b[i] - before - x[i]) / (size > 0 ? size : 1);
    worst = larger(worst, part);
  }
  return static_cast<double>(worst);
}

/// Inside a group errors grow with powers of the multiplier, which right-hand sides of moderate solutions reveal.
TEST(Device, merged_levels_stay_accurate_where_numbers_grow)
{
  for (const double multiplier : {0.5, 1.5, 2.0, -2.0}) {
    SCOPED_TRACE(multiplier);
    const I n = 700;
    OwnedCsr<double, I> A;
    A.n = n;
    for (I i = 0; i < n; ++i) {
      for (I j = std::max(i - 1, 0); j <= i; ++j) A.column.push_back(j), A.value.push_back(i == j ? 1 : multiplier);
      A.row_begin.push_back(static_cast<I>(A.column.size()));
    }
    const auto p = analysed(A, "merged");
    const auto truth = random_vector<double>(n, 9);
    std::vector<double> b(truth);
    for (I i = 1; i < n; ++i) b[i] += multiplier * truth[i - 1];
    const DeviceVector from(b), to(n);
    solve(*p, from, to, n);
    EXPECT_LE(backward_error_of_chain(multiplier, b, to.get()), 1e-10) << p->summarize().plan;
    EXPECT_NE(p->summarize().plan.find("growth"), std::string::npos);
  }
}

/// Groups that read more columns than a row has slots for, and rows too long for a search in shared memory.
TEST(Device, merged_groups_may_know_many_columns)
{
  if (short_run()) return;  // under a sanitizer
  for (const I entries : {3, 90}) {
    const auto A = random_band(60000, entries, 9000, 0, 3);
    const auto b = random_vector<double>(A.n, 5);
    const auto p = analysed(A, "merged");
    const DeviceVector from(b), to(A.n);
    solve(*p, from, to, A.n);
    expect_near(to.get(), solution(A, b));
  }
}

/// Plans are made with the first factorization, also if that fails at first. Small triangles are examined completely,
/// others by a sample of their levels first.
TEST(Device, merged_plans_come_with_the_numbers)
{
  if (short_run()) return;  // under a sanitizer
  for (const I n : {3000, 70000}) {
    SCOPED_TRACE(n);
    const auto A = random_band(n, 3, n / 50, 0, 3);
    const auto b = random_vector<double>(A.n, 5);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"merged", 2}).message(), "success");
    EXPECT_NE(p->summarize().plan.find("groups come with the numbers"), std::string::npos) << p->summarize().plan;
    auto bad = A;
    std::fill(bad.value.begin() + bad.row_begin[n / 2], bad.value.begin() + bad.row_begin[n / 2 + 1], 0.0);
    EXPECT_EQ(p->refresh(bad.view(), PivotRule()).code, Code::zero_pivot);
    for (int round = 0; round < 2; ++round) {
      p->use(Memory::host, nullptr);
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      EXPECT_NE(p->summarize().plan.find(" groups of "), std::string::npos) << p->summarize().plan;
      const DeviceVector from(b), to(A.n);
      solve(*p, from, to, A.n);
      expect_near(to.get(), solution(A, b));
    }
  }
}

/// The peak of the first refresh is reported, that of later ones is not.
TEST(Device, set_ups_tell_how_much_memory_they_had_at_once)
{
  const auto A = random_band(20000, 3, 200, 0, 3), other = random_band(50000, 3, 200, 0, 3);
  for (const char* strategy : {"level_order", "merged", "tiled"}) {
    SCOPED_TRACE(strategy);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {strategy, 2}).message(), "success");
    EXPECT_EQ(p->summarize().peak_bytes, 0u);
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const auto first = p->summarize();
    EXPECT_GE(first.peak_bytes, first.factor_bytes + first.plan_bytes);
    EXPECT_LE(2 * first.peak_bytes, 5 * (first.factor_bytes + first.plan_bytes));
    const auto q = analysed(other, strategy);
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_EQ(p->summarize().peak_bytes, first.peak_bytes);
  }
}

TEST(Device, trials_choose_among_strategies_that_solve_rightly)
{
  for (const auto& A :
       {make_poisson<double, I>(30, 21, 13), random_band(20000, 3, 60, 0, 3), random_band(1, 1, 1, 0, 3)}) {
    const auto b = random_vector<double>(A.n, 5);
    SolverOptions options{"auto", 2};
    options.trials = true;
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const std::string reason = p->summarize().reason;
    EXPECT_NE(reason.find("trials: level_order "), std::string::npos) << reason;
    EXPECT_NE(reason.find(p->summarize().strategy + " "), std::string::npos) << reason;
    const DeviceVector from(b), to(A.n);
    solve(*p, from, to, A.n);
    expect_near(to.get(), solution(A, b));
  }
}

TEST(Device, every_strategy_takes_new_numbers_of_a_matrix_without_neighbours)
{
  for (const I n : {1, 300})
    for (const std::string& strategy : device_strategies()) {
      SCOPED_TRACE(testing::Message() << n << " rows, " << strategy);
      auto A = random_band(n, 0, 1, 0, 3);
      const auto p = analysed(A, strategy);
      for (double& v : A.value) v *= 2;
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      const auto b = random_vector<double>(A.n, 5);
      const DeviceVector from(b), to(A.n);
      solve(*p, from, to, A.n);
      expect_near(to.get(), solution(A, b));
    }
}

/// As on a process that has no rows.
TEST(Device, every_strategy_takes_a_matrix_without_rows)
{
  OwnedCsr<double, I> A;
  A.row_begin.assign(1, 0);
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    const auto p = make_cuda_preconditioner<double, I>();
    const Status status = p->analyse(A.pattern(), {}, {strategy, 2});
    if (status.code == Code::no_plan) continue;
    ASSERT_EQ(status.message(), "success");
    for (int round = 0; round < 3; ++round) ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const DeviceVector b(1), x(1);
    p->use(Memory::device, nullptr);
    EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, 0, 0}).message(), "success");
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
}

/// Replays of captures of 1, 3 and 10 solves, mixed with direct ones, before and after a refresh.
TEST(Device, captured_solves_can_be_replayed)
{
  const auto A = random_band(5000, 3, 900, 0, 3), B = random_band(5000, 3, 900, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), to(A.n);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    const auto p = analysed(A, strategy);
    std::vector<cudaGraphExec_t> graphs;
    for (int count : {1, 3, 10}) {
      cudaGraph_t graph;
      cudaGraphExec_t executable;
      CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (int k = 0; k < count; ++k) solve(*p, from, to, A.n, stream);
      CUDA(cudaStreamEndCapture(stream, &graph));
      CUDA(cudaGraphInstantiate(&executable, graph, 0));
      CUDA(cudaGraphDestroy(graph));
      graphs.push_back(executable);
    }
    for (const auto* matrix : {&A, &B}) {
      p->use(Memory::host, stream);
      ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
      const auto truth = solution(*matrix, b);
      for (int k : {0, 1, 2, 1, 1, 0, 0, 2}) {
        CUDA(cudaMemsetAsync(to.data(), 0xfe, A.n * sizeof(double), stream));
        CUDA(cudaGraphLaunch(graphs[k], stream));
        expect_near(to.get(), truth);
        solve(*p, from, to, A.n, stream);
        expect_near(to.get(), truth);
      }
    }
    for (cudaGraphExec_t graph : graphs) CUDA(cudaGraphExecDestroy(graph));
  }
  CUDA(cudaStreamDestroy(stream));
}

/// Narrow levels require a multiprocessor per thread block, wide ones do not: their shared memory differs.
TEST(Device, instances_of_other_shapes_do_not_disturb_each_other)
{
  const auto narrow = random_band(20000, 2, 30, 0, 3), wide = random_band(600000, 1, 599999, 0, 4);
  const auto p = analysed(narrow), q = analysed(wide);
  EXPECT_NE(p->summarize().plan.find("threads a multiprocessor"), std::string::npos) << p->summarize().plan;
  EXPECT_EQ(q->summarize().plan.find("threads a multiprocessor"), std::string::npos) << q->summarize().plan;
  const auto b = random_vector<double>(narrow.n, 5), c = random_vector<double>(wide.n, 6);
  const DeviceVector b_device(b), c_device(c), x(narrow.n), y(wide.n);
  for (int round = 0; round < 2; ++round) {
    solve(*p, b_device, x, narrow.n);
    solve(*q, c_device, y, wide.n);
    p->use(Memory::host, nullptr);
    ASSERT_EQ(p->refresh(narrow.view(), PivotRule()).message(), "success");
  }
  expect_near(x.get(), solution(narrow, b));
  expect_near(y.get(), solution(wide, c));
}

/// Polling must not slow the current level: one poll covers all entries of a row, and few levels are resident, in one
/// thread block per multiprocessor, in four, or in as many as fit if a level needs more.
TEST(Device, long_rows_of_wide_levels_are_looked_at_once)
{
  const int multiprocessors = cuda::device_attribute(cudaDevAttrMultiProcessorCount);
  for (const auto& [entries, lanes] : {std::pair<I, I>{20, 8}, {40, 16}})
    for (const I length : {300, 1500, 4100, 30000}) {
      if (short_run() && length > 4100) continue;
      SCOPED_TRACE(testing::Message() << entries << " entries, levels of " << length);
      const auto A = waves_of_rows(12, length, entries);
      const auto b = random_vector<double>(A.n, 5);
      const auto p = analysed(A);
      const std::string plan = p->summarize().plan;
      EXPECT_EQ(plan.rfind(std::to_string(lanes) + " lanes a row", 0), 0u) << plan;
      const I threads = length * lanes / multiprocessors;  // threads per multiprocessor of a level
      EXPECT_EQ(plan.find("one block") != std::string::npos, threads < 64) << plan;
      EXPECT_EQ(plan.find("4 blocks") != std::string::npos, 64 <= threads && threads <= 4 * 256) << plan;
      const DeviceVector from(b), to(A.n);
      for (int round = 0; round < 3; ++round) {
        solve(*p, from, to, A.n);
        expect_near(to.get(), solution(A, b));
      }
    }
}

TEST(Device, two_instances_run_on_two_streams_at_once)
{
  const auto A = random_band(60000, 3, 9000, 0, 3), B = random_band(50000, 6, 500, 0, 4);
  const auto p = analysed(A), q = analysed(B);
  const auto b = random_vector<double>(A.n, 5), c = random_vector<double>(B.n, 6);
  const DeviceVector b_device(b), c_device(c), x(A.n), y(B.n);
  cudaStream_t one, two;
  CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  for (int round = 0; round < 50; ++round) {
    solve(*p, b_device, x, A.n, one);
    solve(*q, c_device, y, B.n, two);
  }
  expect_near(x.get(), solution(A, b));
  expect_near(y.get(), solution(B, c));
  /* one instance on alternating streams: calls wait for each other */
  for (int round = 0; round < 51; ++round) solve(*p, b_device, x, A.n, round % 2 ? one : two);
  expect_near(x.get(), solution(A, b));
  CUDA(cudaStreamDestroy(one));
  CUDA(cudaStreamDestroy(two));
}

/// Work that uses a factor starts before the factor is known to be valid: solves must use the last valid one.
TEST(Device, solves_with_the_last_factor_that_was_one)
{
  const auto good = short_run() ? make_poisson<double, I>(9, 8, 7) : make_poisson<double, I>(12, 11, 10);
  const auto b = random_vector<double>(good.n, 5);
  auto broken = good, flat = good;
  broken.value[broken.value.size() / 2] = std::nan("");
  flat.value[0] = 0;
  PivotRule rule;
  rule.shift = Shift::nonzero;
  const auto host = make_host_preconditioner<double, I>();
  ASSERT_TRUE(host->analyse(flat.pattern(), {}, {}).ok());
  ASSERT_TRUE(host->refresh(flat.view(), rule).ok());
  ASSERT_GT(host->summarize().pivots.shifts, 0);
  std::vector<double> shifted(good.n);
  ASSERT_TRUE(host->solve(Operation::none, b.data(), shifted.data(), {}).ok());
  for (const char* strategy : {"level_order", "merged", "tiled", "cusparse"}) {
    SCOPED_TRACE(strategy);
    const auto p = analysed(good, strategy);
    const DeviceVector from(b), to(good.n);
    solve(*p, from, to, good.n);
    const auto first = to.get();
    p->use(Memory::host, nullptr);
    EXPECT_FALSE(p->refresh(broken.view(), {}).ok());
    ASSERT_TRUE(p->refresh(flat.view(), rule).ok());
    solve(*p, from, to, good.n);
    expect_near(to.get(), shifted);
    p->use(Memory::host, nullptr);
    ASSERT_TRUE(p->refresh(good.view(), {}).ok());
    solve(*p, from, to, good.n);
    expect_near(to.get(), first);
  }
}

}  // namespace
}  // namespace syncfree
