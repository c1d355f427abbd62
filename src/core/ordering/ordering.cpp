/// The orders: colours of nodes or blocks, sorted.

#include "syncfree/ordering.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "breadth_first.hpp"
#include "coloring.hpp"
#include "node_graph.hpp"
#include "options.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> Graph<I> edges_in_levels(const PatternView<I>& G, const Array<I>& level)
{
  Graph<I> in;
  in.row_begin.push_back(0);
  for (I v = 0; v < G.n; ++v) {
    for (I k = G.row_begin[v]; k < G.row_begin[v + 1]; ++k)
      if (level[v] == level[G.column[k]]) in.column.push_back(G.column[k]);
    in.row_begin.push_back(static_cast<I>(in.column.size()));
  }
  return in;
}

/// Which components have an edge inside a level, by their smallest vertices.
template <class I> std::vector<bool> find_odd_components(const PatternView<I>& G, const BreadthFirst<I>& search)
{
  std::vector<bool> odd(static_cast<std::size_t>(G.n), false);
  for (I v = 0; v < G.n; ++v)
    for (I k = G.row_begin[v]; k < G.row_begin[v + 1]; ++k)
      if (search.level[G.column[k]] == search.level[v]) odd[search.component[v]] = true;
  return odd;
}

/// Colours all vertices by the parities of their levels.
template <class I> Coloring<I> color_by_parity(const PatternView<I>& G, const BreadthFirst<I>& search)
{
  const auto n = static_cast<std::size_t>(G.n);
  std::vector<std::array<std::uint64_t, 2>> squares(n);  // of the degrees of both parities, by component
  for (I v = 0; v < G.n; ++v) {
    const auto degree = static_cast<std::uint64_t>(G.row_begin[v + 1] - G.row_begin[v]);
    squares[search.component[v]][search.level[v] % 2] += degree * degree;
  }
  Coloring<I> made = {Array<I>(n), 2};
  for (I v = 0; v < G.n; ++v) {
    const auto& both = squares[search.component[v]];
    made.color[v] = (search.level[v] + (both[0] > both[1] ? 1 : 0)) % 2;
  }
  return made;
}

template <class I> Coloring<I> color_with_few(const PatternView<I>& G, const BreadthFirst<I>& search)
{
  Coloring<I> made = color_by_parity(G, search);
  const std::vector<bool> odd = find_odd_components(G, search);
  if (std::find(odd.begin(), odd.end(), true) != odd.end()) {
    const Coloring<I> greedy = color_greedily(G, order_by_degree(G));
    for (I v = 0; v < G.n; ++v)
      if (odd[search.component[v]]) made.color[v] = greedy.color[v];
    made.count = std::max(made.count, greedy.count);
  }
  drop_empty_colors(&made);
  return made;
}

template <class I> Coloring<I> color_cyclically(const PatternView<I>& G, const BreadthFirst<I>& search, I K)
{
  const Array<I> priority = order_by_degree(G);
  const I inside = color_greedily(edges_in_levels(G, search.level).pattern_view(), priority).count;
  const std::int64_t step = cyclic_step(inside, K);
  Array<I> target(static_cast<std::size_t>(G.n));
  for (I v = 0; v < G.n; ++v)
    target[v] = static_cast<I>(static_cast<std::int64_t>(search.count - 1 - search.level[v]) * step % K);
  Coloring<I> made = color_near_targets(G, priority, target, K);
  drop_empty_colors(&made);
  return made;
}

/// Sorts by key (counting sort, stable): count + 1 offsets into the order.
template <class I, class Key> Array<I> sort_by_key(const Array<I>& from, I count, const Key& key, Array<I>* order)
{
  Array<I> begin(static_cast<std::size_t>(count) + 1, I(0));
  for (const I v : from) ++begin[key(v) + 1];
  for (I c = 0; c < count; ++c) begin[c + 1] += begin[c];
  Array<I> next = begin;
  order->resize(from.size());
  for (const I v : from) (*order)[next[key(v)]++] = v;
  return begin;
}

/// Replaces offsets into the sorted nodes by offsets into their rows.
template <class I> void count_rows(const NodeGraph<I>& of, const Array<I>& nodes, Array<I>* begin)
{
  I node = 0, rows = 0;
  for (I& offset : *begin) {
    for (; node < offset; ++node) rows += of.rows_of(nodes[node]);
    offset = rows;
  }
}

template <class I> Ordering<I> expand_nodes(const NodeGraph<I>& of, const Array<I>& nodes, Array<I> color_begin)
{
  Ordering<I> made;
  made.order.reserve(static_cast<std::size_t>(of.node_begin.back()));
  for (const I v : nodes)
    for (I row = of.node_begin[v]; row < of.node_begin[v + 1]; ++row) made.order.push_back(row);
  made.color_begin = std::move(color_begin);
  count_rows(of, nodes, &made.color_begin);
  return made;
}

