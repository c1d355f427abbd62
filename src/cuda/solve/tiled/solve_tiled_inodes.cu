/// Implements the inode part of cuda/solve/tiled/tiled.hpp: tiles of inodes (cuda/solve/tiled/inode_kernel.cuh). They
/// are planned like tiles of rows, from the pattern of the inodes.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/plan/tile_cut.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/solve/tiled/inode_kernel.cuh"
#include "cuda/solve/tiled/plan.cuh"
#include "cuda/solve/tiled/tiled.hpp"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

/// Least depth of the ring: four steps must fit wherever their first panel begins.
template <int size> constexpr int least_node_depth = (4 * most_node_warps * nodes_a_warp(size) + 15) / 16 + 1;

template <class Body> void with_size(int size, Body body)
{
  if (size == 2) return body(std::integral_constant<int, 2>());
  static_assert(largest_node == 3);
  body(std::integral_constant<int, 3>());
}

/// A triangle with full inodes only: the entries of its rows, in the order of a serial solve.
template <class I> struct FullNodes {
  DevicePattern<I> rows;
  bool lower;
  const I* begin;  ///< of the inodes' entries

  /// Returns entry e of row number `step` of a serial solve, counted from the entry farthest from the diagonal.
  __device__ I entry(I step, I e) const
  {
    const I row = lower ? step : rows.n - 1 - step;
    return lower ? rows.row_begin[row] + e : rows.row_begin[row + 1] - 1 - e;
  }
};

/// Sources of an inode plan's values; the plan's fields stay as they are.
///   source  by panel, pairs of positions * lanes: the triangle's entry, or -1
///   inner   by panel and position, pairs of an inode's rows: the entry by which one reads the other, or -1
template <class I> struct NodeSources {
  I *source, *inner;
};

/// Makes panels and sources of inodes. Thread k: a lane of the inode at position k / lanes.
///   field, source, node  of the plan; its panels have fields only
template <class I, class Panel, int size>
__global__ void spread_nodes(std::size_t count, FullNodes<I> nodes, const uint4* field, const I* source, const I* node,
                             Panel* panel, NodeSources<I> to)
{
  constexpr int lanes = lanes_of(size);
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= count) return;
  const std::size_t p = k / lanes, from = p / panel_rows, from_cell = p % panel_rows;
  const std::size_t q = p / Panel::positions, cell = p % Panel::positions;
  const int lane = static_cast<int>(k % lanes), row = lane / size, column = lane % size;
  const I own = node[p], step = own * size;
  for (std::size_t j = 0; j < 2 * Panel::pairs; ++j) {
    const I read = source[((from * Panel::pairs + j / 2) * panel_rows + from_cell) * 2 + j % 2];
    const std::size_t pair = (q * Panel::pairs + j / 2) * Panel::positions * lanes + cell * lanes + lane;
    to.source[pair * 2 + j % 2] =
      read < 0 ? I(-1) : nodes.entry(step + row, (read - nodes.begin[own]) * size + column);
  }
  if (lane < Panel::units) panel[q].unit[lane][cell] = field[(from * Panel::units + lane) * panel_rows + from_cell];
  if (column >= row) return;
  const I before = own < 0 ? I(0) : (nodes.begin[own + 1] - nodes.begin[own]) * size;
  to.inner[p * pairs_of(size) + pairs_of(row) + column] = own < 0 ? I(-1) : nodes.entry(step + row, before + column);
}

