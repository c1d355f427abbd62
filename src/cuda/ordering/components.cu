#include "cuda/ordering/components.hpp"

#include <cstddef>
#include <utility>

#include "cuda/base/flag.cuh"
#include "cuda/ordering/threads.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// The copy of a vertex on a side. Copies of smaller vertices are smaller.
__device__ Vertex copy_on(unsigned side, Vertex v) { return 2 * v + side; }

/// Copies as trees whose roots are their smallest copies: each with a smaller neighbour becomes its child.
__global__ void plant_trees(GraphView G, Vertex* parent)
{
  const std::size_t i = this_thread();
  if (i >= G.n) return;
  const auto v = static_cast<Vertex>(i);
  const Vertex w = G.degree(v) > 0 ? G.neighbor[G.begin[v]] : v;
  for (unsigned side = 0; side < 2; ++side)
    parent[copy_on(side, v)] = w < v ? copy_on(1 - side, w) : copy_on(side, v);
}

/// Returns the root of a tree, and halves the path to it. Parents are smaller than their children, and only roots are
/// hooked to others, so what concurrent threads read or store as a parent is an ancestor.
__device__ Vertex find_root(Vertex* parent, Vertex a)
{
  for (;;) {
    const Vertex next = load_relaxed(parent + a);
    if (next == a) return a;
    const Vertex after = load_relaxed(parent + next);
    if (after == next) return next;
    store_relaxed(parent + a, after);
    a = after;
  }
}

/// Joins the trees of a and b: the larger root gets the smaller one as its parent, unless another thread has hooked it
/// meanwhile; then their new roots do.
__device__ void join_trees_of(Vertex* parent, Vertex a, Vertex b)
{
  for (;;) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a == b || compare_exchange_relaxed(parent + max(a, b), max(a, b), min(a, b))) return;
  }
}

/// Joins the trees of both ends of each edge; a warp a vertex.
__global__ void join_trees(GraphView G, Vertex* parent)
{
  const std::size_t warp = this_warp();
  if (warp >= G.n) return;
  const auto v = static_cast<Vertex>(warp);
  for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
    const Vertex w = G.neighbor[k];
    if (w > v) continue;
    join_trees_of(parent, copy_on(0, v), copy_on(1, w));
    join_trees_of(parent, copy_on(1, v), copy_on(0, w));
  }
}

/// The roots of a bipartite component are the copies of its smallest vertex; v is on that side whose root is the root
/// of its first copy.
__global__ void name_components(Vertex n, Vertex* parent, Vertex* component, unsigned* side, unsigned* any_odd)
{
  const std::size_t i = this_thread();
  if (i >= n) return;
  const auto v = static_cast<Vertex>(i);
  const Vertex root = find_root(parent, copy_on(0, v));
  const bool is_odd = root == find_root(parent, copy_on(1, v));
  component[v] = root / 2;
  side[v] = is_odd ? not_bipartite : root % 2;
  if (is_odd) set_flag_once(any_odd);
}

/// Marks the vertices of some triangles: of a vertex and two of its first neighbours that follow each other in its
/// list. A warp a vertex.
__global__ void mark_triangles(GraphView G, unsigned* marked)
{
  const std::size_t warp = this_warp();
  if (warp >= G.n) return;
  const auto v = static_cast<Vertex>(warp);
  const std::size_t k = G.begin[v] + this_lane();
  if (k + 1 >= G.begin[v + 1]) return;
  const Vertex first = G.neighbor[k], second = G.neighbor[k + 1];
  if (!G.has_neighbor(first, second)) return;
  store_relaxed(marked + v, 1);
  store_relaxed(marked + first, 1);
  store_relaxed(marked + second, 1);
}

/// Sets `left` if neither a vertex with neighbours nor one of the first of these is marked.
__global__ void look_for_unmarked(GraphView G, const unsigned* marked, unsigned* left)
{
  constexpr std::size_t most = 32;
  const std::size_t v = this_thread();
  if (v >= G.n) return;
  const std::size_t begin = G.begin[v], end = min(G.begin[v + 1], begin + most);
  bool is_near = begin == end || marked[v] != 0;
  for (std::size_t k = begin; k < end && !is_near; ++k) is_near = marked[G.neighbor[k]] != 0;
  if (!is_near) set_flag_once(left);
}

}  // namespace

bool have_triangles_on_device(const GraphView& G)
{
  DeviceArray<unsigned> marked(G.n);
  marked.fill(0, nullptr);
  const Flag left;
  launch(mark_triangles, {blocks_of_warps(G.n), threads_a_block}, G, marked.data());
  launch(look_for_unmarked, {blocks_of_threads(G.n), threads_a_block}, G, marked.data(), left.data());
  return !left.is_raised();
}

DeviceComponents find_components_on_device(const GraphView& G)
{
  const LaunchParameters all = {blocks_of_threads(G.n), threads_a_block};
  DeviceComponents made = {DeviceArray<Vertex>(G.n), DeviceArray<unsigned>(G.n), DeviceArray<unsigned>(1)};
  made.any_odd.fill(0, nullptr);
  const DeviceArray<Vertex> parent(2 * std::size_t(G.n));
  launch(plant_trees, all, G, parent.data());
  launch(join_trees, {blocks_of_warps(G.n), threads_a_block}, G, parent.data());
  launch(name_components, all, G.n, parent.data(), made.component.data(), made.side.data(), made.any_odd.data());
  return made;
}

}  // namespace syncfree::cuda
