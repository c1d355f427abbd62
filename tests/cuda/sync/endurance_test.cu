/// A hundred thousand solves (or SYNCFREE_ROUNDS) by all strategies or the one in SYNCFREE_STRATEGY, and solves
/// concurrent with work that occupies the device. Where the library is compiled with SYNCFREE_RANDOM_SLEEPS threads
/// sleep at random in them (tests/schedules).

#include <cstdlib>

#include "../../battery.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

/// *different += the number of indices at which x and y differ in any bit.
__global__ void count_differences(std::size_t n, const long long* x, const long long* y,
                                  unsigned long long* different)
{
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n && x[i] != y[i]) atomicAdd(different, 1ull);
}

std::vector<std::string> asked_strategies()
{
  const char* one = std::getenv("SYNCFREE_STRATEGY");
  return one ? std::vector<std::string>{one} : device_strategies(true);
}

/// Counts the values of `rounds` solves, of several columns each, that differ from the first solve.
unsigned long long differences(Cuda& p, I n, long rounds, I columns = 1)
{
  const std::size_t numbers = static_cast<std::size_t>(n) * columns;
  const unsigned blocks = static_cast<unsigned>((numbers + 255) / 256);
  DeviceVectorOf<unsigned long long> different(std::vector<unsigned long long>{0});
  const DeviceVector b(random_vector<double>(numbers, 5)), first(numbers), x(numbers);
  const auto bits = [](const DeviceVector& v) { return reinterpret_cast<const long long*>(v.data()); };
  const auto solve_into = [&](const DeviceVector& to) {
    EXPECT_EQ(p.solve(Operation::none, b.data(), to.data(), {columns, n, n}).message(), "success");
  };
  p.use(Memory::device, nullptr);
  solve_into(first);
  for (long round = 0; round < rounds; ++round) {
    solve_into(x);
    count_differences<<<blocks, 256>>>(numbers, bits(x), bits(first), different.data());
  }
  return different.get().front();
}
unsigned long long differences(const OwnedCsr<double, I>& A, const std::string& strategy, long rounds)
{
  return differences(*analysed(A, strategy), A.n, rounds);
}

long asked_rounds()
{
  const char* asked = std::getenv("SYNCFREE_ROUNDS");
  const long rounds = asked ? std::atol(asked) : 100000;
  EXPECT_GT(rounds, 0);
  return rounds;
}

/// Expects equal solves; a tenth of the rounds use several columns.
///   plan  words of the view that identify the form under test
void expect_equal_solves(const OwnedCsr<double, I>& A, const char* strategy, const char* plan, long rounds)
{
  const auto p = make_cuda_preconditioner<double, I>();
  ASSERT_EQ(p->analyse(A.pattern(), {}, {strategy, 2}).message(), "success");
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_NE(p->summarize().plan.find(plan), std::string::npos) << p->summarize().plan;
  EXPECT_EQ(differences(*p, A.n, rounds), 0u) << p->summarize().plan;
  EXPECT_EQ(differences(*p, A.n, rounds / 10, 5), 0u) << p->summarize().plan << ", several columns";
}

/// Grids in space and in the plane, with several thread blocks, whole stacks and rings.
TEST(Endurance, many_solves_by_wavefront_are_bitwise_equal)
{
  for (const auto& A : {make_poisson<double, I>(33, 32, 31), make_poisson<double, I>(61, 97, 1),
                        make_poisson<double, I>(250, 17, 36)})
    expect_equal_solves(A, "wavefront", " pencils", asked_rounds());
}

TEST(Endurance, many_solves_by_planes_over_each_other_are_bitwise_equal)
{
  expect_equal_solves(box_of_points(110, 110, 10, 1), "tiled", "in one place", asked_rounds() / 10);
}

TEST(Endurance, many_solves_are_bitwise_equal)
{
  const long rounds = asked_rounds();
  for (const std::string& strategy : asked_strategies()) {
    SCOPED_TRACE(strategy);
    EXPECT_EQ(differences(random_band(1000, 3, 900, 0, 3), strategy, rounds), 0u);
    if (strategy == "level_order") EXPECT_EQ(differences(line_of_points(300, 3, 3), strategy, rounds), 0u) << "nodes";
    if (strategy == "tiled") {
      EXPECT_EQ(differences(box_of_points(12, 12, 20, 1), strategy, rounds), 0u) << "chain";
      EXPECT_EQ(differences(box_of_points(6, 7, 16, 3), strategy, rounds), 0u) << "chain of nodes";
    }
  }
}

/// *different += the number of indices at which x differs from y by more than tolerance * (1 + |y|), or is a NaN.
__global__ void count_far(std::size_t n, double tolerance, const double* x, const double* y,
                          unsigned long long* different)
{
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n && !(fabs(x[i] - y[i]) <= tolerance * (1 + fabs(y[i])))) atomicAdd(different, 1ull);
}

/// The strategies whose sums have another order in each solve.
TEST(Endurance, many_solves_of_the_others_agree_to_rounding)
{
  const long rounds = asked_rounds() / 10;
  const auto A = random_band(1000, 3, 900, 0, 3);
  const unsigned blocks = static_cast<unsigned>((A.n + 255) / 256);
  const auto exact = device_strategies(true);
  const DeviceVector b(random_vector<double>(A.n, 5)), first(A.n), x(A.n);
  for (const std::string& strategy : device_strategies()) {
    if (std::find(exact.begin(), exact.end(), strategy) != exact.end()) continue;
    SCOPED_TRACE(strategy);
    const auto p = analysed(A, strategy);
    DeviceVectorOf<unsigned long long> different(std::vector<unsigned long long>{0});
    solve(*p, b, first, A.n);
    for (long round = 0; round < rounds; ++round) {
      solve(*p, b, x, A.n);
      count_far<<<blocks, 256>>>(A.n, 1e-12, x.data(), first.data(), different.data());
    }
    EXPECT_EQ(different.get().front(), 0u);
  }
}

/// Occupies its multiprocessor for `ticks` clock ticks.
__global__ void hold(long long ticks)
{
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
}

TEST(Endurance, solves_finish_while_other_work_holds_the_device)
{
  const auto A = random_band(100000, 3, 30000, 0, 3);
  const auto b = random_vector<double>(A.n, 5);
  cudaStream_t ours, others;
  CUDA(cudaStreamCreateWithFlags(&ours, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&others, cudaStreamNonBlocking));
  for (const std::string& strategy : device_strategies()) {
    const auto p = analysed(A, strategy);
    if (!p) continue;
    const DeviceVector from(b), alone(A.n), meanwhile(A.n);
    solve(*p, from, alone, A.n, ours);
    const auto truth = alone.get();
    for (const unsigned blocks : {100u, 2000u}) {
      hold<<<blocks, 1024, 0, others>>>(2000000);
      solve(*p, from, meanwhile, A.n, ours);
      hold<<<blocks, 1024, 0, others>>>(2000000);
      const auto found = meanwhile.get();
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], truth[i], 1e-12 * (1 + std::abs(truth[i]))) << strategy << ", row " << i;
    }
  }
  CUDA(cudaStreamDestroy(ours));
  CUDA(cudaStreamDestroy(others));
}

}  // namespace
}  // namespace syncfree
