/// Strategy `cusparse` with each SpSV algorithm of the loaded library, with the faster one, and with the remaining one
/// if the other is refused.

#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "../../battery.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "cuda/solve/baselines/cusparse_spsv.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

/// Solvers made during its lifetime try these algorithms.
class Wanted {
public:
  explicit Wanted(std::vector<int> algorithms) { cuda::wanted_spsv_algorithms() = std::move(algorithms); }
  ~Wanted() { cuda::wanted_spsv_algorithms().clear(); }
};

std::vector<int> of_library() { return cuda::spsv_algorithms(cuda::CusparseVersion::of_library().encoded()); }

/// Lists each algorithm alone, then all of them.
std::vector<std::vector<int>> choices()
{
  std::vector<std::vector<int>> all;
  for (const int algorithm : of_library()) all.push_back({algorithm});
  if (all.size() > 1) all.push_back(of_library());
  return all;
}

TEST(CusparseAlgorithms, of_new_libraries_are_two)
{
  EXPECT_EQ(cuda::spsv_algorithms(12603), std::vector<int>({0}));
  EXPECT_EQ(cuda::spsv_algorithms(12903), std::vector<int>({0}));
  EXPECT_EQ(cuda::spsv_algorithms(12904), std::vector<int>({0, 2}));
  EXPECT_EQ(cuda::spsv_algorithms(13000), std::vector<int>({0, 2}));
}

/// Uses no device.
TEST(CusparseAlgorithms, are_those_of_the_library_that_is_loaded)
{
  const auto version = cuda::CusparseVersion::of_library();
  EXPECT_GE(version.encoded(), 12000);
  EXPECT_EQ(version.text(), std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                                std::to_string(version.patch));
  EXPECT_EQ((cuda::CusparseVersion{12, 9, 4}.encoded()), 12904);
}

TEST(CusparseAlgorithms, are_refused_by_what_is_no_failure)
{
  for (const cusparseStatus_t status : {CUSPARSE_STATUS_NOT_SUPPORTED, CUSPARSE_STATUS_INVALID_VALUE,
                                        CUSPARSE_STATUS_INSUFFICIENT_RESOURCES})
    EXPECT_TRUE(cuda::is_refusal(status)) << status;
  for (const cusparseStatus_t status : {CUSPARSE_STATUS_SUCCESS, CUSPARSE_STATUS_EXECUTION_FAILED,
                                        CUSPARSE_STATUS_INTERNAL_ERROR, CUSPARSE_STATUS_NOT_INITIALIZED})
    EXPECT_FALSE(cuda::is_refusal(status)) << status;
}

template <class T, class Index> double distance(const std::vector<T>& x, const std::vector<T>& truth, Index n)
{
  double error = 0, size = 0;
  for (Index i = 0; i < n; ++i) {
    const double part = static_cast<double>(std::abs(x[i] - truth[i]));
    error = std::max(error, std::isfinite(part) ? part : 1e300);
    size = std::max(size, static_cast<double>(std::abs(truth[i])));
  }
  return size > 0 ? error / size : error;
}

/// Expects the host's solutions for every operation, with one column and with three, and with one column in place.
template <class T, class Index>
void expect_solutions(CudaPreconditioner<T, Index>& p, Preconditioner<T, Index>& host, Index n, double tolerance)
{
  for (const Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate})
    for (const Index count : {Index(1), Index(3)}) {
      SCOPED_TRACE(testing::Message() << count << " columns, operation " << static_cast<int>(op));
      const auto b = random_vector<T>(static_cast<std::size_t>(n * count), 5);
      std::vector<T> x(b.size()), truth(b.size());
      ASSERT_EQ(host.solve(op, b.data(), truth.data(), {count, n, n}).message(), "success");
      p.use(Memory::host, nullptr);
      ASSERT_EQ(p.solve(op, b.data(), x.data(), {count, n, n}).message(), "success");
      EXPECT_LE(distance(x, truth, n * count), tolerance);
      if (count > 1 || n == 0) continue;
      const DeviceVectorOf<T> in_place(b);
      p.use(Memory::device, nullptr);
      ASSERT_EQ(p.solve(op, in_place.data(), in_place.data(), {1, n, n}).message(), "success");
      EXPECT_LE(distance(in_place.get(), truth, n), tolerance) << "in place";
    }
  p.use(Memory::host, nullptr);
}

template <class P> class Cusparse : public testing::Test {};
TYPED_TEST_SUITE(Cusparse, AllTypes);

