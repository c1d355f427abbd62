/// Grids whose rows come level by level are solved in their natural order, which nobody sees but the view.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../../ordered.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "../factor/as_on_host.hpp"
#include "core/ordering/graphs.hpp"
#include "syncfree/ordering_choice.hpp"

namespace syncfree {
namespace {

/// A matrix in some order, and an order that is given to the analysis, which then has the levels of a grid.
template <class T, class I> struct GridCase {
  std::string name;
  OwnedCsr<T, I> A;
  std::vector<I> order;  ///< empty: natural
  bool in_own_order = false;  ///< the natural order of the grid is that of the rows of A

  SymbolicOptions<I> symbolic(Kind kind) const
  {
    SymbolicOptions<I> s;
    s.kind = kind;
    if (!order.empty()) s.row_order = s.column_order = order.data();
    return s;
  }
};

template <class I> std::vector<I> inverse_of(const std::vector<I>& order)
{
  std::vector<I> place(order.size());
  for (std::size_t r = 0; r < order.size(); ++r) place[order[r]] = static_cast<I>(r);
  return place;
}

/// The matrix in the order of its levels; the natural one with that order; the same from the other end; and rows at
/// random with the order of their levels.
template <class T, class I> std::vector<GridCase<T, I>> cases_of(I x, I y, I z, std::uint64_t seed = 0)
{
  const auto natural = make_poisson<T, I>(x, y, z, seed);
  const auto levels = order_by_levels<I>(x, y, z, 3);
  const auto reversed = std::vector<I>(levels.rbegin(), levels.rend());
  const auto mixed = random_order<I>(7u, natural.n), place = inverse_of(mixed);
  std::vector<I> levels_of_mixed;
  for (const I row : levels) levels_of_mixed.push_back(place[row]);
  return {{"stored by levels", permuted(natural, levels), {}},
          {"stored from the other end", permuted(natural, reversed), {}},
          {"given", natural, levels, true},
          {"given from the other end", natural, reversed},
          {"given for mixed rows", permuted(natural, mixed), levels_of_mixed}};
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> host_of(const GridCase<T, I>& c, Kind kind)
{
  auto host = make_host_preconditioner<T, I>();
  EXPECT_EQ(host->analyse(c.A.pattern(), c.symbolic(kind), SolverOptions{"serial", 1}).message(), "success");
  return host;
}

template <class T, class I>
std::unique_ptr<CudaPreconditioner<T, I>> device_of(const GridCase<T, I>& c, Kind kind, const SolverOptions& options)
{
  auto ours = make_cuda_preconditioner<T, I>();
  EXPECT_EQ(ours->analyse(c.A.pattern(), c.symbolic(kind), options).message(), "success");
  return ours;
}

template <class T, class I> bool follows_a_grid(const Preconditioner<T, I>& p)
{
  return p.summarize().plan.find("; rows solved in the natural order of a ") != std::string::npos;
}

template <class T> constexpr double tolerance_of = sizeof(real_t<T>) == 8 ? 1e-11 : 1e-4;

/// Orders, patterns and values are those of the host.
template <class T, class I>
void expect_factor(const Preconditioner<T, I>& ours, const Preconditioner<T, I>& host, double tolerance)
{
  const FactorPattern<I>&p = ours.pattern(), &q = host.pattern();
  EXPECT_EQ(p.lower_begin, q.lower_begin);
  EXPECT_EQ(p.lower_column, q.lower_column);
  EXPECT_EQ(p.upper_begin, q.upper_begin);
  EXPECT_EQ(p.upper_column, q.upper_column);
  EXPECT_EQ(p.row_order, q.row_order);
  EXPECT_EQ(p.column_order, q.column_order);
  EXPECT_EQ(p.column_place, q.column_place);
  EXPECT_EQ(!ours.orders().row, !host.orders().row);
  EXPECT_EQ(ours.levels().lower, host.levels().lower);
  EXPECT_EQ(ours.levels().upper, host.levels().upper);
  expect_values_of_host(ours, host, tolerance);
}

/// Solves, transposes, several columns and halves are those of the host; vectors are on the device.
template <class T, class I>
void expect_solves_of_host(CudaPreconditioner<T, I>& ours, Preconditioner<T, I>& host, I n, double tolerance)
{
  ours.use(Memory::device, nullptr);
  for (const I count : {I(1), I(5)}) {
    const auto b = random_vector<T>(static_cast<std::size_t>(n) * count, 5);
    const DeviceVectorOf<T> from(b), to(b.size());
    std::vector<T> truth(b.size());
    for (const Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate}) {
      SCOPED_TRACE(testing::Message() << "operation " << static_cast<int>(op) << ", columns " << count);
      to.fill_with_poison();
      ASSERT_EQ(ours.solve(op, from.data(), to.data(), {count, n, n}).message(), "success");
      ASSERT_EQ(host.solve(op, b.data(), truth.data(), {count, n, n}).message(), "success");
      expect_same(to.get(), truth, tolerance);
    }
    for (const bool forward : {true, false}) {
      if (count > 1) break;
      SCOPED_TRACE(forward ? "forward half" : "backward half");
      to.fill_with_poison();
      const Status mine = forward ? ours.solve_forward_half(from.data(), to.data())
                                  : ours.solve_backward_half(from.data(), to.data());
      const Status other = forward ? host.solve_forward_half(b.data(), truth.data())
                                   : host.solve_backward_half(b.data(), truth.data());
      ASSERT_EQ(mine.code, other.code) << mine.message();
      EXPECT_EQ(mine.row, other.row);
      if (mine.ok()) expect_same(to.get(), truth, tolerance);
    }
  }
  ours.use(Memory::host, nullptr);
}

template <class P> class DeviceGridOrder : public testing::Test {};
TYPED_TEST_SUITE(DeviceGridOrder, AllTypes);

/// Tiles and pencils by name always take the natural order; values are refreshed.
TYPED_TEST(DeviceGridOrder, gives_the_factor_and_the_solves_of_the_host)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  std::vector<std::array<I, 3>> sides = {{24, 16, 20}, {61, 43, 1}};
  if (short_run()) sides = {{16, 8, 8}};
  for (const auto& [x, y, z] : sides) {
    const auto cases = cases_of<T, I>(x, y, z), others = cases_of<T, I>(x, y, z, 9);
    for (std::size_t k = 0; k < cases.size(); ++k)
      for (const Kind kind : {Kind::ilu, Kind::icc})
        for (const std::string strategy : {"auto", "tiled", "wavefront"}) {
          if (strategy == "wavefront" && is_complex_v<T>) continue;
          SCOPED_TRACE(testing::Message() << cases[k].name << ", icc " << (kind == Kind::icc) << ", " << strategy);
          SolverOptions options{strategy, 2};
          options.expected_applies = 10000;
          const auto ours = device_of(cases[k], kind, options);
          const auto host = host_of(cases[k], kind);
          EXPECT_TRUE(strategy == "auto" || follows_a_grid(*ours)) << ours->summarize().plan;
          for (const GridCase<T, I>* values : {&cases[k], &others[k]}) {
            bool same = false;
            ASSERT_EQ(ours->has_pattern(values->A.pattern(), &same).message(), "success");
            EXPECT_TRUE(same);
            ASSERT_EQ(ours->refresh(values->A.view(), {}).message(), "success");
            ASSERT_EQ(host->refresh(values->A.view(), {}).message(), "success");
            expect_factor(*ours, *host, tolerance_of<T>);
            expect_solves_of_host(*ours, *host, values->A.n, tolerance_of<T>);
          }
          if (testing::Test::HasFailure()) return;
        }
  }
}

/// Vectors need not be permuted where the rows of A have the natural order of the grid.
TEST(GridOrderOnDevice, is_named_by_the_view_with_its_sides)
{
  using I = std::int32_t;
  for (const auto& c : cases_of<double, I>(24, 24, 24)) {
    SCOPED_TRACE(c.name);
    const auto ours = device_of(c, Kind::ilu, {"wavefront", 2});
    EXPECT_NE(ours->summarize().plan.find("; rows solved in the natural order of a 24 x 24 x 24 grid, which leaves"),
              std::string::npos)
        << ours->summarize().plan;
    EXPECT_EQ(ours->summarize().strategy, "wavefront");
    const auto of_grid = device_of(cases_of<double, I>(24, 24, 24)[2], Kind::ilu, {"wavefront", 2});
    const std::size_t vectors = ours->summarize().plan_bytes - of_grid->summarize().plan_bytes;
    if (c.in_own_order) {
      EXPECT_EQ(vectors, 0u);
    } else {
      EXPECT_GE(vectors, 2 * sizeof(I) * static_cast<std::size_t>(c.A.n)) << "two orders";
    }
  }
}

TEST(GridOrderOnDevice, is_taken_where_it_is_predicted_to_be_faster)
{
  if (short_run()) return;
  using I = std::int32_t;
  for (const auto& c : cases_of<double, I>(64, 64, 64))
    for (const bool trials : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << ", trials " << trials);
      SolverOptions options{"auto", 2};
      options.trials = trials;
      const auto ours = device_of(c, Kind::ilu, options);
      const auto host = host_of(c, Kind::ilu);
      EXPECT_TRUE(follows_a_grid(*ours)) << ours->summarize().plan;
      EXPECT_TRUE(trials || ours->summarize().strategy == "wavefront") << ours->summarize().reason;
      ASSERT_EQ(ours->refresh(c.A.view(), {}).message(), "success");
      ASSERT_EQ(host->refresh(c.A.view(), {}).message(), "success");
      expect_solves_of_host(*ours, *host, c.A.n, 1e-11);
    }
  const auto small = device_of(cases_of<double, I>(6, 6, 6)[0], Kind::ilu, {"auto", 2});
  EXPECT_FALSE(follows_a_grid(*small)) << small->summarize().plan;
}

