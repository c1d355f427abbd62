#pragma once

/// L and then U of `level_order` in one launch, for rows in colored blocks: a warp solves the rows of a block one
/// after the other in registers, so that a solve takes as many hops as there are colors, not levels.
///
/// Rows are stored in the order of the factor, those of U reversed. So both triangles are lower ones: entries of a row
/// ascend, those of its own block are last, and blocks of U are those of L from last to first.

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "cuda/analysis/row_blocks.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// What a launch reads of a factor of n rows.
///   inner_of_L, inner_of_U  by position: first entry whose column is in the row's own block
///   block_begin             blocks + 1 offsets into the positions of L
///   b_row, x_row            index in b and in x by row of the factor; nullptr: the row
template <class V, class I> struct BlockPairView {
  StoredView<V, I> L, U;
  const I *inner_of_L, *inner_of_U, *block_begin;
  I blocks;
  const I *b_row, *x_row;
};

/// Positions of a block; none of a block that does not exist.
template <class I> struct BlockOfRows {
  I first = 0;
  int rows = 0;

  ///   reversed  blocks are counted from the last one, and positions from the last row
  __device__ BlockOfRows(const I* begin, I blocks, I n, std::size_t block, bool reversed)
  {
    if (block >= static_cast<std::size_t>(blocks)) return;
    const I stored = reversed ? blocks - 1 - static_cast<I>(block) : static_cast<I>(block);
    const I start = begin[stored], end = begin[stored + 1];
    first = reversed ? n - end : start;
    rows = static_cast<int>(end - start);
  }
};

/// inner[p] = first entry of the row at position p whose column is in the block of that row; a warp a block.
template <class I>
__global__ void find_inner_entries(I n, const I* block_begin, I blocks, bool reversed, const I* begin, const I* column,
                                   I* inner)
{
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const BlockOfRows<I> own(block_begin, blocks, n, thread / 32, reversed);
  for (int r = static_cast<int>(thread % 32); r < own.rows; r += 32) {
    I k = begin[own.first + r + 1];
    while (k > begin[own.first + r] && column[k - 1] >= own.first) --k;
    inner[own.first + r] = k;
  }
}

/// Entries between rows of one block, in shared memory: row r, column c at [c * size + r].
///   operands  bit c: the row of this lane has an entry in column c
///   needed    columns up to the last one in which a row of the block has an entry
template <class N, int lanes> struct InnerEntries {
  static constexpr int size = 32 / lanes;  ///< rows of a block, at most
  N* entry;
  unsigned operands = 0;
  int needed = 0;

  /// Loads entries [inner, end) of the lane's row, which are shared by its lanes. Called by a whole warp.
  template <class V, class I>
  __device__ void load_entries(const StoredView<V, I>& A, I first_of_block, I inner, I end, bool conjugate)
  {
    const int r = threadIdx.x % 32 / lanes;
#pragma unroll 4
    for (I k = inner + static_cast<I>(threadIdx.x % lanes); k < end; k += lanes) {
      const int c = static_cast<int>(A.column[k] - first_of_block);
      const N value(A.value[k]);
      entry[c * size + r] = conjugate ? conjugate_of(value) : value;
      operands |= 1u << c;
    }
#pragma unroll
    for (int other = lanes / 2; other; other /= 2) operands |= __shfl_xor_sync(~0u, operands, other);
    unsigned of_all = operands;
#pragma unroll
    for (int other = 16; other >= lanes; other /= 2) of_all |= __shfl_xor_sync(~0u, of_all, other);
    needed = 32 - __clz(static_cast<int>(of_all));
    __syncwarp();
  }

  /// Returns the value of the lane's row. Called by a whole warp.
  ///   rest    right-hand side without what other blocks contribute, in all lanes of the row
  ///   scale   inverse diagonal; not read unless `scaled`
  template <bool scaled> __device__ N solve_rows(N rest, const N& scale) const
  {
    const int r = threadIdx.x % 32 / lanes;
#pragma unroll 4
    for (int c = 0; c < needed; ++c) {
      const N own = scaled ? product(rest, scale) : rest;
      const N value = shfl(own, c * lanes);
      if (operands >> c & 1) rest -= product(entry[c * size + r], value);
    }
    return scaled ? product(rest, scale) : rest;
  }
};

