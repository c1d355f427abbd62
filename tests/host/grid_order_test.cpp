/// A factor in the natural order of a grid is, renumbered, that in the order of its levels.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "../ordered.hpp"
#include "../types.hpp"
#include "core/ordering/graphs.hpp"
#include "core/pattern/grid_order.hpp"
#include "core/pattern/renumber.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

template <class T, class I>
std::unique_ptr<Preconditioner<T, I>> factored(const OwnedCsr<T, I>& A, Kind kind, const std::vector<I>& order)
{
  SymbolicOptions<I> symbolic;
  symbolic.kind = kind;
  if (!order.empty()) symbolic.row_order = symbolic.column_order = order.data();
  auto p = make_host_preconditioner<T, I>();
  EXPECT_EQ(p->analyse(A.pattern(), symbolic, SolverOptions{"serial", 1}).message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  return p;
}

template <class Values> void expect_near(const Values& found, const Values& expected, double tolerance)
{
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    ASSERT_LE(std::abs(found[k] - expected[k]), tolerance * (1 + std::abs(expected[k]))) << k;
}

template <class P> class HostGridOrder : public testing::Test {};
TYPED_TEST_SUITE(HostGridOrder, EachScalar);

TYPED_TEST(HostGridOrder, leaves_the_factor_as_it_is)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const double tolerance = sizeof(real_t<T>) == 8 ? 1e-13 : 1e-5;
  for (const auto& side : {std::array<I, 3>{9, 7, 1}, {6, 4, 5}})
    for (const Kind kind : {Kind::ilu, Kind::icc}) {
      const auto A = permuted(make_poisson<T, I>(side[0], side[1], side[2], 5),
                              order_by_levels<I>(side[0], side[1], side[2], 3));
      GridPoints<I> points;
      Array<I> row;
      ASSERT_TRUE(find_grid_points(A.pattern(), &points));
      ASSERT_TRUE(order_by_points(points, {1, 0, 2}, &row));
      const std::vector<I> order(row.begin(), row.end());
      const auto given = factored(A, kind, {}), natural = factored(A, kind, order);
      const FactorValues<T> expected = given->values(), found = natural->values();
      FactorPattern<I> made = natural->pattern();
      Array<I> lower_entry, upper_entry;
      renumber_rows(order, &made.lower_begin, &made.lower_column, &lower_entry);
      renumber_rows(order, &made.upper_begin, &made.upper_column, &upper_entry);
      EXPECT_EQ(made.lower_begin, given->pattern().lower_begin);
      EXPECT_EQ(made.lower_column, given->pattern().lower_column);
      EXPECT_EQ(made.upper_begin, given->pattern().upper_begin);
      EXPECT_EQ(made.upper_column, given->pattern().upper_column);
      expect_near(values_of_entries(found.lower, lower_entry), expected.lower, tolerance);
      expect_near(values_of_entries(found.upper, upper_entry), expected.upper, tolerance);
      for (I i = 0; i < A.n; ++i)
        ASSERT_LE(std::abs(found.inverse_pivot[i] - expected.inverse_pivot[order[i]]), tolerance) << i;
      const auto b = random_vector<T>(static_cast<std::size_t>(A.n), 4);
      for (const Operation op : {Operation::none, Operation::transpose}) {
        std::vector<T> x(b.size()), y(b.size());
        ASSERT_TRUE(given->solve(op, b.data(), x.data(), {}).ok());
        ASSERT_TRUE(natural->solve(op, b.data(), y.data(), {}).ok());
        expect_near(y, x, 100 * tolerance);
      }
    }
}

}  // namespace
}  // namespace syncfree
