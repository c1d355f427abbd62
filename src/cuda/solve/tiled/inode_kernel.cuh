#pragma once

/// Strategy `tiled` with ghosts and inodes: groups of `size` consecutive rows that read the same inodes and each other
/// (cuda/analysis/inodes.hpp). The plan's rows are inodes. size * size lanes work on an inode: lane (r, c) sums what
/// row r reads of the rows c of other inodes. Then every lane gets the sums of all rows and solves the inode's own
/// triangle.

#include "cuda/analysis/inodes.hpp"
#include "cuda/solve/tiled/kernel.cuh"

namespace syncfree::cuda {

constexpr int node_near = row_capacities[ghost_sizes - 1];  ///< most inodes that one reads
constexpr int node_pollers = 2;                         ///< polling warps: few enough that a lane has 128 registers
constexpr int most_node_warps = 4;                      ///< of each compute group
constexpr int node_tile_threads = 32 * (compute_groups * most_node_warps + 2 + node_pollers);

constexpr int lanes_of(int size) { return size * size; }
constexpr int nodes_a_warp(int size) { return 32 / lanes_of(size); }

/// Number of values of an inode's own triangle: its strictly lower entries row by row, then the inverse diagonal.
constexpr int inner_of(int size) { return pairs_of(size) + size; }

/// Data of 16 inodes: units of fields, the entries of the lanes in pairs, and the inodes' own triangles.
template <class M, int size> struct InodePanel {
  static constexpr int units = TilePlan<int>::units_of(node_near), pairs = (node_near + 1) / 2;
  static constexpr int positions = 16;
  uint4 unit[units][positions];
  Pair<M> pair[pairs][positions * lanes_of(size)];
  M inner[positions][inner_of(size)];
};

/// One inode, solved by lanes_of(size) lanes of a warp; interface as TileRow's.
template <class Memory, class V, int size> class NodeRow {
  using N = typename Memory::number;
  using M = DeviceScalar<V>;
  using Panel = typename Memory::Panel;
  static constexpr int lanes = lanes_of(size);

public:
  __device__ NodeRow(const Memory& memory, bool conjugate)
      : memory_(memory), conjugate_(conjugate), first_lane_(threadIdx.x % 32 / lanes * lanes),
        lane_(threadIdx.x % 32 % lanes)
  {
  }

  /// Returns the step's position that a thread of a group works on; lanes that are left over get none (~0u).
  static __device__ unsigned position_of(unsigned thread)
  {
    const unsigned node = thread % 32 / lanes;
    return node < nodes_a_warp(size) ? thread / 32 * nodes_a_warp(size) + node : ~0u;
  }
  __device__ std::uint32_t last() const { return last_; }

  __device__ __forceinline__ void read_position(const Panel& panel, std::uint32_t cell, std::uint32_t)
  {
    std::uint32_t word[4 * Panel::units];
    read_fields(panel, cell, word);
#pragma unroll
    for (int j = 0; j < Panel::pairs; ++j) pair_[j] = panel.pair[j][cell * lanes + lane_];
    own_ = (word[0] & 0xffff) * node_bytes + row_in_node() * number_bytes;
    const std::uint32_t column_bytes = column_in_node() * number_bytes;
#pragma unroll
    for (int j = 0; j < node_near; ++j) {
      const std::uint32_t two = word[(j + 1) / 2];
      slot_[j] = ((j + 1) % 2 ? two >> 16 : two & 0xffff) * node_bytes + column_bytes;
    }
    last_ = word[4 * Panel::units - 1];
#pragma unroll
    for (int k = 0; k < held; ++k) inner_[k] = panel.inner[cell][k];
    start_ = column_in_node() == 0 ? *number_at(own_) : N(0);
    if (is_scaled_before<N, M>) start_ = product(start_, stored(panel.inner[cell][pairs_of(size) + row_in_node()]));
  }

  __device__ __forceinline__ N compute_row(bool mine)
  {
    N number[node_near];
#pragma unroll
    for (int j = 0; j < node_near; ++j) number[j] = SharedSentinelValue<N>::load_shared(number_at(slot_[j]));
    N result = finish_sum(number);
    const bool ordinary = is_ordinary(result), puts = mine && column_in_node() == 0;
    SharedSentinelValue<N>::store_ordinary_if(puts && ordinary, number_at(own_), result);
    if (__any_sync(~0u, puts && !ordinary)) result = compute_again(mine, puts && !ordinary);
    return result;
  }

  template <class Publisher>
  __device__ void put_if(bool wanted, const Publisher& publisher, std::uint32_t exported, const N& result) const
  {
    publisher.put_if(wanted && column_in_node() == 0, exported * size + row_in_node(), result);
  }

private:
  static constexpr auto number_bytes = static_cast<std::uint32_t>(sizeof(N));
  static constexpr std::uint32_t node_bytes = size * number_bytes;
  static constexpr int held = is_scaled_before<N, M> ? pairs_of(size) : inner_of(size);

  __device__ unsigned row_in_node() const { return lane_ / size; }
  __device__ unsigned column_in_node() const { return lane_ % size; }
  __device__ N* number_at(std::uint32_t offset) const
  {
    return reinterpret_cast<N*>(reinterpret_cast<unsigned char*>(memory_.x) + offset);
  }
  __device__ Entry<N> stored(const M& v) const { return conjugate_ ? conjugate_of(Entry<N>(v)) : Entry<N>(v); }

  /// Called by all lanes of a warp. Adds the entry of the latest level last; only column 0's lanes have complete sums.
  __device__ __forceinline__ N finish_sum(const N (&number)[node_near]) const
  {
    N sum = start_;
#pragma unroll
    for (int j = 0; j < node_near; ++j)
      sum -= product(stored(j % 2 ? pair_[j / 2].second : pair_[j / 2].first), number[j]);
    const N part = sum;
#pragma unroll
    for (int c = 1; c < size; ++c) sum += shfl(part, static_cast<int>(first_lane_ + lane_) + c);
    N v[size];
#pragma unroll
    for (int p = 0; p < size; ++p) v[p] = shfl(sum, static_cast<int>(first_lane_) + p * size);
    N own = v[0];
#pragma unroll
    for (int p = 0; p < size; ++p) {
#pragma unroll
      for (int q = 0; q < p; ++q) v[p] -= product(stored(inner_[pairs_of(p) + q]), v[q]);
      if constexpr (!is_scaled_before<N, M>) v[p] = product(v[p], stored(inner_[pairs_of(size) + p]));
      if (row_in_node() == static_cast<unsigned>(p)) own = v[p];
    }
    return own;
  }

  /// As TileRow's; called by all lanes of a warp.
  __device__ __forceinline__ N compute_again(bool mine, bool puts)
  {
    N number[node_near];
    for (bool complete = false; !__all_sync(~0u, complete);) {
      complete = true;
#pragma unroll
      for (int j = 0; j < node_near; ++j) {
        number[j] = SharedSentinelValue<N>::load_shared(number_at(slot_[j]));
        complete = complete && (!mine || SharedSentinelValue<N>::is_stored(number[j]));
      }
    }
    const N result = finish_sum(number);
    if (puts) SharedSentinelValue<N>::store_shared(number_at(own_), result);
    return result;
  }

  const Memory& memory_;
  const bool conjugate_;
  const unsigned first_lane_, lane_;
  std::uint32_t own_, slot_[node_near], last_;
  Pair<M> pair_[Panel::pairs];
  M inner_[held];
  N start_;
};

/// The rows of a triangle in the order of a serial solve, for full inodes: row r of inode v is number v * size + r.
struct NodesInOrder {
  std::int64_t rows;
  bool lower;

