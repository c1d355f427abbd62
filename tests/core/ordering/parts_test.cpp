/// The parts of which orders are made, against their definitions as a parallel program would compute them: all vertices
/// of a level, of a round or of a pass at once.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/ordering/blocks.hpp"
#include "core/ordering/breadth_first.hpp"
#include "core/ordering/coloring.hpp"
#include "core/ordering/graphs.hpp"
#include "core/ordering/node_graph.hpp"

namespace syncfree {
namespace {

template <class I> NodeGraph<I> graph_of(const OwnedPattern<I>& A, int threads = 1)
{
  NodeGraph<I> made;
  EXPECT_TRUE(make_node_graph(A.view(), threads, &made).ok());
  return made;
}

template <class I> std::vector<I> neighbors(const PatternView<I>& G, I v)
{
  return {G.column + G.row_begin[v], G.column + G.row_begin[v + 1]};
}

template <class I> class OrderingParts : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(OrderingParts, Indices);

TYPED_TEST(OrderingParts, the_graph_is_that_of_both_triangles_over_nodes)
{
  using I = TypeParam;
  for (const auto& [name, A, symmetric, diagonal] : ordering_patterns<I>()) {
    SCOPED_TRACE(name);
    const auto couples = couplings(A.view());
    for (const int threads : {1, 3}) {
      const NodeGraph<I> made = graph_of(A, threads);
      ASSERT_EQ(made.node_begin.back(), A.n);
      std::vector<I> node(A.n);
      for (I v = 0; v < made.nodes(); ++v)
        for (I i = made.node_begin[v]; i < made.node_begin[v + 1]; ++i) node[i] = v;
      std::vector<std::set<I>> expected(made.nodes());
      for (I i = 0; i < A.n; ++i)
        for (I j = 0; j < A.n; ++j)
          if (couples[i][j] && node[i] != node[j]) expected[node[i]].insert(node[j]);
      for (I v = 0; v < made.nodes(); ++v)
        EXPECT_EQ(neighbors(made.graph.pattern_view(), v), std::vector<I>(expected[v].begin(), expected[v].end()));
    }
  }
}

TYPED_TEST(OrderingParts, nodes_are_equal_rows_where_there_are_many)
{
  using I = TypeParam;
  const auto elasticity = in_threes(grid_pattern<I>(4, 5, 4, true));
  EXPECT_EQ(graph_of(elasticity).nodes(), 80);
  EXPECT_EQ(graph_of(pattern_of<I>({{}, {}, {}})).nodes(), 1);
  EXPECT_EQ(graph_of(pattern_of<I>({{2, 3}, {2, 3}, {0, 1}, {0, 1}})).nodes(), 2) << "equal, but not coupled";
  EXPECT_EQ(graph_of(pattern_of<I>({{0, 1}, {0, 1}, {2}, {3}, {4}, {5}})).nodes(), 6) << "5 of 6 are too many";
  EXPECT_EQ(graph_of(pattern_of<I>({{0, 1}, {0, 1}, {2}, {3}, {4}})).nodes(), 4) << "4 of 5 are not";
}

/// Distances from a vertex, -1 outside of its component, by relaxation.
template <class I> std::vector<I> distances(const PatternView<I>& G, I root)
{
  std::vector<I> level(G.n, -1);
  level[root] = 0;
  for (bool again = true; again;) {
    again = false;
    for (I v = 0; v < G.n; ++v)
      for (const I w : neighbors(G, v)) {
        if (level[w] < 0 || (level[v] >= 0 && level[v] <= level[w] + 1)) continue;
        level[v] = level[w] + 1;
        again = true;
      }
  }
  return level;
}

TYPED_TEST(OrderingParts, levels_are_distances_from_the_smallest_vertices)
{
  using I = TypeParam;
  for (const auto& pattern : ordering_patterns<I>()) {
    SCOPED_TRACE(pattern.name);
    const NodeGraph<I> nodes = graph_of(pattern.A);
    const PatternView<I> G = nodes.graph.pattern_view();
    const BreadthFirst<I> made = search_breadth_first(G);
    I count = 0;
    for (I smallest = 0; smallest < G.n; ++smallest) {
      const auto level = distances(G, smallest);
      if (std::find_if(level.begin(), level.end(), [](I l) { return l >= 0; }) != level.begin() + smallest) continue;
      for (I v = 0; v < G.n; ++v) {
        if (level[v] < 0) continue;
        EXPECT_EQ(made.level[v], level[v]);
        EXPECT_EQ(made.component[v], smallest);
        count = std::max<I>(count, level[v] + 1);
      }
    }
    EXPECT_EQ(made.count, count);
  }
}

TYPED_TEST(OrderingParts, levels_of_a_path_are_these)
{
  using I = TypeParam;
  const NodeGraph<I> path = graph_of(pattern_with<I>(5, {{2, 0}, {0, 3}, {3, 1}, {1, 4}}));
  EXPECT_EQ(search_breadth_first(path.graph.pattern_view()).level, (std::vector<I>{0, 2, 1, 1, 3}));
}

/// Rounds: every vertex whose neighbours of higher priority have colours takes one.
template <class I, class Choose>
std::vector<I> color_in_rounds(const PatternView<I>& G, const Array<I>& order, const Choose& choose)
{
  std::vector<I> color(G.n, -1), rank(G.n);
  for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<I>(k);
  for (I colored = 0; colored < G.n;) {
    std::vector<std::pair<I, I>> round;
    for (I v = 0; v < G.n; ++v) {
      if (color[v] >= 0) continue;
      std::set<I> taken;
      bool free = true;
      for (const I w : neighbors(G, v)) {
        if (rank[w] > rank[v]) continue;
        free &= color[w] >= 0;
        taken.insert(color[w]);
      }
      if (free) round.emplace_back(v, choose(v, taken));
    }
    for (const auto& [v, c] : round) color[v] = c;
    colored += static_cast<I>(round.size());
  }
  return color;
}

TYPED_TEST(OrderingParts, colors_are_those_of_rounds_of_free_vertices)
{
  using I = TypeParam;
  for (const auto& pattern : ordering_patterns<I>()) {
    SCOPED_TRACE(pattern.name);
    const NodeGraph<I> nodes = graph_of(pattern.A);
    const PatternView<I> G = nodes.graph.pattern_view();
    const Array<I> order = order_by_degree(G);
    EXPECT_EQ(color_greedily(G, order).color, color_in_rounds(G, order, [](I, const std::set<I>& taken) {
                I c = 0;
                while (taken.count(c)) ++c;
                return c;
              }));
    for (const I K : {2, 5}) {
      Array<I> target(static_cast<std::size_t>(G.n));
      for (I v = 0; v < G.n; ++v) target[v] = 7 * v % K;
      EXPECT_EQ(color_near_targets(G, order, target, K).color,
                color_in_rounds(G, order, [&](I v, const std::set<I>& taken) {
                  for (I t = 0; t < K; ++t)
                    if (!taken.count((target[v] + t) % K)) return (target[v] + t) % K;
                  I c = K;
                  while (taken.count(c)) ++c;
                  return c;
                }));
    }
  }
}

TEST(OrderingPriorities, are_by_degree_and_the_same_for_both_index_types)
{
  const auto few = graph_of(random_symmetric<std::int32_t>(2, 300, 2));
  const auto many = graph_of(random_symmetric<std::int64_t>(2, 300, 2));
  const auto short_order = order_by_degree(few.graph.pattern_view());
  const auto long_order = order_by_degree(many.graph.pattern_view());
  EXPECT_TRUE(std::equal(short_order.begin(), short_order.end(), long_order.begin(), long_order.end()));
  const auto degree = [&](std::int32_t v) { return few.graph.row_begin[v + 1] - few.graph.row_begin[v]; };
  for (std::size_t k = 1; k < short_order.size(); ++k) EXPECT_LE(degree(short_order[k - 1]), degree(short_order[k]));
  EXPECT_EQ(mix_bits(0), 0xe220a8397b1dcdafu) << "the generator's published first number";
}

TYPED_TEST(OrderingParts, colors_that_nothing_has_are_dropped)
{
  using I = TypeParam;
  Coloring<I> coloring;
  coloring.color = {5, 2, 5, 0};
  coloring.count = 7;
  drop_empty_colors(&coloring);
  EXPECT_EQ(coloring.color, (std::vector<I>{2, 1, 2, 0}));
  EXPECT_EQ(coloring.count, 3);
}

/// All blocks at once, on a table of links.
template <class I> std::vector<I> blocks_at_once(const NodeGraph<I>& of, I B)
{
  std::vector<I> block(of.nodes());
  for (I v = 0; v < of.nodes(); ++v) block[v] = v;
  int rounds = join_rounds;
  while ((I(1) << (rounds - join_rounds)) < B) ++rounds;
  for (int round = 0; round < rounds; ++round) {
    const I count = block.empty() ? 0 : 1 + *std::max_element(block.begin(), block.end());
    std::vector<std::map<I, std::int64_t>> links(count);
    std::vector<I> rows(count), mate(count, -1);
    for (I v = 0; v < of.nodes(); ++v) {
      rows[block[v]] += of.rows_of(v);
      for (const I w : neighbors(of.graph.pattern_view(), v))
        if (block[w] != block[v]) ++links[block[v]][block[w]];
    }
    for (int pass = 0; pass < match_passes; ++pass) {
      std::vector<I> wish(count, -1);
      for (I b = 0; b < count; ++b) {
        std::tuple<std::int64_t, std::uint64_t, I> best = {-1, 0, 0};
        for (const auto& [c, link] : links[b]) {
          if (mate[b] >= 0 || mate[c] >= 0 || rows[b] + rows[c] > B) continue;
          const auto mixed = mix_bits(mix_bits(static_cast<std::uint64_t>(std::min(b, c))) +
                                      static_cast<std::uint64_t>(std::max(b, c)));
          best = std::max(best, std::make_tuple(link * 65536 / (rows[b] + rows[c]), mixed, I(-c)));
        }
        if (std::get<0>(best) >= 0) wish[b] = -std::get<2>(best);
      }
      for (I b = 0; b < count; ++b)
        if (wish[b] >= 0 && wish[wish[b]] == b) mate[b] = wish[b];
    }
    std::map<I, I> number;  // of the smaller block of a pair
    for (I b = 0; b < count; ++b) {
      const I smaller = mate[b] >= 0 ? std::min(b, mate[b]) : b;
      number.emplace(smaller, static_cast<I>(number.size()));
    }
    for (I& b : block) b = number[mate[b] >= 0 ? std::min(b, mate[b]) : b];
  }
  return block;
}

TYPED_TEST(OrderingParts, blocks_are_those_of_passes_of_all_blocks)
{
  using I = TypeParam;
  for (const auto& pattern : ordering_patterns<I>())
    for (const I B : {1, 2, 16, 50}) {
      SCOPED_TRACE(pattern.name + " " + std::to_string(B));
      const NodeGraph<I> nodes = graph_of(pattern.A);
      const NodeBlocks<I> made = join_nodes(nodes, B);
      EXPECT_EQ(made.block, blocks_at_once(nodes, B));
      const PatternView<I> G = made.graph.pattern_view();
      std::vector<std::set<I>> expected(G.n);
      for (I v = 0; v < nodes.nodes(); ++v)
        for (const I w : neighbors(nodes.graph.pattern_view(), v))
          if (made.block[w] != made.block[v]) expected[made.block[v]].insert(made.block[w]);
      for (I b = 0; b < G.n; ++b) {
        const auto got = neighbors(G, b);
        EXPECT_EQ(std::set<I>(got.begin(), got.end()), expected[b]);
        EXPECT_EQ(got.size(), expected[b].size());
      }
    }
}

TYPED_TEST(OrderingParts, blocks_of_a_mesh_are_nearly_full)
{
  using I = TypeParam;
  const NodeGraph<I> nodes = graph_of(grid_pattern<I>(40, 40, 1, true));
  EXPECT_LE(join_nodes(nodes, I(16)).graph.pattern_view().n, 1600 / 11);
}

}  // namespace
}  // namespace syncfree
