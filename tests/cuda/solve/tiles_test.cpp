/// Strategy `tiled` on the device: tiles of grids, pipelines of tiles, and inodes.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "../../battery.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

bool clusters_can_be()
{
  int major = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  return major >= 9;
}

/// More thread blocks than run at once; the host waits for each solve, or for none.
TEST(Device, tiled_runs_more_blocks_than_there_are_multiprocessors)
{
  const auto A = random_band(150000, 3, 700, 0, 3);
  const auto p = make_cuda_preconditioner<double, I>();
  const BlockOptions blocks{"h200", 0, 300};
  ASSERT_EQ(p->analyse(A.pattern(), {}, {"tiled", 1, false, blocks}).message(), "success");
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_NE(p->summarize().plan.find("500 tiles of 300 rows"), std::string::npos) << p->summarize().plan;
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

/// Makes a copy in which the rows with i % stride == 5 read no other, like boundary rows.
OwnedCsr<double, I> with_lone_rows(const OwnedCsr<double, I>& A, I stride)
{
  OwnedCsr<double, I> B;
  B.n = A.n;
  for (I i = 0; i < A.n; ++i) {
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (i % stride != 5 || A.column[k] == i) B.column.push_back(A.column[k]), B.value.push_back(A.value[k]);
    B.row_begin.push_back(static_cast<I>(B.column.size()));
  }
  return B;
}

/// Expects right solutions, all equal, although solves with a NaN are in between; then in place.
void expect_solves_with_nan_between(Cuda* p, const OwnedCsr<double, I>& A, double tolerance = 1e-12)
{
  const auto b = random_vector<double>(A.n, 5);
  auto bad = b;
  bad[A.n / 3] = std::nan("");
  const DeviceVector from(b), of_nan(bad), to(A.n);
  solve(*p, from, to, A.n);
  const auto first = to.get();
  expect_near(first, solution(A, b), tolerance);
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

/// Tiles along all axes, some of which start after others have ended, and solves with a NaN in between.
TEST(Device, tiled_solves_grids)
{
  struct Grid {
    I x, y, z;
  };
  for (Grid g : {Grid{13, 12, 11}, Grid{33, 32, 31}, Grid{9, 190, 190}, Grid{301, 200, 1}, Grid{2000, 9, 9}}) {
    if (short_run() && g.x * g.y * g.z > 2000) continue;
    SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z);
    const auto A = make_poisson<double, I>(g.x, g.y, g.z);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"tiled", 2, true}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_NE(p->summarize().plan.find(" ghosts"), std::string::npos) << p->summarize().plan;
    EXPECT_EQ(p->summarize().plan.find(" 0 ghosts"), std::string::npos) << p->summarize().plan;
    expect_solves_with_nan_between(p.get(), A, 1e-6);
  }
}

