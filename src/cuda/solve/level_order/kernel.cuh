#pragma once

/// The kernel of `level_order` and `csr_level_order`, which differ in their mailboxes, and of `merged`, which has other
/// right-hand sides: rows sorted by level, each of which waits for its own operands only.
///
///   x_i = (b_i - sum_k value_k x_{column_k}) / diagonal_i
///
/// Rows are numbered by level, so that the operands of a row have earlier positions and the rows of a level are
/// adjacent. Each row has 1, 4, 8, 16 or 32 lanes of a warp; a long one is split into partial rows
/// (core/schedule/split_rows.hpp).

#include <cstdint>
#include <vector>

#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/granularity.hpp"
#include "cuda/base/multivector.cuh"
#include "cuda/sync/mailboxes.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// Maps a row's position to the mailbox slot of its value; slots of a row's chunks of columns are adjacent.
struct OneChunk {
  template <class I> __device__ I slot_of(I position) const { return position; }
};
struct OneOfChunks {
  unsigned which, chunks;
  template <class I> __device__ I slot_of(I position) const
  {
    return static_cast<I>(position * static_cast<I>(chunks) + static_cast<I>(which));
  }
};

/// Entries k, k + lanes, ... of a row, as far as they are less than `end`.
template <class N, class M, class I, class Box, int lanes, class Chunk, int entries = level_order_batch> struct Batch {
  static constexpr int size = entries;
  I column[size];  ///< mailbox slot of its operand
  Entry<N> value[size];
  typename Box::Polled seen[size];
  bool live[size], waits[size];

  __device__ void load_entries(const I* columns, const M* values, I k, I end, Chunk chunk)
  {
#pragma unroll
    for (int e = 0; e < size; ++e) {
      live[e] = waits[e] = k + e * lanes < end;
      column[e] = live[e] ? chunk.slot_of(columns[k + e * lanes]) : 0;
      value[e] = live[e] ? Entry<N>(values[k + e * lanes]) : Entry<N>(0);
    }
  }

  /// Polls once for each operand that is missing; returns true if none is.
  __device__ bool poll_operands(const Box& box)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (waits[e]) seen[e] = box.poll_slot(column[e]);
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

  __device__ N dot(const Box& box, bool conjugate) const
  {
    N sum(0);
    box.settle();
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (live[e]) sum += product(conjugate ? conjugate_of(value[e]) : value[e], box.take_value(column[e], seen[e]));
    return sum;
  }
};

/// The right-hand side of a row is its entry of b.
template <class V, class I> struct PlainRhs {
  static constexpr bool in_parts = false, inverts = false;
  template <class N> __device__ N load_rhs(std::size_t, I row, int lane, int, const Input<N>& b, bool) const
  {
    return lane == 0 && row >= 0 ? load_row<N>(b, row) : N(0);
  }
};

/// As PlainRhs, but a row's result is inverted; partial rows remain sums.
template <class V, class I> struct InvertingRhs : PlainRhs<V, I> {
  static constexpr bool inverts = true;
};

/// The right-hand side of a row is sum_k value_k b_{row_k}, of entries begin[position] to begin[position + 1] - 1.
template <class V, class I> struct MergedRhs {
  static constexpr bool in_parts = true, inverts = false;
  const I *begin, *row;
  const DeviceScalar<V>* value;

  /// Returns the part of one of the row's lanes.
  template <class N>
  __device__ N load_rhs(std::size_t position, I, int lane, int lanes, const Input<N>& b, bool conjugate) const
  {
    N sum(0);
    for (I k = begin[position] + lane; k < begin[position + 1]; k += lanes) {
      const Entry<N> v(value[k]);
      sum += product(conjugate ? conjugate_of(v) : v, load_row<N>(b, row[k]));
    }
    return sum;
  }
  /// As load_rhs(), for a b that arrives in a mailbox, by row.
  template <class N, int lanes, class Box>
  __device__ N await_rhs(std::size_t position, I own, int lane, const Box& b, bool conjugate) const
  {
    constexpr int step = level_order_batch * lanes;
    N sum(0);
    Batch<N, DeviceScalar<V>, I, Box, lanes, OneChunk> now, ahead;
    const I end = begin[position + 1];
    I k = begin[position] + lane;
    now.load_entries(row, value, k, end, OneChunk());
    for (; k < end; k += step) {
      ahead.load_entries(row, value, k + step, end, OneChunk());
      SYNCFREE_MAY_NANOSLEEP
      for (BoundedWait wait(own); !now.poll_operands(b);)
        if (wait.is_over()) now.stop_waiting();
      sum += now.dot(b, conjugate);
      now = ahead;
    }
    return sum;
  }
};

