/// Sweeps of the device compared with a loop over the rows.

#include "syncfree/relaxation.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "../../sweeps.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree {
namespace {

template <class C> class DeviceRelaxations : public testing::Test {};
TYPED_TEST_SUITE(DeviceRelaxations, AllTypes);

TYPED_TEST(DeviceRelaxations, are_those_of_a_loop_over_rows)
{
  using Scalar = typename TypeParam::Scalar;
  using Index = typename TypeParam::Index;
  const auto compare = [](const OwnedCsr<Scalar, Index>& A, double omega, double shift, const SolverOptions& options) {
    expect_sweeps<Scalar, Index>(make_cuda_relaxation<Scalar, Index>().get(), A, {}, omega, shift, options);
  };
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || !entry.bounded || (short_run() && entry.name == std::string("n_100000"))) continue;
    SCOPED_TRACE(entry.name);
    const auto A = make_battery_matrix<Scalar, Index>(entry.name);
    compare(A, 1, 0, {"tiled", 1});
    compare(A, 1, 0, {"wavefront", 1});
    compare(A, 0.7, 0.37, {"level_order", 1});
    compare(A, 1.1, 0, {"csc_sync_free", 1});
  }
}

TEST(DeviceRelaxation, serves_every_strategy)
{
  const auto grid = make_poisson<double, I>(30, 21, 13), band = random_band(3000, 5, 400, 900, 3);
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    const SolverOptions options{strategy, 1, false, {"paper", 500}};
    expect_sweeps<double, I>(make_cuda_relaxation<double, I>().get(), grid, {}, 1, 0, options);
    expect_sweeps<double, I>(make_cuda_relaxation<double, I>().get(), band, {}, 1.3, 0.5, options);
  }
}

/// Arrays of the device, a stream, and captured sweeps that are replayed after new values.
TEST(DeviceRelaxation, works_where_the_arrays_are)
{
  const auto A = make_poisson<double, I>(20, 20, 20, 1), B = make_poisson<double, I>(20, 20, 20, 2);
  const auto b = random_vector<double>(A.n, 5);
  const auto relaxation = make_cuda_relaxation<double, I>();
  const DeviceVector from(b), to(A.n);
  DeviceVector values(A.value.size());
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  relaxation->use(Memory::device, stream);
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {}, {"auto", 2}).ok());
  const auto sweep = [&] { return relaxation->relax(Sweep::symmetric, true, 2, from.data(), to.data()).message(); };
  for (const auto* matrix : {&A, &B}) {
    values.set(matrix->value);
    ASSERT_TRUE(relaxation->refresh({A.pattern(), values.data()}, 1, 0, 0).ok());
    if (matrix == &A) {
      CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      ASSERT_EQ(sweep(), "success");
      CUDA(cudaStreamEndCapture(stream, &graph));
      CUDA(cudaGraphInstantiate(&replay, graph, 0));
      CUDA(cudaGraphDestroy(graph));
    }
    std::vector<double> expected(A.n);
    Textbook<double, I>(*matrix, {}, 1, 0).relax(Sweep::symmetric, true, 2, b, &expected);
    for (const bool replayed : {true, false, true}) {
      CUDA(cudaMemsetAsync(to.data(), 0xfe, A.n * sizeof(double), stream));
      if (replayed) CUDA(cudaGraphLaunch(replay, stream));
      else ASSERT_EQ(sweep(), "success");
      expect_close(to.get(), expected);
    }
  }
  CUDA(cudaGraphExecDestroy(replay));
  CUDA(cudaStreamDestroy(stream));
}