/// Fills in the values of all panels; thread k as in spread_nodes().
///   inverse_diagonal  nullptr: 1
template <class T, class I, class M, int size>
__global__ void fill_nodes(std::size_t count, NodesInOrder order, NodeSources<I> from, const I* node,
                           const DeviceScalar<T>* value, const DeviceScalar<T>* inverse_diagonal,
                           InodePanel<M, size>* panel)
{
  using N = DeviceScalar<T>;
  using Panel = InodePanel<M, size>;
  constexpr int lanes = lanes_of(size);
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= count) return;
  const std::size_t p = k / lanes, q = p / Panel::positions, cell = p % Panel::positions;
  const int lane = static_cast<int>(k % lanes), row = lane / size, column = lane % size;
  const std::int64_t own = order.row_at(static_cast<std::int64_t>(node[p]) * size + row);
  const N scale = inverse_diagonal && node[p] >= 0 ? inverse_diagonal[own] : N(1);
  const auto number = [&](I entry) {
    return entry < 0 ? M(0) : M(is_scaled_before<N, M> ? product(value[entry], scale) : value[entry]);
  };
  for (int j = 0; j < Panel::pairs; ++j) {
    const std::size_t at = cell * lanes + lane;
    const I* source = from.source + ((q * Panel::pairs + j) * Panel::positions * lanes + at) * 2;
    panel[q].pair[j][at] = {number(source[0]), number(source[1])};
  }
  if (column < row)
    panel[q].inner[cell][pairs_of(row) + column] = number(from.inner[p * pairs_of(size) + pairs_of(row) + column]);
  if (column == row) panel[q].inner[cell][pairs_of(size) + row] = M(scale);
}

template <class T, class V, class I> class TilesOfNodes : public DeviceSolver<T, I> {
  using N = DeviceScalar<T>;
  using M = DeviceScalar<V>;

public:
  ///   plan, arrays  of inodes; panels have fields only
  TilesOfNodes(const DeviceTriangle<I>& triangle, const TilePlan<I>& plan, TileArrays<I> arrays)
      : size_(triangle.nodes->size), scaled_(!triangle.unit), warps_(plan.warps), slots_(plan.slots),
        most_ghosts_(plan.most_ghosts), rows_(most_rows_of(plan)), exports_(plan.exports),
        blocks_(static_cast<unsigned>(plan.tiles.size())), positions_(arrays.row.size()),
        order_{static_cast<std::int64_t>(triangle.n()), triangle.lower}, tile_(std::move(arrays.tile)),
        run_(plan.run), node_(std::move(arrays.row)),
        ghost_sources_(std::move(arrays.ghost_sources)), launches_(std::size_t{exports_} * size_, "tiled"),
        columns_(std::size_t{exports_} * size_, "tiled")
  {
    with_size(size_, [&](auto size) {
      make_panels<size>(triangle, arrays);
      take_memory<size>(plan.is_chain);
    });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = true;
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) launch_inode_tiles(v.b, v.x, mode, stream);
    else launch_tile_columns(v, mode, stream);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    with_size(size_, [&](auto size) {
      const std::size_t count = positions_ * lanes_of(size);
      launch(fill_nodes<T, I, M, size>, {blocks_for(count, 256), 256, 0, stream}, count, order_, sources(),
             node_.data(), as_device(value), scaled_ ? as_device(inverse_diagonal) : nullptr, panels_of<size>());
    });
  }

  PlanSummary summarize_plan() const override
  {
    const std::string text = std::to_string(blocks_) + " tiles of " + std::to_string(rows_) + " nodes of " +
                             std::to_string(size_) + " rows and " + std::to_string(most_ghosts_) +
                             " ghosts at most, " + std::to_string(warps_) + (warps_ == 1 ? " warp" : " warps") +
                             " for a step" + in_clusters(cluster_);
    const std::size_t values =
        (source_.size() + positions_ * static_cast<std::size_t>(inner_of(size_))) * sizeof(V);
    const std::size_t bytes = tile_.bytes() + run_.bytes() + panel_.bytes() - values + source_.bytes() +
                              inner_.bytes() + node_.bytes() + ghost_sources_.bytes() + launches_.launch_bytes() +
                              columns_.launch_bytes();
    return {text, bytes, values, PlanForm::inodes};
  }

