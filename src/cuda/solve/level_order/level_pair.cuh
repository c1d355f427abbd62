#pragma once

/// L and then U of `level_order` in one launch, in the order of the caller's rows: b is gathered and x scattered in it.
/// Rows wait for values that are their own flags. Rows of U without entries are finished by L's rows.

#include <algorithm>
#include <string>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/level_order/leveled_rows.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// It may begin before the previous launch has ended, which may be one of this kernel: mailboxes are cleared after the
/// end of that launch.
///
/// owns       `lanes` lanes of a warp own one row, first those of L, then those of U that are not finished; a thread
///            block owns as many as it has room for, consecutive in level order
/// waits      for the values of earlier rows, all of a batch polled at once; first lanes of rows of U first for L's
/// publishes  the row's value, and U's value of a row that it finishes; prepares their slots for the next launch
/// order      DoubleBufferedMailbox: relaxed, the value itself is the message
/// progress   rows at earlier positions, and all of L for U, belong to thread blocks with earlier tickets, or to this
///            warp or thread block
/// result     reproducible: the order of additions depends on the row only
/// source     as solve_in_level_order; L and U in one launch: this library
///   memory  a slot for each row of L, then of U
template <class N, class V, class I, int lanes, class Loads>
__global__ void __launch_bounds__(level_order_threads)
solve_pair_by_values(LeveledFactor<V, I> factor, unsigned blocks_of_L, typename DoubleBufferedMailbox<N>::View memory,
                     TicketCounter* counter, const N* b, N* x, bool conjugate)
{
  using Box = DoubleBufferedMailbox<N>;
  const BlockTicket ticket = take_ticket(counter);
  const bool is_L = ticket.index < blocks_of_L;
  const auto rows_of_L = static_cast<std::size_t>(factor.L.n), slots = rows_of_L + factor.U.n;
  const Box of_L(memory, slots, ticket.launch), of_U(memory, slots, ticket.launch, rows_of_L);
  const Box box(memory, slots, ticket.launch, is_L ? 0 : rows_of_L);
  const StoredView<V, I> A = is_L ? factor.L : factor.U;
  const std::size_t first = is_L ? 0 : factor.finished, block = ticket.index - (is_L ? 0 : blocks_of_L);
  const std::size_t position = first + block * (blockDim.x / lanes) + threadIdx.x / lanes;
  I place = -1;
  bool finishes = false;
  N scale(1);
  const auto begin = [&](bool live, I row, int lane) {
    const bool owns = live && lane == 0;
    if (owns) place = (is_L ? factor.place_in_U : factor.place_in_L)[position];
    finishes = owns && is_L && factor.is_finished(place);
    if (finishes) scale = N(factor.scale(place, conjugate));
    wait_for_primary_launch();
    trigger_dependent_launch();
    if (!owns) return N(0);
    box.prepare_slot(position);
    if (finishes) of_U.prepare_slot(place);
    if (is_L) return row >= 0 ? b[row] : N(0);
    if (place < 0) return N(0);
    auto seen = of_L.poll_slot(place);
    (void)BoundedWait(row).until<4>([&] { return of_L.has_arrived(seen); }, [&] { seen = of_L.poll_slot(place); });
    return of_L.take_value(place, seen);
  };
  const auto end = [&](I row, const N& value) {
    if (!is_L) x[row] = value;
    if (!finishes) return;
    const N finished = product(value, scale);
    of_U.publish_value(place, finished);
    x[factor.U.row[place]] = finished;
  };
  solve_row<N, V, I, Box, lanes, PlainRhs<V, I>, Loads>(A, box, position, position, OneChunk(), conjugate, begin, end);
}