/// A lane's part of the sum over entries [k, end) of its row, whose operands other warps publish. The first entries are
/// loaded by the constructor. Columns ascend, so what the last batch waits for comes last; the others have been added
/// up by then.
template <class N, class V, class I, class Box, int lanes> class OuterEntries {
public:
  __device__ OuterEntries(const StoredView<V, I>& A, I k, I end) : A_(A), k_(k), end_(end) { load_batch(); }

  /// Called by a whole warp.
  ///   row  for the report
  __device__ N await_sum(const Box& box, I row, bool conjugate)
  {
    N sum(0);
    bool summed = k_ >= end_;
    SYNCFREE_MAY_NANOSLEEP
    for (BoundedWait wait(row); !__all_sync(~0u, summed);) {
      const bool came = !summed && batch_.poll_operands(box);
      if (came) {
        sum += batch_.dot(box, conjugate);
        k_ += batch_.size * lanes;
        summed = k_ >= end_;
        if (!summed) load_batch();
      }
      if (!__any_sync(~0u, came) && wait.is_over_for_warp()) batch_.stop_waiting(), sum = quiet_nan<N>();
    }
    return sum;
  }

private:
  __device__ void load_batch() { batch_.load_entries(A_.column, A_.value, k_, end_, OneChunk()); }

  const StoredView<V, I>& A_;
  I k_, end_;
  Batch<N, DeviceScalar<V>, I, Box, lanes, OneChunk> batch_;
};

/// Warps of a thread block: as many as 48 KiB of shared memory allow for all scalars.
template <int lanes> constexpr int warps_of_blocks = lanes == 1 ? 2 : 4;
/// Thread blocks of a multiprocessor for which registers must do: 28 warps, 16 of scalars of 16 bytes.
template <class N, int lanes> constexpr int resident_thread_blocks = (sizeof(N) > 8 ? 16 : 28) / warps_of_blocks<lanes>;

/// It may begin before the previous launch has ended, which may be one of this kernel: mailboxes are cleared after the
/// end of that launch.
///
/// owns       a warp owns a block of rows, first those of L, then those of U from the last one; `lanes` lanes a row
/// waits      for values of other blocks, all of a batch polled at once; blocks of U also for all of L's values of
///            their rows
/// publishes  the values of its rows together; prepares their slots for the next launch
/// order      DoubleBufferedMailbox: relaxed, the value itself is the message. Inside a block values pass by shuffles,
///            and entries in shared memory are read after __syncwarp()
/// progress   rows at earlier positions, and all of L for U, belong to thread blocks with earlier tickets, or to an
///            earlier warp of this thread block
/// result     reproducible: the order of additions depends on the row only
/// source     blocks of a color side by side, rows of a block one after the other: Iwashita, Nakashima & Takahashi
///            2012; as one launch of warps that wait for values: this library
///   memory  a slot for each row of L, then of U, by position
template <class N, class V, class I, int lanes>
__global__ void __launch_bounds__(32 * warps_of_blocks<lanes>, resident_thread_blocks<N, lanes>)
solve_pair_by_blocks(BlockPairView<V, I> factor, unsigned thread_blocks_of_L,
                     typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter, const N* b, N* x,
                     bool conjugate)
{
  using Box = DoubleBufferedMailbox<N>;
  using Inner = InnerEntries<N, lanes>;
  constexpr int warps = warps_of_blocks<lanes>;
  __shared__ __align__(16) unsigned char entries_of_warps[warps][Inner::size * Inner::size * sizeof(N)];
  const BlockTicket ticket = take_ticket(counter);
  const bool is_L = ticket.index < thread_blocks_of_L;
  const I n = factor.L.n;
  const auto rows = static_cast<std::size_t>(n);
  const Box of_L(memory, 2 * rows, ticket.launch), box(memory, 2 * rows, ticket.launch, is_L ? 0 : rows);
  const StoredView<V, I> A = is_L ? factor.L : factor.U;
  const int warp = threadIdx.x / 32, r = threadIdx.x % 32 / lanes, lane = threadIdx.x % lanes;
  const std::size_t block = (ticket.index - (is_L ? 0 : thread_blocks_of_L)) * warps + warp;
  const BlockOfRows<I> own(factor.block_begin, factor.blocks, n, block, !is_L);
  const bool live = r < own.rows, owns = live && lane == 0;
  const I position = live ? own.first + r : 0, row = is_L ? position : n - 1 - position;
  const I begin = live ? A.begin[position] : 0, end = live ? A.begin[position + 1] : 0;
  const I inner = live ? (is_L ? factor.inner_of_L : factor.inner_of_U)[position] : 0;
  const I* const names = is_L ? factor.b_row : factor.x_row;
  const I index = live && names ? names[row] : row;
  N scale(1);
  if (live && !is_L) scale = N(factor.U.inverse_diagonal[position]);
  if (conjugate) scale = conjugate_of(scale);
  OuterEntries<N, V, I, Box, lanes> outer_entries(A, begin + lane, inner);
  Inner inner_entries{reinterpret_cast<N*>(entries_of_warps[warp])};
  inner_entries.load_entries(A, own.first, inner, end, conjugate);

  wait_for_primary_launch();
  trigger_dependent_launch();
  if (owns) box.prepare_slot(position);
  N rest(0);
  if (live) rest = is_L ? b[index] : of_L.poll_slot(row);
  N sum = outer_entries.await_sum(box, row, conjugate);
  if (!is_L) {
    const auto has_come = [&] { return __all_sync(~0u, of_L.has_arrived(rest)) != 0; };
    (void)BoundedWait(row).template until_for_warp<1>(has_come, [&] {
      if (!of_L.has_arrived(rest)) rest = of_L.poll_slot(row);
    });
  }
#pragma unroll
  for (int other = lanes / 2; other; other /= 2) sum += shfl_xor(sum, other);
  rest -= sum;
  const N value = is_L ? inner_entries.template solve_rows<false>(rest, scale)
                       : inner_entries.template solve_rows<true>(rest, scale);
  if (!owns) return;
  box.publish_value(position, value);
  if (!is_L) x[index] = value;
}

