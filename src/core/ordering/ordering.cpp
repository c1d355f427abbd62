/// The orders: colours of nodes or blocks, sorted.

#include "syncfree/ordering.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "blocks.hpp"
#include "coloring.hpp"
#include "cuthill_mckee.hpp"
#include "node_graph.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

Status check_range(const char* what, std::int64_t value, std::int64_t least, std::int64_t most)
{
  if (value >= least && value <= most) return {};
  return failed(Code::invalid_argument, std::string(what) + " " + std::to_string(value) + " must be at least " +
                                          std::to_string(least) + " and at most " + std::to_string(most));
}

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

/// Colours the vertices of one component, which has no edge inside a level, by the parities of their levels.
template <class I>
void color_by_parity(const PatternView<I>& G, const Array<I>& level, const I* begin, const I* end, Array<I>* color)
{
  std::uint64_t squares[2] = {0, 0};
  for (const I* v = begin; v < end; ++v) {
    const auto degree = static_cast<std::uint64_t>(G.row_begin[*v + 1] - G.row_begin[*v]);
    squares[level[*v] % 2] += degree * degree;
  }
  const I first = squares[0] > squares[1] ? 1 : 0;
  for (const I* v = begin; v < end; ++v) (*color)[*v] = (level[*v] + first) % 2;
}

template <class I> bool has_level_edge(const PatternView<I>& G, const Array<I>& level, const I* begin, const I* end)
{
  for (const I* v = begin; v < end; ++v)
    for (I k = G.row_begin[*v]; k < G.row_begin[*v + 1]; ++k)
      if (level[G.column[k]] == level[*v]) return true;
  return false;
}

template <class I> Coloring<I> color_with_few(const PatternView<I>& G, const CuthillMcKee<I>& search)
{
  const I *const first = search.order.data(), *const last = first + search.order.size();
  Coloring<I> made = {Array<I>(search.order.size(), I(0)), 2};
  Coloring<I> colors_of_others;
  for (const I *begin = first, *end; begin < last; begin = end) {
    end = std::find_if(begin + 1, last, [&](I v) { return search.level[v] == 0; });
    if (!has_level_edge(G, search.level, begin, end)) {
      color_by_parity(G, search.level, begin, end, &made.color);
      continue;
    }
    if (colors_of_others.count == 0) colors_of_others = color_greedily(G, order_by_degree(G));
    for (const I* v = begin; v < end; ++v) made.color[*v] = colors_of_others.color[*v];
    made.count = std::max(made.count, colors_of_others.count);
  }
  drop_empty_colors(&made);
  return made;
}

template <class I> Coloring<I> color_cyclically(const PatternView<I>& G, const Array<I>& level, I K)
{
  const Array<I> priority = order_by_degree(G);
  const I inside = color_greedily(edges_in_levels(G, level).pattern_view(), priority).count;
  const I step = std::min(K / 2, std::max(I(1), (3 * inside + 2) / 4));
  const I last = G.n > 0 ? *std::max_element(level.begin(), level.end()) : 0;
  Array<I> target(static_cast<std::size_t>(G.n));
  for (I v = 0; v < G.n; ++v)
    target[v] = static_cast<I>(static_cast<std::int64_t>(last - level[v]) * step % static_cast<std::int64_t>(K));
  Coloring<I> made = color_near_targets(G, priority, target, K);
  drop_empty_colors(&made);
  return made;
}

/// Sorts [0, n) by key (counting sort, stable): count + 1 offsets into the order.
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

template <class I> Ordering<I> sort_nodes(const NodeGraph<I>& of, const Array<I>& reverse, const Coloring<I>& coloring)
{
  Array<I> nodes;
  Array<I> begin = sort_by_key(reverse, coloring.count, [&](I v) { return coloring.color[v]; }, &nodes);
  return expand_nodes(of, nodes, std::move(begin));
}

/// Numbers blocks by their first nodes in the order given, and sorts nodes by colour and number of their blocks.
template <class I>
Ordering<I> sort_blocks(const NodeGraph<I>& of, const Array<I>& reverse, const Array<I>& block,
                        const Coloring<I>& coloring)
{
  const I blocks = static_cast<I>(coloring.color.size());
  Array<I> met, sorted, place(static_cast<std::size_t>(blocks), I(-1)), nodes;
  for (const I v : reverse) {
    if (place[block[v]] >= 0) continue;
    place[block[v]] = 0;
    met.push_back(block[v]);
  }
  Array<I> color_begin = sort_by_key(met, coloring.count, [&](I b) { return coloring.color[b]; }, &sorted);
  for (I k = 0; k < blocks; ++k) place[sorted[k]] = k;
  Array<I> block_begin = sort_by_key(reverse, blocks, [&](I v) { return place[block[v]]; }, &nodes);
  for (I& offset : color_begin) offset = block_begin[offset];
  Ordering<I> made = expand_nodes(of, nodes, std::move(color_begin));
  made.block_begin = std::move(block_begin);
  count_rows(of, nodes, &made.block_begin);
  return made;
}

/// Breadth-first levels of the blocks are not needed: their graph is hardly ever bipartite.
template <class I> Ordering<I> order_blocks(const NodeGraph<I>& of, const Array<I>& reverse, I B)
{
  const NodeBlocks<I> blocks = join_nodes(of, B);
  const PatternView<I> G = blocks.graph.pattern_view();
  return sort_blocks(of, reverse, blocks.block, color_greedily(G, order_by_degree(G)));
}

template <class I> Ordering<I> order_nodes(const NodeGraph<I>& of, const OrderingOptions& options)
{
  const PatternView<I> G = of.graph.pattern_view();
  const CuthillMcKee<I> search = order_cuthill_mckee(G);
  const Array<I> reverse(search.order.rbegin(), search.order.rend());
  switch (options.kind) {
    case OrderingKind::abmc: return order_blocks(of, reverse, static_cast<I>(options.abmc_rows));
    case OrderingKind::cyclic:
      return sort_nodes(of, reverse, color_cyclically(G, search.level, static_cast<I>(options.cyclic_colors)));
    default: return sort_nodes(of, reverse, color_with_few(G, search));
  }
}

}  // namespace

Status check_ordering_options(const OrderingOptions& options)
{
  Status status;
  if (options.kind == OrderingKind::cyclic)
    status = check_range("the number of colors of a cyclic order", options.cyclic_colors, 2, most_cyclic_colors);
  if (options.kind == OrderingKind::abmc)
    status = check_range("the number of rows of a block", options.abmc_rows, 1, most_abmc_rows);
  return status;
}

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
