/// The strategy and form that `auto` takes on a device, and what follows where these have no plan.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../../battery.hpp"
#include "../../types.hpp"
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

/// A, whose rows and columns in this order are those of the grid.
OwnedCsr<double, I> shuffled(const OwnedCsr<double, I>& grid, const std::vector<I>& order)
{
  std::vector<std::vector<I>> columns(grid.n);
  for (I i = 0; i < grid.n; ++i) {
    for (I k = grid.row_begin[i]; k < grid.row_begin[i + 1]; ++k)
      columns[order[i]].push_back(order[grid.column[k]]);
    std::sort(columns[order[i]].begin(), columns[order[i]].end());
  }
  return dominant(columns);
}

/// Grids, bands and nodes are found in the factor's order, and what is chosen for them is the same.
TEST(DeviceChoice, is_that_of_the_permuted_matrix)
{
  const I side = short_run() ? 12 : 48;
  const std::vector<OwnedCsr<double, I>> grids = {
    make_poisson<double, I>(side, side, side), box_of_points(side, 11, 9, 1), box_of_points(8, 8, 8, 3),
    random_band(short_run() ? 500 : 20000, 5, 300, 0, 3), random_band(2000, 3, 90, 1900, 3)};
  for (const auto& grid : grids)
    for (const std::int64_t applies : {50, 1000})
      for (const Kind kind : {Kind::ilu, Kind::icc}) {
        const auto order = random_order<I>(grid.n, 4);
        const auto A = shuffled(grid, order);
        SymbolicOptions<I> natural, given;
        natural.kind = given.kind = kind;
        given.row_order = given.column_order = order.data();
        SolverOptions options = {"auto", 2};
        options.expected_applies = applies;
        const auto p = make_cuda_preconditioner<double, I>(), q = make_cuda_preconditioner<double, I>();
        if (!p->analyse(grid.pattern(), natural, options).ok()) continue;  // IC of a pattern that lacks a diagonal
        ASSERT_EQ(q->analyse(A.pattern(), given, options).message(), "success");
        EXPECT_EQ(q->summarize().strategy, p->summarize().strategy);
        EXPECT_EQ(q->summarize().form, p->summarize().form);
        EXPECT_EQ(q->levels().lower, p->levels().lower);
        EXPECT_EQ(q->levels().upper, p->levels().upper);
        const Orders<I> orders = q->orders();
        EXPECT_TRUE(std::equal(order.begin(), order.end(), orders.row));
        EXPECT_TRUE(std::equal(order.begin(), order.end(), orders.column));
      }
}

/// Inodes in an order of colours, of which no grid is guessed: where the host makes the pattern, too.
TEST(DeviceChoice, auto_solves_inodes_in_orders_of_colors)
{
  for (const auto& A : {box_of_points(1, 1, 1, 3), box_of_points(6, 1, 1, 3), box_of_points(7, 6, 5, 3)})
    for (const OrderingKind kind : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc})
      for (const int levels : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << A.n << " rows, levels " << levels);
        SymbolicOptions<I> symbolic;
        symbolic.levels = levels;
        symbolic.ordering = OrderingOptions{kind};
        const auto ours = make_cuda_preconditioner<double, I>();
        const auto host = make_host_preconditioner<double, I>();
        ASSERT_EQ(ours->analyse(A.pattern(), symbolic, SolverOptions{"auto", 2}).message(), "success");
        ASSERT_EQ(host->analyse(A.pattern(), symbolic, SolverOptions{"serial", 1}).message(), "success");
        ASSERT_EQ(ours->refresh(A.view(), PivotRule()).message(), "success");
        ASSERT_EQ(host->refresh(A.view(), PivotRule()).message(), "success");
        const auto b = random_vector<double>(static_cast<std::size_t>(A.n), 5);
        std::vector<double> x(b.size(), -1), truth(b.size());
        ASSERT_EQ(ours->solve(Operation::none, b.data(), x.data(), {1, A.n, A.n}).message(), "success");
        ASSERT_EQ(host->solve(Operation::none, b.data(), truth.data(), {1, A.n, A.n}).message(), "success");
        expect_near(x, truth);
      }
}

/// A factor and its solution for a right-hand side.
struct Solved {
  Summary summary;
  std::vector<double> x;
  Array<double> inverse_pivot;

  Solved(const OwnedCsr<double, I>& A, const SolverOptions& options)
  {
    const auto p = make_cuda_preconditioner<double, I>();
    EXPECT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
    EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    const auto b = random_vector<double>(static_cast<std::size_t>(A.n), 5);
    x.assign(b.size(), -1);
    EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, A.n, A.n}).message(), "success");
    summary = p->summarize();
    inverse_pivot = p->values().inverse_pivot;
  }
  bool is_rounded() const
  {
    const auto is_single = [](double v) { return v == static_cast<float>(v); };
    return std::all_of(inverse_pivot.begin(), inverse_pivot.end(), is_single);
  }
  bool says_why() const { return summary.reason.find("; stored in double precision: single") != std::string::npos; }
};

/// Where single storage would not pay, `auto` solves as if it had not been asked for; by name it is done as told.
TEST(DeviceChoice, stores_small_factors_in_double_precision)
{
  for (const auto& A : {random_band(2000, 3, 60, 0, 3), make_poisson<double, I>(20, 17, 15), box_of_points(7, 6, 5, 3)})
    for (const bool trials : {false, true}) {
      SCOPED_TRACE(testing::Message() << A.n << " rows, trials " << trials);
      SolverOptions options = {"auto", 2};
      options.trials = trials;
      const Solved full(A, options);
      options.single_storage = true;
      const Solved ours(A, options);
      EXPECT_FALSE(ours.summary.single_storage);
      EXPECT_TRUE(ours.says_why()) << ours.summary.reason;
      EXPECT_FALSE(full.says_why()) << full.summary.reason;
      EXPECT_FALSE(ours.is_rounded());
      if (trials) continue;  // times may differ
      EXPECT_EQ(ours.summary.strategy, full.summary.strategy);
      EXPECT_EQ(ours.summary.plan, full.summary.plan);
      EXPECT_EQ(ours.summary.plan_bytes, full.summary.plan_bytes);
      EXPECT_EQ(ours.x, full.x);
    }
  const auto A = random_band(2000, 3, 60, 0, 3);
  for (const char* strategy : {"level_order", "merged"}) {
    const Solved full(A, {strategy, 2, false}), ours(A, {strategy, 2, true});
    EXPECT_TRUE(ours.summary.single_storage && ours.is_rounded());
    EXPECT_EQ(ours.summary.reason, "forced");
    EXPECT_LT(ours.summary.plan_bytes, full.summary.plan_bytes) << strategy;
    expect_near(ours.x, full.x, 1e-5);
  }
}

TEST(DeviceChoice, stores_large_grids_in_single_precision_if_asked_to)
{
  if (short_run()) return;
  const auto A = make_poisson<double, I>(80, 80, 80);
  const Solved full(A, {"auto", 2, false}), ours(A, {"auto", 2, true});
  EXPECT_EQ(ours.summary.strategy, "wavefront");
  EXPECT_TRUE(ours.summary.single_storage && ours.is_rounded());
  EXPECT_FALSE(ours.says_why()) << ours.summary.reason;
  EXPECT_FALSE(full.summary.single_storage || full.is_rounded());
  expect_near(ours.x, full.x, 1e-5);
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
