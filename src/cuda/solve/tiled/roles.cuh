#pragma once

/// Strategy `tiled`: the shared memory of a tile, and the roles of the warps (core/plan/tile_plan.hpp). All operands of
/// a step are in shared memory; one that has not arrived yet is a NaN.

#include "core/plan/tile_plan.hpp"
#include "cuda/sync/async_copy.cuh"
#include "cuda/sync/ghosts.cuh"
#include "cuda/sync/publisher.cuh"
#include "cuda/sync/ring.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

struct TileView {
  const Tile* tile;
  const RowSegment* run;
  const unsigned char* panel;  ///< consecutive TilePanels
  const std::uint32_t* ghost_sources;
  std::uint32_t exports;
  std::uint32_t slots, most_ghosts;  ///< of a tile, at most
  int depth;                         ///< panels in shared memory
  int warps;                         ///< of each compute group
  unsigned blocks;
  unsigned cluster;  ///< its size: thread blocks that store ghosts in each other's memory; 1: mailbox only
  std::uint32_t alias_shift = 0;                 ///< as `position`: see TilePlan
  const std::uint16_t* position = nullptr;
};

constexpr int ghost_pollers = 12;  ///< number of polling warps
constexpr int right_side_fetchers = 4;  ///< of these, if right-hand sides go through the ring
template <int row_capacity>
constexpr int ghost_threads = 32 * (compute_groups * warps_per_group(row_capacity) + 2 + ghost_pollers);

/// A row's entries are multiplied by its scale when they are stored, which takes an operation off the critical path
/// (and overflows if entry / pivot does). Not done if the products would be rounded when they are stored: it is the
/// factor's own values that the user asked to be rounded.
template <class N, class M> constexpr bool is_scaled_before = sizeof(Entry<N>) == sizeof(M);

/// Data of consecutive positions, copied at once: units of fields, then a row's entries and its scale in pairs. If rows
/// are long, a panel of the plan is two of these, so that the ring follows the steps more closely.
template <class M, int row_capacity> struct TilePanel {
  static constexpr int units = TilePlan<int>::units_of(row_capacity), pairs = (row_capacity + 1) / 2;
  static constexpr int positions = row_capacity > row_capacities[1] ? panel_rows / 2 : panel_rows;
  uint4 unit[units][positions];
  Pair<M> pair[pairs][positions];
};

/// Returns the index of a tile's first panel in units of panels P; panels_of(): their number.
template <class P> __device__ std::int64_t first_panel_of(const Tile& tile)
{
  return tile.first_panel * (panel_rows / P::positions);
}
template <class P> __device__ std::uint32_t panels_of(const Tile& tile)
{
  return (tile.rows + P::positions - 1) / P::positions;
}

/// A panel in the ring, with the right-hand sides of its positions.
template <class N, class P> struct PanelWithRhs : P {
  N right_side[P::positions];
};

/// Layout of a thread block's shared memory; the ring holds `depth` panels.
///   aliased  true if ghosts alias local values
template <class N, class P, bool aliased = false> struct TileSharedMemory {
  using number = N;
  using Panel = P;
  using Slot = std::conditional_t<aliased, PanelWithRhs<N, P>, P>;
  static_assert(sizeof(Slot) % 16 == 0);
  static constexpr bool has_right_sides = aliased;
  static constexpr unsigned arrivals = aliased ? 1 + 32 : 1;  ///< at `full`, for one panel

  N* x;  ///< by slot (TilePlan): right-hand sides, if not in the ring, then results; a zero; ghosts
  Slot* ring;
  Mbarrier *full, *empty;  ///< by panel of the ring
  SharedCounter* arrived;   ///< number of panels that have arrived

  static constexpr std::size_t ring_begin(std::size_t numbers) { return (numbers * sizeof(N) + 15) / 16 * 16; }
  ///   numbers  of slots and ghosts
  static std::size_t shared_bytes(std::size_t numbers, int depth)
  {
    return ring_begin(numbers) + depth * (sizeof(Slot) + 2 * sizeof(Mbarrier)) + sizeof(SharedCounter);
  }

  __device__ TileSharedMemory(unsigned char* memory, std::uint32_t numbers, int depth)
  {
    x = reinterpret_cast<N*>(memory);
    ring = reinterpret_cast<Slot*>(memory + ring_begin(numbers));
    full = reinterpret_cast<Mbarrier*>(ring + depth);
    empty = full + depth;
    arrived = reinterpret_cast<SharedCounter*>(empty + depth);
  }

  /// Called by one thread after the launch was given up: stores NaN for all values that have not arrived.
  __device__ void fill_missing() const { store_nan_for_missing(x, reinterpret_cast<N*>(ring)); }

  /// Called by all threads; a __syncthreads() must follow.
  __device__ void start(int depth) const
  {
    if (threadIdx.x < static_cast<unsigned>(depth)) {
      full[threadIdx.x].init(arrivals);
      empty[threadIdx.x].init(1);
      fence_mbarrier_init();
    }
    if (threadIdx.x == 0) arrived->start();
  }
};