TEST(GridOrderOnDevice, is_taken_with_values_in_single_precision)
{
  using I = std::int32_t;
  for (const auto& c : cases_of<double, I>(24, 17, 21)) {
    SCOPED_TRACE(c.name);
    const auto ours = device_of(c, Kind::ilu, {"tiled", 2, true});
    const auto host = host_of(c, Kind::ilu);
    EXPECT_TRUE(follows_a_grid(*ours)) << ours->summarize().plan;
    ASSERT_EQ(ours->refresh(c.A.view(), {}).message(), "success");
    ASSERT_EQ(host->refresh(c.A.view(), {}).message(), "success");
    expect_factor(*ours, *host, 1e-6);
    expect_solves_of_host(*ours, *host, c.A.n, 1e-5);
  }
}

/// Of several rows that fail the first in the given order is reported, with its numbers; shifts are those of the host.
TEST(GridOrderOnDevice, reports_the_pivots_of_the_given_order)
{
  using I = std::int32_t;
  struct Change {
    const char* what;
    double factor;
  };
  for (const auto& good : cases_of<double, I>(15, 14, 13))
    for (const Kind kind : {Kind::ilu, Kind::icc})
      for (const Change& change : {Change{"zero", 0}, {"NaN", std::nan("")}, {"negative", -1}})
        for (const Shift shift : {Shift::none, Shift::inblocks, Shift::nonzero, Shift::positive_definite}) {
          SCOPED_TRACE(testing::Message() << good.name << ", icc " << (kind == Kind::icc) << ", " << change.what
                                          << ", shift " << static_cast<int>(shift));
          GridCase<double, I> c = good;
          for (I i = 5; i < c.A.n; i += c.A.n / 4)
            for (I k = c.A.row_begin[i]; k < c.A.row_begin[i + 1]; ++k)
              if (c.A.column[k] == i || (change.factor == 0 && c.A.column[k] != i)) c.A.value[k] *= change.factor;
          PivotRule rule;
          rule.shift = shift;
          if (shift == Shift::inblocks) rule.shift_amount = 0.5;
          const auto ours = device_of(c, kind, {"tiled", 2});
          const auto host = host_of(c, kind);
          ASSERT_TRUE(follows_a_grid(*ours));
          const Status mine = ours->refresh(c.A.view(), rule), theirs = host->refresh(c.A.view(), rule);
          ASSERT_EQ(mine.code, theirs.code) << mine.message() << " | " << theirs.message();
          EXPECT_EQ(mine.row, theirs.row);
          if (mine.code == Code::zero_pivot) {
            EXPECT_NEAR(mine.value, theirs.value, 1e-12);
            EXPECT_NEAR(mine.tolerance, theirs.tolerance, 1e-12 * theirs.tolerance);
          }
          if (!mine.ok()) continue;
          const PivotReport pivots = ours->summarize().pivots, expected = host->summarize().pivots;
          EXPECT_EQ(pivots.shifts, expected.shifts);
          EXPECT_NEAR(pivots.shift_amount, expected.shift_amount, 1e-9 * (1 + std::abs(expected.shift_amount)));
          expect_factor(*ours, *host, 1e-8);
          if (change.factor == -1) expect_solves_of_host(*ours, *host, c.A.n, 1e-7);
        }
}

