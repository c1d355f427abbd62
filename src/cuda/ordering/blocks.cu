/// Passes of handshakes between all blocks; then the edges of two members are added up in a hash table of their new
/// block. Rounds are queued without waiting: how many blocks there are is known on the device only.

#include "cuda/ordering/blocks.hpp"

#include <cstdint>
#include <utility>

#include "core/ordering/blocks.hpp"
#include "core/ordering/coloring.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// Blocks in the arrays of one round. There is room for as many as there are nodes and for their edges.
///   count     1 entry: number of blocks
///   begin     of each block: position of its first edge; edges of different blocks do not overlap
///   edges     of each block: how many it has
///   neighbor  of each edge
///   links     of each edge: edges of nodes that it stands for; nullptr: one
///   rows      of each block
struct Coarse {
  const Vertex* count;
  std::size_t* begin;
  unsigned* edges;
  Vertex* neighbor;
  unsigned *links, *rows;

  __device__ std::uint64_t links_of(std::size_t edge) const { return links ? links[edge] : 1; }
};

/// How much a block prefers another one.
struct Wish {
  std::uint64_t weight, mixed;  ///< weight: 1 + (links << 16) / rows; 0: no wish
  Vertex block;

  __device__ bool is_before(const Wish& other) const
  {
    if (weight != other.weight) return weight > other.weight;
    return mixed != other.mixed ? mixed > other.mixed : block < other.block;
  }
};

__device__ Wish no_wish() { return {0, 0, no_vertex}; }

__device__ Wish exchange_wishes(const Wish& own, unsigned mask)
{
  Wish other;
  other.weight = __shfl_xor_sync(~0u, own.weight, mask);
  other.mixed = __shfl_xor_sync(~0u, own.mixed, mask);
  other.block = __shfl_xor_sync(~0u, own.block, mask);
  return other;
}

/// Returns the best wish of a group of lanes, to all of them. Called by all lanes of a warp.
template <unsigned lanes> __device__ Wish best_of_group(Wish own)
{
  for (unsigned mask = lanes / 2; mask > 0; mask /= 2) {
    const Wish other = exchange_wishes(own, mask);
    if (other.is_before(own)) own = other;
  }
  return own;
}

/// Returns the block with which v is matched: they prefer each other.
__device__ Vertex mate_of(const Vertex* wish, Vertex v)
{
  const Vertex w = wish[v];
  return w != no_vertex && wish[w] == v ? w : no_vertex;
}

/// Returns 1 + (links << 16) / rows, in 32 bits where they suffice: a division in 64 takes five times as many
/// instructions.
__device__ std::uint64_t weight_of(std::uint64_t links, unsigned rows)
{
  if (links >> 16 == 0) return 1 + (static_cast<unsigned>(links) << 16) / rows;
  return 1 + (links << 16) / rows;
}

/// Returns v's best wish among its unmatched neighbours at every step-th edge.
///   last  wishes of the last pass, or nullptr: none is matched
__device__ Wish find_wish(const Coarse& of, unsigned B, const Vertex* last, Vertex v, unsigned first, unsigned step)
{
  Wish best = no_wish();
  const std::size_t begin = of.begin[v];
  const unsigned edges = of.edges[v], own_rows = of.rows[v];
  for (unsigned e = first; e < edges; e += step) {
    const std::size_t k = begin + e;
    const Vertex w = of.neighbor[k];
    const unsigned rows = own_rows + of.rows[w];
    if (rows > B || (last && mate_of(last, w) != no_vertex)) continue;
    Wish own = {weight_of(of.links_of(k), rows), 0, w};
    if (own.weight < best.weight) continue;
    own.mixed = mix_bits(mix_bits(min(v, w)) + max(v, w));
    if (own.is_before(best)) best = own;
  }
  return best;
}

/// Blocks are visited by groups of lanes; one with more edges than this by a thread block.
template <unsigned lanes> constexpr unsigned most_of_group = 32 * lanes;

