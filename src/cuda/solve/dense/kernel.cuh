#pragma once

/// The kernel of `level_order` for dense blocks: block rows sorted by level, each of which waits for its own operands
/// only; one triangle, or L and then U in one launch.

#include <cstddef>
#include <type_traits>

#include "cuda/base/granularity.hpp"
#include "cuda/solve/dense/dense_rows.cuh"
#include "cuda/sync/mailboxes.cuh"
#include "cuda/sync/ring.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// Columns k, k + lanes, ... of a tile, as far as it has them, with a value for each row of the tile.
template <class N, class V, class I, int rows, int lanes, int entries> struct DenseBatch {
  static constexpr int size = entries, step = entries * lanes;
  using Slot = std::make_unsigned_t<I>;
  Slot slot[size];  ///< of the operand in the mailbox; its index in the block of b
  DeviceScalar<V> value[size][rows];
  N seen[size];
  bool live[size], waits[size];

  ///   of_own, of_others  slots of the values of A.operand[position], and of block row 0
  template <bool whole>
  __device__ void load_columns(const DenseRows<V, I>& A, const DenseTile<I>& tile, int block_size, I k,
                               Slot of_own, Slot of_others)
  {
    const int lane = threadIdx.x % lanes, block_columns = whole ? rows : block_size;
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const I c = k + e * lanes;
      live[e] = c < tile.columns;
      const bool is_own = c < tile.own;
      waits[e] = live[e] && (!is_own || A.operand);
      slot[e] = of_own + static_cast<Slot>(c);
      if (live[e] && !is_own) {
        const I block = (c - tile.own) / block_columns;
        slot[e] = of_others + static_cast<Slot>(A.column[tile.first_block + block] * block_columns +
                                                (c - tile.own - block * block_columns));
      }
      const DeviceScalar<V>* const stored = A.value + (live[e] ? tile.value_index(c, lane) : 0);
      const int step = tile.template row_step<lanes>(c, lane);
#pragma unroll
      for (int r = 0; r < rows; ++r)
        value[e][r] = live[e] && (whole || r < tile.rows) ? stored[r * step] : DeviceScalar<V>(0);
    }
  }

  /// Loads operands that do not come by mailbox.
  __device__ void load_operands(const N* b_of_row)
  {
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (live[e] && !waits[e]) seen[e] = b_of_row[slot[e]];
  }

  /// Polls once for each operand that is missing; returns true if none is.
  __device__ bool poll_operands(const DoubleBufferedMailbox<N>& box)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (waits[e]) seen[e] = box.poll_slot(slot[e]);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      waits[e] = waits[e] && !box.has_arrived(seen[e]);
      complete = complete && !waits[e];
    }
    return complete;
  }

  /// Stops waiting: what is missing keeps the value that was polled last.
  __device__ void stop_waiting()
  {
#pragma unroll
    for (int e = 0; e < size; ++e) waits[e] = false;
  }

  __device__ void add_to(N (&sum)[rows], bool conjugate) const
  {
#pragma unroll
    for (int e = 0; e < size; ++e)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const Entry<N> v(value[e][r]);
        if (live[e]) sum[r] += product(conjugate ? conjugate_of(v) : v, seen[e]);
      }
  }
};

/// Returns the sum of row r over the lanes of a tile, where r is the lane modulo the power of two that is at least
/// `rows`; called by a whole warp. While lanes have several rows, each keeps half of them and sends the other half.
template <int rows, int lanes, class N> __device__ N sum_of_row(const N (&sum)[rows])
{
  constexpr int padded = rows <= 2 ? 2 : rows <= 4 ? 4 : 8;
  static_assert(rows <= padded && padded <= lanes);
  N v[padded];
#pragma unroll
  for (int r = 0; r < padded; ++r) v[r] = r < rows ? sum[r < rows ? r : 0] : N(0);
#pragma unroll
  for (int half = padded / 2; half; half /= 2) {
    const bool keeps_upper = threadIdx.x & half;
#pragma unroll
    for (int r = 0; r < half; ++r) {
      const N kept = keeps_upper ? v[r + half] : v[r], sent = keeps_upper ? v[r] : v[r + half];
      v[r] = kept + shfl_xor(sent, half);
    }
  }
#pragma unroll
  for (int other = padded; other < lanes; other *= 2) v[0] += shfl_xor(v[0], other);
  return v[0];
}

