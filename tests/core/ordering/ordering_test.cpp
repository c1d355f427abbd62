#include "syncfree/ordering.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/ordering/graphs.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

constexpr OrderingKind kinds[] = {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc};

OrderingOptions options_of(OrderingKind kind, std::int64_t number = 16) { return {kind, number, number}; }

template <class I> Ordering<I> order_of(const OwnedPattern<I>& A, const OrderingOptions& options, int threads = 1)
{
  Ordering<I> made;
  const Status status = make_ordering(A.view(), options, threads, &made);
  EXPECT_TRUE(status.ok()) << status.message();
  return made;
}

template <class I> LevelCounts levels_of(const OwnedPattern<I>& A, const Ordering<I>& ordering)
{
  SymbolicOptions<I> symbolic;
  symbolic.row_order = symbolic.column_order = ordering.order.data();
  FactorPattern<I> factor;
  EXPECT_TRUE(make_factor_pattern(A.view(), symbolic, &factor).ok());
  return count_levels(factor);
}

template <class I> bool ascends_to(const Array<I>& begin, I n)
{
  return !begin.empty() && begin.front() == 0 && begin.back() == n &&
         std::adjacent_find(begin.begin(), begin.end(), std::greater_equal<I>()) == begin.end();
}

/// Part of every new row, for offsets of parts.
template <class I> std::vector<I> part_of(const Array<I>& begin)
{
  std::vector<I> part;
  for (std::size_t p = 0; p + 1 < begin.size(); ++p) part.resize(begin[p + 1], static_cast<I>(p));
  return part;
}

template <class I> bool same_columns(const OwnedPattern<I>& A, I i, I j)
{
  return std::equal(A.column.begin() + A.row_begin[i], A.column.begin() + A.row_begin[i + 1],
                    A.column.begin() + A.row_begin[j], A.column.begin() + A.row_begin[j + 1]);
}

template <class I> class Orderings : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Orderings, Indices);

TYPED_TEST(Orderings, are_permutations_whose_colors_are_not_coupled)
{
  using I = TypeParam;
  for (const auto& pattern : ordering_patterns<I>())
    for (const OrderingKind kind : kinds)
      for (const int number : {2, 5, 16}) {
        const auto& A = pattern.A;
        SCOPED_TRACE(pattern.name + " " + std::to_string(static_cast<int>(kind)) + " " + std::to_string(number));
        const Ordering<I> made = order_of(A, options_of(kind, number));
        std::vector<I> rows(made.order.begin(), made.order.end());
        std::sort(rows.begin(), rows.end());
        std::vector<I> all(A.n);
        std::iota(all.begin(), all.end(), I(0));
        ASSERT_EQ(rows, all);
        ASSERT_TRUE(ascends_to(made.color_begin, A.n));
        ASSERT_EQ(kind == OrderingKind::abmc, !made.block_begin.empty());

        const auto couples = couplings(A.view());
        const auto color = part_of(made.color_begin);
        const auto block = part_of(made.block_begin);
        const auto together = [&](I i, I j) {  // in a block, or in a node: rows that follow each other in A, too
          if (kind == OrderingKind::abmc) return block[i] == block[j];
          for (I k = i; k < j; ++k)
            if (made.order[k + 1] != made.order[k] + 1) return false;
          return same_columns(A, made.order[i], made.order[j]);
        };
        for (I i = 0; i < A.n; ++i)
          for (I j = i + 1; j < A.n && color[j] == color[i]; ++j)
            EXPECT_TRUE(!couples[made.order[i]][made.order[j]] || together(i, j)) << i << " " << j;
        if (kind != OrderingKind::abmc) continue;
        ASSERT_TRUE(ascends_to(made.block_begin, A.n));
        for (std::size_t b = 0; b + 1 < made.block_begin.size(); ++b) {
          const I first = made.block_begin[b], rows = made.block_begin[b + 1] - first;
          bool node = true;
          for (I i = first + 1; i < first + rows; ++i)
            node = node && made.order[i] == made.order[i - 1] + 1 && same_columns(A, made.order[i - 1], made.order[i]);
          EXPECT_TRUE(rows <= number || node) << rows;
        }
        for (const I offset : made.color_begin)
          EXPECT_TRUE(std::binary_search(made.block_begin.begin(), made.block_begin.end(), offset));
      }
}

