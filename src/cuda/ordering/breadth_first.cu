/// All components at once, a launch a level.

#include "cuda/ordering/breadth_first.hpp"

#include "cuda/ordering/frontier.cuh"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// The vertex of least (degree, index) in one word.
inline __device__ unsigned long long candidate(unsigned degree, Vertex v)
{
  return static_cast<unsigned long long>(degree) << 32 | v;
}
inline __device__ Vertex vertex_of(unsigned long long candidate) { return static_cast<Vertex>(candidate); }

/// Gives level 0 to the roots and none to the others.
///   candidate  by component, or nullptr: the root is the smallest vertex
__global__ void start_at_roots(Vertex n, const Vertex* component, const unsigned long long* candidate, unsigned* level,
                               FrontierView queue)
{
  __shared__ AppendedVertices roots;
  roots.clear();
  const std::size_t i = this_thread();
  if (i < n) {
    const auto v = static_cast<Vertex>(i);
    const Vertex root = candidate ? vertex_of(candidate[component[v]]) : component[v];
    level[v] = v == root ? 0 : no_vertex;
    if (v == root) roots.append(v, queue.before_first_turn());
  }
  roots.store(queue.before_first_turn());
}

/// Gives the next level to the neighbours that have none; a warp a vertex.
__global__ void __launch_bounds__(threads_a_block)
expand_level(GraphView G, FrontierView queue, unsigned turn, unsigned* level)
{
  __shared__ AppendedVertices found;
  const Frontier frontier = queue.frontier(turn);
  if (frontier.count == 0) return;
  found.clear();
  for (std::size_t at = this_warp(); at < frontier.count; at += warps_of_launch()) {
    const Vertex v = frontier.vertex[at];
    for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
      const Vertex w = G.neighbor[k];
      if (load_relaxed(level + w) == no_vertex && claim(level + w, turn + 1) == no_vertex) found.append(w, frontier);
    }
  }
  found.store(frontier);
}

/// last[c] = highest level in component c. Most threads only read: many atomic operations on one word serialize.
__global__ void find_last_levels(Vertex n, const unsigned* level, const Vertex* component, unsigned* last)
{
  const std::size_t v = this_thread();
  if (v >= n) return;
  unsigned* const of = last + component[v];
  if (load_relaxed(of) < level[v]) atomic_max(of, level[v]);
}

/// least[c] = candidate of least (degree, index) in the last level of component c
__global__ void find_candidates(GraphView G, const unsigned* level, const Vertex* component, const unsigned* last,
                                unsigned long long* least)
{
  const std::size_t i = this_thread();
  if (i >= G.n) return;
  const auto v = static_cast<Vertex>(i);
  if (level[v] != last[component[v]]) return;
  const unsigned long long own = candidate(G.degree(v), v);
  unsigned long long* const of = least + component[v];
  if (own < load_relaxed(of)) red_min_relaxed(of, own);
}

/// False once levels are so small that a queue on the host is faster.
bool is_wide_enough(unsigned levels, unsigned vertices)
{
  constexpr unsigned least_levels = 1000, vertices_a_level = 4;
  return levels < least_levels || vertices / vertices_a_level >= levels;
}

class Search {
public:
  Search(const GraphView& G, const Vertex* component)
      : G_(G), component_(component), all_{blocks_of_threads(G.n), threads_a_block},
        some_{blocks_of_resident_warps(G.n), threads_a_block}, queue_(G.n)
  {
    made_.level = DeviceArray<unsigned>(G.n);
  }

  /// Searches from the candidates of find_new_roots() or, without, from the smallest vertices.
  bool find_levels()
  {
    queue_.clear();
    launch(start_at_roots, all_, G_.n, component_, root_.data(), made_.level.data(), queue_.view());
    const auto launch_turn = [&](unsigned turn) {
      launch(expand_level, some_, G_, queue_.view(), turn, made_.level.data());
    };
    if (!queue_.run(launch_turn, is_wide_enough)) return false;
    made_.count = queue_.words.turns;
    return true;
  }

  void find_new_roots(const DeviceBreadthFirst& before)
  {
    DeviceArray<unsigned> last(G_.n);
    last.fill(0, nullptr);
    root_ = DeviceArray<unsigned long long>(G_.n);
    root_.fill(0xff, nullptr);
    launch(find_last_levels, all_, G_.n, before.level.data(), component_, last.data());
    launch(find_candidates, all_, G_, before.level.data(), component_, last.data(), root_.data());
  }

  DeviceBreadthFirst take() { return std::move(made_); }

private:
  GraphView G_;
  const Vertex* component_;
  LaunchParameters all_, some_;
  FrontierQueue queue_;
  DeviceBreadthFirst made_;
  DeviceArray<unsigned long long> root_;  ///< candidate of each component
};

}  // namespace

bool search_breadth_first_on_device(const GraphView& G, const DeviceComponents& components,
                                    const DeviceBreadthFirst* before, DeviceBreadthFirst* out)
{
  Search search(G, components.component.data());
  if (before) search.find_new_roots(*before);
  if (!search.find_levels()) return false;
  *out = search.take();
  return true;
}

}  // namespace syncfree::cuda