/// Returns the lanes whose groups of `lanes` are in the mask as a whole.
template <int lanes> __device__ unsigned whole_groups(unsigned mask)
{
  constexpr unsigned group = lanes == 32 ? ~0u : (1u << lanes % 32) - 1;
  unsigned whole = 0;
#pragma unroll
  for (int first = 0; first < 32; first += lanes)
    if ((mask >> first & group) == group) whole |= group << first;
  return whole;
}

/// Prefetches whole units of 16 bytes of array[first] to array[end - 1].
template <class E> __device__ void prefetch_array(const E* array, std::size_t first, std::size_t end)
{
  constexpr std::size_t unit = 16 / sizeof(E);
  first = first / unit * unit;
  if (end >= first + unit) fetch_to_cache(array + first, static_cast<unsigned>((end - first) / unit * 16));
}

/// Prefetches what the block rows of some tiles read of the factor; called by one thread.
template <class V, class I>
__device__ void prefetch_rows(const DenseRows<V, I>& A, const DenseShape& shape, std::size_t first_tile, int tiles)
{
  const auto n = static_cast<std::size_t>(A.n);
  const std::size_t first = min(n, first_tile / shape.tiles), end = min(n, (first_tile + tiles) / shape.tiles);
  if (first == end) return;
  const auto first_block = static_cast<std::size_t>(A.begin[first]), end_block = static_cast<std::size_t>(A.begin[end]);
  const std::size_t values = static_cast<std::size_t>(shape.size) * shape.size;
  prefetch_array(A.value, values * (first_block + (A.scaled ? first : 0)), values * (end_block + (A.scaled ? end : 0)));
  prefetch_array(A.column, first_block, end_block);
  prefetch_array(A.name, first, end);
}

/// Thread blocks of a multiprocessor for which registers must do, without values in local memory: several levels of
/// short rows.
template <class N, int rows, int entries>
constexpr int dense_thread_blocks = sizeof(N) > 8 ? 1 : entries > 2 ? 2 : rows > 2 ? 3 : 4;

