/// Factors that equal the host's for every kind, shift, order and level of fill.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "../../battery.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

/// Expects the host's values, to rounding.
void expect_host_numbers(const Preconditioner<double, I>& ours, const Preconditioner<double, I>& host)
{
  const auto a = ours.values(), b = host.values();
  const auto near = [](const Array<double>& x, const Array<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-10 * (1 + std::abs(y[k]))) << k;
  };
  near(a.lower, b.lower);
  near(a.upper, b.upper);
  near(a.inverse_pivot, b.inverse_pivot);
}

/// Expects the host's factor, or its failure.
void expect_factor_of_host(const OwnedCsr<double, I>& A, const SymbolicOptions<I>& symbolic,
                           const SolverOptions& options, const PivotRule& rule)
{
  const auto ours = make_cuda_preconditioner<double, I>();
  const auto host = make_host_preconditioner<double, I>();
  ASSERT_EQ(ours->analyse(A.pattern(), symbolic, options).message(), "success");
  ASSERT_TRUE(host->analyse(A.pattern(), symbolic, {}).ok());
  const Status status = ours->refresh(A.view(), rule), theirs = host->refresh(A.view(), rule);
  ASSERT_EQ(status.code, theirs.code) << status.message() << " | " << theirs.message();
  EXPECT_EQ(status.row, theirs.row);
  if (!status.ok()) return;
  const PivotReport pivots = ours->summarize().pivots, of_host = host->summarize().pivots;
  EXPECT_EQ(pivots.shifts, of_host.shifts);
  EXPECT_NEAR(pivots.shift_amount, of_host.shift_amount, 1e-12 * (1 + std::abs(of_host.shift_amount)));
  expect_host_numbers(*ours, *host);
}

/// The strategy `loop` makes ILU(0) by a sync-free loop; cases that it does not support use the other factorization.
TEST(Device, factors_of_loops_are_those_of_the_host)
{
  for (const auto& good : {make_poisson<double, I>(9, 8, 7), random_band(2000, 4, 300, 500, 3)})
    for (const Shift shift : {Shift::none, Shift::inblocks, Shift::nonzero, Shift::positive_definite})
      for (const double pivot : {1.0, 0.0, std::nan("")}) {
        SCOPED_TRACE(testing::Message() << good.n << ", shift " << static_cast<int>(shift) << ", " << pivot);
        auto A = good;
        if (pivot != 1) A.value[0] = pivot;
        PivotRule rule;
        rule.shift = shift;
        rule.shift_amount = 0.5;
        expect_factor_of_host(A, {}, {"loop", 2}, rule);
      }
}

/// The loop would walk along a full row once for each of its entries: 25 s with 30,000 of them on an H200.
TEST(Device, factors_of_loops_leave_very_long_rows_to_others)
{
  if (short_run()) return;
  constexpr I n = 30000;
  std::vector<std::vector<I>> columns(n);
  for (I row = 0; row < n; ++row) columns[row] = row < n - 1 ? std::vector<I>{row, n - 1} : std::vector<I>(n);
  std::iota(columns[n - 1].begin(), columns[n - 1].end(), I(0));
  const auto begin = std::chrono::steady_clock::now();
  expect_factor_of_host(dominant(columns), {}, {"loop", 2}, {});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 10);
}

/// On a grid, rows update pivots only, which a solve computes; cases that it does not support use the other kernels.
TEST(Device, factors_of_grids_are_those_of_the_host)
{
  struct Change {
    const char* what;
    double diagonal, others;  ///< factors for a row in the middle; others: for all entries of the matrix, too
  };
  const Change changes[] = {{"none", 1, 1}, {"no pivot", 0, 1}, {"NaN", std::nan(""), 1}, {"tiny", 1, 1e-200},
                            {"huge", 1, 1e200}, {"infinite", 1 / 0.0, 1}};
  for (const auto& [x, y, z] : {std::tuple<I, I, I>{25, 24, 23}, {70, 60, 1}, {25, 8, 4}})
    for (Kind kind : {Kind::ilu, Kind::icc})
      for (const Change& change : changes)
        for (Shift shift : {Shift::none, Shift::inblocks, Shift::positive_definite, Shift::nonzero}) {
          if (short_run() && x * y * z > 1000) continue;
          SCOPED_TRACE(testing::Message() << x << " x " << y << " x " << z << ", icc " << (kind == Kind::icc) << ", "
                                          << change.what << ", shift " << static_cast<int>(shift));
          auto A = make_poisson<double, I>(x, y, z);
          for (double& v : A.value) v *= change.others;
          const I row = A.n / 2;
          for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
            if (A.column[k] == row) A.value[k] *= change.diagonal;
          SymbolicOptions<I> symbolic;
          symbolic.kind = kind;
          PivotRule rule;
          rule.shift = shift;
          if (change.others != 1) rule.zero_pivot = 0;
          for (const char* strategy : {"wavefront", "tiled", "level_order"}) {
            SCOPED_TRACE(strategy);
            expect_factor_of_host(A, symbolic, {strategy, 2}, rule);
          }
        }
}