private:
  static constexpr int most_depth = 16;

  template <int size> InodePanel<M, size>* panels_of() { return reinterpret_cast<InodePanel<M, size>*>(panel_.data()); }
  NodeSources<I> sources() { return {source_.data(), inner_.data()}; }

  template <int size> void make_panels(const DeviceTriangle<I>& triangle, const TileArrays<I>& from)
  {
    using Panel = InodePanel<M, size>;
    constexpr std::size_t lanes = lanes_of(size);
    const std::size_t panels = positions_ / Panel::positions, count = positions_ * lanes;
    panel_ = DeviceArray<unsigned char>(panels * sizeof(Panel));
    source_ = DeviceArray<I>(panels * Panel::pairs * Panel::positions * lanes * 2);
    inner_ = DeviceArray<I>(positions_ * pairs_of(size));
    const FullNodes<I> nodes = {triangle.on_device, triangle.lower, triangle.nodes->begin.data()};
    launch(spread_nodes<I, Panel, size>, {blocks_for(count, 256), 256}, count, nodes,
           reinterpret_cast<const uint4*>(from.panel.data()), from.source.data(), node_.data(), panels_of<size>(),
           sources());
  }

  template <int size> void take_memory(bool is_chain)
  {
    using Memory = TileSharedMemory<N, InodePanel<M, size>>;
    const std::size_t numbers = (std::size_t{slots_} + 1 + most_ghosts_) * size, most = memory_of_block();
    for (depth_ = most_depth; depth_ > least_node_depth<size> && Memory::shared_bytes(numbers, depth_) > most;)
      --depth_;
    memory_ = Memory::shared_bytes(numbers, depth_);
    const auto kernel = solve_tiles_of_nodes<N, V, size, false>;
    allow_shared_memory(kernel, memory_of_block());
    allow_shared_memory(solve_tiles_of_nodes<N, V, size, true>, memory_of_block());
    if (is_chain) cluster_ = most_blocks_of_cluster(kernel, launch_parameters(1, 1, nullptr, false));
  }

  TileView tile_view(unsigned cluster) const
  {
    return {tile_.data(), run_.data(), panel_.data(), ghost_sources_.data(), exports_, slots_, most_ghosts_,
            depth_,        warps_,      blocks_,      cluster};
  }

  /// Returns the launch parameters for all tiles and `chunks` chunks of columns.
  LaunchParameters launch_parameters(unsigned chunks, unsigned cluster, cudaStream_t stream, bool overlaps) const
  {
    const auto threads = static_cast<unsigned>(32 * (compute_groups * warps_ + 2 + node_pollers));
    return {(blocks_ * chunks + cluster - 1) / cluster * cluster, threads, memory_, stream, overlaps, cluster};
  }

  void launch_inode_tiles(const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    with_size(size_, [&](auto size) {
      launches_.launch_cluster(cluster_, [&](unsigned cluster, auto mailbox, auto* counter) {
        return try_launch(solve_tiles_of_nodes<N, V, size, false>, launch_parameters(1, cluster, stream, mode.overlaps),
                          tile_view(cluster), order_, mailbox, counter, Input<N>{as_device(b)}, Output<N>{as_device(x)},
                          mode.conjugate);
      });
    });
  }

  void launch_tile_columns(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream)
  {
    columns_.launch_chunks(
        v, mode.overlaps,
        [&](unsigned chunks, auto mailbox, auto* counter, const Input<N>& b, const Output<N>& x, bool overlap) {
          with_size(size_, [&](auto size) {
            launch(solve_tiles_of_nodes<N, V, size, true>, launch_parameters(chunks, 1, stream, overlap), tile_view(1),
                   order_, mailbox, counter, b, x, mode.conjugate);
          });
        });
  }

  int size_;
  bool scaled_;
  int warps_, depth_ = most_depth;
  unsigned cluster_ = 1;
  std::uint32_t slots_, most_ghosts_, rows_, exports_;
  unsigned blocks_;
  std::size_t positions_, memory_ = 0;
  NodesInOrder order_;
  DeviceArray<Tile> tile_;
  DeviceArray<RowSegment> run_;
  DeviceArray<unsigned char> panel_;
  DeviceArray<I> source_, inner_, node_;
  DeviceArray<std::uint32_t> ghost_sources_;
  ClusterLaunches<typename DoubleBufferedMailbox<N>::Memory> launches_;
  ColumnLaunches<T, N, DoubleBufferedMailbox> columns_;
};

/// True if all inodes are full: their rows have all entries that the inode's pattern allows.
template <class I> bool are_full(const DeviceTriangle<I>& triangle)
{
  const auto size = static_cast<std::int64_t>(triangle.nodes->size);
  const std::int64_t count = triangle.nodes->count, read = triangle.nodes->entries;
  return triangle.n() == size * count && triangle.nnz() == size * size * read + pairs_of(triangle.nodes->size) * count;
}

