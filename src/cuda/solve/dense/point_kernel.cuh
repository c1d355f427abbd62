#pragma once

/// Strategy `tiled` for dense blocks: tiles of points in shared memory (point_tiles.cuh).

#include <cstddef>
#include <cstdint>

#include "cuda/solve/dense/point_tiles.cuh"
#include "cuda/sync/atomics.cuh"
#include "cuda/sync/ghosts.cuh"
#include "cuda/sync/mailboxes.cuh"
#include "cuda/sync/ring.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// PointPlan on the device, with the values.
///   slots_of_tile, groups_of_tile  most of a tile
///   warps, depth   compute warps, at most most_point_warps; groups in a warp's ring
///   ring_bytes     of a group in the ring
struct PointTilesView {
  std::uint32_t n, slots_of_tile, groups_of_tile;
  const PointTile* tile;
  const PointGroup* group;
  const unsigned char* slots;
  const std::uint32_t *name, *ghost;
  unsigned char* value;
  unsigned warps, depth, ring_bytes;
};

/// Columns of values of a point.
SYNCFREE_HD constexpr int columns_of_point(int size, int near, bool scaled) { return size * (near + (scaled ? 1 : 0)); }

constexpr unsigned most_point_warps = 12, point_pollers = 3;
constexpr unsigned point_threads = 32 * (most_point_warps + 1 + point_pollers);
constexpr int ghosts_at_once = 4;  ///< by lane of a polling warp

/// Layout of a thread block's shared memory: results by slot, the tile's groups, the warps' rings, mbarriers.
template <class N, int size> struct PointMemory {
  N* x;                   ///< by slot, `size` each: zeros, those of the tile's points, ghosts
  PointGroup* group;
  unsigned char* ring;
  Mbarrier* full;         ///< by warp and slot of its ring: a group's values have arrived
  Mbarrier* done;         ///< by step: its groups have been solved
  std::uint32_t awaited;  ///< values that are computed or arrive

  static SYNCFREE_HD unsigned groups_begin(std::uint32_t slots)
  {
    return (slots * size * static_cast<unsigned>(sizeof(N)) + 15) / 16 * 16;
  }
  static std::size_t shared_bytes(const PointTilesView& A, unsigned depth, std::size_t bytes_of_steps)
  {
    return groups_begin(A.slots_of_tile) + bytes_of_steps +
           std::size_t{A.warps} * depth * (A.ring_bytes + sizeof(Mbarrier));
  }

  __device__ PointMemory(unsigned char* memory, const PointTilesView& A, const PointTile& tile)
      : x(reinterpret_cast<N*>(memory)), group(reinterpret_cast<PointGroup*>(memory + groups_begin(A.slots_of_tile))),
        ring(reinterpret_cast<unsigned char*>(group + A.groups_of_tile)),
        full(reinterpret_cast<Mbarrier*>(ring + A.warps * A.depth * A.ring_bytes)), done(full + A.warps * A.depth),
        awaited((tile.points + tile.ghosts) * size)
  {
  }
  /// Called by all threads; a barrier must follow, and before values are copied to the ring.
  __device__ void start(const PointTilesView& A, const PointTile& tile) const
  {
    N* const first = x + first_slot * size;
    for (std::uint32_t k = threadIdx.x; k < awaited; k += blockDim.x) SharedSentinelValue<N>::clear_shared(first + k);
    if (threadIdx.x < size) x[threadIdx.x] = N(0);
    if (threadIdx.x < A.warps * A.depth) full[threadIdx.x].init(1);
    for (std::uint32_t g = threadIdx.x; g < tile.groups; g += blockDim.x) {
      group[g] = A.group[tile.first_group + g];
      if (group[g].of_step > 0) done[group[g].step].init(group[g].of_step);
    }
    fence_mbarrier_init();
  }
  /// Called by one thread after the launch was given up.
  __device__ void fill_missing() const
  {
    N* const first = x + first_slot * size;
    store_nan_for_missing(first, first + awaited);
  }
};