OwnedCsr<double, I> from_rows(const std::vector<std::map<I, double>>& rows)
{
  OwnedCsr<double, I> A;
  A.n = static_cast<I>(rows.size());
  A.row_begin = {0};
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) A.column.push_back(column), A.value.push_back(value);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Long rows that update pivots only: a diagonal block, then `constraints` rows that read it.
TEST(Device, factors_of_constraints_are_those_of_the_host)
{
  constexpr I unknowns = 700, constraints = 500, entries = 40;
  std::vector<std::map<I, double>> rows(unknowns + constraints);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (I i = 0; i < unknowns + constraints; ++i) rows[i][i] = 3 + number(random);
  for (I i = unknowns; i < unknowns + constraints; ++i)
    for (I k = 0; k < entries; ++k) {
      const I column = static_cast<I>(random() % unknowns);
      rows[i][column] = number(random);
      rows[column][i] = number(random);
    }
  const auto good = from_rows(rows);
  for (const double pivot : {1.0, 0.0, std::nan("")})
    for (const Shift shift : {Shift::none, Shift::inblocks, Shift::nonzero}) {
      SCOPED_TRACE(testing::Message() << "pivot " << pivot << ", shift " << static_cast<int>(shift));
      auto A = good;
      if (pivot != 1) A.value[0] = pivot;
      PivotRule rule;
      rule.shift = shift;
      expect_factor_of_host(A, {}, {"level_order", 2}, rule);
    }
}

/// Adds to a grid some rows that are coupled with every third row.
OwnedCsr<double, I> with_hubs(const OwnedCsr<double, I>& grid, const std::vector<I>& hubs)
{
  std::vector<std::map<I, double>> rows(grid.n);
  for (I i = 0; i < grid.n; ++i)
    for (I k = grid.row_begin[i]; k < grid.row_begin[i + 1]; ++k) rows[i][grid.column[k]] = grid.value[k];
  for (const I hub : hubs)
    for (I i = hub % 3; i < grid.n; i += 3)
      if (i != hub) rows[i][hub] = rows[hub][i] = -0.01 * (1 + i % 7);
  for (const I hub : hubs) rows[hub][hub] += 40;
  return from_rows(rows);
}

/// Entry by entry, and row by row where a shift is required.
TEST(Device, factors_with_long_rows_are_those_of_the_host)
{
  const auto good = with_hubs(make_poisson<double, I>(12, 11, 10), {5, 700, 1317, 1318, 1319});
  for (const Kind kind : {Kind::ilu, Kind::icc})
    for (const Shift shift : {Shift::none, Shift::inblocks, Shift::nonzero, Shift::positive_definite})
      for (const double pivot : {1.0, 0.0, -1.0, std::nan("")})
        for (const I row : {I(700), I(30)}) {
          if (short_run() && (row == 30 || pivot == -1)) continue;
          SCOPED_TRACE(testing::Message() << "icc " << (kind == Kind::icc) << ", shift " << static_cast<int>(shift)
                                          << ", row " << row << " times " << pivot);
          auto A = good;
          for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
            if (A.column[k] == row) A.value[k] *= pivot;
          SymbolicOptions<I> symbolic;
          symbolic.kind = kind;
          PivotRule rule;
          rule.shift = shift;
          rule.shift_amount = 0.5;
          expect_factor_of_host(A, symbolic, {"level_order", 2}, rule);
        }
}

/// Without a plan of `merged` where a tool cannot run it.
void expect_shifted_factors_of_host(Kind kind)
{
  const auto good = short_run() ? make_poisson<double, I>(5, 4, 3) : make_poisson<double, I>(9, 8, 7);
  const std::string strategy = is_left_out("merged") ? "level_order" : "auto";
  std::vector<I> order(good.n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (int levels : {0, 1, 2})
    for (bool ordered : {false, true})
      for (Shift shift : {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks})
        for (double pivot : {0.0, -1.0, 1.0}) {
          if (short_run() && (levels == 2 || ordered != (levels == 1) || pivot > 0)) continue;
          SCOPED_TRACE(testing::Message() << "levels " << levels << ", ordered " << ordered << ", shift "
                                          << static_cast<int>(shift) << ", " << pivot);
          auto A = good;
          const I row = good.n / 5;
          for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
            if (pivot <= 0 && A.column[k] == row) A.value[k] = pivot;
          SymbolicOptions<I> symbolic;
          symbolic.kind = kind;
          symbolic.levels = levels;
          symbolic.diagonal_fill = ordered || levels > 0;
          if (ordered) symbolic.row_order = symbolic.column_order = order.data();
          PivotRule rule;
          rule.shift = shift;
          rule.shift_amount = 0.5;
          expect_factor_of_host(A, symbolic, {strategy}, rule);
        }
}

TEST(Device, factors_and_shifts_of_ilu_are_those_of_the_host) { expect_shifted_factors_of_host(Kind::ilu); }

TEST(Device, factors_and_shifts_of_icc_are_those_of_the_host) { expect_shifted_factors_of_host(Kind::icc); }

}  // namespace
}  // namespace syncfree