/// Patterns in host memory and in device memory.
TEST(DeviceRelaxation, knows_its_pattern_entry_by_entry)
{
  const auto A = make_poisson<double, I>(9, 8, 7);
  const auto relaxation = make_cuda_relaxation<double, I>();
  const auto has = [&](const OwnedCsr<double, I>& of) {
    const cuda::DeviceArray<I> begin(of.row_begin), column(of.column);
    bool same = true, same_there = true;
    EXPECT_EQ(relaxation->has_pattern(of.pattern(), {}, &same).message(), "success");
    EXPECT_EQ(
        relaxation->has_pattern_on_device(of.pattern(), {of.n, begin.data(), column.data()}, &same_there).message(),
        "success");
    EXPECT_EQ(same, same_there);
    return same;
  };
  EXPECT_FALSE(has(A)) << "nothing was analysed";
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {}, {}).ok());
  EXPECT_TRUE(has(A));
  EXPECT_FALSE(has(make_poisson<double, I>(8, 9, 7))) << "as many rows and entries";
  for (const I row : {I(0), I(250), I(A.n - 2)}) {
    auto other = A;
    ++other.row_begin[row + 1];
    EXPECT_FALSE(has(other)) << "a row ends elsewhere";
    other = A;
    const I last = A.row_begin[row + 1] - 1;
    other.column[last] = A.column[last] == A.n - 1 ? row : A.n - 1;
    EXPECT_FALSE(has(other)) << "another column";
  }
}

TEST(DeviceRelaxation, tells_of_zeros_and_of_wrong_calls)
{
  auto A = make_poisson<double, I>(9, 8, 7);
  const auto b = random_vector<double>(A.n, 5);
  std::vector<double> x(A.n);
  const auto relaxation = make_cuda_relaxation<double, I>();
  EXPECT_EQ(relaxation->refresh(A.view(), 1, 0, 0).code, Code::invalid_argument) << "nothing was analysed";
  EXPECT_EQ(relaxation->analyse(A.pattern(), {0, A.n}, {}).code, Code::invalid_argument) << "nodes";
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {}, {}).ok());
  EXPECT_EQ(relaxation->relax(Sweep::forward, true, 1, b.data(), x.data()).code, Code::invalid_argument);
  for (I k = A.row_begin[7]; k < A.row_begin[8]; ++k)
    if (A.column[k] == 7) A.value[k] = 0;
  const Status zero = relaxation->refresh(A.view(), 1, 0, 0);
  EXPECT_EQ(zero.code, Code::zero_pivot);
  EXPECT_EQ(zero.row, 7);
  EXPECT_TRUE(relaxation->relax(Sweep::symmetric, true, 1, b.data(), x.data()).ok());
  EXPECT_FALSE(std::isfinite(x[7]));
  EXPECT_TRUE(relaxation->refresh(A.view(), 1, 0.5, 0).ok()) << "the shift repairs it";
  std::vector<double> expected(A.n);
  ASSERT_TRUE(relaxation->relax(Sweep::symmetric, true, 1, b.data(), x.data()).ok());
  Textbook<double, I>(A, {}, 1, 0.5).relax(Sweep::symmetric, true, 1, b, &expected);
  expect_close(x, expected);
  const I begin[] = {0, 1, 2}, column[] = {0, 0};
  const Status missing = relaxation->analyse({2, begin, column}, {}, {});
  EXPECT_EQ(missing.code, Code::missing_diagonal);
  EXPECT_EQ(missing.row, 1);
  EXPECT_TRUE(relaxation->summarize().strategy.empty());
}

TYPED_TEST(DeviceRelaxations, tell_of_a_number_that_is_not_finite)
{
  using T = typename TypeParam::Scalar;
  using Index = typename TypeParam::Index;
  const auto whole = make_poisson<T, Index>(9, 8, 7);
  const real_t<T> infinity = std::numeric_limits<real_t<T>>::infinity();
  const auto relaxation = make_cuda_relaxation<T, Index>();
  ASSERT_TRUE(relaxation->analyse(whole.pattern(), {}, {}).ok());
  for (const T bad : {T(std::numeric_limits<real_t<T>>::quiet_NaN()), T(infinity), T(-infinity)})
    for (Index k = 0; k < whole.pattern().nnz(); k += 7) {
      OwnedCsr<T, Index> A = whole;
      A.value[k] = A.value.back() = bad;  // only the first row is reported
      Index row = 0;
      while (A.row_begin[row + 1] <= k) ++row;
      const Status status = relaxation->refresh(A.view(), 1, 0, 0);
      ASSERT_EQ(status.code, Code::not_finite) << k;
      ASSERT_EQ(status.row, row) << k;
      T nothing(0);
      ASSERT_EQ(relaxation->relax(Sweep::forward, true, 1, &nothing, &nothing).code, Code::invalid_argument);
    }
  EXPECT_TRUE(relaxation->refresh(whole.view(), 1, 0, 0).ok()) << "it does not last";
}

}  // namespace
}  // namespace syncfree
