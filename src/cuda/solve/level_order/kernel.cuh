#pragma once

/// Rows sorted by level, each waited for on its own: the kernel of `level_order` and `csr_level_order`, which differ in
/// how a number is handed over, and of `merged`, which has other right-hand sides.
///
///   x_i = (b_i - sum_k value_k x_{column_k}) / diagonal_i
///
/// Rows are numbered by level, so that what a row reads has an earlier place and neighbours in a level stand side by
/// side. Each row belongs to 1, 4, 8, 16 or 32 lanes of a warp; a long one is split into partial
/// rows (core/schedule/split_rows.hpp).

#include <cstdint>
#include <vector>

#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/granularity.hpp"
#include "cuda/base/multivector.cuh"
#include "cuda/sync/mailboxes.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// Rows for each chunk of columns stand side by side.
struct OneChunk {
  template <class I> __device__ I place_of(I place) const { return place; }
};
struct OneOfChunks {
  unsigned which, chunks;
  template <class I> __device__ I place_of(I place) const
  {
    return static_cast<I>(place * static_cast<I>(chunks) + static_cast<I>(which));
  }
};

/// Entries k, k + lanes, ... of a row, as far as they are below `end`.
template <class N, class M, class I, class Box, int lanes, class Chunk> struct Batch {
  static constexpr int size = level_order_batch;
  I column[size];  ///< where its number comes
  Entry<N> value[size];
  typename Box::Look seen[size];
  bool live[size], waits[size];

  __device__ void load(const I* columns, const M* values, I k, I end, Chunk chunk)
  {
#pragma unroll
    for (int e = 0; e < size; ++e) {
      live[e] = waits[e] = k + e * lanes < end;
      column[e] = live[e] ? chunk.place_of(columns[k + e * lanes]) : 0;
      value[e] = live[e] ? Entry<N>(values[k + e * lanes]) : Entry<N>(0);
    }
  }

  /// Looks once for all that is missing; true when nothing is.
  __device__ bool poll(const Box& box)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (waits[e]) seen[e] = box.look(column[e]);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      waits[e] = waits[e] && !box.arrived(seen[e]);
      complete = complete && !waits[e];
    }
    return complete;
  }

  /// Nothing of it is waited for any longer: what is missing stays as it was seen.
  __device__ void leave()
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
      if (live[e]) sum += product(conjugate ? conjugate_of(value[e]) : value[e], box.take(column[e], seen[e]));
    return sum;
  }
};

/// A row's right-hand side is its own.
template <class V, class I> struct PlainRhs {
  static constexpr bool in_parts = false, inverts = false;
  template <class N> __device__ N load(std::size_t, I row, int lane, int, const Input<N>& b, bool) const
  {
    return lane == 0 && row >= 0 ? load_row<N>(b, row) : N(0);
  }
  /// Of numbers that come by way of a box, by row.
  template <class N, int lanes, class Box> __device__ N await(std::size_t, I row, int lane, const Box& b, bool) const
  {
    if (lane != 0 || row < 0) return N(0);
    auto seen = b.look(row);
    (void)BoundedWait(row).until<4>([&] { return b.arrived(seen); }, [&] { seen = b.look(row); });
    return b.take(row, seen);
  }
};

/// The same, and a row's number is the inverse of what is left of it; parts of rows stay sums.
template <class V, class I> struct InvertingRhs : PlainRhs<V, I> {
  static constexpr bool inverts = true;
};

/// A row's right-hand side is sum_k value_k b_{row_k}, of entries begin[place] to begin[place + 1] - 1.
template <class V, class I> struct MergedRhs {
  static constexpr bool in_parts = true, inverts = false;
  const I *begin, *row;
  const DeviceScalar<V>* value;

  /// The part of one of the row's lanes.
  template <class N>
  __device__ N load(std::size_t place, I, int lane, int lanes, const Input<N>& b, bool conjugate) const
  {
    N sum(0);
    for (I k = begin[place] + lane; k < begin[place + 1]; k += lanes) {
      const Entry<N> v(value[k]);
      sum += product(conjugate ? conjugate_of(v) : v, load_row<N>(b, row[k]));
    }
    return sum;
  }
  /// The same of numbers that come by way of a box, by row.
  template <class N, int lanes, class Box>
  __device__ N await(std::size_t place, I own, int lane, const Box& b, bool conjugate) const
  {
    constexpr int step = level_order_batch * lanes;
    N sum(0);
    Batch<N, DeviceScalar<V>, I, Box, lanes, OneChunk> now, ahead;
    const I end = begin[place + 1];
    I k = begin[place] + lane;
    now.load(row, value, k, end, OneChunk());
    for (; k < end; k += step) {
      ahead.load(row, value, k + step, end, OneChunk());
      const auto look = [&] {
#pragma unroll 8
        for (unsigned left = BoundedWait::polls_per_check; left > 0; --left)
          if (now.poll(b)) return true;
        return false;
      };
      if (!BoundedWait(own).until_soon(look)) now.leave();
      sum += now.dot(b, conjugate);
      now = ahead;
    }
    return sum;
  }
};

