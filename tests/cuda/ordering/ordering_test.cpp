/// Orders made on the device are those of make_ordering(), row for row.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "core/ordering/graphs.hpp"
#include "core/ordering/options.hpp"
#include "cuda/ordering/breadth_first.hpp"
#include "cuda/ordering/components.hpp"
#include "cuda/ordering/graph.hpp"
#include "cuda/ordering/ordering.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree::cuda {
namespace {

template <class I> using Entries = std::vector<std::pair<I, I>>;

OrderingOptions multicolor() { return {OrderingKind::multicolor}; }
OrderingOptions cyclic(std::int64_t K) { return {OrderingKind::cyclic, K}; }
OrderingOptions abmc(std::int64_t B) { return {OrderingKind::abmc, 16, B}; }

template <class I> void expect_blocks_of_host(const RowBlocks<I>& made, const Ordering<I>& expected)
{
  if (expected.order.empty()) {
    EXPECT_EQ(made.count(), 0) << "no rows, no blocks";
    return;
  }
  const auto& begin = expected.block_begin;
  ASSERT_EQ(made.begin.size(), begin.size());
  I most = 0;
  const std::vector<I> offsets = host(made.begin);
  for (std::size_t b = 0; b < begin.size(); ++b) {
    ASSERT_EQ(offsets[b], begin[b]) << b;
    if (b > 0) most = std::max(most, begin[b] - begin[b - 1]);
  }
  EXPECT_EQ(made.most, most);
  EXPECT_EQ(made.colors, begin.empty() ? 0 : static_cast<std::int64_t>(expected.color_begin.size()) - 1);
}

template <class I> void expect_order_of_host(const OwnedPattern<I>& A, const OrderingOptions& options)
{
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(options.kind)) + ", K " +
               std::to_string(options.cyclic_colors) + ", B " + std::to_string(options.abmc_rows));
  Ordering<I> expected;
  const Status status = make_ordering(A.view(), options, 1, &expected);
  ASSERT_TRUE(status.ok()) << status.message();
  const OnDevice<I> on_device(A);
  DeviceOrdering<I> made;
  try {
    make_ordering_on_device(on_device.view(), options, &made);
  } catch (const Failure& failure) {
    FAIL() << failure.status.message();
  }
  EXPECT_EQ(made.color_begin, plain(expected.color_begin));
  expect_blocks_of_host(made.blocks, expected);
  const std::vector<I> order = host(made.order);
  ASSERT_EQ(order.size(), expected.order.size());
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], expected.order[i]) << i;
}

template <class I> void expect_orders_of_host(const OwnedPattern<I>& A)
{
  expect_order_of_host(A, multicolor());
  for (const int K : {2, 5, 16, 100}) expect_order_of_host(A, cyclic(K));
  for (const int B : {1, 2, 5, 16, 100}) expect_order_of_host(A, abmc(B));
}

/// With an entry (center, i) for every i, or (i, center) if `column`.
template <class I> OwnedPattern<I> arrow(I n, I center, bool mirrored, bool column = false)
{
  Entries<I> entries;
  for (I i = 0; i < n; ++i)
    if (i != center) entries.emplace_back(column ? i : center, column ? center : i);
  return pattern_with(n, entries, mirrored);
}

/// Grid points of which about half of the neighbours in a box are coupled, renamed at random.
template <class I> OwnedPattern<I> mesh_at_random(I x, I y, I z, unsigned seed, bool mirrored)
{
  const auto box = stencil_triangle<I>(x, y, z, true, true);
  std::mt19937 random(seed);
  Entries<I> entries;
  for (I i = 0; i < box.n; ++i)
    for (I k = box.row_begin[i]; k < box.row_begin[i + 1]; ++k)
      if (random() % 2) entries.emplace_back(i, box.column[k]);
  return shuffled(pattern_with(box.n, entries, mirrored), seed);
}

/// Vertices 0 to `hubs` - 1 in a row, the i-th with i + 1 leaves: a vertex takes its colour after those before it.
template <class I> OwnedPattern<I> ascending_degrees(I hubs)
{
  Entries<I> entries;
  I next = hubs;
  for (I i = 0; i < hubs; ++i) {
    if (i > 0) entries.emplace_back(i - 1, i);
    for (I leaf = 0; leaf <= i; ++leaf) entries.emplace_back(i, next++);
  }
  return pattern_with(next, entries);
}

/// Vertices that are all coupled, with a leaf each, so that their rows differ.
template <class I> OwnedPattern<I> clique_with_leaves(I size)
{
  Entries<I> entries;
  for (I i = 0; i < size; ++i) {
    for (I j = 0; j < i; ++j) entries.emplace_back(i, j);
    entries.emplace_back(i, size + i);
  }
  return pattern_with(2 * size, entries);
}

