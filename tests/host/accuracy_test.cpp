/// Right-hand sides and solutions over 24 orders of magnitude: every host strategy except `merged` has a component-wise
/// backward error of a few roundings; that of `merged` is small norm-wise for each row.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "../backward_error.hpp"
#include "../battery.hpp"
#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Triangle = OwnedTriangle<double, I>;

std::vector<double> solved(const std::string& strategy, const Triangle& T, const std::vector<double>& b)
{
  std::unique_ptr<TriangularSolver<double, double, I>> solver;
  const SolverOptions options{strategy, 2, false, {"paper", std::max<I>(4, T.n / 8)}};
  std::vector<double> x(b.size());
  const Status status = make_host_solver<double, double, I>(options, T.view(), &solver);
  if (has_no_plan(strategy, status)) return {};
  EXPECT_EQ(status.message(), "success") << strategy;
  solver->solve_triangle(b.data(), x.data(), {1, T.n, T.n}, false);
  return x;
}

/// A chain, and the factors of a grid, of inodes and of rows of all lengths.
std::vector<Triangle> triangles()
{
  std::vector<Triangle> all = {chain_triangle<I>(3000, 0.1)};
  for (const char* name : {"poisson_ilu0", "nodes", "power_law"}) {
    const auto F = oracle_ilu0(make_battery_matrix<double, I>(name));
    all.push_back(take_triangle<double>(F, true, true));
    all.push_back(take_triangle<double>(F, false, false));
  }
  return all;
}

TEST(HostAccuracy, is_kept_over_24_orders_of_magnitude)
{
  int seed = 0, judged = 0;
  for (const Triangle& T : triangles()) {
    const auto numbers = log_uniform_vector(static_cast<std::size_t>(T.n), static_cast<std::uint64_t>(++seed));
    for (const auto& b : {numbers, product(T, numbers)})
      for (const StrategyInfo& info : strategies()) {
        if (std::string(info.backend) != "host") continue;
        SCOPED_TRACE(testing::Message() << info.name << ", triangle " << seed << " of " << T.n << " rows");
        const auto x = solved(info.name, T, b);
        if (x.empty()) continue;
        const BackwardError e = backward_error(T, b, x);
        EXPECT_LE(e.by_row, 1e-14);
        if (std::string(info.name) != "merged") {
          EXPECT_LE(e.by_component, 1e-14);
        }
        ++judged;
      }
  }
  EXPECT_GE(judged, 7 * 2 * 7);
}

/// As documented in the manual: with `merged`, a huge value that a row does not read costs the row its own digits.
TEST(HostAccuracy, of_merged_levels_is_norm_wise_only)
{
  const Triangle T = chain_triangle<I>(3000, 0.1);
  const auto b = product(T, log_uniform_vector(3000, 7));
  EXPECT_GT(backward_error(T, b, solved("merged", T, b)).by_component, 1e-10);
  EXPECT_LE(backward_error(T, b, solved("serial", T, b)).by_component, 1e-15);
}

}  // namespace
}  // namespace syncfree