/// It may begin before the previous launch has ended, which may be one of this kernel: mailboxes are cleared after the
/// end of that launch, and b is read then; everything else is read before.
///
/// owns       `lanes` lanes of a warp own a tile of up to `rows` rows, with `whole` those of a block row; tiles of
///            `first` come before those of `second`; a thread block owns as many as it has room for, consecutive in
///            level order
/// waits      for the values of earlier block rows, all of a batch polled at once, rows of `second` also for those of
///            `first`; no lane waits alone in a loop, so tiles of one warp may depend on each other. Only a tile with a
///            warp of its own may have more columns than a batch: it adds up all but the last ones first
/// publishes  the values of the tile's rows, lane r that of row r; prepares their slots for the next launch
/// order      DoubleBufferedMailbox: relaxed, the value itself is the message
/// progress   rows at earlier positions, and all of `first` for `second`, belong to thread blocks with earlier tickets,
///            or to this warp or thread block
/// result     reproducible: the order of additions depends on the block row only
/// source     as solve_in_level_order; dense blocks scaled by the inverse diagonal: this library
///   blocks_of_first  thread blocks; all of them if there is no `second`
///   ahead            thread blocks; the last thread prefetches what the one that far ahead reads; 0: nothing
///   memory           a slot for each row of `first`, then of `second`
template <class N, class V, class I, int rows, int lanes, int entries, bool whole>
__global__ void __launch_bounds__(level_order_threads, dense_thread_blocks<N, rows, entries>)
solve_dense_rows(DenseRows<V, I> first, DenseRows<V, I> second, DenseShape shape, unsigned blocks_of_first,
                 unsigned ahead, typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter, const N* b,
                 N* x, bool conjugate)
{
  using Batch = DenseBatch<N, V, I, rows, lanes, entries>;
  using Slot = typename Batch::Slot;
  if constexpr (whole) shape = {rows, rows, 1, lanes, entries};
  const BlockTicket ticket = take_ticket(counter);
  const bool is_second = ticket.index >= blocks_of_first, is_pair = gridDim.x > blocks_of_first;
  const DenseRows<V, I> A = is_second ? second : first;
  const std::size_t slots = static_cast<std::size_t>(A.n) * shape.size;
  const Slot of_others = is_second ? static_cast<Slot>(slots) : 0;
  const DoubleBufferedMailbox<N> box(memory, is_pair ? 2 * slots : slots, ticket.launch);
  const std::size_t block = ticket.index - (is_second ? blocks_of_first : 0);
  const std::size_t own_tile = block * (blockDim.x / lanes) + threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  std::size_t position = whole ? own_tile : own_tile / shape.tiles;
  const int which = whole ? 0 : static_cast<int>(own_tile - position * shape.tiles);
  const bool live = position < static_cast<std::size_t>(A.n);
  if (!live) position = 0;
  DenseTile<I> tile(A.begin, A.scaled, shape, position, which);
  if (!live) tile.columns = 0;
  const I name = A.name[position];
  const Slot of_own = A.operand ? static_cast<Slot>(A.operand[position]) * static_cast<Slot>(shape.size) : 0;
  Batch batch;
  batch.template load_columns<whole>(A, tile, shape.size, lane, of_own, of_others);
  if (ahead > 0 && threadIdx.x == blockDim.x - 1) {
    const bool of_second = is_pair && ticket.index + ahead >= blocks_of_first;
    const std::size_t next = ticket.index + ahead - (of_second ? blocks_of_first : 0);
    const DenseRows<V, I> B = of_second ? second : first;
    prefetch_rows(B, shape, next * (blockDim.x / lanes), blockDim.x / lanes);
  }
  const bool owns = live && lane < tile.rows;  // that row of the tile
  const Slot own_row = static_cast<Slot>(which * shape.tile + lane);
  const Slot own_slot = of_others + static_cast<Slot>(position * shape.size) + own_row;
  const Slot block_in_vector = static_cast<Slot>(name) * static_cast<Slot>(shape.size);

  wait_for_primary_launch();
  trigger_dependent_launch();
  if (owns) box.prepare_slot(own_slot);
  batch.load_operands(b + block_in_vector);
  N rhs(0);
  if (!A.scaled && A.operand) {
    N seen(0);
    const auto has_come = [&] { return __all_sync(~0u, box.has_arrived(seen)) != 0; };
    if (owns) seen = box.poll_slot(of_own + own_row);
    (void)BoundedWait(name).template until_for_warp<1>(has_come, [&] {
      if (!box.has_arrived(seen)) seen = box.poll_slot(of_own + own_row);
    });
    rhs = seen;
  } else if (!A.scaled && owns) {
    rhs = b[block_in_vector + own_row];
  }
  __syncwarp();  // x may be b: all lanes of the block row must have read its rows
  N sum[rows];
#pragma unroll
  for (N& s : sum) s = N(0);
  if constexpr (lanes == 32) {
    for (I next = Batch::step; next < tile.columns; next += Batch::step) {
      const auto has_come = [&] { return __all_sync(~0u, batch.poll_operands(box)) != 0; };
      (void)BoundedWait(name).template until_for_warp<1>(has_come);
      batch.add_to(sum, conjugate);
      batch.template load_columns<whole>(A, tile, shape.size, next + lane, of_own, of_others);
      batch.load_operands(b + block_in_vector);
    }
  }
  bool summed = !live;
  unsigned finished = __ballot_sync(~0u, !live);  // lanes, in all of them
  SYNCFREE_MAY_NANOSLEEP
  for (BoundedWait wait(name); finished != ~0u;) {
    if (!summed && batch.poll_operands(box)) {
      batch.add_to(sum, conjugate);
      summed = true;
    }
    const unsigned complete = whole_groups<lanes>(__ballot_sync(~0u, summed)) & ~finished;
    if (complete == 0) {
      if (!wait.is_over_for_warp()) continue;
      batch.stop_waiting();
#pragma unroll
      for (N& s : sum) s = quiet_nan<N>();  // this batch may not have been polled
      continue;
    }
    const N value = rhs - sum_of_row<rows, lanes>(sum);
    if (owns && (complete >> threadIdx.x % 32 & 1)) {
      box.publish_value(own_slot, value);
      if (is_second || !is_pair) x[block_in_vector + own_row] = value;
    }
    finished |= complete;
  }
}

}  // namespace syncfree::cuda