/// wish[v] = the mate of v, or else the unmatched neighbour that v prefers, or none.
template <unsigned lanes>
__global__ void __launch_bounds__(threads_a_block)
find_wishes(Coarse of, unsigned B, const Vertex* last, Vertex* wish)
{
  constexpr unsigned groups = threads_a_block / lanes, warps = threads_a_block / 32;
  __shared__ Wish of_warp[warps];
  const std::size_t n = *of.count;
  const auto mate_in_last = [=](Vertex v) { return last ? mate_of(last, v) : no_vertex; };
  const auto has_many = [=](Vertex v) { return of.edges[v] > most_of_group<lanes> && mate_in_last(v) == no_vertex; };
  for (std::size_t first = blockIdx.x * groups; first < n; first += gridDim.x * groups) {
    const std::size_t at = first + threadIdx.x / lanes;
    const auto v = static_cast<Vertex>(at < n ? at : first);
    const Vertex mate = mate_in_last(v);
    const bool many = has_many(v), looks = at < n && mate == no_vertex && !many;
    const Wish own = best_of_group<lanes>(looks ? find_wish(of, B, last, v, threadIdx.x % lanes, lanes) : no_wish());
    if (at < n && !many && threadIdx.x % lanes == 0) wish[v] = mate != no_vertex ? mate : own.block;
    if (!__syncthreads_or(many)) continue;
    for (std::size_t w = first; w < n && w < first + groups; ++w) {
      const auto dense = static_cast<Vertex>(w);
      if (!has_many(dense)) continue;
      const Wish of_lanes = best_of_group<32>(find_wish(of, B, last, dense, threadIdx.x, threads_a_block));
      if (this_lane() == 0) of_warp[threadIdx.x / 32] = of_lanes;
      __syncthreads();
      if (threadIdx.x < 32) {
        const Wish best = best_of_group<32>(threadIdx.x < warps ? of_warp[threadIdx.x] : no_wish());
        if (threadIdx.x == 0) wish[dense] = best.block;
      }
      __syncthreads();
    }
  }
}

/// A number of blocks, and the edges of their members, in one word.
constexpr int bits_of_edges = 33;
inline __device__ Vertex blocks_in(std::uint64_t both) { return static_cast<Vertex>(both >> bits_of_edges); }
inline __device__ std::size_t edges_in(std::uint64_t both)
{
  return both & ((std::uint64_t(1) << bits_of_edges) - 1);
}

/// counts[v] = one new block with the edges of its members if v is its smallest one, else 0, for v < size
__global__ void count_new_blocks(Coarse of, std::size_t size, const Vertex* wish, std::uint64_t* counts)
{
  const Vertex n = *of.count;
  const std::size_t at = this_thread();
  if (at >= size) return;
  const auto v = static_cast<Vertex>(at);
  std::uint64_t own = 0;
  const Vertex mate = v < n ? mate_of(wish, v) : 0;
  if (v < n && mate > v)  // no_vertex > v
    own = (std::uint64_t(1) << bits_of_edges) + of.edges[v] + (mate == no_vertex ? 0 : of.edges[mate]);
  counts[at] = own;
}

/// number[v] = new block of block v; begins, rows and smallest members of the new blocks.
///   before  what count_new_blocks() counted before each block
__global__ void number_new_blocks(Coarse of, Coarse made, const Vertex* wish, const std::uint64_t* before,
                                  Vertex* made_count, Vertex* number, Vertex* member)
{
  const Vertex n = *of.count;
  const std::size_t at = this_thread();
  if (at == 0) *made_count = blocks_in(before[n]);
  if (at >= n) return;
  const auto v = static_cast<Vertex>(at);
  const Vertex mate = mate_of(wish, v);
  const bool is_first = mate > v;
  const Vertex b = blocks_in(before[is_first ? v : mate]);
  number[v] = b;
  if (!is_first) return;
  member[b] = v;
  made.begin[b] = edges_in(before[v]);
  made.rows[b] = of.rows[v] + (mate == no_vertex ? 0 : of.rows[mate]);
}