/// Copies of a pattern, and then another one, which are not coupled.
template <class I> OwnedPattern<I> side_by_side(I copies, const OwnedPattern<I>& A, const OwnedPattern<I>& B)
{
  std::vector<std::vector<I>> rows;
  const auto append = [&](const OwnedPattern<I>& P) {
    const I first = static_cast<I>(rows.size());
    for (I i = 0; i < P.n; ++i) {
      rows.emplace_back();
      for (I k = P.row_begin[i]; k < P.row_begin[i + 1]; ++k) rows.back().push_back(first + P.column[k]);
    }
  };
  for (I copy = 0; copy < copies; ++copy) append(A);
  append(B);
  return pattern_of(rows);
}

/// Replaces row i by 2 + i % 5 rows with the same columns.
template <class I> OwnedPattern<I> in_nodes(const OwnedPattern<I>& A)
{
  std::vector<I> first = {0};
  for (I i = 0; i < A.n; ++i) first.push_back(first.back() + 2 + i % 5);
  std::vector<std::vector<I>> rows;
  for (I i = 0; i < A.n; ++i) {
    std::vector<I> row;
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      for (I j = first[A.column[k]]; j < first[A.column[k] + 1]; ++j) row.push_back(j);
    rows.insert(rows.end(), first[i + 1] - first[i], row);
  }
  return pattern_of(rows);
}

/// Random entries, a dense row or column now and then, and rows without any entry.
template <class I> OwnedPattern<I> random_pattern(unsigned seed)
{
  std::mt19937 random(seed);
  const I n = static_cast<I>(1 + random() % 600);
  std::vector<std::vector<I>> rows(n);
  for (unsigned count = random() % (4 * n); count > 0; --count)
    rows[random() % n].push_back(static_cast<I>(random() % n));
  const I center = static_cast<I>(random() % n);
  for (I i = 0; i < n && seed % 2 == 0; ++i) {
    if (seed % 4 == 0) rows[center].push_back(i);
    else rows[i].push_back(center);
  }
  for (I i = 0; i < n; ++i) {
    if (random() % 8 == 0) rows[i].clear();
    else if (random() % 8 > 0) rows[i].push_back(i);
    std::sort(rows[i].begin(), rows[i].end());
    rows[i].erase(std::unique(rows[i].begin(), rows[i].end()), rows[i].end());
  }
  return pattern_of(rows);
}

template <class I> class DeviceOrderings : public testing::Test {};
TYPED_TEST_SUITE(DeviceOrderings, Indices);

TYPED_TEST(DeviceOrderings, are_those_of_the_host_on_small_matrices)
{
  using I = TypeParam;
  const Watchdog watchdog("small orders", 300);
  for (const auto& pattern : ordering_patterns<I>()) {
    SCOPED_TRACE(pattern.name);
    expect_orders_of_host(pattern.A);
  }
  const std::vector<std::vector<std::vector<I>>> tiny = {{}, {{}}, {{0}}, {{}, {}}, {{1}, {}}, {{0}, {0, 1}}};
  for (const auto& rows : tiny) {
    SCOPED_TRACE(std::to_string(rows.size()) + " rows");
    expect_orders_of_host(pattern_of(rows));
  }
}

TYPED_TEST(DeviceOrderings, are_those_of_the_host_on_random_matrices)
{
  using I = TypeParam;
  const Watchdog watchdog("random orders", 300);
  for (unsigned seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    expect_orders_of_host(random_pattern<I>(seed));
    expect_orders_of_host(in_nodes(random_pattern<I>(100 + seed)));
  }
}

TYPED_TEST(DeviceOrderings, are_those_of_the_host_on_many_rows)
{
  using I = TypeParam;
  const Watchdog watchdog("large orders", 300);
  for (const auto& A : {mesh_at_random<I>(40, 41, 42, 1, true), mesh_at_random<I>(30, 31, 17, 2, false),
                        in_threes(mesh_at_random<I>(20, 21, 22, 3, true)), grid_pattern<I>(50, 51, 52, false),
                        shuffled(grid_pattern<I>(300, 200, 1, false), 4)}) {
    SCOPED_TRACE(A.n);
    expect_order_of_host(A, multicolor());
    expect_order_of_host(A, cyclic(16));
    expect_order_of_host(A, abmc(16));
  }
}

TYPED_TEST(DeviceOrderings, are_those_of_the_host_with_a_dense_row_or_column)
{
  using I = TypeParam;
  const Watchdog watchdog("dense rows", 300);
  expect_orders_of_host(arrow<I>(100000, 0, true));
  expect_orders_of_host(arrow<I>(20000, 777, false));
  expect_orders_of_host(arrow<I>(20000, 19999, false, true));
  Entries<I> entries;
  std::mt19937 random(9);
  for (I i = 1; i < 1500; ++i) {
    entries.emplace_back(0, i);
    for (int k = 0; k < 45; ++k) entries.emplace_back(i, static_cast<I>(random() % 1500));
  }
  expect_orders_of_host(pattern_with<I>(1500, entries));  // many entries in the other rows, too
}