/// A grid in which each cell reads those at these distances in cells, lines and planes, and is read by them; random
/// entries, dominant.
struct Stencil {
  I x, y, z;
  std::vector<std::array<I, 3>> reach;
  const char* plan;
};
OwnedCsr<double, I> grid_of(const Stencil& s)
{
  OwnedCsr<double, I> A;
  A.n = s.x * s.y * s.z;
  const auto value = random_vector<double>(static_cast<std::size_t>(A.n) * (2 * s.reach.size() + 1), 3);
  for (I row = 0; row < A.n; ++row) {
    const I at[3] = {row % s.x, row / s.x % s.y, row / s.x / s.y};
    std::vector<I> columns = {row};
    for (const auto& r : s.reach)
      for (const I sign : {-1, 1}) {
        const I x = at[0] + sign * r[0], y = at[1] + sign * r[1], z = at[2] + sign * r[2];
        if (x >= 0 && x < s.x && y >= 0 && y < s.y && z >= 0 && z < s.z) columns.push_back((z * s.y + y) * s.x + x);
      }
    std::sort(columns.begin(), columns.end());
    for (const I column : columns) {
      const double v = value[A.value.size()];
      A.value.push_back(column == row ? 2.0 + static_cast<double>(columns.size()) + v : v);
      A.column.push_back(column);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Pencils that are lanes, fewer and more than a pencil group, and solves with a NaN in between.
TEST(Device, wavefront_solves_grids)
{
  const std::vector<std::array<I, 3>> cross = {{1, 0, 0}, {0, 1, 0}}, space = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const std::vector<std::array<I, 3>> west = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
  const std::vector<std::array<I, 3>> east = {{1, 0, 0}, {0, 1, 0}, {-1, 1, 0}};
  const std::vector<std::array<I, 3>> box = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {-1, 1, 0}};
  const char *pencils = " groups of 32 pencils", *boxes = " groups of 8 x 4 pencils";
  std::vector<Stencil> all;
  for (const auto& reach : {cross, west, east, box})
    for (const auto& side : {std::array<I, 2>{40, 31}, {33, 32}, {61, 97}, {301, 200}, {70, 1100}})
      all.push_back({side[0], side[1], 1, reach, pencils});
  for (const auto& side : {std::array<I, 3>{26, 8, 8}, {30, 16, 4}, {33, 32, 31}, {30, 190, 60}, {64, 17, 40},
                           {200, 15, 7}, {30, 50, 4}})
    all.push_back({side[0], side[1], side[2], space, boxes});
  for (const Stencil& s : all) {
    if (short_run() && s.x * s.y * s.z > 2000) continue;
    SCOPED_TRACE(testing::Message() << s.x << " x " << s.y << " x " << s.z << ", " << s.reach.size() << " neighbours");
    const auto A = grid_of(s);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"wavefront", 2}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_NE(p->summarize().plan.find(s.plan), std::string::npos) << p->summarize().plan;
    expect_solves_with_nan_between(p.get(), A);
  }
}

/// Pencils that are several times as long as a ring of a stack, which is filled by the pencil group before in the same
/// thread block or from the mailbox; the sides come from the same cluster or another one. In single storage more
/// pencil groups share a thread block. Whole stacks, as with several columns, give the same values.
TEST(Device, wavefront_solves_grids_with_stacks_in_rings)
{
  const std::vector<std::array<I, 3>> space = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (const auto& side : {std::array<I, 3>{290, 8, 20}, {281, 15, 61}, {290, 70, 20}, {600, 17, 26}}) {
    if (short_run() && side[1] > 8) continue;
    for (const bool single : {false, true}) {
      SCOPED_TRACE(testing::Message() << side[0] << " x " << side[1] << " x " << side[2] << ", single " << single);
      const auto A = grid_of({side[0], side[1], side[2], space, ""});
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(A.pattern(), {}, {"wavefront", 2, single}).message(), "success");
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      EXPECT_NE(p->summarize().plan.find("8 x 4 pencils, stacks in rings"), std::string::npos) << p->summarize().plan;
      expect_solves_with_nan_between(p.get(), A, single ? 1e-6 : 1e-12);

      const std::size_t n = static_cast<std::size_t>(A.n);
      const DeviceVector b(random_vector<double>(3 * n, 7)), x(3 * n), alone(3 * n);
      for (std::size_t c = 0; c < 3; ++c)
        ASSERT_TRUE(p->solve(Operation::none, b.data() + c * n, alone.data() + c * n, {1, A.n, A.n}).ok());
      ASSERT_EQ(p->solve(Operation::none, b.data(), x.data(), {3, A.n, A.n}).message(), "success");
      expect_near(x.get(), alone.get(), 1e-13);
    }
  }
}

/// More thread blocks than run at once, so that some begin when those that fill their stacks have ended.
TEST(Device, wavefront_runs_more_blocks_with_rings_than_there_are_multiprocessors)
{
  if (short_run()) GTEST_SKIP() << "three million rows";
  const auto A = grid_of({182, 182, 100, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, ""});
  const auto rhs = random_vector<double>(A.n, 5);
  std::vector<double> truth;
  for (const char* strategy : {"level_order", "wavefront"}) {
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {strategy, 2}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const DeviceVector b(rhs), x(A.n);
    solve(*p, b, x, A.n);
    const auto first = x.get();
    if (truth.empty()) {
      truth = first;
      continue;
    }
    EXPECT_NE(p->summarize().plan.find("stacks in rings"), std::string::npos) << p->summarize().plan;
    expect_near(first, truth);
    for (int round = 0; round < 20; ++round) solve(*p, b, x, A.n);
    EXPECT_EQ(x.get(), first);
    solve(*p, b, b, A.n);
    EXPECT_EQ(b.get(), first) << "in place";
  }
}

