#include "cuda/ordering/components.hpp"

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

}  // namespace

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