/// Returns the triangle with inodes as rows. Its longest row is at least as long as the kernel's row capacity requires.
template <class I> DeviceTriangle<I> triangle_of(const DeviceTriangle<I>& triangle)
{
  const auto size = static_cast<std::int64_t>(triangle.nodes->size);
  const std::int64_t longest = (triangle.longest() - size + 1) / size;
  DeviceTriangle<I> nodes(true, triangle.nodes->pattern(), std::max<std::int64_t>(longest, row_capacities[1] + 1),
                          true);
  nodes.device_levels = &triangle.nodes->levels;
  nodes.grid = triangle.grid_of_nodes;
  nodes.grid.star = false;
  nodes.row_bandwidth = (triangle.row_bandwidth + size - 1) / size;
  return nodes;
}

template <class T, class V> TileRule rule_of_nodes(int of_size, TileRule rule)
{
  std::fill(rule.ghost_slots, rule.ghost_slots + ghost_sizes, 0);
  with_size(of_size, [&](auto size) {
    using Memory = TileSharedMemory<DeviceScalar<T>, InodePanel<DeviceScalar<V>, size>>;
    const std::int64_t fit = numbers_that_fit<Memory, DeviceScalar<T>>(least_node_depth<size>) / size;
    rule.ghost_slots[ghost_sizes - 1] = std::clamp<std::int64_t>(fit, 0, 0xfff0);
    rule.rows_a_warp = nodes_a_warp(size);
  });
  rule.most_warps = most_node_warps;
  if (rule.rows > 0) rule.rows = std::max<std::int64_t>(1, rule.rows / of_size);
  return rule;
}

/// True if there are inodes that can have a plan, provided that there is room.
template <class I> bool has_inodes_for_tiles(const DeviceTriangle<I>& triangle)
{
  if (!triangle.nodes || triangle.source || !triangle.on_device.row_begin || !are_full(triangle)) return false;
  return triangle.longest() - triangle.nodes->size + 1 <= std::int64_t{node_near} * triangle.nodes->size;
}

}  // namespace

template <class T, class V, class I> bool may_plan_tiles_of_inodes(const DeviceTriangle<I>& triangle)
{
  if (!has_inodes_for_tiles(triangle)) return false;
  const DeviceTriangle<I> nodes = triangle_of(triangle);
  const TileRule rule = rule_of_nodes<T, V>(triangle.nodes->size, TileRule());
  if (!may_plan_ghosts(nodes, rule)) return false;
  const CutInput<I> in = {nodes.n(),    nodes.nnz(),     nodes.lower, nodes.device_levels->count,
                          nodes.row_bandwidth, nodes.longest(), nodes.grid};
  return cut(in, size_of_ghosts(in.longest, rule), rule).has_room;
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_tiled_inodes(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  if (!has_inodes_for_tiles(triangle)) return nullptr;
  using Panel = InodePanel<DeviceScalar<V>, 2>;
  constexpr PanelShape fields = {sizeof(Panel::unit) / Panel::positions * panel_rows, panel_rows};
  const DeviceTriangle<I> nodes = triangle_of(triangle);
  const TileRule own = rule_of_nodes<T, V>(triangle.nodes->size, rule);
  if (!may_plan_ghosts(nodes, own)) return nullptr;
  TilePlan<I> frame;
  TileArrays<I> arrays;
  try {
    if (!make_ghost_plan(nodes, own, fields, &frame, &arrays)) return nullptr;
    return std::make_unique<TilesOfNodes<T, V, I>>(triangle, frame, std::move(arrays));
  } catch (const Failure& failure) {
    if (failure.status.code != Code::no_plan) throw;  // a plan by rows may exist
    return nullptr;
  }
}

#define INSTANTIATE(T, V, I)                                                                            \
  template bool may_plan_tiles_of_inodes<T, V, I>(const DeviceTriangle<I>&);                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_tiled_inodes<T, V, I>(const DeviceTriangle<I>&, \
                                                                              const TileRule&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