/// A hash table from neighbours to links. Empty slots have no neighbour and 0 links, between launches all.
struct LinkTable {
  Vertex* neighbor;
  unsigned* links;
  std::size_t slots;

  __device__ void add_links(Vertex to, unsigned count) const
  {
    std::size_t at = static_cast<std::uint64_t>(to * 0x9e3779b9u) * slots >> 32;
    for (;;) {
      const Vertex seen = claim(neighbor + at, to);
      if (seen == no_vertex || seen == to) break;
      if (++at == slots) at = 0;
    }
    atomic_add(links + at, count);
  }
};

/// Adds every step-th edge of a member, from the first on, that leaves its new block b.
__device__ void add_edges(const Coarse& of, Vertex v, const Vertex* number, Vertex b, const LinkTable& to,
                          unsigned first, unsigned step)
{
  for (unsigned e = first; e < of.edges[v]; e += step) {
    const std::size_t k = of.begin[v] + e;
    const Vertex c = number[of.neighbor[k]];
    if (c != b) to.add_links(c, static_cast<unsigned>(of.links_of(k)));
  }
}

/// Moves the slot of neighbour w in a table to edge k, and empties it.
__device__ void take_slot(const LinkTable& from, std::size_t slot, Vertex w, const Coarse& to, std::size_t k)
{
  to.neighbor[k] = w;
  to.links[k] = load_relaxed(from.links + slot);
  from.neighbor[slot] = no_vertex;
  from.links[slot] = 0;
}

/// A new block, and its table, which has twice as many slots as there may be edges.
struct JoinedBlock {
  Vertex member, mate;  ///< no_vertex: there is none
  LinkTable table;

  __device__ JoinedBlock(const Coarse& of, const Coarse& made, const Vertex* wish, Vertex smallest, Vertex b,
                         const LinkTable& tables)
      : member(smallest), mate(mate_of(wish, smallest))
  {
    const std::size_t edges = std::size_t(of.edges[member]) + (mate == no_vertex ? 0 : of.edges[mate]);
    const std::size_t first = 2 * made.begin[b];
    table = {tables.neighbor + first, tables.links + first, 2 * edges};
  }
  template <unsigned lanes> __device__ bool has_many() const { return table.slots > 2 * most_of_group<lanes>; }
};

/// Adds up the links of the members of each new block: a group of lanes each, or a thread block. Also
/// block[u] = number[block[u]] for the nodes.
///   member  smallest member of each
///   tables  of all new blocks
template <unsigned lanes>
__global__ void __launch_bounds__(threads_a_block)
join_edges(Coarse of, Coarse made, const Vertex* wish, const Vertex* number, const Vertex* member, LinkTable tables,
           Vertex nodes, Vertex* block)
{
  constexpr unsigned groups = threads_a_block / lanes, all = ~0u >> (32 - lanes);
  __shared__ unsigned of_dense;
  for (std::size_t u = this_thread(); u < nodes; u += std::size_t(gridDim.x) * blockDim.x) block[u] = number[block[u]];
  const std::size_t n = *made.count;
  const unsigned lane = threadIdx.x % lanes, group = this_lane() / lanes * lanes;
  const auto add_all = [=](const JoinedBlock& own, Vertex b, unsigned first, unsigned step) {
    add_edges(of, own.member, number, b, own.table, first, step);
    if (own.mate != no_vertex) add_edges(of, own.mate, number, b, own.table, first, step);
  };
  for (std::size_t first = blockIdx.x * groups; first < n; first += gridDim.x * groups) {
    const std::size_t at = first + threadIdx.x / lanes;
    const auto b = static_cast<Vertex>(at < n ? at : first);
    const JoinedBlock own(of, made, wish, member[b], b, tables);
    const bool many = own.template has_many<lanes>(), joins = at < n && !many;
    if (joins) add_all(own, b, lane, lanes);
    __syncwarp();
    const std::size_t slots = joins ? own.table.slots : 0;
    unsigned found = 0;
    for (std::size_t slot = lane; __any_sync(~0u, slot < slots); slot += lanes) {
      const Vertex w = slot < slots ? load_relaxed(own.table.neighbor + slot) : no_vertex;
      const unsigned full = __ballot_sync(~0u, w != no_vertex) >> group & all, before = full & ((1u << lane) - 1);
      if (w != no_vertex) take_slot(own.table, slot, w, made, made.begin[b] + found + __popc(before));
      found += __popc(full);
    }
    if (joins && lane == 0) made.edges[b] = found;
    if (!__syncthreads_or(many)) continue;
    for (std::size_t c = first; c < n && c < first + groups; ++c) {
      const auto dense = static_cast<Vertex>(c);
      const JoinedBlock whole(of, made, wish, member[dense], dense, tables);
      if (!whole.template has_many<lanes>()) continue;
      if (threadIdx.x == 0) of_dense = 0;
      add_all(whole, dense, threadIdx.x, threads_a_block);
      __syncthreads();
      for (std::size_t slot = threadIdx.x; slot < whole.table.slots; slot += threads_a_block) {
        const Vertex w = load_relaxed(whole.table.neighbor + slot);
        if (w == no_vertex) continue;
        take_slot(whole.table, slot, w, made, made.begin[dense] + atomic_add(&of_dense, 1u));
      }
      __syncthreads();
      if (threadIdx.x == 0) made.edges[dense] = of_dense;
    }
  }
}

