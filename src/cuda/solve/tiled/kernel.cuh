#pragma once

/// Strategy `tiled` with ghosts: the kernel, and a plan with its values on the device.

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "cuda/base/launch.hpp"
#include "cuda/base/multivector.cuh"
#include "cuda/solve/tiled/plan_arrays.cuh"
#include "cuda/sync/cluster.cuh"
#include "cuda/sync/mailboxes.cuh"

namespace syncfree::cuda {

/// Calls copy(slot in shared memory, row) for all rows of a tile, by all threads of its thread block; each warp takes
/// whole runs of rows. With inodes of `size` rows, slots and rows are counted by rows.
template <int size = 1, class View, class Copy>
__device__ void for_rows(const View& A, const Tile& tile, Copy copy)
{
  const RowSegment* run = A.run + tile.first_run;
  for (std::uint32_t r = threadIdx.x / 32; r < tile.runs; r += blockDim.x / 32) {
    const RowSegment own = run[r];
    for (std::uint32_t k = threadIdx.x % 32; k < own.rows * size; k += 32)
      copy(own.slot * size + k, own.first_row * size + k);
  }
}

/// True if tiles with rows of that capacity may form a pipeline (each reads the one before it only). Star stencils
/// have the shortest rows, and their tiles read more than one other tile.
constexpr bool may_be_chain(int row_capacity) { return row_capacity != star_row_capacity; }

/// Variants of the kernel: results are inverted, or take the slots of ghosts (TilePlan::alias_shift).
enum class TileForm { plain, inverted, aliased };

/// owns       a thread block owns a tile or a run of consecutive rows, with `many` for one chunk of the columns; a lane
///            of a compute warp owns one row of each step of its group
/// waits      compute lanes for the ghosts of their row and for panels; polling warps for values exported by earlier
///            thread blocks; the copy warp, and the warps that fetch right-hand sides, until a panel is no longer read
/// publishes  each value in shared memory, and in the mailbox if another tile reads it; clears the thread block's slots
///            in the next launch's mailbox. In a pipeline of tiles every thread block of a cluster but the last stores
///            exported values as ghosts in the next one's shared memory, and only the first one polls; a thread block
///            does not end while one of its ghosts is missing
/// order      exported values and ghosts are their own flags (relaxed; scope: device, thread block); the thread blocks
///            of a cluster synchronize after ghosts are cleared and before any is put. A result that is NaN or infinite
///            may come from a ghost that had not arrived, and is computed again once all have. `aliased`: a value takes
///            the slot of a ghost that rows of earlier steps have read, so that ghost has arrived, and no later row
///            reads it. Steps: named barriers, each signalled by one group of warps and awaited by the next. Panels: an
///            mbarrier completes when one arrives; one thread reports that with release, and compute lanes acquire it.
///            Another mbarrier completes when the first thread, after the barrier of a later step, reports that the
///            panel has been read
/// progress   earlier thread blocks have earlier tickets and never wait for later ones. Within a thread block steps are
///            in order, a panel is requested before it is read, and polling warps wait for no warp of their own block
/// result     reproducible: the order of additions depends on the plan only. `inverted`: 1 / x_i in place of x_i, which
///            is NaN as well while a ghost is missing
/// source     this library
template <class N, class V, int row_capacity, TileForm form, bool many>
__global__ void __launch_bounds__(ghost_threads<row_capacity>, 1)
solve_tiles(TileView A, typename DoubleBufferedMailbox<N>::View mailbox, TicketCounter* counter, Input<N> b,
            Output<N> x, bool conjugate)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr bool chain = !many && may_be_chain(row_capacity), aliased = form == TileForm::aliased;
  constexpr int pollers = aliased ? ghost_pollers - right_side_fetchers : ghost_pollers;
  const unsigned cluster = chain ? A.cluster : 1, rank = cluster > 1 ? rank_in_cluster() : 0;
  const BlockTicket ticket = take_ticket(counter, cluster);
  unsigned tile_index = static_cast<unsigned>(ticket.index);
  ChunkOfBlock chunk;
  if constexpr (many) chunk = take_chunk<N>(A.blocks, &tile_index, &b, &x);
  if (chain && tile_index >= A.blocks) return cluster_sync(cluster);
  const Tile tile = A.tile[tile_index];
  const DoubleBufferedMailbox<N> box(mailbox, std::size_t{A.exports} * chunk.chunks, ticket.launch,
                                     std::size_t{A.exports} * chunk.which);
  using Memory = TileSharedMemory<N, TilePanel<DeviceScalar<V>, row_capacity>, aliased>;
  const std::uint32_t zero = aliased ? A.alias_shift + A.slots : A.slots;
  const Memory memory(shared, zero + 1 + (aliased ? 0 : A.most_ghosts), A.depth);
  memory.start(A.depth);
  if (threadIdx.x == 0) memory.x[zero] = N(0), set_block_row(tile.first_row);
  N* ghost = memory.x + (aliased ? A.alias_shift : A.slots + 1);
  for (std::uint32_t k = threadIdx.x; k < (aliased ? A.slots : tile.ghosts); k += blockDim.x)
    SharedSentinelValue<N>::clear_shared(ghost + k);
  for (std::uint32_t k = threadIdx.x; k < tile.exports; k += blockDim.x) box.prepare_slot(tile.first_exported + k);
  wait_for_primary_launch();
  trigger_dependent_launch();
  if (!aliased) for_rows(A, tile, [&](std::uint32_t slot, std::int64_t row) { fetch_row(memory.x + slot, b, row); });
  await_fetched_numbers();
  cluster_sync(cluster);
  const unsigned warp = threadIdx.x / 32, computing = compute_groups * A.warps;
  if (warp < computing) {
    const bool hands_on = rank + 1 < cluster && tile_index + 1 < A.blocks;
    auto* exported = box.slot_at(tile.first_exported);
    if (hands_on) exported = reinterpret_cast<decltype(exported)>(map_shared_rank(ghost, rank + 1));
    using Row = TileRow<Memory, V, row_capacity, form == TileForm::inverted>;
    ComputeWarp<Memory, Row, Publisher<N, chain>>(A, tile, memory, Publisher<N, chain>(exported), conjugate)
        .solve_steps(tile.steps);
  } else if (warp == computing) {
    PanelCopyWarp<Memory>(A, tile, memory).copy_panels();
  } else if (warp == computing + 1) {
    if (threadIdx.x % 32 == 0) announce_panels(memory, tile, A.depth);
  } else if (aliased && warp >= computing + 2 + pollers) {
    if constexpr (aliased)
      fetch_right_sides<right_side_fetchers, Memory, N>(A, tile, memory, b, warp - computing - 2 - pollers);
  } else if (rank == 0) {
    const std::uint32_t* source = A.ghost_sources + tile.first_ghost;
    const std::uint32_t before = aliased && tile_index > 0 ? A.tile[tile_index - 1].first_exported : 0;
    fetch_ghosts<pollers, N>(
        [source](std::uint32_t k) { return source[k]; }, tile.ghosts,
        [=](std::uint32_t k, std::uint32_t at) { return ghost + (aliased ? at - before : k); }, box,
        warp - computing - 2);
  }
  __syncwarp();
  __syncthreads();
  __syncthreads();  // with one barrier only, racecheck reports values that are put and stored to x concurrently
  for_rows(A, tile, [&](std::uint32_t slot, std::int64_t row) {
    store_row<N>(x, row, memory.x[aliased ? A.position[row] : slot]);
  });
  linger_for_cluster(cluster);
}