TEST(GridOrderOnDevice, serves_captured_solves)
{
  using I = std::int32_t;
  const auto cases = cases_of<double, I>(24, 16, 20), others = cases_of<double, I>(24, 16, 20, 9);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (std::size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE(cases[k].name);
    const I n = cases[k].A.n;
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(p->analyse(cases[k].A.pattern(), cases[k].symbolic(Kind::ilu), {"wavefront", 2}).message(), "success");
    ASSERT_TRUE(follows_a_grid(*p));
    const auto host = host_of(cases[k], Kind::ilu);
    const auto b = random_vector<double>(n, 5);
    const DeviceVector from(b), to(n);
    std::vector<double> truth(n);
    std::unique_ptr<Replay> replay;
    for (const auto* values : {&cases[k], &others[k]}) {
      p->use(Memory::host, stream);
      ASSERT_EQ(p->refresh(values->A.view(), {}).message(), "success");
      ASSERT_EQ(host->refresh(values->A.view(), {}).message(), "success");
      ASSERT_TRUE(host->solve(Operation::none, b.data(), truth.data(), {}).ok());
      solve(*p, from, to, n, stream);
      expect_near(to.get(), truth, 1e-11);
      if (!replay) replay = std::make_unique<Replay>(stream, [&] { solve(*p, from, to, n, stream); });
      to.fill_with_poison();
      replay->run();
      expect_near(to.get(), truth, 1e-11);
    }
  }
  CUDA(cudaStreamDestroy(stream));
}

