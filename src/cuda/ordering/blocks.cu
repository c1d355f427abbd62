/// Passes of handshakes between all blocks; then the edges between the new blocks are sorted, and equal ones added up.

#include "cuda/ordering/blocks.hpp"

#include <cstdint>
#include <utility>

#include "core/ordering/blocks.hpp"
#include "core/ordering/coloring.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// Blocks with their sizes, and how many edges of nodes link two of them.
struct Coarse {
  DeviceGraph graph;
  DeviceArray<unsigned> links, rows;
};

struct CoarseView {
  GraphView graph;
  const unsigned *links, *rows;
};

CoarseView view_of(const Coarse& of) { return {of.graph.view(), of.links.data(), of.rows.data()}; }

/// How much a block prefers another one.
struct Wish {
  std::uint64_t weight = 0, mixed = 0;  ///< weight: 1 + (links << 16) / rows; 0: no wish
  Vertex block = no_vertex;

  __device__ bool is_before(const Wish& other) const
  {
    if (weight != other.weight) return weight > other.weight;
    return mixed != other.mixed ? mixed > other.mixed : block < other.block;
  }
};

__device__ Wish exchange_wishes(const Wish& own, unsigned mask)
{
  Wish other;
  other.weight = __shfl_xor_sync(~0u, own.weight, mask);
  other.mixed = __shfl_xor_sync(~0u, own.mixed, mask);
  other.block = __shfl_xor_sync(~0u, own.block, mask);
  return other;
}

/// wish[v] = the unmatched neighbour that v prefers, or none, for unmatched v; a warp a block.
__global__ void find_wishes(CoarseView of, unsigned B, const Vertex* mate, Vertex* wish)
{
  const std::size_t warp = this_warp();
  if (warp >= of.graph.n || mate[warp] != no_vertex) return;
  const auto v = static_cast<Vertex>(warp);
  Wish best;
  for (std::size_t k = of.graph.begin[v] + this_lane(); k < of.graph.begin[v + 1]; k += 32) {
    const Vertex w = of.graph.neighbor[k];
    const std::uint64_t rows = static_cast<std::uint64_t>(of.rows[v]) + of.rows[w];
    if (mate[w] != no_vertex || rows > B) continue;
    Wish own;
    own.weight = 1 + (static_cast<std::uint64_t>(of.links[k]) << 16) / rows;
    own.mixed = mix_bits(mix_bits(min(v, w)) + max(v, w));
    own.block = w;
    if (own.is_before(best)) best = own;
  }
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    const Wish other = exchange_wishes(best, mask);
    if (other.is_before(best)) best = other;
  }
  if (this_lane() == 0) wish[v] = best.block;
}

/// Matches blocks that prefer each other.
__global__ void match_wishes(Vertex n, const Vertex* wish, Vertex* mate)
{
  const std::size_t v = this_thread();
  if (v >= n || mate[v] != no_vertex) return;
  const Vertex w = wish[v];
  if (w != no_vertex && wish[w] == v) mate[v] = w;
}

/// counts[v] = 1 if a new block begins with v, its smallest member, else 0; counts[n] = 0
__global__ void count_new_blocks(Vertex n, const Vertex* mate, Vertex* counts)
{
  const std::size_t v = this_thread();
  if (v <= n) counts[v] = v < n && mate[v] > v ? 1 : 0;  // no_vertex > v
}

/// number[v] = new block of block v, whose rows are added up.
///   before  number of new blocks that begin before each block
__global__ void number_new_blocks(Vertex n, const Vertex* mate, const Vertex* before, const unsigned* rows,
                                  Vertex* number, unsigned* new_rows)
{
  const std::size_t v = this_thread();
  if (v >= n) return;
  const bool is_first = mate[v] > v;
  number[v] = before[is_first ? v : mate[v]];
  if (is_first) new_rows[number[v]] = rows[v] + (mate[v] == no_vertex ? 0 : rows[mate[v]]);
}