/// Inside a block every row has the fewest later neighbours of those that are left, and among equals is the smallest.
TYPED_TEST(Orderings, of_blocks_take_rows_of_few_later_neighbors_first)
{
  using I = TypeParam;
  for (const auto& [name, A, symmetric, diagonal] : ordering_patterns<I>())
    for (const int B : {2, 5, 16}) {
      if (name == "dense" || name.rfind("elasticity", 0) == 0) continue;  // these have nodes
      SCOPED_TRACE(name + " " + std::to_string(B));
      const Ordering<I> made = order_of(A, options_of(OrderingKind::abmc, B));
      const auto couples = couplings(A.view());
      const auto color = part_of(made.color_begin), block = part_of(made.block_begin);
      const I n = A.n;
      const auto key = [&](I i, I step) {
        I later = 0;
        for (I j = 0; j < n; ++j)
          if (couples[made.order[i]][made.order[j]] && j != i)
            later += color[j] > color[i] || (block[j] == block[i] && j >= step);
        return std::make_pair(later, made.order[i]);
      };
      for (I i = 0; i < n; ++i)
        for (I other = i + 1; other < n && block[other] == block[i]; ++other)
          EXPECT_LT(key(i, i), key(other, i)) << i << " " << other;
    }
}

TYPED_TEST(Orderings, give_factors_as_many_levels_as_colors)
{
  using I = TypeParam;
  for (const auto& [name, A, symmetric, diagonal] : ordering_patterns<I>()) {
    if (!diagonal || name == "dense" || name.rfind("elasticity", 0) == 0) continue;  // these have nodes
    SCOPED_TRACE(name);
    const Ordering<I> few = order_of(A, options_of(OrderingKind::multicolor));
    const LevelCounts levels = levels_of(A, few);
    const auto colors = static_cast<std::int64_t>(few.color_begin.size()) - 1;
    EXPECT_LE(levels.lower, colors);
    EXPECT_TRUE(!symmetric || levels.lower == colors) << levels.lower << " " << colors;
    EXPECT_LE(levels.upper, colors);
    const Ordering<I> cyclic = order_of(A, options_of(OrderingKind::cyclic, 6));
    EXPECT_LE(levels_of(A, cyclic).lower, static_cast<std::int64_t>(cyclic.color_begin.size()) - 1);
  }
  const auto elasticity = in_threes(grid_pattern<I>(4, 5, 4, true));
  const Ordering<I> nodes = order_of(elasticity, options_of(OrderingKind::multicolor));
  EXPECT_EQ(levels_of(elasticity, nodes).lower, 3 * (static_cast<std::int64_t>(nodes.color_begin.size()) - 1));
}

TYPED_TEST(Orderings, of_tiny_matrices_are_these)
{
  using I = TypeParam;
  using List = std::vector<I>;
  const auto path = pattern_with<I>(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  const Ordering<I> two = order_of(path, options_of(OrderingKind::multicolor));
  EXPECT_EQ(two.order, (List{0, 2, 4, 1, 3}));
  EXPECT_EQ(two.color_begin, (List{0, 3, 5}));
  const Ordering<I> three = order_of(path, options_of(OrderingKind::cyclic, 3));
  EXPECT_EQ(three.order, (List{4, 1, 3, 0, 2}));
  EXPECT_EQ(three.color_begin, (List{0, 2, 4, 5}));
  const Ordering<I> one = order_of(path, options_of(OrderingKind::abmc, 5));
  EXPECT_EQ(one.order, (List{0, 1, 2, 3, 4})) << "always an end of what is left";
  EXPECT_EQ(one.color_begin, (List{0, 5}));
  EXPECT_EQ(one.block_begin, (List{0, 5}));
  EXPECT_EQ(order_of(path, options_of(OrderingKind::abmc, 1)).block_begin, (List{0, 1, 2, 3, 4, 5}));

  // a triangle 0 1 2 whose corners have a neighbour 3 4 5 each, which have the first colour
  const auto triangle = pattern_with<I>(6, {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 4}, {2, 5}});
  const Ordering<I> greedy = order_of(triangle, options_of(OrderingKind::multicolor));
  EXPECT_EQ(greedy.color_begin, (List{0, 3, 4, 5, 6}));
  EXPECT_EQ(*std::min_element(greedy.order.begin(), greedy.order.begin() + 3), 3);

  for (const OrderingKind kind : kinds) {
    EXPECT_EQ(order_of(pattern_of<I>({}), options_of(kind)).color_begin, (List{0}));
    EXPECT_EQ(order_of(pattern_of<I>({{0}}), options_of(kind)).order, (List{0}));
    const Ordering<I> node = order_of(pattern_of<I>({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}), options_of(kind));
    EXPECT_EQ(node.order, (List{0, 1, 2})) << "one node";
    EXPECT_EQ(node.color_begin, (List{0, 3}));
    EXPECT_EQ(order_of(pattern_with<I>(4, {}), options_of(kind)).color_begin, (List{0, 4})) << "nothing is coupled";
  }
}