/// The warp that copies panels into the ring. It prefetches panels beyond the ring into the L2 cache.
template <class Memory> class PanelCopyWarp {
  using Panel = typename Memory::Panel;

public:
  __device__ PanelCopyWarp(const TileView& A, const Tile& tile, const Memory& memory)
      : A_(A), tile_(tile), memory_(memory)
  {
  }

  __device__ void copy_panels()
  {
    const bool first = threadIdx.x % 32 == 0;
    if (panel_copies_itself && !first) return;
    RingCursor at;
    const Panel* from = reinterpret_cast<const Panel*>(A_.panel) + first_panel_of<Panel>(tile_);
    const std::uint32_t depth = A_.depth, panels = panels_of<Panel>(tile_), ahead = depth + panels_ahead;
    for (std::uint32_t q = 0; q < panels; ++q, ++from, at.advance(depth)) {
      if (q >= depth) memory_.empty[at.panel].wait_watched(~at.round & 1);
      copy_panel(memory_.full[at.panel], memory_.ring + at.panel, from, sizeof(Panel));
      if (q + ahead < panels) fetch_to_cache(from + ahead, sizeof(Panel));
    }
  }

private:
  static constexpr std::uint32_t panels_ahead = 4;

  const TileView& A_;
  const Tile& tile_;
  const Memory& memory_;
};

/// Runs one of `fetchers` warps that copy right-hand sides into the panels of the ring, each for every `fetchers`-th
/// panel. A warp loads a panel's row indices one iteration ahead, to hide their latency.
template <int fetchers, class Memory, class N>
__device__ void fetch_right_sides(const TileView& A, const Tile& tile, const Memory& memory, const Input<N>& b,
                                  unsigned fetcher)
{
  using Panel = typename Memory::Panel;
  constexpr int cells = Panel::positions / 32;
  const Panel* panels = reinterpret_cast<const Panel*>(A.panel) + first_panel_of<Panel>(tile);
  const std::uint32_t count = panels_of<Panel>(tile), depth = A.depth, lane = threadIdx.x % 32;
  std::uint32_t word[cells];  // first word of the fields; the row is in its low half
  const auto load_panel_rows = [&](std::uint32_t q) {
#pragma unroll
    for (int c = 0; c < cells; ++c) word[c] = panels[min(q, count - 1)].unit[0][c * 32 + lane].x;
  };
  load_panel_rows(fetcher);
  RingCursor at;
  at.advance(depth, fetcher);
  for (std::uint32_t q = fetcher; q < count; q += fetchers, at.advance(depth, fetchers)) {
    if (q >= depth) memory.empty[at.panel].wait_watched(~at.round & 1);
#pragma unroll
    for (int c = 0; c < cells; ++c) {
      const std::uint32_t cell = c * 32 + lane;
      if (q * Panel::positions + cell < tile.rows)
        fetch_row(memory.ring[at.panel].right_side + cell, b, tile.first_row + (word[c] & 0xffff));
    }
    memory.full[at.panel].arrive_on_cp_async();
    load_panel_rows(q + fetchers);
  }
}

/// Called by one thread: publishes the number of panels that have arrived, so that compute warps need not poll
/// mbarriers, and checks the deadline for all waits of the thread block until its last row is solved.
template <class Memory> __device__ void announce_panels(const Memory& memory, const Tile& tile, int depth)
{
  const std::uint32_t panels = panels_of<typename Memory::Panel>(tile);
  RingCursor at;
  for (std::uint32_t q = 0; q < panels; at.advance(depth)) {
    const Mbarrier& full = memory.full[at.panel];
    const unsigned round = at.round;
    watch_deadline_until([&] { return full.spin_test_wait_parity(round); }, [&] { memory.fill_missing(); });
    memory.arrived->tell(++q);
  }
  watch_until_ended(memory);
}

/// Reads all fields of a position, two in a word.
template <class Panel>
__device__ __forceinline__ void read_fields(const Panel& panel, std::uint32_t cell,
                                            std::uint32_t (&word)[4 * Panel::units])
{
#pragma unroll
  for (int u = 0; u < Panel::units; ++u) {
    const uint4 unit = panel.unit[u][cell];
    word[4 * u] = unit.x, word[4 * u + 1] = unit.y, word[4 * u + 2] = unit.z, word[4 * u + 3] = unit.w;
  }
}