/// Which entries of a row a lane has loaded: those that it polls for and the next ones, or, in fewer registers, the
/// former only.
struct TwoBatches {
  static constexpr int size = level_order_batch;
  static constexpr bool ahead = true;
};
template <int entries> struct OneBatch {
  static constexpr int size = entries;
  static constexpr bool ahead = false;
};

/// Solves a row with its lanes; called by a whole warp.
///   position, own  position of the row; mailbox slot of its value
///   begin       begin(live, row, lane) returns the lane's part of the right-hand side; b may be read from then on
///   end_row     end_row(row, value), called by the first lane
template <class N, class V, class I, class Box, int lanes, class Rhs, class Loads = TwoBatches, class Chunk,
          class Begin, class End>
__device__ void solve_row(const StoredView<V, I>& L, const Box& box, std::size_t position, std::size_t own, Chunk chunk,
                          bool conjugate, Begin begin, End end_row)
{
  using E = Entry<N>;
  constexpr int step = Loads::size * lanes;
  const int lane = threadIdx.x % lanes;
  const bool first = lane == 0;
  const bool live = position < static_cast<std::size_t>(L.n);
  I k = live ? L.begin[position] + lane : 0;
  const I end = live ? L.begin[position + 1] : 0;
  const I row = live ? L.row[position] : 0;
  N sum(0);
  E scale(1);
  Batch<N, DeviceScalar<V>, I, Box, lanes, Chunk, Loads::size> now, ahead;
  now.load_entries(L.column, L.value, k, end, chunk);
  if constexpr (Loads::ahead) ahead.load_entries(L.column, L.value, k + step, end, chunk);
  if (live && first) {
    if (L.inverse_diagonal) scale = E(L.inverse_diagonal[position]);
    if (conjugate) scale = conjugate_of(scale);
  }
  N rhs = begin(live, row, lane);
  if (Rhs::in_parts) sum = N(0) - rhs, rhs = N(0);
  const unsigned group = group_of(lanes);
  bool summed = !live, done = !live;
  SYNCFREE_MAY_NANOSLEEP
  for (BoundedWait wait(row); !__all_sync(~0u, done);) {
    if (!summed && now.poll_operands(box)) {
      sum += now.dot(box, conjugate);
      k += step;
      summed = k >= end;
      if (!summed && Loads::ahead) {
        now = ahead;
        ahead.load_entries(L.column, L.value, k + step, end, chunk);
      } else if (!summed) {
        now.load_entries(L.column, L.value, k, end, chunk);
      }
    }
    const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done;
    if (!__any_sync(~0u, complete)) {
      if (wait.is_over_for_warp()) now.stop_waiting(), sum = quiet_nan<N>();
      continue;
    }
    N total = sum;
    for (int offset = lanes / 2; offset; offset /= 2) total += shfl_xor(total, offset);
    if (complete && first) {
      N value = product(rhs - total, scale);
      if constexpr (Rhs::inverts)
        if (row >= 0) value = N(1) / value;
      box.publish_value(own, value);
      if (row >= 0) end_row(row, value);
    }
    done = done || complete;
  }
}