/// By the lanes of a row; a warp calls it as a whole.
///   place, own  of the row, and of its number in the box
///   begin       begin(live, row, lane), behind which numbers of b may be read: the lane's part of the right-hand side
///   end         end(row, number) by the first lane
template <class N, class V, class I, class Box, int lanes, class Side, class Chunk, class Begin, class End>
__device__ void solve_row(const StoredView<V, I>& L, const Box& box, std::size_t place, std::size_t own, Chunk chunk,
                          bool conjugate, Begin begin, End end_row)
{
  using E = Entry<N>;
  constexpr int step = level_order_batch * lanes;
  const int lane = threadIdx.x % lanes;
  const bool first = lane == 0;
  const bool live = place < static_cast<std::size_t>(L.n);
  I k = live ? L.begin[place] + lane : 0;
  const I end = live ? L.begin[place + 1] : 0;
  const I row = live ? L.row[place] : 0;
  N sum(0);
  E scale(1);
  Batch<N, DeviceScalar<V>, I, Box, lanes, Chunk> now, ahead;
  now.load(L.column, L.value, k, end, chunk);
  ahead.load(L.column, L.value, k + step, end, chunk);
  if (live && first) {
    if (L.inverse_diagonal) scale = E(L.inverse_diagonal[place]);
    if (conjugate) scale = conjugate_of(scale);
  }
  N rhs = begin(live, row, lane);
  if (Side::in_parts) sum = N(0) - rhs, rhs = N(0);
  const unsigned group = group_of(lanes);
  bool summed = !live, done = !live, came = false;
  const auto look = [&] {
    came = !summed && now.poll(box);
    return __any_sync(~0u, came) != 0;
  };
  while (!__all_sync(~0u, done)) {
    if (!BoundedWait(row).template until_for_warp<2>(look)) {
      now.leave();
      sum = quiet_nan<N>();
      continue;
    }
    if (came) {
      sum += now.dot(box, conjugate);
      k += step;
      summed = k >= end;
      if (!summed) {
        now = ahead;
        ahead.load(L.column, L.value, k + step, end, chunk);
      }
    }
    const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done;
    if (!__any_sync(~0u, complete)) continue;
    N total = sum;
    for (int offset = lanes / 2; offset; offset /= 2) total += shfl_xor(total, offset);
    if (complete && first) {
      N value = product(rhs - total, scale);
      if constexpr (Side::inverts)
        if (row >= 0) value = N(1) / value;
      box.put(own, value);
      if (row >= 0) end_row(row, value);
    }
    done = done || complete;
  }
}

/// Numbers of b are read behind the launch in front, everything else before: it may still be running.
///
/// owns       `lanes` lanes of a warp own one row, of `many` columns for one chunk, a block as many as it
///            has room for, which follow each other in level order, those of a row's chunks side by side
/// waits      for the numbers of earlier rows, all of a batch polled at once; no lane waits alone in a loop, so rows of
///            one warp may depend on each other
/// publishes  the row's number, and what the next launch needs at its place
/// order      DoubleBufferedMailbox: relaxed, the number itself is the message, and mailboxes are cleared one launch
///            ahead. FlaggedMailbox: release by the row's first lane; relaxed polls, then one acquire for all of a
///            batch (ready.cuh)
/// progress   rows of earlier places belong to blocks with earlier tickets, or to this warp or block
/// result     reproducible: the order of additions depends on the row only
/// source     Liu et al. 2016 for waiting without levels' barriers, Su et al. 2020 for several rows in a warp; here
///            rows are sorted, entries are loaded before their wait, and with DoubleBufferedMailbox the value is the
///            flag
template <class N, class V, class I, template <class> class Box, int lanes, class Side, bool many>
__global__ void __launch_bounds__(level_order_threads)
solve_in_level_order(StoredView<V, I> L, Side side, typename Box<N>::View memory, TicketCounter* counter,
                     Input<N> b, Output<N> x, unsigned chunks, bool conjugate)
{
  using Chunk = std::conditional_t<many, OneOfChunks, OneChunk>;
  const BlockTicket turn = take_ticket(counter);
  const Box<N> box(memory, static_cast<std::size_t>(L.n) * (many ? chunks : 1), turn.launch);
  const std::size_t own = turn.place * (blockDim.x / lanes) + threadIdx.x / lanes;
  std::size_t place = own;
  Chunk chunk;
  if constexpr (many) {
    place = own / chunks;
    chunk = {static_cast<unsigned>(own - place * chunks), chunks};
    b = b.chunk(chunk.which, columns_of<N>);
    x = x.chunk(chunk.which, columns_of<N>);
  }
  const auto begin = [&](bool live, I row, int lane) {
    if (live && lane == 0) box.prepare(own);
    wait_for_primary_launch();
    trigger_dependent_launch();
    return live ? side.template load<N>(place, row, lane, lanes, b, conjugate) : N(0);
  };
  solve_row<N, V, I, Box<N>, lanes, Side>(L, box, place, own, chunk, conjugate, begin,
                                          [&](I row, const N& value) { store_row<N>(x, row, value); });
}