/// With either storage, before and after a refresh.
TYPED_TEST(Cusparse, solves_as_the_host_does_on_the_battery_by_each_algorithm)
{
  using T = typename TypeParam::Scalar;
  using Index = typename TypeParam::Index;
  for (const std::vector<int>& algorithms : choices())
    for (const BatteryEntry& entry : battery()) {
      const std::string name = entry.name;
      if (!entry.factorable || !entry.bounded || name == "growth" || (short_run() && name == "n_100000")) continue;
      const bool single = sizeof(real_t<T>) == 8 && name == "poisson_ilu0";
      SCOPED_TRACE(testing::Message() << name << ", algorithm " << algorithms.back() << ", single storage " << single);
      const Wanted wanted(algorithms);
      const SolverOptions ours{"cusparse", 1, single}, theirs{"serial", 1, single};
      const auto p = make_cuda_preconditioner<T, Index>();
      const auto host = make_host_preconditioner<T, Index>();
      const auto first = make_battery_matrix<T, Index>(name, 0), second = make_battery_matrix<T, Index>(name, 1);
      ASSERT_EQ(p->analyse(first.pattern(), {}, ours).message(), "success");
      ASSERT_EQ(host->analyse(first.pattern(), {}, theirs).message(), "success");
      for (const auto& A : {first, second}) {
        ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
        ASSERT_EQ(host->refresh(A.view(), PivotRule()).message(), "success");
        using Real = real_t<T>;
        const double unit = single ? 1e-7 : std::numeric_limits<Real>::epsilon();
        expect_solutions(*p, *host, A.n, 2000 * unit);
      }
    }
}

TEST(CusparseChoice, is_told_with_the_time_of_its_analysis)
{
  const auto A = make_poisson<double, I>(20, 21, 22);
  const auto version = cuda::CusparseVersion::of_library().text();
  for (const std::vector<int>& algorithms : choices()) {
    const Wanted wanted(algorithms);
    const std::string plan = analysed(A, "cusparse")->summarize().plan;
    for (const std::string& part : {"cuSPARSE " + version + ", SpSV algorithm ", std::string(", analysis "),
                                    std::string(" ms, choice ")})
      EXPECT_NE(plan.find(part), std::string::npos) << part << " in " << plan;
    const bool trials = algorithms.size() > 1;
    if (!trials) {
      const std::string name = "SpSV algorithm " + std::to_string(algorithms[0]) + ",";
      EXPECT_NE(plan.find(name), std::string::npos) << plan;
    }
    for (const int algorithm : of_library()) {
      const bool told = plan.find(std::to_string(algorithm) + " takes ") != std::string::npos;
      EXPECT_EQ(told, trials) << plan;
    }
    EXPECT_EQ(plan.find("refused"), std::string::npos) << plan;
  }
}

/// No library has an algorithm 100.
TEST(CusparseChoice, falls_to_the_default_where_the_other_is_refused)
{
  const auto A = random_band(5000, 3, 900, 0, 3), B = random_band(5000, 3, 900, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  const Wanted wanted({0, 100});
  const auto p = analysed(A, "cusparse");
  const std::string plan = p->summarize().plan;
  EXPECT_NE(plan.find("SpSV algorithm 0,"), std::string::npos) << plan;
  EXPECT_NE(plan.find("100 is refused (cusparseSpSV_analysis: "), std::string::npos) << plan;
  const DeviceVector from(b), to(A.n);
  for (const auto* matrix : {&A, &B}) {
    p->use(Memory::host, nullptr);
    ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
    solve(*p, from, to, A.n);
    expect_near(to.get(), solution(*matrix, b));
  }
}

TEST(CusparseChoice, fails_in_words_where_all_are_refused)
{
  const auto A = random_band(500, 3, 90, 0, 3);
  const auto p = make_cuda_preconditioner<double, I>();
  {
    const Wanted wanted({100});
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"cusparse", 1}).message(), "success");
    const Status status = p->refresh(A.view(), PivotRule());
    EXPECT_EQ(status.code, Code::device_failure);
    EXPECT_NE(status.message().find("100 is refused"), std::string::npos) << status.message();
  }
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), to(A.n);
  solve(*p, from, to, A.n);
  expect_near(to.get(), solution(A, b));
}

/// The choice is made at the first refresh, before any capture; new values reach the captured solves.
TEST(CusparseChoice, is_over_before_solves_are_captured)
{
  const auto A = random_band(5000, 3, 900, 0, 3), B = random_band(5000, 3, 900, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), to(A.n);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (const std::vector<int>& algorithms : choices()) {
    SCOPED_TRACE(algorithms.back());
    const Wanted wanted(algorithms);
    const auto p = make_cuda_preconditioner<double, I>();
    p->use(Memory::host, stream);
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"cusparse", 1}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const std::string plan = p->summarize().plan;
    const Replay replay(stream, [&] { solve(*p, from, to, A.n, stream); });
    for (const auto* matrix : {&A, &B, &A}) {
      p->use(Memory::host, stream);
      ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
      CUDA(cudaMemsetAsync(to.data(), 0xfe, A.n * sizeof(double), stream));
      replay.run();
      expect_near(to.get(), solution(*matrix, b));
    }
    EXPECT_EQ(p->summarize().plan, plan) << "there was another choice";
  }
  CUDA(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace syncfree