/// A row, or the rows of one inode, and the lanes of a warp that solve it. ComputeWarp requires these members:
///   position_of(thread)  index, within a step, of the position that a thread of a group works on
///   read_position(panel, cell, position)  reads the plan's data of the position, and all that does not depend on
///                     earlier steps
///   compute_row(mine)  returns the lane's value; stores it in its slot if `mine`
///   put_if(...)    exports the value
///   last()         the plan's word on steps and exports
///
/// This one: one row, by one lane. `inverts`: the result is inverted.
template <class Memory, class V, int row_capacity, bool inverts> class TileRow {
  using N = typename Memory::number;
  using M = DeviceScalar<V>;
  using Panel = typename Memory::Panel;
  using Slot = typename Memory::Slot;

public:
  __device__ TileRow(const Memory& memory, bool conjugate) : memory_(memory), conjugate_(conjugate) {}

  static __device__ unsigned position_of(unsigned thread) { return thread; }
  __device__ std::uint32_t last() const { return last_; }

  __device__ void read_position(const Slot& panel, std::uint32_t cell, std::uint32_t position)
  {
    std::uint32_t word[4 * Panel::units];
    read_fields<Panel>(panel, cell, word);
#pragma unroll
    for (int j = 0; j < Panel::pairs; ++j) pair_[j] = panel.pair[j][cell];
    own_ = (Memory::has_right_sides ? position : word[0] & 0xffff) * number_bytes;
#pragma unroll
    for (int j = 0; j < row_capacity; ++j) {
      const std::uint32_t two = word[(j + 1) / 2];
      slot_[j] = ((j + 1) % 2 ? two >> 16 : two & 0xffff) * number_bytes;
    }
    last_ = word[4 * Panel::units - 1];
    if constexpr (Memory::has_right_sides) start_ = panel.right_side[cell];
    else start_ = *number_at(own_);
    if (is_scaled_before<N, M>) start_ = scaled(start_);
  }

  __device__ N compute_row(bool mine)
  {
    N number[row_capacity];
#pragma unroll
    for (int j = 0; j < row_capacity; ++j) number[j] = SharedSentinelValue<N>::load_shared(number_at(slot_[j]));
    N result = finish_sum(number);
    const bool ordinary = is_ordinary(result);
    SharedSentinelValue<N>::store_ordinary_if(mine && ordinary, number_at(own_), result);
    if (mine && !ordinary) result = compute_again();
    return result;
  }

  template <class Publisher>
  __device__ void put_if(bool wanted, const Publisher& publisher, std::uint32_t exported, const N& result) const
  {
    publisher.put_if(wanted, exported, result);
  }

private:
  static constexpr auto number_bytes = static_cast<std::uint32_t>(sizeof(N));

  __device__ N* number_at(std::uint32_t offset) const
  {
    return reinterpret_cast<N*>(reinterpret_cast<unsigned char*>(memory_.x) + offset);
  }

  __device__ Entry<N> stored(const M& v) const { return conjugate_ ? conjugate_of(Entry<N>(v)) : Entry<N>(v); }
  __device__ N scaled(const N& v) const { return product(v, stored(pair_[Panel::pairs - 1].second)); }

  /// Adds the entry of the latest level last.
  __device__ N finish_sum(const N (&number)[row_capacity]) const
  {
    N sum = start_;
#pragma unroll
    for (int j = 0; j < row_capacity; ++j)
      sum -= product(stored(j % 2 ? pair_[j / 2].second : pair_[j / 2].first), number[j]);
    if constexpr (inverts) return N(1) / sum;
    else return is_scaled_before<N, M> ? sum : scaled(sum);
  }

  /// For a result that is NaN or infinite, which may come from a ghost that had not arrived: polls until all have.
  __device__ N compute_again()
  {
    N number[row_capacity];
    for (bool complete = false; !complete;) {
      complete = true;
#pragma unroll
      for (int j = 0; j < row_capacity; ++j) {
        number[j] = SharedSentinelValue<N>::load_shared(number_at(slot_[j]));
        complete = complete && SharedSentinelValue<N>::is_stored(number[j]);
      }
    }
    const N result = finish_sum(number);
    SharedSentinelValue<N>::store_shared(number_at(own_), result);
    return result;
  }

  const Memory& memory_;
  const bool conjugate_;
  std::uint32_t own_, slot_[row_capacity], last_;
  Pair<M> pair_[Panel::pairs];
  N start_;
};

