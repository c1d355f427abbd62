/// All components at once. A cluster of thread blocks goes from level to level as long as they are narrow; a wide level
/// takes a launch.

#include "cuda/ordering/breadth_first.hpp"

#include <utility>

#include "cuda/ordering/frontier.cuh"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {
namespace {

/// False once levels are so small that a queue on the host is faster.
SYNCFREE_HD inline bool is_wide_enough(unsigned levels, unsigned vertices)
{
  constexpr unsigned least_levels = 1000, vertices_a_level = 4;
  return levels < least_levels || vertices / vertices_a_level >= levels;
}

/// Gives level 0 to the smallest vertex of each component, its root, and none to the others.
__global__ void start_at_roots(Vertex n, const Vertex* component, unsigned* level, FrontierView queue)
{
  __shared__ AppendedVertices roots;
  roots.clear();
  const std::size_t i = this_thread();
  if (i < n) {
    const auto v = static_cast<Vertex>(i);
    const bool is_root = component[v] == v;
    level[v] = is_root ? 0 : no_vertex;
    if (is_root) roots.append(v, queue.before_first_turn());
  }
  roots.store(queue.before_first_turn());
}

/// Gives the next level to the neighbours of the frontier that have none: eight lanes a vertex, and a warp each one of
/// many neighbours. Called by all threads of a launch.
__device__ void expand_frontier(const GraphView& G, const Frontier& frontier, unsigned next, unsigned* level,
                                AppendedVertices* found)
{
  constexpr unsigned lanes = 8, vertices = 32 / lanes, many = 128;
  const auto visit = [&](Vertex v, unsigned first, unsigned step) {
    for (std::size_t k = G.begin[v] + first; k < G.begin[v + 1]; k += step) {
      const Vertex w = G.neighbor[k];
      if (load_relaxed(level + w) == no_vertex && claim(level + w, next) == no_vertex) found->append(w, frontier);
    }
  };
  const std::size_t step = warps_of_launch() * vertices;
  for (std::size_t first = this_warp() * vertices; first < frontier.count; first += step) {
    const std::size_t at = first + this_lane() / lanes;
    const bool is_vertex = at < frontier.count;
    const Vertex v = is_vertex ? frontier.vertex[at] : 0;
    const bool has_many = is_vertex && G.degree(v) > many;
    if (is_vertex && !has_many) visit(v, this_lane() % lanes, lanes);
    for (unsigned left = __ballot_sync(~0u, has_many && this_lane() % lanes == 0); left; left &= left - 1)
      visit(__shfl_sync(~0u, v, __ffs(static_cast<int>(left)) - 1), this_lane(), 32);
  }
}

__global__ void __launch_bounds__(threads_a_block)
expand_level(GraphView G, FrontierView queue, unsigned turn, unsigned* level)
{
  __shared__ AppendedVertices found;
  const Frontier frontier = queue.frontier(turn);
  if (frontier.count == 0) return;
  found.clear();
  expand_frontier(G, frontier, turn + 1, level, &found);
  found.store(frontier);
}

/// Expands levels from `turn` on, until one has no vertex or more than `most`, or they are not wide enough.
/// owns       a cluster owns the search: eight lanes each vertex of a frontier
/// waits      for all its threads after each level, at the cluster's barrier; for nothing else
/// publishes  levels, the queue and its words, in device memory
/// order      the barrier releases and acquires; a level is claimed by one relaxed operation
/// progress   the thread blocks of a cluster run at the same time; each turn but the last gives a vertex its level
/// result     levels are reproducible, the sequence of the queue is not
/// source     Merrill, Garland & Grimshaw 2012 for queues; here without a launch for levels that a cluster can hold
__global__ void __launch_bounds__(threads_of_narrow)
expand_narrow_levels(GraphView G, FrontierView queue, unsigned turn, unsigned most, unsigned* level)
{
  __shared__ AppendedVertices found;
  for (;; ++turn) {
    const Frontier frontier = queue.frontier(turn);
    const auto vertices = static_cast<unsigned>(frontier.vertex - queue.vertex);
    if (frontier.count == 0 || frontier.count > most || !is_wide_enough(turn, vertices)) break;
    found.clear();
    expand_frontier(G, frontier, turn + 1, level, &found);
    found.store(frontier);
    cluster_sync(gridDim.x);
  }
  if (this_thread() == 0) queue.words->turn = turn;
}

class Search {
public:
  Search(const GraphView& G, const Vertex* component)
      : G_(G), component_(component), some_{blocks_of_resident_warps(G.n), threads_a_block}, queue_(G.n)
  {
    made_.level = DeviceArray<unsigned>(G.n);
  }

  bool find_levels()
  {
    unsigned* const level = made_.level.data();
    queue_.clear();
    launch(start_at_roots, {blocks_of_threads(G_.n), threads_a_block}, G_.n, component_, level, queue_.view());
    for (;;) {
      const unsigned turn = expand_while_narrow();
      if (queue_.words.count[turn % 3] == 0) break;
      if (!is_wide_enough(turn, queue_.words.first[turn % 2])) return false;
      for (unsigned k = 0; k < turns_at_once; ++k) launch(expand_level, some_, G_, queue_.view(), turn + k, level);
      next_ = turn + turns_at_once;
    }
    made_.count = queue_.words.turns;
    return true;
  }

  DeviceBreadthFirst take() { return std::move(made_); }

private:
  /// Returns the turn of the first level that is left. Waits.
  unsigned expand_while_narrow()
  {
    constexpr unsigned vertices_a_block = 256;
    const LaunchParameters cluster = cluster_of_narrow(expand_narrow_levels);
    launch(expand_narrow_levels, cluster, G_, queue_.view(), next_, vertices_a_block * cluster.cluster,
           made_.level.data());
    queue_.read_words();
    return queue_.words.turn;
  }

  GraphView G_;
  const Vertex* component_;
  LaunchParameters some_;
  FrontierQueue queue_;
  DeviceBreadthFirst made_;
  unsigned next_ = 0;  ///< turn
};

}  // namespace

bool search_breadth_first_on_device(const GraphView& G, const DeviceComponents& components, DeviceBreadthFirst* out)
{
  Search search(G, components.component.data());
  if (!search.find_levels()) return false;
  *out = search.take();
  return true;
}

}  // namespace syncfree::cuda
