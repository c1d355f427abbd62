/// The accuracy that strategy `merged` guarantees: in each row a residual of at most 1e-10 times the row's size and the
/// largest value of the solution.

#include <string>
#include <vector>

#include "../../backward_error.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

using Triangle = OwnedTriangle<double, I>;

std::vector<double> solved(Cuda& p, const std::vector<double>& b)
{
  const I n = static_cast<I>(b.size());
  const DeviceVector from(b), to(b.size());
  solve(p, from, to, n);
  return to.get();
}

/// Chains: values that shrink, that grow, and rows of very different scales; the last differ from the first in row
/// scaling only.
std::vector<Triangle> chains()
{
  return {chain_triangle<I>(3000, 0.1), chain_triangle<I>(700, 2), chain_triangle<I>(700, -2),
          chain_triangle<I>(1200, 0.1, 600, 1e6), chain_triangle<I>(1200, 0.1, 600, 1e9)};
}

TEST(MergedAccuracy, is_kept_in_each_row_by_norm)
{
  for (const Triangle& T : chains()) {
    const auto n = static_cast<std::size_t>(T.n);
    const auto p = analysed(matrix_of(T), "merged");
    const std::string plan = p->summarize().plan;
    SCOPED_TRACE(testing::Message() << T.value[0] << " and " << T.value.back() << ": " << plan);
    EXPECT_NE(plan.find("norm-wise growth"), std::string::npos);
    const auto ordinary = product(T, random_vector<double>(n, 9)), wide = product(T, log_uniform_vector(n, 7));
    EXPECT_LE(backward_error(T, ordinary, solved(*p, ordinary)).by_row, 1e-10);
    EXPECT_LE(backward_error(T, ordinary, solved(*p, ordinary)).by_component, 1e-10);
    EXPECT_LE(backward_error(T, wide, solved(*p, wide)).by_row, 1e-10);
  }
}

/// A solution over 24 orders of magnitude on a chain whose levels are merged: `merged` loses component-wise accuracy in
/// small rows, the other strategies do not (`cusparse` is not judged).
TEST(MergedAccuracy, is_no_component_wise_one)
{
  const Triangle T = chain_triangle<I>(3000, 0.1);
  const auto b = product(T, log_uniform_vector(3000, 7));
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    const double error = backward_error(T, b, solved(*analysed(matrix_of(T), strategy), b)).by_component;
    if (strategy == "merged") {
      EXPECT_GT(error, 1e-10);
    } else if (strategy != "cusparse") {
      EXPECT_LE(error, 1e-14);
    }
  }
}

}  // namespace
}  // namespace syncfree