TYPED_TEST(Orderings, color_bipartite_graphs_with_two_colors)
{
  using I = TypeParam;
  for (const bool shuffle : {false, true}) {
    const auto grid = grid_pattern<I>(9, 8, 7, false);
    const Ordering<I> made = order_of(shuffle ? shuffled(grid, 5) : grid, options_of(OrderingKind::multicolor));
    EXPECT_EQ(made.color_begin, (std::vector<I>{0, 252, 504}));
  }
}

/// The dense row is eliminated last: eliminated first it would couple all others.
TYPED_TEST(Orderings, put_a_dense_row_into_the_last_color)
{
  using I = TypeParam;
  auto entries = std::vector<std::pair<I, I>>{{1, 2}, {2, 3}, {1, 3}};
  for (I i = 1; i < 100; ++i) entries.emplace_back(0, i);
  const Ordering<I> made = order_of(pattern_with<I>(100, entries), options_of(OrderingKind::multicolor));
  EXPECT_EQ(made.order.back(), 0);
}

/// Row 0 is coupled with all a, and each a with its own b: so the a have the first color.
TYPED_TEST(Orderings, put_a_dense_row_into_the_last_color_of_a_bipartite_graph)
{
  using I = TypeParam;
  std::vector<std::pair<I, I>> entries;
  for (I a = 1; a < 50; ++a) entries.emplace_back(0, a), entries.emplace_back(a, a + 49);
  const Ordering<I> made = order_of(pattern_with<I>(99, entries), options_of(OrderingKind::multicolor));
  ASSERT_EQ(made.color_begin, (std::vector<I>{0, 49, 99}));
  EXPECT_NE(std::find(made.order.begin() + 49, made.order.end(), I(0)), made.order.end());
}

/// A component with an odd cycle does not spoil the colours of the others.
TYPED_TEST(Orderings, color_each_component_by_itself)
{
  using I = TypeParam;
  std::vector<std::pair<I, I>> entries = {{0, 1}, {1, 2}, {0, 2}};
  for (I i = 3; i < 99; ++i) entries.emplace_back(i, i + 1);
  const Ordering<I> made = order_of(pattern_with<I>(100, entries), options_of(OrderingKind::multicolor));
  ASSERT_EQ(made.color_begin.size(), 4u);
  EXPECT_EQ(made.color_begin[3] - made.color_begin[2], 1) << "of the triangle";
}

TYPED_TEST(Orderings, cyclic_takes_further_colors_only_where_it_must)
{
  using I = TypeParam;
  const auto box = grid_pattern<I>(6, 6, 6, true);
  EXPECT_LE(order_of(box, options_of(OrderingKind::cyclic, 32)).color_begin.size(), 33u) << "degrees are at most 26";
  EXPECT_GE(order_of(box, options_of(OrderingKind::cyclic, 2)).color_begin.size(), 9u) << "eight corners of a cell";
  const auto line = pattern_with<I>(50, {{0, 1}, {1, 2}});
  EXPECT_EQ(order_of(line, options_of(OrderingKind::cyclic, 16)).color_begin.size(), 4u) << "none is empty";
}

/// Most entries of L then lead from one level to the next: a row waits for rows that are near.
TYPED_TEST(Orderings, cyclic_keeps_the_direction_of_dependences)
{
  using I = TypeParam;
  const auto grid = grid_pattern<I>(40, 40, 1, false);
  const auto against = [&](const OrderingOptions& options) {
    const Ordering<I> made = order_of(grid, options);
    std::vector<I> place(grid.n);
    for (I i = 0; i < grid.n; ++i) place[made.order[i]] = i;
    int count = 0;  // entries whose direction is not that of the natural order
    for (I i = 0; i < grid.n; ++i)
      for (I k = grid.row_begin[i]; k < grid.row_begin[i + 1]; ++k)
        count += grid.column[k] < i && place[grid.column[k]] > place[i];
    return std::min<double>(count, grid.column.size() / 2. - grid.n / 2. - count) / grid.n;
  };
  EXPECT_GT(against(options_of(OrderingKind::multicolor)), 0.9);
  EXPECT_LT(against(options_of(OrderingKind::cyclic, 16)), 0.15);
  EXPECT_LT(against(options_of(OrderingKind::cyclic, 64)), 0.05);
}