/// b is read after the previous launch has ended, everything else before: that launch may still be running.
///
/// owns       `lanes` lanes of a warp own one row, with `many` for one chunk of columns; a thread block owns as many as
///            it has room for, consecutive in level order, with the chunks of a row adjacent
/// waits      for the values of earlier rows, all of a batch polled at once; no lane waits alone in a loop, so rows of
///            one warp may depend on each other
/// publishes  the row's value; prepares its slot for the next launch
/// order      DoubleBufferedMailbox: relaxed, the value itself is the message, and slots are cleared one launch ahead.
///            FlaggedMailbox: release by the row's first lane; relaxed polls, then one acquire for a whole batch
///            (ready.cuh)
/// progress   rows at earlier positions belong to thread blocks with earlier tickets, or to this warp or thread block
/// result     reproducible: the order of additions depends on the row only
/// source     Liu et al. 2016 for waiting without barriers between levels, Su et al. 2020 for several rows in a warp;
///            here rows are sorted, entries are loaded before their wait, and with DoubleBufferedMailbox the value is
///            the flag
template <class N, class V, class I, template <class> class Box, int lanes, class Rhs, bool many>
__global__ void __launch_bounds__(level_order_threads)
solve_in_level_order(StoredView<V, I> L, Rhs rhs, typename Box<N>::View memory, TicketCounter* counter,
                     Input<N> b, Output<N> x, unsigned chunks, bool conjugate)
{
  using Chunk = std::conditional_t<many, OneOfChunks, OneChunk>;
  const BlockTicket ticket = take_ticket(counter);
  const Box<N> box(memory, static_cast<std::size_t>(L.n) * (many ? chunks : 1), ticket.launch);
  const std::size_t own = ticket.index * (blockDim.x / lanes) + threadIdx.x / lanes;
  std::size_t position = own;
  Chunk chunk;
  if constexpr (many) {
    position = own / chunks;
    chunk = {static_cast<unsigned>(own - position * chunks), chunks};
    b = b.chunk(chunk.which, columns_of<N>);
    x = x.chunk(chunk.which, columns_of<N>);
  }
  const auto begin = [&](bool live, I row, int lane) {
    if (live && lane == 0) box.prepare_slot(own);
    wait_for_primary_launch();
    trigger_dependent_launch();
    return live ? rhs.template load_rhs<N>(position, row, lane, lanes, b, conjugate) : N(0);
  };
  solve_row<N, V, I, Box<N>, lanes, Rhs>(L, box, position, own, chunk, conjugate, begin,
                                          [&](I row, const N& value) { store_row<N>(x, row, value); });
}

/// Returns the number of columns for which b and x of sixteen levels stay in the L2 cache: in each column a row touches
/// a sector of both, which it shares with rows of later levels.
inline double columns_in_cache(double rows_a_level)
{
  constexpr double sectors = 2 * 32, levels = 16;
  return device_attribute(cudaDevAttrL2CacheSize) / (rows_a_level * levels * sectors);
}

template <class T, class V, class I, int lanes, class Rhs>
void solve_columns_in_level_order(const StoredView<V, I>& L, const Rhs& rhs, const DeviceColumns<T>& v,
                                  ValueLaunches<T>* launches, bool conjugate, cudaStream_t stream, bool overlaps)
{
  using N = ColumnPackOf<T>;
  launches->launch_chunks(v, overlaps, [&](unsigned chunks, auto mailbox, TicketCounter* counter, const Input<N>& b,
                                 const Output<N>& x, bool overlap) {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(L.n) * chunks * lanes, level_order_threads);
    launch(solve_in_level_order<N, V, I, DoubleBufferedMailbox, lanes, Rhs, true>,
           {blocks, level_order_threads, 0, stream, overlap}, L, rhs, mailbox, counter, b, x, chunks, conjugate);
  });
}

}  // namespace syncfree::cuda
