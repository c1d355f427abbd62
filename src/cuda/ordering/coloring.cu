/// Jones-Plassmann rounds: a vertex takes its colour in the turn after the last of its neighbours of higher priority.
/// Counting those that are left, each vertex and edge is visited twice in all.

#include "cuda/ordering/coloring.hpp"

#include <algorithm>
#include <cstdint>

#include "core/ordering/coloring.hpp"
#include "core/ordering/options.hpp"
#include "cuda/ordering/frontier.cuh"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

/// Which colours vertices prefer.
///   level          of each vertex, or nullptr
///   inside_levels  edges between levels do not count
///   K              0: the least free colour; else the first free one of target, ... K - 1, 0, ... target - 1, K, ...
struct ColorRule {
  const unsigned* level = nullptr;
  bool inside_levels = false;
  unsigned K = 0, last_level = 0, step = 0;

  __device__ bool counts(Vertex v, Vertex w) const { return !inside_levels || level[v] == level[w]; }
  __device__ unsigned target(Vertex v) const
  {
    return K == 0 ? 0 : static_cast<unsigned>(static_cast<std::uint64_t>(last_level - level[v]) * step % K);
  }
  /// The position of a colour in the sequence of a vertex with this target, and the reverse.
  __device__ unsigned position(unsigned color, unsigned target) const
  {
    if (color >= K) return color;
    return color >= target ? color - target : color + K - target;
  }
  __device__ unsigned color_at(unsigned position, unsigned target) const
  {
    if (position >= K) return position;
    return position < K - target ? position + target : position - (K - target);
  }
};

/// True if v has a higher priority than w.
__device__ bool precedes(const GraphView& G, Vertex v, Vertex w)
{
  const unsigned of_v = G.degree(v), of_w = G.degree(w);
  return of_v != of_w ? of_v < of_w : mix_bits(v) < mix_bits(w);
}

/// left[v] = number of neighbours of higher priority; vertices with none are in turn 0. Colours are set to none. A warp
/// a vertex.
__global__ void __launch_bounds__(threads_a_block)
count_higher_priorities(GraphView G, ColorRule rule, FrontierView queue, unsigned* left, unsigned* color)
{
  __shared__ AppendedVertices ready;
  ready.clear();
  for (std::size_t at = this_warp(); at < G.n; at += warps_of_launch()) {
    const auto v = static_cast<Vertex>(at);
    unsigned count = 0;
    for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32)
      count += rule.counts(v, G.neighbor[k]) && precedes(G, G.neighbor[k], v);
    count = __reduce_add_sync(~0u, count);
    if (this_lane() != 0) continue;
    left[v] = count;
    color[v] = no_vertex;
    if (count == 0) ready.append(v, queue.before_first_turn());
  }
  ready.store(queue.before_first_turn());
}

/// Returns the first free position in v's sequence of colours, 64 at a time. Called by all lanes. The colours that are
/// read are complete: neighbours either have theirs from earlier turns, or wait for v.
__device__ unsigned first_free_position(const GraphView& G, const ColorRule& rule, Vertex v, const unsigned* color)
{
  const unsigned target = rule.target(v);
  for (unsigned base = 0;; base += 64) {
    unsigned taken[2] = {0, 0};
    for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
      const Vertex w = G.neighbor[k];
      if (!rule.counts(v, w) || color[w] == no_vertex) continue;
      const unsigned at = rule.position(color[w], target) - base;
      if (at < 64) taken[at / 32] |= 1u << at % 32;
    }
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned of_all = __reduce_or_sync(~0u, taken[half]);
      if (of_all != ~0u) return base + 32 * half + __ffs(static_cast<int>(~of_all)) - 1;
    }
  }
}

/// Colours the vertices of a turn, which are not coupled to each other; neighbours for which v was the last of higher
/// priority are in the next turn. A warp a vertex. Called by all threads of a launch.
///   count  becomes the number of colours
__device__ void color_frontier(const GraphView& G, const ColorRule& rule, const Frontier& frontier, unsigned* left,
                               unsigned* color, unsigned* count, AppendedVertices* ready)
{
  for (std::size_t at = this_warp(); at < frontier.count; at += warps_of_launch()) {
    const Vertex v = frontier.vertex[at];
    const unsigned own = rule.color_at(first_free_position(G, rule, v, color), rule.target(v));
    for (std::size_t k = G.begin[v] + this_lane(); k < G.begin[v + 1]; k += 32) {
      const Vertex w = G.neighbor[k];
      if (rule.counts(v, w) && color[w] == no_vertex && atomic_add(left + w, ~0u) == 1) ready->append(w, frontier);
    }
    if (this_lane() != 0) continue;
    color[v] = own;
    if (load_relaxed(count) <= own) atomic_max(count, own + 1);
  }
}

__global__ void __launch_bounds__(threads_a_block)
color_turn(GraphView G, ColorRule rule, FrontierView queue, unsigned turn, unsigned* left, unsigned* color)
{
  __shared__ AppendedVertices ready;
  const Frontier frontier = queue.frontier(turn);
  if (frontier.count == 0) return;
  ready.clear();
  color_frontier(G, rule, frontier, left, color, &queue.words->note, &ready);
  ready.store(frontier);
}