/// What a triangle's launch reads, and how many numbers b and x have.
template <class V, class I, class Side> struct LevelOrderRows {
  StoredView<V, I> rows;
  Side side;
  I n;
};

/// U behind L in one launch, whose first blocks have L's rows. It may begin before the launch in front has ended, which
/// may be one of its own: mailboxes are cleared when that has.
///
/// owns       as above
/// waits      U's rows also for numbers of L, each lane for its own
/// publishes  L's rows their number for U, too, by row
/// order      as above with DoubleBufferedMailbox
/// progress   L's rows belong to blocks with earlier tickets than those of U
/// result     as above; each number as by a launch for L and one for U with so many lanes
/// source     no publication known
///   memory  for n numbers between L and U, and one for each row of both
template <class N, class V, class I, int lanes, class Side>
__global__ void __launch_bounds__(level_order_threads)
solve_pair_in_level_order(LevelOrderRows<V, I, Side> L, LevelOrderRows<V, I, Side> U, unsigned blocks_of_L,
                          typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter, Input<N> b,
                          Output<N> x, bool conjugate)
{
  using Box = DoubleBufferedMailbox<N>;
  const BlockTicket turn = take_ticket(counter);
  const bool is_L = turn.place < blocks_of_L;
  const auto n = static_cast<std::size_t>(L.n), rows_of_L = static_cast<std::size_t>(L.rows.n);
  const std::size_t all = n + rows_of_L + static_cast<std::size_t>(U.rows.n);
  const Box between(memory, all, turn.launch), box(memory, all, turn.launch, is_L ? n : n + rows_of_L);
  const std::size_t block = turn.place - (is_L ? 0 : blocks_of_L);
  const std::size_t place = block * (blockDim.x / lanes) + threadIdx.x / lanes;
  const StoredView<V, I> A = is_L ? L.rows : U.rows;
  const auto begin = [&](bool live, I row, int lane) {
    wait_for_primary_launch();
    trigger_dependent_launch();
    if (!live) return N(0);
    if (lane == 0) box.prepare(place);
    if (!is_L) return U.side.template await<N, lanes>(place, row, lane, between, conjugate);
    if (lane == 0 && row >= 0) between.prepare(row);
    return L.side.template load<N>(place, row, lane, lanes, b, conjugate);
  };
  const auto end = [&](I row, const N& value) {
    if (is_L) between.put(row, value);
    else store_row<N>(x, row, value);
  };
  solve_row<N, V, I, Box, lanes, Side>(A, box, place, place, OneChunk(), conjugate, begin, end);
}

/// Columns for which b and x of sixteen levels stay in the cache of the device: a row touches a sector of both in each,
/// whose other rows come in later levels.
inline double columns_in_cache(double rows_a_level)
{
  constexpr double sectors = 2 * 32, levels = 16;
  return device_attribute(cudaDevAttrL2CacheSize) / (rows_a_level * levels * sectors);
}

template <class T, class V, class I, int lanes, class Side>
void solve_columns_in_level_order(const StoredView<V, I>& L, const Side& side, const DeviceColumns<T>& v,
                                  ValueLaunches<T>* launches, bool conjugate, cudaStream_t stream, bool overlaps)
{
  using N = ColumnPackOf<T>;
  launches->run(v, overlaps, [&](unsigned chunks, auto mailbox, TicketCounter* counter, const Input<N>& b,
                                 const Output<N>& x, bool overlap) {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(L.n) * chunks * lanes, level_order_threads);
    launch(solve_in_level_order<N, V, I, DoubleBufferedMailbox, lanes, Side, true>,
           {blocks, level_order_threads, 0, stream, overlap}, L, side, mailbox, counter, b, x, chunks, conjugate);
  });
}

}  // namespace syncfree::cuda