/// In single storage a solve differs from one in full precision by the rounding of the factor only, after each refresh.
TEST(Device, wavefront_rounds_to_single_storage)
{
  const std::vector<std::array<I, 3>> cross = {{1, 0, 0}, {0, 1, 0}}, space = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const std::vector<std::array<I, 3>> box = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {-1, 1, 0}};
  std::vector<Stencil> all = {{70, 61, 1, cross, ""}, {61, 50, 1, box, ""}};
  // in the short run the mailbox brings the stacks of one, and the sides of the other
  for (const auto& side : short_run() ? std::vector<std::array<I, 3>>{{14, 16, 20}, {14, 72, 4}}
                                      : std::vector<std::array<I, 3>>{{33, 32, 31}, {270, 16, 12}})
    all.push_back({side[0], side[1], side[2], space, ""});
  for (const Stencil& s : all)
    for (const Kind kind : {Kind::ilu, Kind::icc}) {
      if (short_run() && s.z > 1 && kind == Kind::icc) continue;  // the same kernels
      SCOPED_TRACE(testing::Message() << s.x << " x " << s.y << " x " << s.z << (kind == Kind::icc ? ", IC" : ", ILU"));
      auto A = grid_of(s);
      SymbolicOptions<I> symbolic;
      symbolic.kind = kind;
      const auto full = make_cuda_preconditioner<double, I>(), single = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(full->analyse(A.pattern(), symbolic, {"wavefront", 2}).message(), "success");
      ASSERT_EQ(single->analyse(A.pattern(), symbolic, {"wavefront", 2, true}).message(), "success");
      for (int round = 0; round < (short_run() ? 1 : 3); ++round) {
        for (double& v : A.value) v *= 1.25;
        const auto b = random_vector<double>(static_cast<std::size_t>(A.n), 3 + round);
        const auto solved = [&](Cuda* p) {
          p->use(Memory::host, nullptr);
          EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
          const DeviceVector from(b), to(b.size());
          solve(*p, from, to, A.n);
          return to.get();
        };
        const auto x = solved(full.get()), y = solved(single.get());
        double difference = 0, largest = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          difference = std::max(difference, std::abs(x[i] - y[i]));
          largest = std::max(largest, std::abs(x[i]));
        }
        EXPECT_LE(difference, 3e-6 * largest);
        EXPECT_GE(difference, 1e-10 * largest) << "is not stored in single precision";
      }
    }
}

/// A grid with one entry less, or one more, has no wavefront.
TEST(Device, wavefront_takes_no_grid_with_a_hole)
{
  const Stencil s = {70, 66, 1, {{1, 0, 0}, {0, 1, 0}}, ""};
  for (const bool more : {false, true}) {
    auto A = grid_of(s);
    OwnedCsr<double, I> B;
    B.n = A.n;
    const I row = 70 * 30 + 20, other = more ? row - 72 : row - 1;
    for (I i = 0; i < A.n; ++i) {
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
        if (more && i == row && k == A.row_begin[i]) B.column.push_back(other), B.value.push_back(0.5);
        if (!more && i == row && A.column[k] == other) continue;
        B.column.push_back(A.column[k]), B.value.push_back(A.value[k]);
      }
      B.row_begin.push_back(static_cast<I>(B.column.size()));
    }
    const auto p = make_cuda_preconditioner<double, I>();
    EXPECT_TRUE(has_no_plan("wavefront", p->analyse(B.pattern(), {}, {"wavefront", 2})));
    ASSERT_EQ(p->analyse(B.pattern(), {}, {"tiled", 2}).message(), "success");
    ASSERT_EQ(p->refresh(B.view(), PivotRule()).message(), "success");
    const auto b = random_vector<double>(B.n, 5);
    const DeviceVector from(b), to(B.n);
    solve(*p, from, to, B.n);
    expect_near(to.get(), solution(B, b));
  }
}

