/// A build with SYNCFREE_SPIN_LIMIT: who waits for ever names its row and traps. In a process of its own, because a
/// trap ends all work of a process on the device.

#define SYNCFREE_SPIN_LIMIT 10000

#include "syncfree/cuda/ready.cuh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace syncfree::cuda {
namespace {

__global__ void wait_in_vain(unsigned* flag) { wait_for(flag, 1, Spin(4711)); }

/// What the device prints goes to the standard output, which a death test does not read.
[[noreturn]] void wait_and_exit()
{
  dup2(STDERR_FILENO, STDOUT_FILENO);
  unsigned* flag = nullptr;
  if (cudaMalloc(&flag, sizeof *flag) != cudaSuccess || cudaMemset(flag, 0, sizeof *flag) != cudaSuccess) std::exit(2);
  wait_in_vain<<<1, 1>>>(flag);
  std::exit(cudaDeviceSynchronize() == cudaSuccess ? 0 : 3);
}

TEST(SpinLimit, names_the_row_that_waits_for_ever)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(wait_and_exit(), testing::ExitedWithCode(3), "row 4711 waits for ever");
}

}  // namespace
}  // namespace syncfree::cuda