/// A warp that solves every so many-th group of a tile. A lane computes a row of a point. Values come by a ring of the
/// warp's own; right-hand sides and slots of the next group are loaded while it works on one. Blocks of earlier levels
/// are added first, then the last ones, whose operands mostly arrive last. It polls for operands when a step shortly
/// before its own is done: warps that poll take the turns of those that compute.
template <class N, class V, int size, int near, bool scaled> class PointWarp {
  using M = DeviceScalar<V>;
  using Box = DoubleBufferedMailbox<N>;
  static constexpr int late = 3, early = near - late, at_once = early % 5 == 0 ? 5 : 1;
  static_assert(late <= near && early % at_once == 0);

  /// What a group needs besides its values. `rhs`: of the lane's row or, if the diagonal is not 1, of the point.
  struct Operands {
    PointSlots<near> slots;
    N rhs[scaled ? size : 1];
  };

public:
  __device__ PointWarp(const PointTilesView& A, const PointTile& tile, const PointMemory<N, size>& memory,
                       const Box& box, bool conjugate)
      : A_(A), tile_(tile), memory_(memory), box_(box), conjugate_(conjugate), warp_(threadIdx.x / 32),
        point_(threadIdx.x % 32 / size), row_(threadIdx.x % 32 % size)
  {
  }

  /// Begins to fill the ring.
  __device__ void fill_ring() const
  {
    for (unsigned k = 0; k < A_.depth; ++k) copy_values(warp_ + k * A_.warps, k);
    for (unsigned k = A_.depth; k < A_.depth + groups_ahead; ++k) prefetch_values(warp_ + k * A_.warps);
  }

  __device__ void solve_groups(const N* b, N* x)
  {
    const unsigned stride = A_.warps;
    std::uint32_t g = warp_;
    PointGroup own = group_at(g), next = group_at(g + stride);
    std::uint32_t name = A_.name[position_in(own)], next_name = A_.name[position_in(next)];
    Operands operands = load_operands(own, name, b);
    RingCursor at;
    for (; g < tile_.groups; g += stride, at.advance(A_.depth)) {
      const PointGroup later = group_at(g + 2 * stride);
      const Operands of_next = load_operands(next, next_name, b);
      const std::size_t row_of_x = static_cast<std::size_t>(name) * size + row_;
      name = next_name;  // here, for a copy of what is being loaded would wait for it
      next_name = A_.name[position_in(later)];
      prefetch_values(g + (A_.depth + groups_ahead) * stride);
      memory_.full[warp_ * A_.depth + at.panel].sleep_watched(at.round);
      if (own.step >= steps_behind) memory_.done[own.step - steps_behind].sleep_watched(0);
      const N result = compute(own, operands, at.panel);
      const std::uint32_t position = own.first_position + point_;
      if (point_ < own.points) {
        SharedSentinelValue<N>::store_shared(result_of(position) + row_, result);
        if (own.exported >> point_ & 1) box_.publish_value(static_cast<std::size_t>(position) * size + row_, result);
      }
      __syncwarp();  // the results are there, and the ring's values have been read
      if (threadIdx.x % 32 == 0) memory_.done[own.step].arrive();
      copy_values(g + A_.depth * stride, at.panel);
      if (point_ < own.points) {
        x[row_of_x] = result;
        if (own.exported >> point_ & 1) box_.prepare_slot(static_cast<std::size_t>(position) * size + row_);
      }
      own = next, next = later, operands = of_next;
    }
  }

private:
  static constexpr unsigned steps_behind = near > 4 ? 3 : 2;  ///< done when it begins to poll
  static constexpr unsigned groups_ahead = 2;  ///< of this warp, after those in the ring: in the L2 cache

  __device__ const PointGroup& group_at(std::uint32_t g) const
  {
    return memory_.group[min(g, tile_.groups - 1)];
  }
  __device__ N* result_of(std::uint32_t position) const
  {
    return memory_.x + (first_slot + position - tile_.first_position) * size;
  }
  __device__ std::uint32_t position_in(const PointGroup& group) const
  {
    return group.first_position + (point_ < group.points ? point_ : 0);
  }
  __device__ static unsigned bytes_of(const PointGroup& group)
  {
    const std::size_t bytes_a_point = sizeof(M) * columns_of_point(size, near, scaled) * size;
    return units_of_group(group.points, bytes_a_point) * static_cast<unsigned>(value_unit);
  }
  /// Both for group g, if there is one; called by a whole warp.
  __device__ void copy_values(std::uint32_t g, unsigned slot) const
  {
    if (g >= tile_.groups || (panel_copies_itself && threadIdx.x % 32 != 0)) return;
    const PointGroup group = group_at(g);
    const unsigned at = warp_ * A_.depth + slot;
    copy_panel(memory_.full[at], memory_.ring + at * A_.ring_bytes, A_.value + group.first_unit * value_unit,
               bytes_of(group));
  }
  __device__ void prefetch_values(std::uint32_t g) const
  {
    if (g >= tile_.groups || threadIdx.x % 32 != 0) return;
    const PointGroup group = group_at(g);
    fetch_to_cache(A_.value + group.first_unit * value_unit, bytes_of(group));
  }
  __device__ Entry<N> stored(const M& v) const { return conjugate_ ? conjugate_of(Entry<N>(v)) : Entry<N>(v); }

  /// x may be b: all lanes of a point have read b before one stores x.
  __device__ Operands load_operands(const PointGroup& group, std::uint32_t name, const N* b) const
  {
    Operands operands;
    operands.slots = reinterpret_cast<const PointSlots<near>*>(A_.slots)[position_in(group)];
    const N* const of_point = b + static_cast<std::size_t>(name) * size + (scaled ? 0 : row_);
#pragma unroll
    for (int c = 0; c < (scaled ? size : 1); ++c) operands.rhs[c] = of_point[c];
    return operands;
  }

  /// Returns what blocks first, first + 1, ... give, when their operands are there; called by a whole warp, whose
  /// lanes do not depend on each other. If no value looks like the sentinel at a glance, all have arrived; now and then
  /// they are compared with it, for other NaN look so, too.
  ///   value  first of the lane's row in these blocks; `width` to that of the next column
  template <int count>
  __device__ __forceinline__ N add_blocks(int first, const Operands& operands, const M* value, int width) const
  {
    const N* at[count];
    M of[count][size];
#pragma unroll
    for (int e = 0; e < count; ++e) {
      at[e] = memory_.x + operands.slots.slot[first + e];
#pragma unroll
      for (int c = 0; c < size; ++c) of[e][c] = value[(e * size + c) * width];
    }
    SYNCFREE_MAY_NANOSLEEP
    for (unsigned pass = 1;; ++pass) {
      N seen[count][size], part[count];
      unsigned glance[count * size];
#pragma unroll
      for (int e = 0; e < count; ++e)
#pragma unroll
        for (int c = 0; c < size; ++c) seen[e][c] = SharedSentinelValue<N>::load_shared(at[e] + c);
#pragma unroll
      for (int k = 0; k < count * size; ++k) glance[k] = SharedSentinelValue<N>::glance(seen[k / size][k % size]);
#pragma unroll
      for (int distance = 1; distance < count * size; distance *= 2)
#pragma unroll
        for (int k = 0; k + distance < count * size; k += 2 * distance)
          glance[k] = max(glance[k], glance[k + distance]);
      if (__any_sync(~0u, glance[0] == ~0u)) {
        if (pass % 32 != 0) continue;
        bool missing = false;
        for (int k = 0; k < count * size; ++k)
          missing |= !SharedSentinelValue<N>::is_stored(seen[k / size][k % size]);
        if (__any_sync(~0u, missing)) continue;
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        part[e] = product(stored(of[e][0]), seen[e][0]);
#pragma unroll
        for (int c = 1; c < size; ++c) part[e] += product(stored(of[e][c]), seen[e][c]);
      }
#pragma unroll
      for (int distance = 1; distance < count; distance *= 2)
#pragma unroll
        for (int e = 0; e + distance < count; e += 2 * distance) part[e] += part[e + distance];
      return part[0];
    }
  }

  __device__ __forceinline__ N compute(const PointGroup& group, const Operands& operands, unsigned slot) const
  {
    const int width = group.points * size;
    const M* value = reinterpret_cast<const M*>(memory_.ring + (warp_ * A_.depth + slot) * A_.ring_bytes) +
                     (point_ < group.points ? threadIdx.x % 32 : 0);
    N sum = operands.rhs[0];
    if constexpr (scaled) {
      sum = product(stored(value[0]), operands.rhs[0]);
#pragma unroll
      for (int c = 1; c < size; ++c) sum += product(stored(value[c * width]), operands.rhs[c]);
      value += size * width;
    }
#pragma unroll
    for (int first = 0; first < early; first += at_once)
      sum -= add_blocks<at_once>(first, operands, value + first * size * width, width);
    return sum - add_blocks<late>(early, operands, value + early * size * width, width);
  }

  const PointTilesView& A_;
  const PointTile& tile_;
  const PointMemory<N, size>& memory_;
  const Box& box_;
  const bool conjugate_;
  const unsigned warp_;
  const std::uint32_t point_, row_;
};