/// Makes a grid in space in which rows on the faces have a diagonal only, as for boundary values.
OwnedCsr<double, I> with_boundary(const Stencil& s)
{
  const auto A = grid_of(s);
  OwnedCsr<double, I> B;
  B.n = A.n;
  const auto is_between = [](I at, I end) { return at > 0 && at < end - 1; };
  for (I row = 0; row < A.n; ++row) {
    const I line = row / s.x;
    const bool inside = is_between(row % s.x, s.x) && is_between(line % s.y, s.y) && is_between(line / s.y, s.z);
    for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
      if (inside || A.column[k] == row) B.column.push_back(A.column[k]), B.value.push_back(A.value[k]);
    B.row_begin.push_back(static_cast<I>(B.column.size()));
  }
  return B;
}

/// For many expected applies; a grid that lacks neighbours uses tiles.
TEST(Device, auto_solves_whole_grids_by_wavefront)
{
  SolverOptions options = {"auto", 2};
  options.expected_applies = 1000;
  const auto expect_solves = [&](const OwnedCsr<double, I>& A, const char* strategy) {
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const Summary found = p->summarize();
    EXPECT_EQ(found.strategy, strategy) << found.reason;
    const auto b = random_vector<double>(A.n, 5);
    const DeviceVector from(b), to(A.n);
    solve(*p, from, to, A.n);
    expect_near(to.get(), solution(A, b));
  };
  constexpr std::array<I, 3> west = {1, 0, 0}, south = {0, 1, 0}, south_west = {1, 1, 0}, south_east = {-1, 1, 0};
  const std::vector<std::vector<std::array<I, 3>>> all = {
      {west, south}, {west, south, south_west}, {west, south, south_east}, {west, south, south_west, south_east}};
  for (const auto& reach : all) {
    SCOPED_TRACE(testing::Message() << reach.size() << " neighbours");
    expect_solves(grid_of({301, 200, 1, reach, ""}), "wavefront");
  }
  const Stencil space = {40, 38, 36, {west, south, {0, 0, 1}}, ""};
  expect_solves(grid_of(space), "wavefront");
  expect_solves(with_boundary(space), "tiled");
}

/// Planes or parts of them, rows or inodes of two and three rows, and solves with a NaN in between. In a pipeline of
/// tiles, clusters pass values between their thread blocks.
TEST(Device, tiled_solves_boxes_by_chains)
{
  struct Box {
    I x, y, z, unknowns;
    bool chain;
  };
  for (Box g : {Box{30, 30, 30, 1, true}, {160, 160, 3, 1, false}, {7, 5, 9, 2, true}, {6, 7, 8, 3, true},
                {20, 20, 18, 3, true}, {300, 60, 1, 3, true}, {75, 75, 3, 3, false}, {2, 2, 3, 3, false}}) {
    if (short_run() && g.x * g.y * g.z * g.unknowns > 1300) continue;
    SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z << " x " << g.unknowns);
    const auto A = box_of_points(g.x, g.y, g.z, g.unknowns);
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(A.pattern(), {}, {"tiled", 2}).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const std::string plan = p->summarize().plan;
    EXPECT_NE(plan.find(" ghosts"), std::string::npos) << plan;
    const std::string nodes = "nodes of " + std::to_string(g.unknowns);
    EXPECT_EQ(plan.find(nodes) != std::string::npos, g.unknowns > 1) << plan;
    EXPECT_EQ(plan.find("in clusters") != std::string::npos, g.chain && clusters_can_be()) << plan;
    expect_solves_with_nan_between(p.get(), A);
  }
}

/// Planes that do not fit next to each other in shared memory; parts of planes where some rows are read late.
TEST(Device, tiled_lays_planes_over_each_other)
{
  const std::vector<std::array<I, 3>> all = {{110, 110, 3}, {111, 109, 19}, {300, 45, 4}, {8, 1700, 3}, {128, 128, 9}};
  for (const auto& [x, y, z] : all) {
    if (short_run() && z > 3) continue;
    SCOPED_TRACE(testing::Message() << x << " x " << y << " x " << z);
    for (const bool whole : {true, false}) {
      if (short_run() && !whole) continue;
      const auto box = box_of_points(x, y, z, 1), A = whole ? box : with_lone_rows(box, 13);
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(A.pattern(), {}, {"tiled", 2}).message(), "success");
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      const std::string plan = p->summarize().plan;
      EXPECT_EQ(plan.find(" ghosts at most in one place") != std::string::npos, whole) << plan;
      expect_solves_with_nan_between(p.get(), A);
    }
  }
}