TYPED_TEST(DeviceOrderings, are_those_of_the_host_in_many_rounds_and_with_many_colors)
{
  using I = TypeParam;
  const Watchdog watchdog("rounds", 300);
  expect_orders_of_host(ascending_degrees<I>(120));
  const auto clique = clique_with_leaves<I>(150);
  expect_orders_of_host(clique);
  const OnDevice<I> on_device(clique);
  DeviceOrdering<I> made;
  make_ordering_on_device(on_device.view(), multicolor(), &made);
  EXPECT_EQ(made.color_begin.size() - 1, 151u) << "one of the leaves";
}

/// More turns than are launched at once: at first wide ones, then some with a vertex each.
TYPED_TEST(DeviceOrderings, are_those_of_the_host_in_wide_rounds_and_then_narrow_ones)
{
  using I = TypeParam;
  const Watchdog watchdog("wide rounds", 300);
  const auto A = side_by_side<I>(1400, clique_with_leaves<I>(27), clique_with_leaves<I>(90));
  expect_order_of_host(A, multicolor());
  expect_order_of_host(A, cyclic(5));
}

TYPED_TEST(DeviceOrderings, are_those_of_the_host_on_equal_rows)
{
  using I = TypeParam;
  const Watchdog watchdog("equal rows", 300);
  expect_orders_of_host(pattern_of<I>(std::vector<std::vector<I>>(5000)));
  expect_orders_of_host(random_symmetric<I>(1, 300, 100));
}

/// The search of a path is given up and its order is made on the host, but not that of a graph with as many levels of
/// twenty vertices.
TYPED_TEST(DeviceOrderings, of_long_paths_are_made_on_the_host)
{
  using I = TypeParam;
  const Watchdog watchdog("paths", 300);
  const auto path = grid_pattern<I>(3000, 1, 1, false), strip = grid_pattern<I>(1500, 20, 1, false);
  for (const auto& A : {path, strip}) {
    const OnDevice<I> on_device(A);
    const DeviceNodeGraph nodes = make_node_graph_on_device(on_device.view());
    DeviceBreadthFirst search;
    const GraphView G = nodes.graph.view();
    EXPECT_EQ(search_breadth_first_on_device(G, find_components_on_device(G), &search), A.n == strip.n);
    expect_order_of_host(A, multicolor());
    expect_order_of_host(A, cyclic(16));
    expect_order_of_host(A, abmc(16));
  }
}

/// Triangles prove it for each component of which all vertices are next to one that was seen.
TYPED_TEST(DeviceOrderings, know_where_triangles_leave_no_bipartite_component)
{
  using I = TypeParam;
  const Watchdog watchdog("triangles", 300);
  const Entries<I> triangle = {{0, 2}, {2, 4}, {4, 0}};
  const auto with = [&](Entries<I> others) {
    others.insert(others.end(), triangle.begin(), triangle.end());
    return others;
  };
  const auto expect = [](bool proved, I n, const Entries<I>& entries) {
    const auto A = pattern_with(n, entries);
    SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(entries.size()) + " entries");
    const OnDevice<I> on_device(A);
    const DeviceNodeGraph nodes = make_node_graph_on_device(on_device.view());
    ASSERT_EQ(nodes.graph.n, static_cast<Vertex>(n)) << "every row is a node";
    EXPECT_EQ(have_triangles_on_device(nodes.graph.view()), proved);
    expect_order_of_host(A, multicolor());
  };
  expect(true, 5, {});
  expect(true, 7, with({{1, 0}, {3, 2}}));
  expect(true, 7, with({{1, 3}, {3, 5}, {5, 1}, {6, 5}}));
  expect(false, 7, with({{1, 3}}));
  expect(false, 7, with({{1, 0}, {3, 1}, {5, 3}}));  // no proof, although there is no other component
  expect(false, 5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}});
  expect(false, 6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}});
}

TYPED_TEST(DeviceOrderings, are_equal_in_all_runs)
{
  using I = TypeParam;
  const Watchdog watchdog("repeated orders", 300);
  const OnDevice<I> on_device(mesh_at_random<I>(30, 31, 17, 5, false));
  for (const OrderingOptions& options : {multicolor(), cyclic(16), abmc(16)}) {
    DeviceOrdering<I> first;
    make_ordering_on_device(on_device.view(), options, &first);
    for (int run = 0; run < 20; ++run) {
      DeviceOrdering<I> again;
      make_ordering_on_device(on_device.view(), options, &again);
      ASSERT_EQ(host(first.order), host(again.order));
      ASSERT_EQ(first.color_begin, again.color_begin);
    }
  }
}

TYPED_TEST(DeviceOrderings, refuse_numbers_out_of_range)
{
  using I = TypeParam;
  const OnDevice<I> on_device(grid_pattern<I>(3, 3, 1, false));
  DeviceOrdering<I> kept;
  kept.color_begin = {7};
  for (const OrderingOptions& options : {cyclic(1), cyclic(65537), abmc(0), abmc(1025)}) {
    Status status;
    try {
      make_ordering_on_device(on_device.view(), options, &kept);
    } catch (const Failure& failure) {
      status = failure.status;
    }
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_EQ(status.message(), check_ordering_options(options).message());
  }
  EXPECT_EQ(kept.color_begin, std::vector<I>{7});
}

}  // namespace
}  // namespace syncfree::cuda
