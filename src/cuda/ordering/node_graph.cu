/// Nodes by comparing adjacent rows, their neighbours from their first rows, and then the entries of the transpose
/// that are missing.

#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/ordering/graph.hpp"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// True if rows i and i - 1 have as many entries, and the first and last of them are equal.
template <class I> __device__ bool may_be_equal(const DevicePattern<I>& A, I i)
{
  const I first = A.row_begin[i], last = A.row_begin[i + 1], before = A.row_begin[i - 1];
  if (last - first != first - before) return false;
  return first == last || (A.column[first] == A.column[before] && A.column[last - 1] == A.column[first - 1]);
}

/// begins[i] = 0 if row i has the columns of row i - 1, else 1; begins[n] = 0. Only where a lane finds that they may be
/// equal, a warp compares all entries.
template <class I> __global__ void find_node_begins(DevicePattern<I> A, Vertex* begins)
{
  const std::size_t n = A.n, i = this_thread();
  const I own = static_cast<I>(i < n ? i : 0);
  bool equal = own > 0 && may_be_equal(A, own);
  for (unsigned left = __ballot_sync(~0u, equal); left; left &= left - 1) {
    const int who = __ffs(static_cast<int>(left)) - 1;
    const I row = __shfl_sync(~0u, own, who), first = A.row_begin[row], length = A.row_begin[row + 1] - first;
    bool same = true;
    for (I e = this_lane(); same && e < length; e += 32) same = A.column[first + e] == A.column[first - length + e];
    same = __all_sync(~0u, same);
    if (static_cast<int>(this_lane()) == who) equal = same;
  }
  if (i <= n) begins[i] = i < n && !equal ? 1 : 0;
}

/// node_begin[v] = first row of node v, and node_begin[nodes] = n.
///   before  number of nodes that begin before each row, n + 1 entries
__global__ void list_node_begins(Vertex n, const Vertex* before, Vertex* node_begin)
{
  const std::size_t i = this_thread();
  if (i < n && before[i + 1] > before[i]) node_begin[before[i]] = static_cast<Vertex>(i);
  if (i == n) node_begin[before[n]] = n;
}

/// Nodes in device memory; nullptr: every row is a node.
struct Nodes {
  Vertex count;
  const Vertex *before, *begin;

  __device__ Vertex of_row(std::size_t row) const
  {
    return before ? before[row + 1] - 1 : static_cast<Vertex>(row);
  }
  __device__ Vertex first_row(Vertex node) const { return begin ? begin[node] : node; }
};

/// Lists the other nodes in the columns of each node, ascending; a warp a node. Without `neighbor` only counts them:
/// begin[v] becomes their number, and begin[count] 0.
template <class I>
__global__ void list_neighbors(DevicePattern<I> A, Nodes nodes, std::size_t* begin, Vertex* neighbor)
{
  const std::size_t warp = this_warp();
  if (warp > nodes.count) return;
  const auto v = static_cast<Vertex>(warp);
  const bool is_node = v < nodes.count;
  const I row = is_node ? static_cast<I>(nodes.first_row(v)) : 0;
  const I first = A.row_begin[row], length = is_node ? A.row_begin[row + 1] - first : 0;
  std::size_t found = 0;
  for (I done = 0; done < length; done += 32) {
    const I e = done + this_lane();
    const Vertex w = e < length ? nodes.of_row(A.column[first + e]) : v;
    const bool is_last = w != v && (e + 1 == length || nodes.of_row(A.column[first + e + 1]) != w);
    const unsigned last = __ballot_sync(~0u, is_last);
    if (neighbor && is_last) neighbor[begin[v] + found + __popc(last & ((1u << this_lane()) - 1))] = w;
    found += __popc(last);
  }
  if (!neighbor && this_lane() == 0) begin[v] = found;
}

struct EdgeCounts {
  unsigned long long missing, present;
};

/// Counts the entries (v, w) without (w, v), of each w and of all; neighbours ascend. A warp a vertex.
__global__ void count_missing_edges(GraphView G, unsigned* missing_of, EdgeCounts* counts)
{
  const std::size_t warp = this_warp();
  if (warp >= G.n) return;
  const auto v = static_cast<Vertex>(warp);
  unsigned long long missing = 0;
  for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
    const Vertex w = G.neighbor[k];
    if (G.has_neighbor(w, v)) continue;
    atomic_add(missing_of + w, 1u);
    ++missing;
  }
  if (missing > 0) red_add_relaxed(&counts->missing, missing);
  if (v == 0 && this_lane() == 0) counts->present = G.begin[G.n];
}

