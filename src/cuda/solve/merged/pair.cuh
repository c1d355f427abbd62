#pragma once

/// U after L of `merged` in one launch. A launch costs the host three to four microseconds, which is more than the rows
/// of a small factor take.

#include <algorithm>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// What a launch reads of a triangle, and the length of b and x.
template <class V, class I> struct MergedTriangle {
  StoredView<V, I> rows;
  MergedRhs<V, I> rhs;
  I n;
};

/// Solves U after L in one launch; its first thread blocks have L's rows. It may begin before the previous launch has
/// ended, which may be one of this kernel: mailboxes are cleared after the end of that launch.
///
/// owns       as solve_in_level_order
/// waits      rows of U also for values of L, each lane for its own
/// publishes  rows of L publish their value to U, too, by row
/// order      DoubleBufferedMailbox: as solve_in_level_order
/// progress   rows of L belong to thread blocks with earlier tickets than those of U
/// result     reproducible; each value equals that of separate launches for L and U with the same number of lanes
/// source     this library
///   memory  n values between L and U, and one for each row of both
template <class N, class V, class I, int lanes>
__global__ void __launch_bounds__(level_order_threads)
solve_merged_pair(MergedTriangle<V, I> L, MergedTriangle<V, I> U, unsigned blocks_of_L,
                  typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter, Input<N> b, Output<N> x,
                  bool conjugate)
{
  using Box = DoubleBufferedMailbox<N>;
  const BlockTicket ticket = take_ticket(counter);
  const bool is_L = ticket.index < blocks_of_L;
  const auto n = static_cast<std::size_t>(L.n), rows_of_L = static_cast<std::size_t>(L.rows.n);
  const std::size_t all = n + rows_of_L + static_cast<std::size_t>(U.rows.n);
  const Box between(memory, all, ticket.launch), box(memory, all, ticket.launch, is_L ? n : n + rows_of_L);
  const std::size_t block = ticket.index - (is_L ? 0 : blocks_of_L);
  const std::size_t position = block * (blockDim.x / lanes) + threadIdx.x / lanes;
  const StoredView<V, I> A = is_L ? L.rows : U.rows;
  const auto begin = [&](bool live, I row, int lane) {
    wait_for_primary_launch();
    trigger_dependent_launch();
    if (!live) return N(0);
    if (lane == 0) box.prepare_slot(position);
    if (!is_L) return U.rhs.template await_rhs<N, lanes>(position, row, lane, between, conjugate);
    if (lane == 0 && row >= 0) between.prepare_slot(row);
    return L.rhs.template load_rhs<N>(position, row, lane, lanes, b, conjugate);
  };
  const auto end = [&](I row, const N& value) {
    if (is_L) between.publish_value(row, value);
    else store_row<N>(x, row, value);
  };
  solve_row<N, V, I, Box, lanes, MergedRhs<V, I>>(A, box, position, position, OneChunk(), conjugate, begin, end);
}

/// Solver: with merged_triangle(), lanes(), blocks() and name()
template <class T, class V, class I, class Solver> class MergedPair : public PairSolver<T> {
  using N = DeviceScalar<T>;

public:
  MergedPair(const Solver& L, const Solver& U)
      : L_(L), U_(U), launch_(launch_of(L, U)), memory_(mailbox_slots()), counter_(U.name())
  {
    with_lanes(launch_.lanes, [&](auto lanes) { allow_shared_memory(kernel<lanes>(), launch_.blocks.shared_bytes()); });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return launch_ == launch_of(L_, U_);
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const bool overlaps = values_.may_overlap(stream);
    const unsigned blocks = launch_.blocks_of_L + launch_.blocks_of_U;
    with_lanes(launch_.lanes, [&](auto lanes) {
      launch(kernel<lanes>(), {blocks, launch_.blocks.threads, launch_.blocks.shared_bytes(), stream, overlaps},
             L_.merged_triangle(), U_.merged_triangle(), launch_.blocks_of_L, memory_.mailbox_view(), counter_.data(),
             Input<N>{as_device(b)}, Output<N>{as_device(x)}, conjugate);
    });
  }

  std::size_t pair_bytes() const override { return memory_.mailbox_bytes(); }

private:
  /// All launches have the same number of thread blocks, by which they are counted.
  struct Launch {
    int lanes;
    LevelOrderBlocks blocks;
    unsigned blocks_of_L, blocks_of_U;

    bool operator==(const Launch& o) const
    {
      return lanes == o.lanes && blocks.threads == o.blocks.threads && blocks.most == o.blocks.most &&
             blocks_of_L == o.blocks_of_L && blocks_of_U == o.blocks_of_U;
    }
  };

  static Launch launch_of(const Solver& L, const Solver& U)
  {
    Launch made = {std::max(L.lanes(), U.lanes()), blocks_of_both(L.blocks(), U.blocks()), 0, 0};
    const auto blocks_of = [&](const Solver& solver) {
      const auto rows = static_cast<std::size_t>(solver.merged_triangle().rows.n);
      return blocks_for(rows * static_cast<std::size_t>(made.lanes), made.blocks.threads);
    };
    made.blocks_of_L = blocks_of(L), made.blocks_of_U = blocks_of(U);
    return made;
  }

  std::size_t mailbox_slots() const
  {
    const auto L = L_.merged_triangle(), U = U_.merged_triangle();
    return static_cast<std::size_t>(L.n) + static_cast<std::size_t>(L.rows.n) + static_cast<std::size_t>(U.rows.n);
  }

  template <int lanes> static constexpr auto kernel() { return solve_merged_pair<N, V, I, lanes>; }

  const Solver &L_, &U_;
  const Launch launch_;
  typename DoubleBufferedMailbox<N>::Memory memory_;
  TicketCounterMemory counter_;
  NewValues values_;
};

}  // namespace syncfree::cuda
