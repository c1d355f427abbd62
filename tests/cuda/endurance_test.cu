/// A hundred thousand solves, and solves beside work that holds the device.

#include "device_support.hpp"

namespace syncfree {
namespace {

/// *different += the number of places where x and y differ in a bit.
__global__ void count_differences(I n, const long long* x, const long long* y, unsigned long long* different)
{
  const I i = static_cast<I>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n && x[i] != y[i]) atomicAdd(different, 1ull);
}

TEST(Endurance, a_hundred_thousand_solves_are_bitwise_equal)
{
  const auto A = random_band(1000, 3, 900, 0, 3);
  const unsigned blocks = static_cast<unsigned>(A.n + 255) / 256;
  unsigned long long* different = nullptr;
  CUDA(cudaMalloc(&different, sizeof *different));
  for (const std::string& strategy : device_strategies(true)) {
    const auto p = analysed(A, strategy);
    const DeviceVector b(random_vector<double>(A.n, 5)), first(A.n), x(A.n);
    const auto bits = [](const DeviceVector& v) { return reinterpret_cast<const long long*>(v.data()); };
    CUDA(cudaMemset(different, 0, sizeof *different));
    solve(*p, b, first, A.n);
    for (int round = 0; round < 100000; ++round) {
      solve(*p, b, x, A.n);
      count_differences<<<blocks, 256>>>(A.n, bits(x), bits(first), different);
    }
    unsigned long long found = ~0ull;
    CUDA(cudaMemcpy(&found, different, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, 0u) << strategy;
  }
  CUDA(cudaFree(different));
}

/// Holds its multiprocessor for so many clock ticks.
__global__ void hold(long long ticks)
{
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
}

TEST(Endurance, solves_finish_beside_work_that_holds_the_device)
{
  const auto A = random_band(100000, 3, 30000, 0, 3);
  const auto b = random_vector<double>(A.n, 5);
  cudaStream_t ours, others;
  CUDA(cudaStreamCreateWithFlags(&ours, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&others, cudaStreamNonBlocking));
  for (const std::string& strategy : device_strategies()) {
    const auto p = analysed(A, strategy);
    const DeviceVector from(b), alone(A.n), beside(A.n);
    solve(*p, from, alone, A.n, ours);
    const auto truth = alone.get();
    for (const unsigned blocks : {100u, 2000u}) {
      hold<<<blocks, 1024, 0, others>>>(2000000);
      solve(*p, from, beside, A.n, ours);
      hold<<<blocks, 1024, 0, others>>>(2000000);
      const auto found = beside.get();
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], truth[i], 1e-12 * (1 + std::abs(truth[i]))) << strategy << ", row " << i;
    }
  }
  CUDA(cudaStreamDestroy(ours));
  CUDA(cudaStreamDestroy(others));
}

}  // namespace
}  // namespace syncfree
