/// Colours of nodes or blocks, sorted.

#include "cuda/ordering/ordering.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/ordering/options.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/base/search.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/ordering/blocks.hpp"
#include "cuda/ordering/breadth_first.hpp"
#include "cuda/ordering/coloring.hpp"
#include "cuda/ordering/components.hpp"
#include "cuda/ordering/graph.hpp"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/array.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// Levels, descending, as digits of sort keys; by default there is one level.
struct LevelDigits {
  const unsigned* level = nullptr;
  std::uint64_t levels = 1;

  __device__ std::uint64_t key(std::uint64_t part, std::size_t v) const
  {
    return level ? part * levels + (levels - 1 - level[v]) : part;
  }
};

/// key[v]: part[v], level, descending; vertex[v] = v
__global__ void find_sort_keys(Vertex n, const unsigned* part, LevelDigits digits, std::uint64_t* key, Vertex* vertex)
{
  const std::size_t v = this_thread();
  if (v >= n) return;
  key[v] = digits.key(part[v], v);
  vertex[v] = static_cast<Vertex>(v);
}

/// key[v]: place of v's block; vertex[v] = v
__global__ void find_sort_keys_in_blocks(Vertex n, const Vertex* block, const Vertex* place, std::uint64_t* key,
                                         Vertex* vertex)
{
  const std::size_t v = this_thread();
  if (v >= n) return;
  key[v] = place[block[v]];
  vertex[v] = static_cast<Vertex>(v);
}

/// Blocks whose nodes are being sorted.
///   block, color  of every node, of every block
///   node, begin   nodes by block, ascending in each; blocks + 1 offsets into them
struct BlocksOfNodes {
  const Vertex* block;
  const unsigned* color;
  const Vertex *node, *begin;

  /// True for a neighbour in the same block, or in one of a later colour.
  __device__ bool is_later(Vertex own_block, Vertex neighbor) const
  {
    return block[neighbor] == own_block || color[own_block] < color[block[neighbor]];
  }
};

/// Sorts up to 32 nodes that have few neighbours each, by sort_members(); a lane a node. Called by a warp.
///   v  of this lane, or no_vertex
__device__ void sort_in_registers(const GraphView& G, const BlocksOfNodes& of, Vertex v, Vertex first, Vertex end,
                                  Vertex own_block, Vertex* sorted)
{
  unsigned later = ~0u, coupled = 0;  // coupled: a bit for each member that is a neighbour
  if (v != no_vertex) {
    later = 0;
    for (std::size_t k = G.begin[v]; k < G.begin[v + 1]; ++k) {
      const Vertex w = G.neighbor[k];
      later += of.is_later(own_block, w);
      if (of.block[w] == own_block) coupled |= 1u << find(of.node + first, 0u, end - first, w);
    }
  }
  for (Vertex to = first; to < end; ++to) {
    const unsigned least = __reduce_min_sync(~0u, later);
    const unsigned next = __ffs(static_cast<int>(__ballot_sync(~0u, later == least))) - 1;
    if (this_lane() == next) sorted[to] = v, later = ~0u;
    else later -= coupled >> next & 1;
  }
}

/// The same for any nodes.
///   later  for the nodes of the block
__device__ void sort_in_memory(const GraphView& G, const BlocksOfNodes& of, Vertex first, Vertex end,
                               Vertex own_block, unsigned* later, Vertex* sorted)
{
  for (Vertex m = first; m < end; ++m) {
    const Vertex v = of.node[m];
    unsigned count = 0;
    for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32)
      count += of.is_later(own_block, G.neighbor[k]);
    count = __reduce_add_sync(~0u, count);
    if (this_lane() == 0) store_relaxed(later + v, count);
  }
  __syncwarp();
  for (Vertex to = first; to < end; ++to) {
    unsigned fewest = ~0u;
    Vertex next = no_vertex;
    for (Vertex m = first + this_lane(); m < end; m += 32) {
      const unsigned own = load_relaxed(later + of.node[m]);
      if (own < fewest) fewest = own, next = of.node[m];  // nodes of a block ascend
    }
    const unsigned least = __reduce_min_sync(~0u, fewest);
    next = __reduce_min_sync(~0u, fewest == least ? next : no_vertex);
    for (std::size_t k = G.begin[next] + this_lane(); k < G.begin[next + 1]; k += 32)
      if (of.block[G.neighbor[k]] == own_block) atomic_add(later + G.neighbor[k], ~0u);
    if (this_lane() == 0) sorted[to] = next, store_relaxed(later + next, ~0u);
    __syncwarp();
  }
}