/// Calls body(an integral constant) for the row capacity, one of row_capacities.
template <class Body> void with_row_capacity(int row_capacity, Body body)
{
  if (row_capacity == row_capacities[0]) return body(std::integral_constant<int, row_capacities[0]>());
  if (row_capacity == row_capacities[1]) return body(std::integral_constant<int, row_capacities[1]>());
  return body(std::integral_constant<int, row_capacities[2]>());
}

/// Least depth of the ring: four steps must fit wherever their first panel begins. For long rows, steps and panels have
/// 64 rows each, and five panels suffice; with wider steps more panels are needed to hide memory latency.
constexpr int least_depth_with_ghosts(int row_capacity) { return warps_per_group(row_capacity) > 2 ? 8 : 5; }
/// Least depth if panels hold right-hand sides. A pipeline with a shorter ring than this without aliasing is faster
/// with it.
constexpr int least_aliased_depth = 7;

/// Returns the number of values that fit in shared memory next to a ring of `depth` panels.
template <class Memory, class N> std::int64_t numbers_that_fit(int depth)
{
  const std::size_t others = Memory::shared_bytes(0, depth) + 16, all = memory_of_block();  // 16: the ring is aligned
  return others < all ? static_cast<std::int64_t>((all - others) / sizeof(N)) : 0;
}