template <class I> Array<I> all_vertices(I count)
{
  Array<I> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), I(0));
  return all;
}

/// Sorts vertices by level, descending.
template <class I> Array<I> sort_by_level(const BreadthFirst<I>& search)
{
  Array<I> sorted;
  const auto from_last = [&](I v) { return search.count - 1 - search.level[v]; };
  sort_by_key(all_vertices(static_cast<I>(search.level.size())), search.count, from_last, &sorted);
  return sorted;
}

/// Sorts nodes by colour, stable.
template <class I>
Ordering<I> sort_nodes(const NodeGraph<I>& of, const Array<I>& from, const Coloring<I>& coloring)
{
  Array<I> nodes;
  Array<I> begin = sort_by_key(from, coloring.count, [&](I v) { return coloring.color[v]; }, &nodes);
  return expand_nodes(of, nodes, std::move(begin));
}

/// Counts the neighbours of each node in its block and in blocks of later colours.
template <class I>
Array<I> count_later_neighbors(const PatternView<I>& G, const Array<I>& block, const Coloring<I>& coloring)
{
  Array<I> later(static_cast<std::size_t>(G.n), I(0));
  for (I v = 0; v < G.n; ++v)
    for (I k = G.row_begin[v]; k < G.row_begin[v + 1]; ++k) {
      const I own = block[v], other = block[G.column[k]];
      later[v] += own == other || coloring.color[own] < coloring.color[other];
    }
  return later;
}

/// Sorts the nodes of a block: next is always that of the fewest later neighbours, then of the smallest number.
template <class I>
void sort_members(const PatternView<I>& G, const Array<I>& block, I* first, I* last, Array<I>* later)
{
  const auto is_before = [&](I v, I w) { return (*later)[v] != (*later)[w] ? (*later)[v] < (*later)[w] : v < w; };
  for (; first < last; ++first) {
    std::swap(*first, *std::min_element(first, last, is_before));
    for (I k = G.row_begin[*first]; k < G.row_begin[*first + 1]; ++k)
      if (block[G.column[k]] == block[*first]) --(*later)[G.column[k]];
  }
}

/// Sorts blocks by colour and number, and the nodes of each as a minimum degree order would.
template <class I>
Ordering<I> sort_blocks(const NodeGraph<I>& of, const Array<I>& block, const Coloring<I>& coloring)
{
  const I blocks = static_cast<I>(coloring.color.size());
  Array<I> sorted, place(static_cast<std::size_t>(blocks)), nodes;
  const auto color = [&](I b) { return coloring.color[b]; };
  Array<I> color_begin = sort_by_key(all_vertices(blocks), coloring.count, color, &sorted);
  for (I k = 0; k < blocks; ++k) place[sorted[k]] = k;
  const auto place_of = [&](I v) { return place[block[v]]; };
  Array<I> block_begin = sort_by_key(all_vertices(of.nodes()), blocks, place_of, &nodes);
  const PatternView<I> G = of.graph.pattern_view();
  Array<I> later = count_later_neighbors(G, block, coloring);
  for (I k = 0; k < blocks; ++k)
    sort_members(G, block, nodes.data() + block_begin[k], nodes.data() + block_begin[k + 1], &later);
  for (I& offset : color_begin) offset = block_begin[offset];
  Ordering<I> made = expand_nodes(of, nodes, std::move(color_begin));
  made.block_begin = std::move(block_begin);
  count_rows(of, nodes, &made.block_begin);
  return made;
}

/// Breadth-first levels of the blocks are not needed: their graph is hardly ever bipartite.
template <class I> Ordering<I> order_blocks(const NodeGraph<I>& of, I B)
{
  const NodeBlocks<I> blocks = join_nodes(of, B);
  const PatternView<I> G = blocks.graph.pattern_view();
  return sort_blocks(of, blocks.block, color_greedily(G, order_by_degree(G)));
}

template <class I> Ordering<I> order_nodes(const NodeGraph<I>& of, const OrderingOptions& options)
{
  if (options.kind == OrderingKind::abmc) return order_blocks(of, static_cast<I>(options.abmc_rows));
  const PatternView<I> G = of.graph.pattern_view();
  const BreadthFirst<I> search = search_breadth_first(G);
  if (options.kind == OrderingKind::multicolor)
    return sort_nodes(of, all_vertices(G.n), color_with_few(G, search));
  return sort_nodes(of, sort_by_level(search), color_cyclically(G, search, static_cast<I>(options.cyclic_colors)));
}

}  // namespace

template <class I>
Status make_ordering(PatternView<I> A, const OrderingOptions& options, int threads, Ordering<I>* out)
try {
  Status status = check_ordering_options(options);
  if (!status.ok()) return status;
  NodeGraph<I> nodes;
  status = make_node_graph(A, threads, &nodes);
  if (status.ok()) *out = order_nodes(nodes, options);
  return status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status make_ordering<I>(PatternView<I>, const OrderingOptions&, int, Ordering<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