/// block[u] = number[block[u]]
__global__ void renumber(Vertex nodes, const Vertex* number, Vertex* block)
{
  const std::size_t u = this_thread();
  if (u < nodes) block[u] = number[block[u]];
}

/// key[k] = (new block of the edge's row) * count + (that of its column), or count * count inside a new block; a warp a
/// block.
__global__ void find_edge_keys(GraphView G, const Vertex* number, std::uint64_t count, std::uint64_t* key)
{
  const std::size_t v = this_warp();
  if (v >= G.n) return;
  const std::uint64_t b = number[v];
  for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
    const std::uint64_t c = number[G.neighbor[k]];
    key[k] = b == c ? count * count : b * count + c;
  }
}

/// counts[k] = 1 if the sorted key k is the first of those equal to it, and of an edge between two blocks, else 0;
/// counts[edges] = 0
__global__ void count_new_edges(std::size_t edges, const std::uint64_t* key, std::uint64_t none, std::size_t* counts)
{
  const std::size_t k = this_thread();
  if (k <= edges) counts[k] = k < edges && key[k] < none && (k == 0 || key[k] != key[k - 1]) ? 1 : 0;
}

/// Stores new edges, adds up their links, and counts the edges of each new block. The last two begin with zeros.
///   before  number of new edges that begin before each sorted key
__global__ void add_new_edges(std::size_t edges, const std::uint64_t* key, std::uint64_t count, const unsigned* links,
                              const std::size_t* before, Vertex* neighbor, unsigned* new_links, std::size_t* lengths)
{
  const std::size_t k = this_thread();
  if (k >= edges || key[k] >= count * count) return;
  const std::size_t to = before[k + 1] - 1;
  atomic_add(new_links + to, links[k]);
  if (before[k + 1] == before[k]) return;
  neighbor[to] = static_cast<Vertex>(key[k] % count);
  red_add_relaxed(lengths + key[k] / count, std::size_t(1));
}

__global__ void set_to_one(std::size_t size, unsigned* to)
{
  const std::size_t k = this_thread();
  if (k < size) to[k] = 1;
}

__global__ void number_vertices(Vertex n, Vertex* number)
{
  const std::size_t v = this_thread();
  if (v < n) number[v] = static_cast<Vertex>(v);
}

/// rows[v] = rows of node v
///   node_begin  nullptr: one
__global__ void count_rows_of_nodes(Vertex nodes, const Vertex* node_begin, unsigned* rows)
{
  const std::size_t v = this_thread();
  if (v < nodes) rows[v] = node_begin ? node_begin[v + 1] - node_begin[v] : 1;
}

template <class V> void fill_with_zeros(DeviceArray<V>* of) { of->fill(0, nullptr); }

/// The new block of each block, and how many there are.
struct Numbering {
  DeviceArray<Vertex> number;
  DeviceArray<unsigned> rows;
  Vertex count;
};

/// Returns the mate of each block, or none.
DeviceArray<Vertex> match_blocks(const Coarse& of, unsigned B)
{
  const Vertex n = of.graph.n;
  DeviceArray<Vertex> mate(n);
  const DeviceArray<Vertex> wish(n);
  mate.fill(0xff, nullptr);
  for (int pass = 0; pass < match_passes; ++pass) {
    launch(find_wishes, {blocks_of_warps(n), threads_a_block}, view_of(of), B, mate.data(), wish.data());
    launch(match_wishes, {blocks_of_threads(n), threads_a_block}, n, wish.data(), mate.data());
  }
  return mate;
}

Numbering number_pairs(const Coarse& of, const DeviceArray<Vertex>& mate)
{
  const Vertex n = of.graph.n;
  Numbering made;
  const DeviceArray<Vertex> before(std::size_t(n) + 1);
  launch(count_new_blocks, {blocks_of_threads(std::size_t(n) + 1), threads_a_block}, n, mate.data(), before.data());
  made.count = add_up_and_read(before);
  made.number = DeviceArray<Vertex>(n);
  made.rows = DeviceArray<unsigned>(made.count);
  launch(number_new_blocks, {blocks_of_threads(n), threads_a_block}, n, mate.data(), before.data(), of.rows.data(),
         made.number.data(), made.rows.data());
  return made;
}

