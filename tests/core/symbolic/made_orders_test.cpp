/// The orders that a symbolic factorization makes itself.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/patterns.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {
namespace {

template <class I> class MadeOrders : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(MadeOrders, Indices);

/// As from orders that make_ordering() has made, whatever the levels.
TYPED_TEST(MadeOrders, give_the_pattern_of_given_ones)
{
  using I = TypeParam;
  for (const OrderingKind ordering : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc})
    for (const Kind kind : {Kind::ilu, Kind::icc})
      for (const int levels : {0, 1})
        for (const I n : {0, 1, 60}) {
          SCOPED_TRACE(testing::Message() << n << " rows, ordering " << static_cast<int>(ordering));
          const OwnedPattern<I> A = random_matrix<I>(3, n, 6);
          SymbolicOptions<I> options;
          options.kind = kind;
          options.levels = levels;
          options.ordering = OrderingOptions{ordering, 5, 3};
          FactorPattern<I> made, given;
          ASSERT_EQ(make_factor_pattern(A.view(), options, &made, 2).message(), "success");
          Ordering<I> order;
          ASSERT_TRUE(make_ordering(A.view(), *options.ordering, 1, &order).ok());
          options.ordering.reset();
          options.row_order = options.column_order = order.order.data();
          ASSERT_EQ(make_factor_pattern(A.view(), options, &given, 1).message(), "success");
          EXPECT_EQ(made.row_order, given.row_order);
          EXPECT_EQ(made.column_order, given.column_order);
          EXPECT_EQ(made.column_place, given.column_place);
          EXPECT_EQ(made.block_begin, std::vector<I>(order.block_begin.begin(), order.block_begin.end()));
          EXPECT_EQ(made.colors, static_cast<I>(order.color_begin.size()) - 1);
          EXPECT_TRUE(given.block_begin.empty());
          EXPECT_EQ(made.lower_begin, given.lower_begin);
          EXPECT_EQ(made.lower_column, given.lower_column);
          EXPECT_EQ(made.upper_begin, given.upper_begin);
          EXPECT_EQ(made.upper_column, given.upper_column);
        }
}

TYPED_TEST(MadeOrders, are_refused_if_they_are_impossible)
{
  using I = TypeParam;
  const OwnedPattern<I> A = random_matrix<I>(1, 4, 50);
  const std::vector<I> order = {3, 1, 0, 2};
  SymbolicOptions<I> twice, too_many;
  twice.row_order = twice.column_order = order.data();
  twice.ordering = OrderingOptions();
  too_many.ordering = OrderingOptions{OrderingKind::cyclic, most_cyclic_colors + 1, 1};
  FactorPattern<I> made;
  made.levels = 77;
  EXPECT_EQ(make_factor_pattern(A.view(), twice, &made).code, Code::invalid_argument);
  const Status status = make_factor_pattern(A.view(), too_many, &made);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_EQ(status.message(), check_ordering_options(*too_many.ordering).message());
  const auto holed = pattern_of<I>({{0, 1}, {0}, {2}});
  too_many.ordering = OrderingOptions();
  const Status missing = make_factor_pattern(holed.view(), too_many, &made);
  EXPECT_EQ(missing.code, Code::missing_diagonal);
  EXPECT_EQ(missing.row, 1);
  EXPECT_EQ(made.levels, 77);
}

}  // namespace
}  // namespace syncfree