/// It may begin before the previous launch has ended, which may be one of this kernel: mailboxes are cleared after the
/// end of that launch, and b is read then; everything else is read before.
///
/// owns       a thread block owns a tile; a lane of a compute warp a row of a point, of every so many-th group
/// waits      compute warps for values of their tile and ghosts, in shared memory, and for values of the factor in
///            their ring; polling warps for values of earlier tiles, which they store as ghosts; one thread watches the
///            deadline for all of them
/// publishes  each value in the tile's memory, those that other tiles read also in the mailbox, whose slots it prepares
///            for the next launch
/// order      in shared memory and in DoubleBufferedMailbox: relaxed, the value itself is the message. Ring: an
///            mbarrier completes when a group has been copied; the next copy to its place follows a __syncwarp() after
///            its use. That a step is done only decides when a warp begins to poll
/// progress   tiles read earlier tiles, which have earlier tickets. Groups of a tile are in the order of levels, their
///            points read earlier groups only, and each warp solves its groups in that order
/// result     reproducible: the order of additions depends on the plan only
/// source     pencil sweep (KBA: Koch, Baker and Alcouffe 1992) of dense blocks; sentinel values: this library
template <class N, class V, int size, int near, bool scaled>
__global__ void __launch_bounds__(point_threads, 1)
solve_point_tiles(const __grid_constant__ PointTilesView A, typename DoubleBufferedMailbox<N>::View mailbox,
                  TicketCounter* counter, const N* b, N* x, bool conjugate)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned computing;  // warps
  const BlockTicket ticket = take_ticket(counter);
  const PointTile tile = A.tile[ticket.index];
  const DoubleBufferedMailbox<N> box(mailbox, std::size_t{A.n} * size, ticket.launch);
  const PointMemory<N, size> memory(shared, A, tile);
  const unsigned warp = threadIdx.x / 32;
  memory.start(A, tile);
  if (threadIdx.x == 0) {
    computing = min(A.warps, tile.groups);
    set_block_row(tile.points > 0 ? A.name[tile.first_position] : 0);
  }
  __syncthreads();
  PointWarp<N, V, size, near, scaled> own(A, tile, memory, box, conjugate);
  const bool computes = warp < min(A.warps, tile.groups);
  if (computes) own.fill_ring();
  wait_for_primary_launch();
  trigger_dependent_launch();
  if (computes) {
    own.solve_groups(b, x);
    if (threadIdx.x % 32 == 0 && atomic_add(&computing, ~0u) == 1) store_relaxed_block(&block_state().ended, 1);
  } else if (warp == A.warps) {
    if (threadIdx.x % 32 == 0 && tile.groups > 0) watch_until_ended(memory);
  } else if (warp > A.warps) {
    const std::uint32_t* const ghost = A.ghost + tile.first_ghost;
    N* const to = memory.x + (first_slot + tile.points) * size;
    fetch_ghosts<point_pollers, N, ghosts_at_once>(
      [ghost](std::uint32_t k) { return ghost[k / size] * size + k % size; }, tile.ghosts * size,
      [to](std::uint32_t k, std::uint32_t) { return to + k; }, box, warp - A.warps - 1);
  }
}