  __device__ std::int64_t row_at(std::int64_t step) const { return lower ? step : rows - 1 - step; }
};

/// As solve_tiles(); a thread block owns a tile or a run of inodes. No lane waits alone: the lanes of a warp poll
/// together until all their ghosts have arrived, which come from earlier thread blocks.
template <class N, class V, int size, bool many>
__global__ void __launch_bounds__(node_tile_threads, 1)
solve_tiles_of_nodes(TileView A, NodesInOrder order, typename DoubleBufferedMailbox<N>::View mailbox,
                     TicketCounter* counter, Input<N> b, Output<N> x, bool conjugate)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned cluster = many ? 1 : A.cluster, rank = cluster > 1 ? rank_in_cluster() : 0;
  const BlockTicket ticket = take_ticket(counter, cluster);
  auto tile_index = static_cast<unsigned>(ticket.index);
  ChunkOfBlock chunk;
  if constexpr (many) chunk = take_chunk<N>(A.blocks, &tile_index, &b, &x);
  if (!many && tile_index >= A.blocks) return cluster_sync(cluster);
  const Tile tile = A.tile[tile_index];
  const std::size_t exports = std::size_t{A.exports} * size, first_exported = std::size_t{tile.first_exported} * size;
  const DoubleBufferedMailbox<N> box(mailbox, exports * chunk.chunks, ticket.launch, exports * chunk.which);
  using Memory = TileSharedMemory<N, InodePanel<DeviceScalar<V>, size>>;
  const Memory memory(shared, (A.slots + 1 + A.most_ghosts) * size, A.depth);
  memory.start(A.depth);
  if (threadIdx.x == 0) set_block_row(order.row_at(tile.first_row * size));
  if (threadIdx.x < size) memory.x[A.slots * size + threadIdx.x] = N(0);
  N* ghost = memory.x + (A.slots + 1) * size;
  for (std::uint32_t k = threadIdx.x; k < tile.ghosts * size; k += blockDim.x)
    SharedSentinelValue<N>::clear_shared(ghost + k);
  for (std::uint32_t k = threadIdx.x; k < tile.exports * size; k += blockDim.x) box.prepare_slot(first_exported + k);
  wait_for_primary_launch();
  trigger_dependent_launch();
  const auto for_numbers = [&](auto copy) {
    for_rows<size>(A, tile, [&](std::uint32_t slot, std::int64_t step) { copy(slot, order.row_at(step)); });
  };
  for_numbers([&](std::uint32_t slot, std::int64_t row) { fetch_row(memory.x + slot, b, row); });
  await_fetched_numbers();
  cluster_sync(cluster);
  const unsigned warp = threadIdx.x / 32, computing = compute_groups * A.warps;
  if (warp < computing) {
    const bool hands_on = rank + 1 < cluster && tile_index + 1 < A.blocks;
    auto* first = box.slot_at(first_exported);
    if (hands_on) first = reinterpret_cast<decltype(first)>(map_shared_rank(ghost, rank + 1));
    using Hand = Publisher<N, !many>;
    ComputeWarp<Memory, NodeRow<Memory, V, size>, Hand>(A, tile, memory, Hand(first), conjugate)
        .solve_steps(tile.steps);
  } else if (warp == computing) {
    PanelCopyWarp<Memory>(A, tile, memory).copy_panels();
  } else if (warp == computing + 1) {
    if (threadIdx.x % 32 == 0) announce_panels(memory, tile, A.depth);
  } else if (rank == 0) {
    const std::uint32_t* source = A.ghost_sources + tile.first_ghost;
    fetch_ghosts<node_pollers, N>([source](std::uint32_t k) { return source[k / size] * size + k % size; },
                                  tile.ghosts * size, [ghost](std::uint32_t k, std::uint32_t) { return ghost + k; },
                                  box, warp - computing - 2);
  }
  __syncwarp();
  __syncthreads();
  __syncthreads();  // with one barrier only, racecheck reports values that are put and stored to x concurrently
  for_numbers([&](std::uint32_t slot, std::int64_t row) { store_row<N>(x, row, memory.x[slot]); });
  linger_for_cluster(cluster);
}

}  // namespace syncfree::cuda