/// Colours turns from `turn` on, until one has no vertex or more than `most`.
/// owns       a cluster owns the colouring: a warp each vertex of a turn
/// waits      for all its threads after each turn, at the cluster's barrier; for nothing else
/// publishes  colours, the queue and its words, in device memory
/// order      the barrier releases and acquires; counts that several warps change are atomic, relaxed
/// progress   the thread blocks of a cluster run at the same time; each turn but the last colours a vertex
/// result     colours are reproducible, the sequence of the queue is not
/// source     Jones & Plassmann 1993; here without a launch for turns that a cluster can hold
__global__ void __launch_bounds__(threads_of_narrow)
color_narrow_turns(GraphView G, ColorRule rule, FrontierView queue, unsigned turn, unsigned most, unsigned* left,
                   unsigned* color)
{
  __shared__ AppendedVertices ready;
  for (;; ++turn) {
    const Frontier frontier = queue.frontier(turn);
    if (frontier.count == 0 || frontier.count > most) break;
    ready.clear();
    color_frontier(G, rule, frontier, left, color, &queue.words->note, &ready);
    ready.store(frontier);
    cluster_sync(gridDim.x);
  }
  if (this_thread() == 0) queue.words->turn = turn;
}

DeviceColoring color_by_rule(const GraphView& G, const ColorRule& rule)
{
  const LaunchParameters some = {blocks_of_resident_warps(G.n), threads_a_block};
  DeviceColoring made;
  made.color = DeviceArray<unsigned>(G.n);
  const DeviceArray<unsigned> left(G.n);
  FrontierQueue queue(G.n);
  queue.clear();
  launch(count_higher_priorities, some, G, rule, queue.view(), left.data(), made.color.data());
  const auto launch_turn = [&](unsigned turn) {
    launch(color_turn, some, G, rule, queue.view(), turn, left.data(), made.color.data());
  };
  constexpr unsigned vertices_a_block = 64;
  const LaunchParameters cluster = cluster_of_narrow(color_narrow_turns);
  const unsigned most = vertices_a_block * cluster.cluster;
  const auto launch_narrow = [&](unsigned turn) {
    launch(color_narrow_turns, cluster, G, rule, queue.view(), turn, most, left.data(), made.color.data());
  };
  const bool is_small = G.n <= 8 * most;  // then hardly any turn after the first is wide
  queue.run(is_small ? 1 : turns_at_once, launch_turn, launch_narrow);
  made.count = queue.words.note;
  return made;
}

/// Sums of the squared degrees of a bipartite component's vertices, by side.
struct Squares {
  unsigned long long of[2];
};

/// Returns the sum over the lanes of a warp, to all of them. Called by all of them.
__device__ unsigned long long warp_sum(unsigned long long own)
{
  for (unsigned mask = 16; mask > 0; mask /= 2) own += __shfl_xor_sync(~0u, own, mask);
  return own;
}

/// Adds up squared degrees by component; a thread a vertex. A thread block whose vertices are all of one component adds
/// the sums of its warps.
__global__ void __launch_bounds__(threads_a_block)
add_squared_degrees(GraphView G, const Vertex* component, const unsigned* side, Squares* squares)
{
  const std::size_t i = this_thread(), first = i - threadIdx.x;
  const bool is_vertex = i < G.n;
  const auto v = static_cast<Vertex>(is_vertex ? i : first);
  const unsigned long long degree = is_vertex ? G.degree(v) : 0, square = degree * degree;
  Squares* const sums = squares + component[v];
  if (__syncthreads_and(component[v] == component[first])) {
    if (side[v] == not_bipartite) return;
    const unsigned long long of_first = warp_sum(side[v] == 0 ? square : 0);
    const unsigned long long of_second = warp_sum(side[v] == 1 ? square : 0);
    if (this_lane() != 0) return;
    red_add_relaxed(sums->of, of_first);
    red_add_relaxed(sums->of + 1, of_second);
  } else if (is_vertex && side[v] != not_bipartite) {
    red_add_relaxed(sums->of + side[v], square);
  }
}

/// Replaces the colours of bipartite components by their sides: the first colour is that of the smaller sum.
__global__ void color_by_side(Vertex n, const Vertex* component, const unsigned* side, const Squares* squares,
                              unsigned* color)
{
  const std::size_t v = this_thread();
  if (v >= n || side[v] == not_bipartite) return;
  const Squares& both = squares[component[v]];
  color[v] = both.of[0] > both.of[1] ? 1 - side[v] : side[v];
}

}  // namespace

DeviceColoring color_greedily_on_device(const GraphView& G) { return color_by_rule(G, {}); }

DeviceColoring color_with_few_on_device(const GraphView& G, const DeviceComponents& components)
{
  DeviceColoring made;
  unsigned any_odd;
  components.any_odd.read(&any_odd, 0, 1, nullptr);
  if (any_odd != 0) made = color_greedily_on_device(G);
  else made.color = DeviceArray<unsigned>(G.n);
  made.count = std::max(made.count, 2u);
  DeviceArray<Squares> squares(G.n);
  squares.fill(0, nullptr);
  const LaunchParameters all = {blocks_of_threads(G.n), threads_a_block};
  const Vertex* const component = components.component.data();
  const unsigned* const side = components.side.data();
  launch(add_squared_degrees, all, G, component, side, squares.data());
  launch(color_by_side, all, G.n, component, side, squares.data(), made.color.data());
  return made;
}

DeviceColoring color_cyclically_on_device(const GraphView& G, const DeviceBreadthFirst& search, unsigned K)
{
  ColorRule rule;
  rule.level = search.level.data();
  rule.inside_levels = true;
  const unsigned inside = color_by_rule(G, rule).count;
  rule.inside_levels = false;
  rule.K = K;
  rule.last_level = search.count - 1;
  rule.step = static_cast<unsigned>(cyclic_step(inside, K));
  return color_by_rule(G, rule);
}

}  // namespace syncfree::cuda
