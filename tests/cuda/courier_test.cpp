/// Strategy `courier` on the device: its tiles, its chains of blocks, and nodes.

#include <cmath>

#include "../battery.hpp"
#include "../watchdog.hpp"
#include "device_support.hpp"

namespace syncfree {
namespace {

bool clusters_can_be()
{
  int major = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  return major >= 9;
}

/// Blocks that start when others have ended; the host waits for each solve, or for none.
TEST(Device, courier_runs_more_blocks_than_there_are_multiprocessors)
{
  const auto A = random_band(150000, 3, 700, 0, 3);
  const auto p = make_cuda_preconditioner<double, I>();
  const BlockOptions blocks{"h200", 300};
  ASSERT_EQ(p->analyse(A.pattern(), {}, {"courier", 1, false, blocks}).message(), "success");
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_NE(p->summarize().plan.find("500 blocks of 300 rows"), std::string::npos) << p->summarize().plan;
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), to(A.n);
  solve(*p, from, to, A.n);
  const std::vector<double> first = to.get();
  expect_near(first, solution(A, b));
  for (const bool waits : {true, false})
    for (int round = 0; round < 1000; ++round) {
      solve(*p, from, to, A.n);
      if (waits) {
        CUDA(cudaDeviceSynchronize());
      }
    }
  EXPECT_EQ(to.get(), first);
}

/// Right solutions, all alike, with what is not a number in between; then in place.
void expect_solves_with_nan_between(Cuda* p, const OwnedCsr<double, I>& A)
{
  const auto b = random_vector<double>(A.n, 5);
  auto bad = b;
  bad[A.n / 3] = std::nan("");
  const DeviceVector from(b), of_nan(bad), to(A.n);
  solve(*p, from, to, A.n);
  const auto first = to.get();
  expect_near(first, solution(A, b));
  for (int round = 0; round < (short_run() ? 2 : 20); ++round) {
    solve(*p, of_nan, to, A.n);
    const auto x = to.get();
    EXPECT_FALSE(std::isfinite(x[A.n / 3]));
    EXPECT_FALSE(std::isfinite(x[0])) << "all rows before it read it through U";
    solve(*p, from, to, A.n);
    EXPECT_EQ(to.get(), first);
  }
  solve(*p, from, from, A.n);
  EXPECT_EQ(from.get(), first) << "in place";
}

/// Tiles along all axes, some that begin when others have ended, and what is not a number in between.
TEST(Device, courier_solves_grids_by_tiles)
{
  struct Grid {
    I x, y, z;
  };
  for (Grid g : {Grid{13, 12, 11}, Grid{33, 32, 31}, Grid{9, 190, 190}, Grid{301, 200, 1}, Grid{2000, 9, 9}}) {
    if (short_run() && g.x * g.y * g.z > 2000) continue;
    SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z);
    const auto A = make_poisson<double, I>(g.x, g.y, g.z);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"courier", 2}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_NE(p->summarize().plan.find(" ghosts"), std::string::npos) << p->summarize().plan;
    EXPECT_EQ(p->summarize().plan.find(" 0 ghosts"), std::string::npos) << p->summarize().plan;
    expect_solves_with_nan_between(p.get(), A);
  }
}

/// Planes or parts of them, rows or nodes of two and three rows, and what is not a number in between. Where each block
/// reads the one before it and no other, clusters of blocks hand their numbers on.
TEST(Device, courier_solves_boxes_by_chains)
{
  struct Box {
    I x, y, z, unknowns;
    bool chain;
  };
  for (Box g : {Box{30, 30, 30, 1, true}, {110, 110, 5, 1, false}, {7, 5, 9, 2, true}, {6, 7, 8, 3, true},
                {20, 20, 18, 3, true}, {300, 60, 1, 3, true}, {75, 75, 3, 3, false}, {2, 2, 3, 3, false}}) {
    if (short_run() && g.x * g.y * g.z * g.unknowns > 1300) continue;
    SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z << " x " << g.unknowns);
    const auto A = box_of_points(g.x, g.y, g.z, g.unknowns);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"courier", 2}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const std::string plan = p->summarize().plan;
    EXPECT_NE(plan.find(" ghosts"), std::string::npos) << plan;
    const std::string nodes = "nodes of " + std::to_string(g.unknowns);
    EXPECT_EQ(plan.find(nodes) != std::string::npos, g.unknowns > 1) << plan;
    EXPECT_EQ(plan.find("in clusters") != std::string::npos, g.chain && clusters_can_be()) << plan;
    expect_solves_with_nan_between(p.get(), A);
  }
}

/// Planes, one a block: less than a cluster, clusters with and without blocks that have nothing to do, and more blocks
/// than run at once.
TEST(Device, courier_solves_chains_of_any_length)
{
  for (const I unknowns : {1, 3})
    for (const I planes : {1, 2, 7, 8, 9, 16, 17, 150}) {
      if (short_run() && planes > 9) continue;
      SCOPED_TRACE(testing::Message() << planes << " planes, unknowns " << unknowns);
      const auto A = box_of_points(6, 5, planes, unknowns);
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(A.pattern(), {}, {"courier", 2, false, {"h200", 30 * unknowns}}).message(), "success");
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      const std::string plan = p->summarize().plan;
      EXPECT_NE(plan.find(std::to_string(planes) + " blocks of 30 "), std::string::npos) << plan;
      EXPECT_EQ(plan.find("in clusters") != std::string::npos, planes > 1 && clusters_can_be()) << plan;
      expect_solves_with_nan_between(p.get(), A);
    }
}

}  // namespace
}  // namespace syncfree