/// Every node as a block; edges and rows are written.
///   node_begin  nullptr: a row a node
__global__ void begin_with_nodes(GraphView G, const Vertex* node_begin, Vertex* count, unsigned* edges, unsigned* rows,
                                 Vertex* block)
{
  const std::size_t at = this_thread();
  if (at == 0) *count = G.n;
  if (at >= G.n) return;
  const auto v = static_cast<Vertex>(at);
  edges[v] = G.degree(v);
  rows[v] = node_begin ? node_begin[v + 1] - node_begin[v] : 1;
  block[v] = v;
}

/// lengths[b] = edges of block b; lengths[n] = 0
__global__ void measure_edges(Vertex n, const unsigned* edges, std::size_t* lengths)
{
  const std::size_t b = this_thread();
  if (b <= n) lengths[b] = b < n ? edges[b] : 0;
}

/// Copies edges without the gaps between blocks; a warp a block.
__global__ void close_gaps(Coarse of, Vertex n, const std::size_t* begin, Vertex* neighbor)
{
  const std::size_t warp = this_warp();
  if (warp >= n) return;
  const auto b = static_cast<Vertex>(warp);
  for (unsigned e = this_lane(); e < of.edges[b]; e += 32) neighbor[begin[b] + e] = of.neighbor[of.begin[b] + e];
}

/// Arrays of the blocks of one round.
struct CoarseArrays {
  DeviceArray<std::size_t> begin;
  DeviceArray<unsigned> edges, links, rows;
  DeviceArray<Vertex> neighbor;

  CoarseArrays(Vertex blocks, std::size_t most_edges)
      : begin(blocks), edges(blocks), links(most_edges), rows(blocks), neighbor(most_edges)
  {
  }
  Coarse view(const Vertex* count) const
  {
    return {count, begin.data(), edges.data(), neighbor.data(), links.data(), rows.data()};
  }
};

/// Queues the rounds of join_nodes().
class Joining {
public:
  Joining(const DeviceNodeGraph& of, unsigned B)
      : n_(of.graph.n), edges_(of.graph.edges), B_(B), rounds_(rounds_of_joins(B)), counts_(rounds_ + 1),
        arrays_{{n_, edges_}, {n_, edges_}}, number_(n_), member_(n_),
        wish_{DeviceArray<Vertex>(n_), DeviceArray<Vertex>(n_)}, before_(std::size_t(n_) + 1),
        slot_neighbor_(2 * edges_), slot_links_(2 * edges_), block_(n_)
  {
    slot_neighbor_.fill(0xff, nullptr);
    slot_links_.fill(0, nullptr);
    // the arrays of the second round are free during the first
    const CoarseArrays& free = arrays_[1];
    launch(begin_with_nodes, threads_, of.graph.view(), of.node_begin.data(), counts_.data(), free.edges.data(),
           free.rows.data(), block_.data());
    now_ = {counts_.data(),           of.graph.begin.data(), free.edges.data(),
            of.graph.neighbor.data(), nullptr,               free.rows.data()};
  }