/// Values of a factor as DeviceSolver::update_values() gets them; `source` as in PointPlan.
template <class N, class I> struct PointSource {
  const N *value, *inverse;
  const I* source;
};

/// Stores all values; a warp, those of a group.
template <class T, class V, class I, int size, int near, bool scaled>
__global__ void store_point_values(std::uint32_t groups, PointTilesView A, PointSource<DeviceScalar<T>, I> from)
{
  using N = DeviceScalar<T>;
  using M = DeviceScalar<V>;
  const std::size_t g = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (g >= groups) return;
  const PointGroup group = A.group[g];
  const std::uint32_t lane = threadIdx.x % 32, point = lane / size, row = lane % size, width = group.points * size;
  if (point >= group.points) return;
  const std::uint32_t position = group.first_position + point;
  M* out = reinterpret_cast<M*>(A.value + group.first_unit * value_unit) + lane;
  [[maybe_unused]] N inverse[size];
  if constexpr (scaled) {
    const N* const block = from.inverse + static_cast<std::size_t>(A.name[position]) * (size * size);
    for (int c = 0; c < size; ++c, out += width) *out = M(inverse[c] = block[c * size + row]);
  }
  for (int j = 0; j < near; ++j) {
    const I source = from.source[std::size_t{position} * near + j];
    const N* column = from.value + static_cast<std::size_t>(source < 0 ? 0 : source) * (size * size);
    for (int c = 0; c < size; ++c, column += size, out += width) {
      N v(0);
      if constexpr (scaled)
        for (int k = 0; k < size; ++k) v += product(inverse[k], column[k]);
      else v = column[row];
      if (source < 0) v = N(0);
      *out = M(v);
    }
  }
}

}  // namespace syncfree::cuda