/// lengths[v] = neighbours of v in both directions; lengths[n] = 0
__global__ void measure_both_directions(GraphView G, const unsigned* missing_of, std::size_t* lengths)
{
  const std::size_t v = this_thread();
  if (v > G.n) return;
  lengths[v] = v < G.n ? static_cast<std::size_t>(G.degree(static_cast<Vertex>(v))) + missing_of[v] : 0;
}

/// Copies the edges of G, and appends (w, v) for those (v, w) without it; a warp a vertex.
///   left  number of edges that are to be appended to each vertex; 0 at the end
__global__ void complete_edges(GraphView G, unsigned* left, const std::size_t* begin, Vertex* neighbor)
{
  const std::size_t warp = this_warp();
  if (warp >= G.n) return;
  const auto v = static_cast<Vertex>(warp);
  for (unsigned e = this_lane(); e < G.degree(v); e += 32) {
    const Vertex w = G.neighbor[G.begin[v] + e];
    neighbor[begin[v] + e] = w;
    if (!G.has_neighbor(w, v)) neighbor[begin[w] + G.degree(w) + atomic_add(left + w, ~0u) - 1] = v;
  }
}

/// Returns node_begin, or nothing if every row is a node.
///   before  [out] number of nodes that begin before each row, n + 1 entries
template <class I> DeviceArray<Vertex> find_nodes(const DevicePattern<I>& A, DeviceArray<Vertex>* before)
{
  const auto n = static_cast<Vertex>(A.n);
  *before = DeviceArray<Vertex>(std::size_t(n) + 1);
  launch(find_node_begins<I>, {blocks_of_threads(std::size_t(n) + 1), threads_a_block}, A, before->data());
  const Vertex count = add_up_and_read(*before);
  if (5 * static_cast<std::uint64_t>(count) > 4 * static_cast<std::uint64_t>(n)) return {};
  DeviceArray<Vertex> begin(std::size_t(count) + 1);
  launch(list_node_begins, {blocks_of_threads(std::size_t(n) + 1), threads_a_block}, n, before->data(), begin.data());
  return begin;
}

template <class I> DeviceGraph make_quotient(const DevicePattern<I>& A, const Nodes& nodes)
{
  DeviceGraph Q;
  Q.n = nodes.count;
  Q.begin = DeviceArray<std::size_t>(std::size_t(Q.n) + 1);
  Q.neighbor = DeviceArray<Vertex>(static_cast<std::size_t>(A.nnz));
  const unsigned blocks = blocks_of_warps(std::size_t(Q.n) + 1);
  launch(list_neighbors<I>, {blocks, threads_a_block}, A, nodes, Q.begin.data(), nullptr);
  exclusive_sum_in_place(Q.begin);
  if (A.nnz > 0) launch(list_neighbors<I>, {blocks, threads_a_block}, A, nodes, Q.begin.data(), Q.neighbor.data());
  return Q;
}

/// Makes the graph symmetric, and sets its number of edges.
void add_transpose(DeviceGraph* Q)
{
  const GraphView G = Q->view();
  DeviceArray<unsigned> missing_of(G.n);
  DeviceArray<EdgeCounts> counts(1);
  missing_of.fill(0, nullptr);
  counts.fill(0, nullptr);
  launch(count_missing_edges, {blocks_of_warps(G.n), threads_a_block}, G, missing_of.data(), counts.data());
  EdgeCounts edges;
  counts.read(&edges, 0, 1, nullptr);
  Q->edges = edges.present + edges.missing;
  if (edges.missing == 0) return;
  DeviceArray<std::size_t> begin(std::size_t(G.n) + 1);
  launch(measure_both_directions, {blocks_of_threads(std::size_t(G.n) + 1), threads_a_block}, G, missing_of.data(),
         begin.data());
  exclusive_sum_in_place(begin);
  DeviceArray<Vertex> neighbor(Q->edges);
  launch(complete_edges, {blocks_of_warps(G.n), threads_a_block}, G, missing_of.data(), begin.data(), neighbor.data());
  Q->begin = std::move(begin);
  Q->neighbor = std::move(neighbor);
}

}  // namespace

template <class I> DeviceNodeGraph make_node_graph_on_device(const DevicePattern<I>& A)
{
  DeviceNodeGraph made;
  DeviceArray<Vertex> before;
  made.node_begin = find_nodes(A, &before);
  if (made.node_begin.empty()) {
    made.graph = make_quotient(A, {static_cast<Vertex>(A.n), nullptr, nullptr});
  } else {
    const auto count = static_cast<Vertex>(made.node_begin.size() - 1);
    made.graph = make_quotient(A, {count, before.data(), made.node_begin.data()});
  }
  add_transpose(&made.graph);
  return made;
}

#define INSTANTIATE(I) template DeviceNodeGraph make_node_graph_on_device<I>(const DevicePattern<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