/// One plane per tile: fewer than a cluster, clusters with and without idle thread blocks, and more thread blocks than
/// run at once.
TEST(Device, tiled_solves_chains_of_any_length)
{
  for (const I unknowns : {1, 3})
    for (const I planes : {1, 2, 7, 8, 9, 16, 17, 150}) {
      if (short_run() && planes > 9) continue;
      SCOPED_TRACE(testing::Message() << planes << " planes, unknowns " << unknowns);
      const auto A = box_of_points(6, 5, planes, unknowns);
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(A.pattern(), {}, {"tiled", 2, false, {"h200", 0, 30 * unknowns}}).message(), "success");
      ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      const std::string plan = p->summarize().plan;
      EXPECT_NE(plan.find(std::to_string(planes) + " tiles of 30 "), std::string::npos) << plan;
      EXPECT_EQ(plan.find("in clusters") != std::string::npos, planes > 1 && clusters_can_be()) << plan;
      expect_solves_with_nan_between(p.get(), A);
    }
}

/// Rows that are too long, and ghosts that do not fit. The same object accepts the strategies that the message
/// recommends.
TEST(Device, tiled_says_why_there_are_no_tiles)
{
  const auto long_rows = random_band(3000, 30, 200, 0, 3), far_rows = random_band(60000, 3, 30000, 0, 3);
  const auto p = make_cuda_preconditioner<double, I>();
  for (const auto* A : {&long_rows, &far_rows}) {
    const Status status = p->analyse(A->pattern(), {}, {"tiled", 2, false, {"h200", 0, 15000}});
    EXPECT_TRUE(has_no_plan("tiled", status)) << status.message();
    const std::string why = A == &long_rows ? "a row of a triangle has " : "tiles of 15000 rows need more than the ";
    EXPECT_EQ(status.detail.rfind(why, 0), 0u) << status.message();
    for (const char* other : {"level_order", "merged", "auto"}) {
      ASSERT_EQ(p->analyse(A->pattern(), {}, {other, 2}).message(), "success");
      expect_solves(p.get(), *A);
      if (short_run()) return;
    }
  }
}

/// Rows of L and U are short, but many read the first one, which is a long row of the transpose of L. Another strategy
/// solves with the transpose.
TEST(Device, tiled_has_tiles_for_a_matrix_but_not_for_its_transpose)
{
  const I edge = short_run() ? 8 : 30;
  const auto box = box_of_points(edge, edge, edge, 1);
  std::vector<std::vector<I>> columns(box.n);
  for (I row = 0; row < box.n; ++row) {
    columns[row].assign(&box.column[box.row_begin[row]], &box.column[box.row_begin[row + 1]]);
    const I line = row / edge;
    if (row % edge == 0 && line % 7 == 5 && columns[row][0] != 0) columns[row].insert(columns[row].begin(), 0);
  }
  const auto A = dominant(columns);
  const std::vector<double> b = random_vector<double>(A.n, 5);
  std::vector<double> x(A.n), truth(A.n);
  const auto host = make_host_preconditioner<double, I>();
  const auto p = make_cuda_preconditioner<double, I>();
  ASSERT_TRUE(host->analyse(A.pattern(), {}, {"serial", 1}).ok() && host->refresh(A.view(), PivotRule()).ok());
  ASSERT_TRUE(host->solve(Operation::transpose, b.data(), truth.data(), {}).ok());
  for (const char* strategy : {"tiled", "auto"}) {
    SCOPED_TRACE(strategy);
    SolverOptions options = {strategy, 2};
    options.expected_applies = 1000;
    ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
    EXPECT_TRUE(p->summarize().strategy == "tiled" || short_run()) << p->summarize().reason;
    expect_solves(p.get(), A);
    p->use(Memory::host, nullptr);
    ASSERT_EQ(p->solve(Operation::transpose, b.data(), x.data(), {1, A.n, A.n}).message(), "success");
    expect_near(x, truth);
  }
}

}  // namespace
}  // namespace syncfree