/// Refers to the arrays of both solvers, of the blocks and of the orders.
template <class T, class V, class I> class BlockPair : public PairSolver<T> {
  using N = DeviceScalar<T>;

public:
  ///   L, U  in the order of the factor, U reversed; L has a unit diagonal
  BlockPair(const StoredView<V, I>& L, const StoredView<V, I>& U, const RowBlocks<I>& blocks, const Orders<I>& orders,
            const char* name)
      : lanes_(blocks.most <= 8 ? 4 : blocks.most <= 16 ? 2 : 1), inner_of_L_(find_inner(L, blocks, false)),
        inner_of_U_(find_inner(U, blocks, true)), memory_(2 * static_cast<std::size_t>(L.n)), counter_(name)
  {
    factor_ = {L, U, inner_of_L_.data(), inner_of_U_.data(), blocks.begin.data(), blocks.count(), orders.row,
               orders.column};
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return true;
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const bool overlaps = values_.may_overlap(stream);
    const auto launch_with = [&](auto lanes) {
      constexpr unsigned threads = 32 * warps_of_blocks<lanes>;
      const unsigned of_L = blocks_for(32 * static_cast<std::size_t>(factor_.blocks), threads);
      launch(solve_pair_by_blocks<N, V, I, lanes>, {2 * of_L, threads, 0, stream, overlaps}, factor_, of_L,
             memory_.mailbox_view(), counter_.data(), as_device(b), as_device(x), conjugate);
    };
    switch (lanes_) {
      case 1: return launch_with(std::integral_constant<int, 1>());
      case 2: return launch_with(std::integral_constant<int, 2>());
      default: return launch_with(std::integral_constant<int, 4>());
    }
  }

  std::size_t pair_bytes() const override
  {
    return inner_of_L_.bytes() + inner_of_U_.bytes() + memory_.mailbox_bytes();
  }
  std::string describe_pair() const override
  {
    return "both in one launch, blocks of rows by a warp, " + std::to_string(lanes_) +
           (lanes_ == 1 ? " lane" : " lanes") + " a row";
  }

private:
  static DeviceArray<I> find_inner(const StoredView<V, I>& of, const RowBlocks<I>& blocks, bool reversed)
  {
    DeviceArray<I> inner(of.n);
    launch(find_inner_entries<I>, {blocks_for(32 * static_cast<std::size_t>(blocks.count()), 256), 256}, of.n,
           blocks.begin.data(), blocks.count(), reversed, of.begin, of.column, inner.data());
    return inner;
  }

  const int lanes_;
  DeviceArray<I> inner_of_L_, inner_of_U_;
  typename DoubleBufferedMailbox<N>::Memory memory_;
  TicketCounterMemory counter_;
  BlockPairView<V, I> factor_;
  NewValues values_;
};

}  // namespace syncfree::cuda