/// Edges sorted by their new blocks.
struct SortedEdges {
  DeviceArray<std::uint64_t> key;
  DeviceArray<unsigned> links;
};

SortedEdges sort_edges(const Coarse& of, const Numbering& numbering)
{
  const std::size_t edges = of.graph.edges;
  const std::uint64_t count = numbering.count;
  const DeviceArray<std::uint64_t> key(edges);
  launch(find_edge_keys, {blocks_of_warps(of.graph.n), threads_a_block}, of.graph.view(), numbering.number.data(),
         count, key.data());
  SortedEdges sorted = {DeviceArray<std::uint64_t>(edges), DeviceArray<unsigned>(edges)};
  sort_pairs(key.data(), sorted.key, of.links, sorted.links, bits_of(count * count));
  return sorted;
}

/// Returns the new blocks with their edges, and adds up the links of the members of both ends.
Coarse join(const Coarse& of, Numbering numbering)
{
  const std::size_t edges = of.graph.edges;
  const std::uint64_t count = numbering.count;
  Coarse made;
  made.graph.n = numbering.count;
  made.graph.begin = DeviceArray<std::size_t>(count + 1);
  fill_with_zeros(&made.graph.begin);
  made.rows = std::move(numbering.rows);
  if (edges == 0) return made;
  const SortedEdges sorted = sort_edges(of, numbering);
  const LaunchParameters all = {blocks_of_threads(edges + 1), threads_a_block};
  const DeviceArray<std::size_t> before(edges + 1);
  launch(count_new_edges, all, edges, sorted.key.data(), count * count, before.data());
  made.graph.edges = add_up_and_read(before);
  made.graph.neighbor = DeviceArray<Vertex>(made.graph.edges);
  made.links = DeviceArray<unsigned>(made.graph.edges);
  fill_with_zeros(&made.links);
  launch(add_new_edges, all, edges, sorted.key.data(), count, sorted.links.data(), before.data(),
         made.graph.neighbor.data(), made.links.data(), made.graph.begin.data());
  exclusive_sum_in_place(made.graph.begin);
  return made;
}

/// Every node as a block.
Coarse blocks_of_nodes(const DeviceNodeGraph& of)
{
  const Vertex nodes = of.graph.n;
  Coarse made;
  made.graph.n = nodes;
  made.graph.edges = of.graph.edges;
  made.graph.begin = copy_of(of.graph.begin);
  made.graph.neighbor = copy_of(of.graph.neighbor.data(), of.graph.edges);
  made.links = DeviceArray<unsigned>(of.graph.edges);
  made.rows = DeviceArray<unsigned>(nodes);
  launch(set_to_one, {blocks_of_threads(of.graph.edges), threads_a_block}, of.graph.edges, made.links.data());
  launch(count_rows_of_nodes, {blocks_of_threads(nodes), threads_a_block}, nodes, of.node_begin.data(),
         made.rows.data());
  return made;
}

}  // namespace

DeviceBlocks join_nodes_on_device(const DeviceNodeGraph& of, unsigned B)
{
  const Vertex nodes = of.graph.n;
  const LaunchParameters all = {blocks_of_threads(nodes), threads_a_block};
  DeviceBlocks made;
  made.block = DeviceArray<Vertex>(nodes);
  launch(number_vertices, all, nodes, made.block.data());
  Coarse blocks = blocks_of_nodes(of);
  for (int round = 0, rounds = rounds_of_joins(B); round < rounds; ++round) {
    Numbering numbering = number_pairs(blocks, match_blocks(blocks, B));
    if (numbering.count == blocks.graph.n) break;
    launch(renumber, all, nodes, numbering.number.data(), made.block.data());
    blocks = join(blocks, std::move(numbering));
  }
  made.graph = std::move(blocks.graph);
  return made;
}

}  // namespace syncfree::cuda
