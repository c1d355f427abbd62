#pragma once

/// U after L of `merged` in one launch. A launch costs the host three to four microseconds, which is more than the rows
/// of a small factor take.

#include <algorithm>
#include <memory>
#include <type_traits>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// What a launch reads of a triangle, and the length of b and x.
template <class V, class I, class Rhs> struct LevelOrderRows {
  StoredView<V, I> rows;
  Rhs rhs;
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
template <class N, class V, class I, int lanes, class Rhs>
__global__ void __launch_bounds__(level_order_threads)
solve_merged_pair(LevelOrderRows<V, I, Rhs> L, LevelOrderRows<V, I, Rhs> U, unsigned blocks_of_L,
                          typename DoubleBufferedMailbox<N>::View memory, TicketCounter* counter, Input<N> b,
                          Output<N> x, bool conjugate)
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
  solve_row<N, V, I, Box, lanes, Rhs>(A, box, position, position, OneChunk(), conjugate, begin, end);
}

/// Lanes of a row, and thread blocks of a launch.
struct RowsShape {
  int lanes = 1;
  LevelOrderBlocks blocks;
};

/// A solver with rows that may be solved in one launch with those of another solver of its type.
template <class T, class V, class I>
class PairableSolver : public DeviceSolver<T, I> {
public:
  virtual LevelOrderRows<V, I, MergedRhs<V, I>> rows_by_level() const = 0;
  virtual RowsShape shape() const = 0;
  virtual bool gains_by_pair() const = 0;
  virtual const char* name() const = 0;  ///< of the strategy

  std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver<T, I>& first,
                                                  const Orders<I>& orders) const override;
};

template <class T, class V, class I> class MergedPair : public PairSolver<T> {
  using N = DeviceScalar<T>;
  using Solver = PairableSolver<T, V, I>;

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
             L_.rows_by_level(), U_.rows_by_level(), launch_.blocks_of_L, memory_.mailbox_view(), counter_.data(),
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
    const RowsShape l = L.shape(), u = U.shape();
    Launch made = {std::max(l.lanes, u.lanes), {}, 0, 0};
    made.blocks.threads = std::max(l.blocks.threads, u.blocks.threads);
    if (l.blocks.most > 0 && u.blocks.most > 0) made.blocks.most = std::max(l.blocks.most, u.blocks.most);
    const auto blocks_of = [&](const Solver& solver) {
      const auto rows = static_cast<std::size_t>(solver.rows_by_level().rows.n);
      return blocks_for(rows * static_cast<std::size_t>(made.lanes), made.blocks.threads);
    };
    made.blocks_of_L = blocks_of(L), made.blocks_of_U = blocks_of(U);
    return made;
  }

  std::size_t mailbox_slots() const
  {
    const auto L = L_.rows_by_level(), U = U_.rows_by_level();
    return static_cast<std::size_t>(L.n) + static_cast<std::size_t>(L.rows.n) + static_cast<std::size_t>(U.rows.n);
  }

  template <int lanes> static constexpr auto kernel()
  {
    return solve_merged_pair<N, V, I, lanes, MergedRhs<V, I>>;
  }

  const Solver &L_, &U_;
  const Launch launch_;
  typename DoubleBufferedMailbox<N>::Memory memory_;
  TicketCounterMemory counter_;
  NewValues values_;
};

template <class T, class V, class I>
std::unique_ptr<PairSolver<T>>
PairableSolver<T, V, I>::make_pair_solver(const DeviceSolver<T, I>& first, const Orders<I>& orders) const
{
  const auto* const L = dynamic_cast<const PairableSolver*>(&first);
  if (!L || orders.row || !L->gains_by_pair() || !gains_by_pair()) return nullptr;
  return std::make_unique<MergedPair<T, V, I>>(*L, *this);
}

}  // namespace syncfree::cuda