/// Sorts the nodes of each block: next is always that of the fewest later neighbours, then of the smallest number.
/// Later are those in its block that are not sorted yet, and those in blocks of later colours. A warp a block.
///   later  for each node: memory that large blocks need; more than most_vertices once a node is sorted
__global__ void sort_members(GraphView G, Vertex blocks, BlocksOfNodes of, unsigned* later, Vertex* sorted)
{
  constexpr unsigned many = 128;  // neighbours
  const std::size_t b = this_warp();
  if (b >= blocks) return;
  const Vertex first = of.begin[b], end = of.begin[b + 1], own_block = of.block[of.node[first]];
  const Vertex v = this_lane() < end - first ? of.node[first + this_lane()] : no_vertex;
  const bool has_many = v != no_vertex && G.degree(v) > many;
  if (end - first > 32 || __any_sync(~0u, has_many)) sort_in_memory(G, of, first, end, own_block, later, sorted);
  else sort_in_registers(G, of, v, first, end, own_block, sorted);
}

/// place[sorted[r]] = r
__global__ void find_places(Vertex n, const Vertex* sorted, Vertex* place)
{
  const std::size_t r = this_thread();
  if (r < n) place[sorted[r]] = static_cast<Vertex>(r);
}

/// begin[p] = number of sorted keys of parts before part[p], for p <= parts
///   part  nullptr: p
///   keys  that a part may have
__global__ void find_part_begins(Vertex parts, const Vertex* part, Vertex n, const std::uint64_t* key,
                                 std::uint64_t keys, Vertex* begin)
{
  const std::size_t p = this_thread();
  if (p > parts) return;
  const std::uint64_t least = (part ? part[p] : p) * keys;
  Vertex first = 0, last = n;
  while (first < last) {
    const Vertex middle = first + (last - first) / 2;
    if (key[middle] < least) first = middle + 1;
    else last = middle;
  }
  begin[p] = first;
}

/// lengths[r] = rows of the node at position r; lengths[n] = 0
__global__ void measure_sorted_nodes(Vertex n, const Vertex* sorted, const Vertex* node_begin, Vertex* lengths)
{
  const std::size_t r = this_thread();
  if (r > n) return;
  lengths[r] = r < n ? node_begin[sorted[r] + 1] - node_begin[sorted[r]] : 0;
}

/// begin[p] = row_begin[begin[p]]
__global__ void replace_by_rows(std::size_t size, const Vertex* row_begin, Vertex* begin)
{
  const std::size_t p = this_thread();
  if (p < size) begin[p] = row_begin[begin[p]];
}

/// Lists the rows of the sorted nodes; a warp a node.
///   row_begin  first new row of the node at each position
template <class I>
__global__ void list_rows(Vertex n, const Vertex* sorted, const Vertex* node_begin, const Vertex* row_begin, I* order)
{
  const std::size_t r = this_warp();
  if (r >= n) return;
  const Vertex first = node_begin[sorted[r]], rows = node_begin[sorted[r] + 1] - first;
  for (Vertex k = this_lane(); k < rows; k += 32) order[row_begin[r] + k] = static_cast<I>(first + k);
}

template <class I> __global__ void list_single_rows(Vertex n, const Vertex* sorted, I* order)
{
  const std::size_t r = this_thread();
  if (r < n) order[r] = static_cast<I>(sorted[r]);
}

/// Vertices sorted by their keys. A part, the first digit of a key, has `keys` of them.
struct SortedVertices {
  DeviceArray<Vertex> vertex;
  DeviceArray<std::uint64_t> key;
  std::uint64_t keys;
};

/// find_keys(key, vertex) queues a launch that fills both.
template <class FindKeys>
SortedVertices sort_vertices(Vertex n, std::uint64_t parts, std::uint64_t keys, FindKeys find_keys)
{
  const DeviceArray<std::uint64_t> key(n);
  const DeviceArray<Vertex> vertex(n);
  find_keys(key.data(), vertex.data());
  SortedVertices sorted = {DeviceArray<Vertex>(n), DeviceArray<std::uint64_t>(n), keys};
  sort_pairs(key.data(), sorted.key, vertex, sorted.vertex, bits_of(parts * keys - 1));
  return sorted;
}

SortedVertices sort_by_color(Vertex n, const DeviceColoring& coloring, const LevelDigits& digits)
{
  return sort_vertices(n, coloring.count, digits.levels, [&](std::uint64_t* key, Vertex* vertex) {
    launch(find_sort_keys, {blocks_of_threads(n), threads_a_block}, n, coloring.color.data(), digits, key, vertex);
  });
}