template <class T, class V, class I> class LevelPair : public PairSolver<T> {
  using N = DeviceScalar<T>;
  using Rows = LeveledRows<V, I>;
  using Mailboxes = typename DoubleBufferedMailbox<N>::Memory;

public:
  /// False if L is slowed by rows of U that poll in its launch.
  static bool serves(const Rows& L, const Rows& U)
  {
    return all_rows_may_poll(L, U) || most_levels(L, U) <= few_levels_of_pair;
  }

  /// Refers to the arrays of both solvers.
  LevelPair(const Rows& L, const Rows& U, const Orders<I>& orders, const char* name)
      : shape_(shape_of(L, U)), indices_(L, U, orders), factor_(indices_.factor_of(L, U)),
        memory_(static_cast<std::size_t>(L.rows.n) + U.rows.n), counter_(name)
  {
    const auto blocks_of = [&](std::size_t rows) { return blocks_for(rows * shape_.lanes, shape_.blocks.threads); };
    const auto left = static_cast<std::size_t>(U.rows.n - factor_.finished);
    blocks_of_L_ = blocks_of(L.rows.n);
    blocks_ = blocks_of_L_ + (left > 0 ? blocks_of(left) : 0);
    with_kernel([&](auto kernel) { allow_shared_memory(kernel, shape_.blocks.shared_bytes()); });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return true;
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const LaunchParameters parameters = {blocks_, shape_.blocks.threads, shape_.blocks.shared_bytes(), stream,
                                         values_.may_overlap(stream)};
    with_kernel([&](auto kernel) {
      launch(kernel, parameters, factor_, blocks_of_L_, memory_.mailbox_view(), counter_.data(), as_device(b),
             as_device(x), conjugate);
    });
  }

  std::size_t pair_bytes() const override { return indices_.index_bytes() + memory_.mailbox_bytes(); }
  std::string describe_pair() const override
  {
    return "both in one launch, " + std::to_string(shape_.lanes) + (shape_.lanes == 1 ? " lane" : " lanes") + " a row";
  }

private:
  struct Shape {
    int lanes;
    LevelOrderBlocks blocks;
    bool wide;  ///< levels
  };

  static std::size_t most_levels(const Rows& L, const Rows& U) { return std::max(L.level_count(), U.level_count()); }

  /// True if levels are so wide, and rows so short, that all rows which fit on the device may poll.
  static bool all_rows_may_poll(const Rows& L, const Rows& U)
  {
    const auto may_poll = [](const Granularity& g) { return has_wide_levels(g) && !polling_saturates_l2(g); };
    return may_poll(L.granularity) && may_poll(U.granularity);
  }

  /// As many lanes as a level has threads for, but at least two for long rows, and with more than few levels no more
  /// than two. Where not all rows may poll, as for one triangle.
  static Shape shape_of(const Rows& L, const Rows& U)
  {
    const bool long_rows = L.granularity.entries_a_row > 8;
    if (!all_rows_may_poll(L, U))
      return {std::max(L.lanes, U.lanes), blocks_of_both(L.blocks, U.blocks), false};
    const double rows = std::max(L.granularity.rows_a_level, U.granularity.rows_a_level);
    int lanes = long_rows ? 2 : 1;
    const int most_lanes = most_levels(L, U) <= few_levels_of_pair ? 8 : 2;
    while (lanes < most_lanes && 2 * lanes * rows <= most_threads_a_level) lanes *= 2;
    return {lanes, {128, 0}, true};
  }

  /// Calls body(kernel). Where levels are wide, room on the device for rows of the next level counts more than entries
  /// loaded ahead.
  template <class Body> void with_kernel(Body body) const
  {
    if (!shape_.wide)
      return with_lanes(shape_.lanes,
                        [&](auto lanes) { body(solve_pair_by_values<N, V, I, lanes, TwoBatches>); });
    switch (shape_.lanes) {
      case 1: return body(solve_pair_by_values<N, V, I, 1, OneBatch<4>>);
      case 2: return body(solve_pair_by_values<N, V, I, 2, OneBatch<4>>);
      case 4: return body(solve_pair_by_values<N, V, I, 4, OneBatch<2>>);
      default: return body(solve_pair_by_values<N, V, I, 8, OneBatch<2>>);
    }
  }

  static constexpr double most_threads_a_level = 73728;  ///< measured on an H200

  const Shape shape_;
  const PairIndices<V, I> indices_;
  const LeveledFactor<V, I> factor_;
  Mailboxes memory_;
  TicketCounterMemory counter_;
  NewValues values_;
  unsigned blocks_of_L_, blocks_;
};

}  // namespace syncfree::cuda