TYPED_TEST(Orderings, do_not_depend_on_threads_or_on_earlier_calls)
{
  using I = TypeParam;
  const auto grid = shuffled(grid_pattern<I>(40, 40, 12, true), 7);
  for (const OrderingKind kind : kinds) {
    const Ordering<I> first = order_of(grid, options_of(kind));
    for (const int threads : {1, 2, 4}) {
      const Ordering<I> again = order_of(grid, options_of(kind), threads);
      EXPECT_EQ(first.order, again.order);
      EXPECT_EQ(first.color_begin, again.color_begin);
      EXPECT_EQ(first.block_begin, again.block_begin);
    }
  }
}

TEST(OrderingsOfBothIndices, are_equal)
{
  const auto few = ordering_patterns<std::int32_t>();
  const auto many = ordering_patterns<std::int64_t>();
  for (std::size_t p = 0; p < few.size(); ++p)
    for (const OrderingKind kind : kinds) {
      const auto a = order_of(few[p].A, options_of(kind)).order;
      const auto b = order_of(many[p].A, options_of(kind)).order;
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << few[p].name;
    }
}

/// PETSc's inodes: runs of at most five equal rows, if they are at most 0.8 n.
TYPED_TEST(Orderings, keep_runs_of_equal_rows_together)
{
  using I = TypeParam;
  std::vector<std::vector<I>> rows;  // of every five rows two are equal; then a run of 40
  for (I i = 0; i < 100; ++i) {
    rows.push_back({i % 5 == 1 ? i - 1 : i, i % 5 == 1 ? i : (i % 5 ? i : i + 1), 100 + i % 40});
    rows.back().erase(std::unique(rows.back().begin(), rows.back().end()), rows.back().end());
    if (i % 5 == 1) rows.back() = rows[i - 1];
  }
  for (I i = 0; i < 40; ++i) rows.push_back({0, 7, 100});
  const auto A = pattern_of(rows);
  for (const OrderingKind kind : kinds) {
    const Ordering<I> made = order_of(A, options_of(kind));
    std::vector<I> place(A.n);
    for (I i = 0; i < A.n; ++i) place[made.order[i]] = i;
    for (I i = 0; i + 1 < A.n; ++i) EXPECT_TRUE(!same_columns(A, i, i + 1) || place[i + 1] == place[i] + 1) << i;
  }
}

/// A row that is coupled to all others, and blocks that cannot grow around it: a minute if something is quadratic.
TYPED_TEST(Orderings, of_a_dense_row_are_not_quadratic)
{
  using I = TypeParam;
  std::vector<std::pair<I, I>> entries;
  const I n = 60000;
  for (I i = 1; i < n; ++i) entries.emplace_back(0, i);
  const auto arrow = pattern_with<I>(n, entries);
  for (const OrderingKind kind : kinds) {
    const Ordering<I> made = order_of(arrow, options_of(kind));
    EXPECT_LE(made.color_begin.size(), 4u);
  }
}

TYPED_TEST(Orderings, refuse_numbers_out_of_range_in_words)
{
  using I = TypeParam;
  const auto path = pattern_with<I>(3, {{0, 1}, {1, 2}});
  Ordering<I> kept;
  kept.order = {7};
  for (const int number : {-1, 0, 1, 65537}) {
    const Status status = make_ordering(path.view(), options_of(OrderingKind::cyclic, number), 1, &kept);
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_EQ(status.message(), "invalid argument: the number of colors of a cyclic order " + std::to_string(number) +
                                  " must be at least 2 and at most 65536");
  }
  for (const int number : {-1, 0, 1025}) {
    const Status status = make_ordering(path.view(), options_of(OrderingKind::abmc, number), 1, &kept);
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_EQ(status.message(), "invalid argument: the number of rows of a block " + std::to_string(number) +
                                  " must be at least 1 and at most 1024");
  }
  EXPECT_EQ(kept.order, (std::vector<I>{7}));
  EXPECT_TRUE(make_ordering(path.view(), options_of(OrderingKind::multicolor, 0), 1, &kept).ok()) << "not its numbers";
}

}  // namespace
}  // namespace syncfree