/// Returns the largest number of rows of a tile.
template <class I> std::uint32_t most_rows_of(const TilePlan<I>& plan)
{
  std::uint32_t most = 0;
  for (const Tile& tile : plan.tiles) most = std::max(most, tile.rows);
  return most;
}

/// Tiles with the values of the factor, for kernels that compute with N: DeviceScalar<T>, or a ColumnPack of them.
template <class T, class N, class V, class I> class TileSet {
public:
  TileSet(const TilePlan<I>& plan, TileArrays<I> arrays)
      : row_capacity_(plan.row_capacity),
        warps_(plan.warps),
        rows_(most_rows_of(plan)),
        slots_(plan.slots),
        alias_shift_(plan.alias_shift),
        most_ghosts_(plan.most_ghosts),
        exports_(plan.exports),
        is_chain_(plan.is_chain),
        arrays_(std::move(arrays)),
        run_(plan.run)
  {
    with_form([&](auto row_capacity, auto form) {
      using Memory = TileSharedMemory<N, TilePanel<DeviceScalar<V>, row_capacity>, form == TileForm::aliased>;
      const std::size_t numbers = plan.numbers(), most = memory_of_block();
      depth_ = most_depth * (panel_rows / Memory::Panel::positions);
      while (depth_ > least_depth_with_ghosts(row_capacity) && Memory::shared_bytes(numbers, depth_) > most) --depth_;
      memory_ = Memory::shared_bytes(numbers, depth_);
    });
  }

  int row_capacity() const { return row_capacity_; }
  /// Calls body(row capacity, plain or aliased), both integral constants.
  template <class Body> void with_form(Body body) const
  {
    with_row_capacity(row_capacity_, [&](auto row_capacity) {
      if constexpr (may_be_aliased(row_capacity))
        if (alias_shift_ > 0) return body(row_capacity, std::integral_constant<TileForm, TileForm::aliased>());
      body(row_capacity, std::integral_constant<TileForm, TileForm::plain>());
    });
  }
  std::uint32_t exports() const { return exports_; }

  /// Fills in the values.
  ///   inverse_diagonal  nullptr: 1
  void update_panels(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    with_row_capacity(row_capacity_, [&](auto row_capacity) {
      const std::size_t count = arrays_.source.size() / 2;
      launch(fill_pairs<T, V, I, row_capacity>, {blocks_for(count, 256), 256, 0, stream}, count, arrays_.source.data(),
             arrays_.row.data(), as_device(value), as_device(inverse_diagonal),
        reinterpret_cast<TilePanel<DeviceScalar<V>, row_capacity>*>(arrays_.panel.data()));
    });
  }

  /// Sets the cluster size for launches of `kernel` with one chunk.
  template <class Kernel> void take_clusters(Kernel kernel)
  {
    if (is_chain_ && may_be_chain(row_capacity_))
      cluster_ = most_blocks_of_cluster(kernel, LaunchParameters{1, threads(), memory_, nullptr, false});
  }

  unsigned cluster() const { return cluster_; }

  /// Launches `kernel`, a solve_tiles() with this row capacity.
  ///   cluster  1 if there are several columns
  template <class Kernel, class Mail>
  cudaError_t try_launch(Kernel kernel, unsigned chunks, unsigned cluster, const Mail& mailbox,
                         TicketCounter* counter, const Input<N>& b, const Output<N>& x, bool conjugate,
                         cudaStream_t stream, bool overlaps) const
  {
    const auto blocks = static_cast<unsigned>(arrays_.tile.size());
    const TileView view = {arrays_.tile.data(), run_.data(), arrays_.panel.data(), arrays_.ghost_sources.data(),
                           exports_, slots_, most_ghosts_, depth_, warps_, blocks, cluster, alias_shift_,
                           arrays_.position.data()};
    const unsigned grid = (blocks * chunks + cluster - 1) / cluster * cluster;
    const LaunchParameters parameters = {grid, threads(), memory_, stream, overlaps, cluster};
    return cuda::try_launch(kernel, parameters, view, mailbox, counter, b, x, conjugate);
  }

  std::string describe_tiles() const
  {
    return std::to_string(arrays_.tile.size()) + " tiles of " + std::to_string(rows_) + " rows and " +
           std::to_string(most_ghosts_) + " ghosts at most" + (alias_shift_ ? " in one place, " : ", ") +
           std::to_string(warps_) + (warps_ == 1 ? " warp" : " warps") + " for a step" + in_clusters(cluster_);
  }

  std::size_t tile_plan_bytes() const
  {
    return arrays_.tile.bytes() + run_.bytes() + arrays_.panel.bytes() - tile_value_bytes() + arrays_.source.bytes() +
           arrays_.row.bytes() + arrays_.ghost_sources.bytes() + arrays_.position.bytes();
  }
  std::size_t tile_value_bytes() const { return arrays_.source.size() * sizeof(V); }

private:
  static constexpr int most_depth = 16;  ///< in panels of the plan

  unsigned threads() const { return static_cast<unsigned>(32 * (compute_groups * warps_ + 2 + ghost_pollers)); }

  int row_capacity_, warps_, depth_ = 0;
  unsigned cluster_ = 1;
  std::size_t memory_ = 0;
  std::uint32_t rows_, slots_, alias_shift_, most_ghosts_, exports_;
  bool is_chain_;
  TileArrays<I> arrays_;
  DeviceArray<RowSegment> run_;
};

