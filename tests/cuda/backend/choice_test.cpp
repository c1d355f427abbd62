/// The strategy and form that `auto` takes on a device, and what follows where these have no plan.

#include <gtest/gtest.h>

#include "../../battery.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree {
namespace {

/// The form that `auto` estimates is the form that runs, in both triangles.
TEST(DeviceChoice, runs_the_form_that_was_estimated)
{
  for (const BatteryEntry& entry : battery())
    for (const Kind kind : {Kind::ilu, Kind::icc})
      for (const std::int64_t applies : {0, 1, 50, 1000, 1000000}) {
        SCOPED_TRACE(testing::Message() << entry.name << ", icc " << (kind == Kind::icc) << ", " << applies);
        const auto A = make_battery_matrix<double, I>(entry.name);
        SymbolicOptions<I> symbolic;
        symbolic.kind = kind;
        SolverOptions options = {"auto", 2};
        options.expected_applies = applies;
        const auto p = make_cuda_preconditioner<double, I>();
        const Status status = p->analyse(A.pattern(), symbolic, options);
        if (!status.ok() && (kind == Kind::icc || !entry.diagonal || !entry.sorted)) continue;
        ASSERT_EQ(status.message(), "success");
        const Summary found = p->summarize();
        EXPECT_NE(found.form, "any") << found.plan;
        EXPECT_EQ(found.form, found.estimated_form) << found.strategy << ": " << found.plan;
      }
}

/// Makes a plane grid whose cells are coupled with the previous cell of their line and two cells of the line before;
/// some of the latter are missing.
OwnedCsr<double, I> grid_with_holes(I x, I y)
{
  std::vector<std::vector<I>> columns(static_cast<std::size_t>(x) * y);
  const auto read = [&](I row, I other) { columns[row].push_back(other), columns[other].push_back(row); };
  for (I row = 0; row < x * y; ++row) {
    columns[row].push_back(row);
    if (row % x > 0) read(row, row - 1);
    if (row >= x && row % 9973 != 5) read(row, row - x);
    if (row >= x && row % x > 0) read(row, row - x - 1);
  }
  for (auto& own : columns) std::sort(own.begin(), own.end());
  return dominant(columns);
}

/// Resembles a grid that tiles would solve fast. No whole number of tiles fits a line, and runs of half a line have no
/// room for their ghosts.
TEST(DeviceChoice, auto_takes_another_strategy_where_there_is_no_plan)
{
  if (short_run()) return;
  const auto A = grid_with_holes(25013, 80);
  const auto p = make_cuda_preconditioner<double, I>();
  SolverOptions options = {"auto", 2};
  options.expected_applies = 1000;
  ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
  const Summary found = p->summarize();
  EXPECT_TRUE(found.strategy == "level_order" || found.strategy == "merged") << found.strategy;
  EXPECT_NE(found.reason.find("; tiled has no plan"), std::string::npos) << found.reason;
  expect_solves(p.get(), A);
  options.trials = true;
  ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
  EXPECT_NE(p->summarize().strategy, "wavefront");
  EXPECT_EQ(p->summarize().reason.find("wavefront"), std::string::npos) << p->summarize().reason;
}

}  // namespace
}  // namespace syncfree