void expect_host(CudaPreconditioner<double, std::int32_t>& ours, const GridCase<double, std::int32_t>& c)
{
  const auto host = host_of(c, Kind::ilu);
  ASSERT_EQ(ours.refresh(c.A.view(), {}).message(), "success");
  ASSERT_EQ(host->refresh(c.A.view(), {}).message(), "success");
  expect_factor(ours, *host, 1e-11);
  expect_solves_of_host(ours, *host, c.A.n, 1e-10);
}

/// The entries of row i are changed by change(i, &columns).
template <class Change>
GridCase<double, std::int32_t> changed(const GridCase<double, std::int32_t>& grid, const Change& change)
{
  GridCase<double, std::int32_t> c = grid;
  std::vector<std::vector<std::int32_t>> columns(grid.A.n);
  for (std::int32_t i = 0; i < grid.A.n; ++i) {
    const auto begin = grid.A.column.begin();
    columns[i].assign(begin + grid.A.row_begin[i], begin + grid.A.row_begin[i + 1]);
    change(i, &columns[i]);
  }
  c.A = dominant(columns);
  return c;
}

TEST(GridOrderOnDevice, is_not_taken_by_other_matrices)
{
  if (short_run()) return;
  using I = std::int32_t;
  const auto grid = cases_of<double, I>(48, 48, 48)[0];
  const auto without_an_entry = changed(grid, [](I i, std::vector<I>* row) {
    if (i == 700) row->pop_back();
  });
  const auto odd_row = changed(grid, [](I i, std::vector<I>* row) {
    if (i == 700) row->front() += 1 - 2 * (row->front() > 0);
  });
  for (const auto& c : {without_an_entry, odd_row}) {
    const auto ours = device_of(c, Kind::ilu, {"auto", 2});
    EXPECT_FALSE(follows_a_grid(*ours)) << ours->summarize().plan;
    expect_host(*ours, c);
  }
  const auto by_levels = device_of(grid, Kind::ilu, {"level_order", 2});
  EXPECT_FALSE(follows_a_grid(*by_levels)) << by_levels->summarize().plan;
}

/// L is a grid's, U is not: its odd entry would be below the diagonal in the grid's order, or has no pencil.
TEST(GridOrderOnDevice, leaves_odd_entries_above_the_diagonal_there)
{
  if (short_run()) return;
  using I = std::int32_t;
  const auto grid = cases_of<double, I>(48, 48, 48)[0];
  for (const I odd : {300, 900, 40000, 70000}) {
    SCOPED_TRACE(odd);
    const auto c = changed(grid, [odd](I i, std::vector<I>* row) {
      if (i != odd) return;
      const I last = row->back();
      row->pop_back();
      row->push_back(row->back() + (row->back() + 1 == last ? 2 : 1));
    });
    const auto ours = device_of(c, Kind::ilu, {"auto", 2});
    expect_host(*ours, c);
  }
}

/// syncfree_auto knows that its own order is as fast as the grid's, and the analysis takes over what it has found.
TEST(GridOrderOnDevice, is_known_to_the_choice_of_an_order)
{
  if (short_run()) return;
  using I = std::int32_t;
  const auto c = cases_of<double, I>(48, 48, 48)[0];
  for (const bool follows : {true, false}) {
    OrderingRequest request;
    request.analysis_follows = follows;
    const auto p = make_cuda_preconditioner<double, I>();
    OrderingChoice choice;
    ASSERT_TRUE(p->choose_ordering(c.A.view(), {}, request, &choice).ok());
    ASSERT_FALSE(choice.candidates.empty());
    EXPECT_EQ(choice.candidates[0].levels, 48 + 48 + 48 - 2);
    EXPECT_FALSE(choice.candidates[0].has_more);
    EXPECT_LT(choice.candidates[0].apply, 100) << "microseconds; by levels it would be more";
    ASSERT_EQ(p->analyse_on_device(c.A.pattern(), {}, {}, {"auto", 2}).message(), "success");
    EXPECT_TRUE(follows_a_grid(*p)) << p->summarize().plan;
    expect_host(*p, c);
  }
}

}  // namespace
}  // namespace syncfree