/// A star stencil's triangle on the device, from which plans are made. Its arrays must outlive the last plan made.
template <class I> struct StarTriangle {
  bool lower;
  DevicePattern<I> rows;
  Grid<I> grid;
};

/// Returns nullptr if the triangle is not a star stencil's, or if no tile fits.
template <class T, class N, class V, class I>
std::unique_ptr<TileSet<T, N, V, I>> make_star_tiles(const StarTriangle<I>& triangle, const TileRule& rule)
{
  StarPlan<I> star;
  TileArrays<I> arrays;
  if (!make_star_tables(triangle.rows.n, triangle.lower, triangle.grid, rule, &star)) return nullptr;
  if (!fill_star_arrays<TilePanel<DeviceScalar<V>, star_row_capacity>>(star, triangle.rows, &arrays)) return nullptr;
  return std::make_unique<TileSet<T, N, V, I>>(star.frame, std::move(arrays));
}

/// Returns `rule` for several columns, for which tiles are smaller.
template <class T, class V, class I> TileRule rule_of_several(const Grid<I>& grid, TileRule rule)
{
  using N = ColumnPackOf<T>;
  using Memory = TileSharedMemory<N, TilePanel<DeviceScalar<V>, star_row_capacity>>;
  const std::int64_t fit = numbers_that_fit<Memory, N>(least_depth_with_ghosts(star_row_capacity));
  rule.ghost_slots[0] = std::clamp<std::int64_t>(fit, 0, 0xfff0);
  rule.shape = choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors).shape;
  return rule;
}

}  // namespace syncfree::cuda