  DeviceBlocks join()
  {
    for (int round = 0; round < rounds_; ++round) join_round(round);
    return take();
  }

private:
  void join_round(int round)
  {
    const Vertex* wish = match_blocks();
    const Coarse made = arrays_[round % 2].view(counts_.data() + round + 1);
    launch(count_new_blocks, {blocks_of_threads(before_.size()), threads_a_block}, now_, before_.size(), wish,
           before_.data());
    exclusive_sum_in_place(before_);
    launch(number_new_blocks, threads_, now_, made, wish, before_.data(), counts_.data() + round + 1, number_.data(),
           member_.data());
    launch(is_sparse_ ? join_edges<8> : join_edges<32>, groups_, now_, made, wish, number_.data(), member_.data(),
           LinkTable{slot_neighbor_.data(), slot_links_.data(), 0}, n_, block_.data());
    now_ = made;
  }

  /// Returns wishes, of which those that are mutual match two blocks.
  const Vertex* match_blocks()
  {
    const Vertex* last = nullptr;
    for (int pass = 0; pass < match_passes; ++pass) {
      Vertex* const wish = wish_[pass % 2].data();
      launch(is_sparse_ ? find_wishes<8> : find_wishes<32>, groups_, now_, B_, last, wish);
      last = wish;
    }
    return last;
  }

  /// Waits.
  DeviceBlocks take()
  {
    DeviceBlocks made;
    counts_.read(&made.graph.n, rounds_, 1, nullptr);
    const Vertex n = made.graph.n;
    made.graph.begin = DeviceArray<std::size_t>(std::size_t(n) + 1);
    launch(measure_edges, {blocks_of_threads(std::size_t(n) + 1), threads_a_block}, n, now_.edges,
           made.graph.begin.data());
    exclusive_sum_in_place(made.graph.begin);
    made.graph.edges = edges_;
    made.graph.neighbor = std::move(arrays_[rounds_ % 2].neighbor);
    launch(close_gaps, {blocks_of_warps(n), threads_a_block}, now_, n, made.graph.begin.data(),
           made.graph.neighbor.data());
    made.block = std::move(block_);
    return made;
  }

  const Vertex n_;
  const std::size_t edges_;
  const unsigned B_;
  const int rounds_;
  DeviceArray<Vertex> counts_;  ///< blocks before each round, and after the last
  CoarseArrays arrays_[2];      ///< by round mod 2: what it makes
  DeviceArray<Vertex> number_, member_, wish_[2];
  DeviceArray<std::uint64_t> before_;
  DeviceArray<Vertex> slot_neighbor_;
  DeviceArray<unsigned> slot_links_;
  DeviceArray<Vertex> block_;
  Coarse now_;
  const LaunchParameters threads_ = {blocks_of_threads(n_), threads_a_block};
  const bool is_sparse_ = edges_ <= 64 * std::size_t(n_);  ///< groups of eight lanes, not of a warp
  const LaunchParameters groups_ = {
      blocks_of_resident_warps(is_sparse_ ? (std::size_t(n_) + 3) / 4 : n_, 8), threads_a_block};
};

}  // namespace

bool can_join_on_device(const DeviceNodeGraph& of) { return of.graph.edges >> bits_of_edges == 0; }

DeviceBlocks join_nodes_on_device(const DeviceNodeGraph& of, unsigned B) { return Joining(of, B).join(); }

}  // namespace syncfree::cuda