/// A compute warp. Groups of warps take steps in turn; while one group computes, the others prepare all of their next
/// steps that does not depend on earlier steps.
template <class Memory, class Row, class Publisher> class ComputeWarp {
  using N = typename Memory::number;
  static constexpr std::uint32_t positions_a_panel = Memory::Panel::positions;

public:
  __device__ ComputeWarp(const TileView& A, const Tile& tile, const Memory& memory, const Publisher& publisher,
                     bool conjugate)
      : memory_(memory), publisher_(publisher), row_(memory, conjugate),
        group_(threadIdx.x / (32 * A.warps)), me_(Row::position_of(threadIdx.x - group_ * 32 * A.warps)),
        threads_(64 * A.warps), cells_(A.depth * positions_a_panel), depth_(A.depth)
  {
    begin_ = group_ == 0 ? 0 : group_ == 1 ? tile.width[0] : tile.width[0] + tile.width[1];
    width_ = group_ == 0 ? tile.width[0] : group_ == 1 ? tile.width[1] : tile.width[2];
    static_assert(compute_groups == 3);
    advance_cell(begin_);
  }

  __device__ void solve_steps(std::uint32_t steps)
  {
    const unsigned ours = 1 + group_, next = group_ + 1 == compute_groups ? 1 : ours + 1;
    if (next == 1) named_barrier_arrive(next, threads_);  // no step precedes the first
    for (std::uint32_t s = group_; s < steps; s += compute_groups) {
      prepare_step();
      named_barrier_sync(ours, threads_);
      const N result = row_.compute_row(me_ < width_);
      if (s + 1 < steps) named_barrier_arrive(next, threads_);
      const std::uint32_t last = row_.last(), exported = last >> 16;
      row_.put_if(me_ < width_ && exported != no_ghost, publisher_, exported, result);
      if (threadIdx.x == 0) leave_panels();
      const std::uint32_t on = last & 511;
      begin_ += on;
      advance_cell(on);
      width_ = 1 + (last >> 9 & 127);
    }
    if (me_ == 0 && group_ == (steps - 1) % compute_groups) store_relaxed_block(&block_state().ended, 1);
  }

private:
  __device__ void advance_cell(std::uint32_t positions)
  {
    for (cell_ += positions; cell_ >= cells_;) cell_ -= cells_;
  }

  /// Releases panels. After a step's barrier, panel data of earlier steps is no longer read.
  __device__ void leave_panels()
  {
    for (; left_ + positions_a_panel <= begin_; left_ += positions_a_panel, leaving_.advance(depth_))
      memory_.empty[leaving_.panel].arrive();
  }

  __device__ void prepare_step()
  {
    while (arrived_ < begin_ + width_)
      arrived_ = memory_.arrived->read_count() * positions_a_panel;  // see announce_panels()
    const std::uint32_t own = min(me_, width_ - 1);
    std::uint32_t cell = cell_ + own;
    if (cell >= cells_) cell -= cells_;
    row_.read_position(memory_.ring[cell / positions_a_panel], cell % positions_a_panel, begin_ + own);
  }

  const Memory& memory_;
  const Publisher publisher_;
  Row row_;
  const unsigned group_, me_, threads_;
  const std::uint32_t cells_;
  const std::uint32_t depth_;
  std::uint32_t begin_ = 0, width_ = 0;   ///< of the current step: positions
  std::uint32_t cell_ = 0;                ///< of its first position, in the ring
  std::uint32_t arrived_ = 0, left_ = 0;  ///< positions in panels known to have arrived; in panels released
  RingCursor leaving_;                     ///< the next panel to release
};

/// Fills in the pairs of all panels: thread k writes pair k of `count`.
template <class T, class V, class I, int row_capacity>
__global__ void fill_pairs(std::size_t count, const I* source, const I* row, const DeviceScalar<T>* value,
                           const DeviceScalar<T>* inverse_diagonal, TilePanel<DeviceScalar<V>, row_capacity>* panel)
{
  using N = DeviceScalar<T>;
  using M = DeviceScalar<V>;
  constexpr int pairs = TilePanel<M, row_capacity>::pairs, positions = TilePanel<M, row_capacity>::positions;
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= count) return;
  const std::size_t q = k / panel_rows / pairs, own = q * panel_rows + k % panel_rows;
  const int j = static_cast<int>(k / panel_rows % pairs);
  const N scale = inverse_diagonal && row[own] >= 0 ? inverse_diagonal[row[own]] : N(1);
  const auto scaled = [&](I entry) {
    return entry < 0 ? M(0) : M(is_scaled_before<N, M> ? product(value[entry], scale) : value[entry]);
  };
  panel[own / positions].pair[j][own % positions] = {scaled(source[2 * k]),
                                                    j + 1 == pairs ? M(scale) : scaled(source[2 * k + 1])};
}

}  // namespace syncfree::cuda
