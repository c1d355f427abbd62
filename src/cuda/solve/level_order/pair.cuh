#pragma once

/// U after L in one launch, if both are solved by the kernel of cuda/solve/level_order/kernel.cuh. A launch costs the
/// host three to four microseconds, which is more than the rows of a small factor take.

#include <algorithm>
#include <memory>
#include <type_traits>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

template <template <class> class Box>
constexpr bool in_value_boxes = std::is_same_v<Box<double>, DoubleBufferedMailbox<double>>;

/// Lanes of a row, and thread blocks of a launch.
struct RowsShape {
  int lanes = 1;
  LevelOrderBlocks blocks;
};

/// A solver with rows that may be solved in one launch with those of another solver of its type.
template <class T, class V, class I, class Rhs, bool pairs = true>
class PairableSolver : public DeviceSolver<T, I> {
public:
  virtual LevelOrderRows<V, I, Rhs> rows_by_level() const = 0;
  virtual RowsShape shape() const = 0;
  virtual bool gains_by_pair() const = 0;
  virtual const char* name() const = 0;  ///< of the strategy

  std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver<T, I>& first) const override;
};

template <class T, class V, class I, class Rhs> class LevelOrderPair : public PairSolver<T> {
  using N = DeviceScalar<T>;
  using Solver = PairableSolver<T, V, I, Rhs>;

public:
  LevelOrderPair(const Solver& L, const Solver& U)
      : L_(L), U_(U), launch_(launch_of(L, U)), memory_(mailbox_slots()), counter_(U.name())
  {
    with_lanes(launch_.lanes, [&](auto lanes) { allow_shared_memory(kernel<lanes>(), launch_.blocks.shared_bytes()); });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    numbers_are_new_ = true;
    return launch_ == launch_of(L_, U_);
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const bool overlaps = may_overlap(stream);
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

  /// False for the first launch with new values: it reads the values before wait_for_primary_launch(), when the kernel
  /// that copies them may still be running.
  bool may_overlap(cudaStream_t stream)
  {
    if (!overlaps_ || !numbers_are_new_) return overlaps_;
    cudaStreamCaptureStatus status;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &status));
    numbers_are_new_ = status != cudaStreamCaptureStatusNone;
    return false;
  }

  std::size_t mailbox_slots() const
  {
    const auto L = L_.rows_by_level(), U = U_.rows_by_level();
    return static_cast<std::size_t>(L.n) + static_cast<std::size_t>(L.rows.n) + static_cast<std::size_t>(U.rows.n);
  }

  template <int lanes> static constexpr auto kernel() { return solve_pair_in_level_order<N, V, I, lanes, Rhs>; }

  const Solver &L_, &U_;
  const Launch launch_;
  typename DoubleBufferedMailbox<N>::Memory memory_;
  TicketCounterMemory counter_;
  const bool overlaps_ = launches_can_overlap();
  bool numbers_are_new_ = true;  ///< no launch since they were copied
};

template <class T, class V, class I, class Rhs, bool pairs>
std::unique_ptr<PairSolver<T>>
PairableSolver<T, V, I, Rhs, pairs>::make_pair_solver(const DeviceSolver<T, I>& first) const
{
  if constexpr (pairs) {
    using Pair = LevelOrderPair<T, V, I, Rhs>;
    const auto* const L = dynamic_cast<const PairableSolver*>(&first);
    if (L && L->gains_by_pair() && gains_by_pair()) return std::make_unique<Pair>(*L, *this);
  }
  return nullptr;
}

}  // namespace syncfree::cuda