/// Parameters as for find_part_begins().
DeviceArray<Vertex> find_begins(Vertex parts, const Vertex* part, const SortedVertices& sorted)
{
  DeviceArray<Vertex> begin(std::size_t(parts) + 1);
  launch(find_part_begins, {blocks_of_threads(std::size_t(parts) + 1), threads_a_block}, parts, part,
         static_cast<Vertex>(sorted.vertex.size()), sorted.key.data(), sorted.keys, begin.data());
  return begin;
}

/// Nodes in their order, and the begins of colours and of blocks in it.
///   block_begin  empty: there are no blocks
struct NodeOrder {
  DeviceArray<Vertex> node, color_begin, block_begin = {};
};

NodeOrder sort_nodes(const GraphView& G, const DeviceColoring& coloring, const LevelDigits& digits)
{
  SortedVertices sorted = sort_by_color(G.n, coloring, digits);
  DeviceArray<Vertex> begin = find_begins(coloring.count, nullptr, sorted);
  return {std::move(sorted.vertex), std::move(begin)};
}

NodeOrder sort_blocks(const GraphView& G, const DeviceBlocks& of)
{
  const Vertex blocks = of.graph.n;
  const LaunchParameters all = {blocks_of_threads(G.n), threads_a_block};
  const DeviceColoring coloring = color_greedily_on_device(of.graph.view());
  const SortedVertices sorted = sort_by_color(blocks, coloring, {});
  const DeviceArray<Vertex> first_block = find_begins(coloring.count, nullptr, sorted), place(blocks);
  launch(find_places, {blocks_of_threads(blocks), threads_a_block}, blocks, sorted.vertex.data(), place.data());

  const SortedVertices nodes = sort_vertices(G.n, blocks, 1, [&](std::uint64_t* key, Vertex* vertex) {
    launch(find_sort_keys_in_blocks, all, G.n, of.block.data(), place.data(), key, vertex);
  });
  DeviceArray<Vertex> begin = find_begins(coloring.count, first_block.data(), nodes);
  DeviceArray<Vertex> block_begin = find_begins(blocks, nullptr, nodes), inside(G.n);
  const DeviceArray<unsigned> later(G.n);
  const BlocksOfNodes members = {of.block.data(), coloring.color.data(), nodes.vertex.data(), block_begin.data()};
  launch(sort_members, {blocks_of_warps(blocks), threads_a_block}, G, blocks, members, later.data(), inside.data());
  return {std::move(inside), std::move(begin), std::move(block_begin)};
}

/// Replaces positions of nodes by those of rows.
template <class I> DeviceArray<I> expand_nodes(const DeviceArray<Vertex>& node_begin, std::size_t rows, NodeOrder* of)
{
  const auto nodes = static_cast<Vertex>(of->node.size());
  DeviceArray<I> order(rows);
  if (node_begin.empty()) {
    launch(list_single_rows<I>, {blocks_of_threads(nodes), threads_a_block}, nodes, of->node.data(), order.data());
    return order;
  }
  const DeviceArray<Vertex> row_begin(std::size_t(nodes) + 1);
  launch(measure_sorted_nodes, {blocks_of_threads(std::size_t(nodes) + 1), threads_a_block}, nodes, of->node.data(),
         node_begin.data(), row_begin.data());
  exclusive_sum_in_place(row_begin);
  launch(list_rows<I>, {blocks_of_warps(nodes), threads_a_block}, nodes, of->node.data(), node_begin.data(),
         row_begin.data(), order.data());
  for (const DeviceArray<Vertex>* begin : {&of->color_begin, &of->block_begin})
    if (!begin->empty())
      launch(replace_by_rows, {blocks_of_threads(begin->size()), threads_a_block}, begin->size(), row_begin.data(),
             begin->data());
  return order;
}

/// Reads the begins of colours, without those of empty ones. Waits.
template <class I> std::vector<I> read_begins(const DeviceArray<Vertex>& begin)
{
  std::vector<Vertex> read(begin.size());
  begin.read(read.data(), 0, read.size(), nullptr);
  read.erase(std::unique(read.begin(), read.end()), read.end());
  return {read.begin(), read.end()};
}

/// to[b] = begin[b] for b <= blocks; *most = rows of the largest block, initially 0
template <class I> __global__ void convert_blocks(Vertex blocks, const Vertex* begin, I* to, unsigned* most)
{
  const std::size_t b = this_thread();
  if (b > blocks) return;
  to[b] = static_cast<I>(begin[b]);
  if (b < blocks) atomic_max(most, begin[b + 1] - begin[b]);
}

/// Waits.
template <class I> RowBlocks<I> convert_to_blocks(const DeviceArray<Vertex>& begin, std::size_t colors)
{
  RowBlocks<I> blocks;
  if (begin.empty()) return blocks;
  DeviceArray<unsigned> most(1);
  most.fill(0, nullptr);
  blocks.begin = DeviceArray<I>(begin.size());
  launch(convert_blocks<I>, {blocks_of_threads(begin.size()), threads_a_block},
         static_cast<Vertex>(begin.size() - 1), begin.data(), blocks.begin.data(), most.data());
  unsigned rows = 0;
  most.read(&rows, 0, 1, nullptr);
  blocks.most = static_cast<I>(rows);
  blocks.colors = static_cast<std::int64_t>(colors);
  return blocks;
}

/// Copies the pattern to the host and orders it there.
template <class I> DeviceOrdering<I> order_on_host(const DevicePattern<I>& A, const OrderingOptions& options)
{
  Array<I> begin(static_cast<std::size_t>(A.n) + 1), column(static_cast<std::size_t>(A.nnz));
  copy_to_host(begin.data(), A.row_begin, begin.size());
  copy_to_host(column.data(), A.column, column.size());
  Ordering<I> made;
  const Status status = make_ordering<I>({A.n, begin.data(), column.data()}, options, 1, &made);
  if (!status.ok()) throw Failure{status};
  return {DeviceArray<I>(made.order),
          {made.color_begin.begin(), made.color_begin.end()},
          upload_blocks<I>(made.block_begin, made.color_begin.size() - 1)};
}

}  // namespace

/// What orders have in common, each part made when an order first needs it.
template <class I> class DeviceOrderer<I>::Shared {
public:
  explicit Shared(const DevicePattern<I>& A) : A_(A) {}

  DeviceOrdering<I> order(const OrderingOptions& options)
  {
    DeviceOrdering<I> made;
    if (A_.n == 0) {
      made.color_begin = {0};
      return made;
    }
    NodeOrder order;
    if (static_cast<std::uint64_t>(A_.n) > most_vertices || !order_nodes(options, &order))
      return order_on_host(A_, options);
    made.order = expand_nodes<I>(nodes().node_begin, static_cast<std::size_t>(A_.n), &order);
    made.color_begin = read_begins<I>(order.color_begin);
    made.blocks = convert_to_blocks<I>(order.block_begin, made.color_begin.size() - 1);
    return made;
  }

private:
  const DeviceNodeGraph& nodes()
  {
    if (!nodes_) nodes_ = make_node_graph_on_device(A_);
    return *nodes_;
  }

  const DeviceComponents& components()
  {
    if (!components_) components_ = find_components_on_device(nodes().graph.view());
    return *components_;
  }

  /// Without bipartite components the few colours are the greedy ones.
  DeviceColoring color_with_few(const GraphView& G)
  {
    if (!components_ && have_triangles_on_device(G)) return color_greedily_on_device(G);
    return color_with_few_on_device(G, components());
  }

  /// Returns false if there are too many levels, or edges, for the device.
  bool order_nodes(const OrderingOptions& options, NodeOrder* out)
  {
    const GraphView G = nodes().graph.view();
    if (options.kind == OrderingKind::multicolor) {
      *out = sort_nodes(G, color_with_few(G), {});
      return true;
    }
    if (options.kind == OrderingKind::abmc) {
      if (!can_join_on_device(nodes())) return false;
      *out = sort_blocks(G, join_nodes_on_device(nodes(), static_cast<unsigned>(options.abmc_rows)));
      return true;
    }
    DeviceBreadthFirst found;
    if (!search_breadth_first_on_device(G, components(), &found)) return false;
    const auto K = static_cast<unsigned>(options.cyclic_colors);
    *out = sort_nodes(G, color_cyclically_on_device(G, found, K), LevelDigits{found.level.data(), found.count});
    return true;
  }

  const DevicePattern<I> A_;
  std::optional<DeviceNodeGraph> nodes_;
  std::optional<DeviceComponents> components_;
};

template <class I>
DeviceOrderer<I>::DeviceOrderer(const DevicePattern<I>& A) : shared_(std::make_unique<Shared>(A))
{
}
template <class I> DeviceOrderer<I>::DeviceOrderer(DeviceOrderer&&) noexcept = default;
template <class I> DeviceOrderer<I>::~DeviceOrderer() = default;

template <class I> void DeviceOrderer<I>::make(const OrderingOptions& options, DeviceOrdering<I>* out)
{
  const Status status = check_ordering_options(options);
  if (!status.ok()) throw Failure{status};
  *out = shared_->order(options);
}

#define INSTANTIATE(I) template class DeviceOrderer<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
