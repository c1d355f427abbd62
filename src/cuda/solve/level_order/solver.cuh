#pragma once

/// The solver of `level_order` and `csr_level_order`, by the kernel of cuda/solve/level_order/kernel.cuh.

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/schedule/split_rows.hpp"
#include "syncfree/schedule.hpp"
#include "cuda/solve/level_order/block_pair.cuh"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/level_order/level_pair.cuh"
#include "cuda/solve/level_order/stage_pair.cuh"

namespace syncfree::cuda {

template <class T, class V, class I, template <class> class Box>
class LevelOrderSolver : public DeviceSolver<T, I> {
public:
  LevelOrderSolver(const DeviceTriangle<I>& triangle, int threads)
      : LevelOrderSolver(triangle, granularity_of(triangle), threads)
  {
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = has_chunks;
    if (has_chunks) traits.interleaving = interleaving_of<T>(true);
    traits.inverse = inverts && !triangle_.stored_view().inverse_diagonal;
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) return launch_level_order<PlainRhs<V, I>>(v.b, v.x, mode, stream);
    if constexpr (has_chunks)
      with_lanes(lanes_, [&](auto lanes) {
        solve_columns_in_level_order<T, V, I, lanes>(triangle_.stored_view(), PlainRhs<V, I>(), v, &columns_,
                                                     mode.conjugate, stream, mode.overlaps);
      });
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    triangle_.update_triangle(value, inverse_diagonal, stream);
  }

  void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream) override
  {
    triangle_.update_triangle(c, nullptr, stream);
    if constexpr (inverts) launch_level_order<InvertingRhs<V, I>>(b, y, {}, stream);
  }

  PlanSummary summarize_plan() const override
  {
    std::string text = std::to_string(lanes_) + (lanes_ == 1 ? " lane a row" : " lanes a row");
    if (partial_rows_ > 0) text += ", " + std::to_string(partial_rows_) + " partial rows";
    const std::size_t bytes = triangle_.triangle_plan_bytes() + memory_.mailbox_bytes() + columns_.launch_bytes();
    return {text + blocks_.describe_blocks(), bytes, triangle_.triangle_value_bytes(), PlanForm::rows};
  }

  std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver<T, I>& first,
                                                  const Orders<I>& orders) const override
  {
    if constexpr (has_chunks) {
      const auto* const L = dynamic_cast<const LevelOrderSolver*>(&first);
      if (L && L->row_blocks_ && row_blocks_)
        return std::make_unique<BlockPair<T, V, I>>(L->triangle_.stored_view(), triangle_.stored_view(), *row_blocks_,
                                                    orders, own_name);
      if (!L || !L->gains_by_pair() || !gains_by_pair()) return nullptr;
      const LeveledRows<V, I> lower = L->leveled_rows(), upper = leveled_rows();
      if (StagePair<T, V, I>::serves(lower, upper))
        return std::make_unique<StagePair<T, V, I>>(lower, upper, orders, own_name);
      if (LevelPair<T, V, I>::serves(lower, upper))
        return std::make_unique<LevelPair<T, V, I>>(lower, upper, orders, own_name);
    }
    return nullptr;
  }

private:
  /// Flagged mailboxes serve one column at a time.
  static constexpr bool has_chunks = std::is_same_v<Box<double>, DoubleBufferedMailbox<double>>;
  static constexpr const char* own_name = has_chunks ? "level_order" : "csr_level_order";
  static constexpr bool inverts = has_chunks && std::is_same_v<T, V>;

  LevelOrderSolver(const DeviceTriangle<I>& triangle, const Granularity& granularity, int threads)
      : row_blocks_(has_chunks ? triangle.blocks : nullptr), granularity_(granularity),
        lanes_(choose_lanes(granularity)),
        blocks_(row_blocks_ ? LevelOrderBlocks() : choose_blocks_of_levels(granularity, lanes_)),
        triangle_(store_triangle(triangle, granularity, threads)), partial_rows_(triangle_.n() - triangle.n()),
        memory_(triangle_.n()), columns_(triangle_.n(), own_name, columns_in_cache(granularity.rows_a_level)),
        counter_(own_name)
  {
    with_lanes(lanes_, [&](auto lanes) {
      allow_shared_memory(one_column<lanes, PlainRhs<V, I>>(), blocks_.shared_bytes());
      if constexpr (inverts) allow_shared_memory(one_column<lanes, InvertingRhs<V, I>>(), blocks_.shared_bytes());
    });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool gains_by_pair() const { return !level_begin_.empty(); }
  LeveledRows<V, I> leveled_rows() const
  {
    return {triangle_.stored_view(), triangle_.n() - partial_rows_, triangle_.nnz(), level_begin_, granularity_,
            lanes_,                  blocks_};
  }

  /// Blocks of rows stay together: with them rows are stored as the factor has them, which is an order, too, in which
  /// they follow their operands. Otherwise also keeps the offsets of the levels, if these are so few that L and U in
  /// one launch gain: with many levels on the device at once U's polling slows L's solve.
  StoredTriangle<T, V, I> store_triangle(const DeviceTriangle<I>& triangle, const Granularity& granularity,
                                         int threads)
  {
    if (row_blocks_) return StoredTriangle<T, V, I>(triangle, solve_order(triangle), true);
    const double most_levels = has_wide_levels(granularity) ? device_model.wide_levels : few_levels_of_pair;
    const bool keeps = has_chunks && triangle.level_count() <= most_levels;
    if (!splits_rows(granularity, lanes_)) {
      if (keeps) level_begin_ = triangle.level_begins();
      return StoredTriangle<T, V, I>(triangle);
    }
    SplitRows<I> split;
    const Status status = split_long_rows(triangle.pattern(), triangle.lower, I(longest_row(lanes_)), &split,
                                          threads);
    if (!status.ok()) throw Failure{status};
    if (triangle.source)
      for (I& source : split.source)
        if (source >= 0) source = triangle.source[source];
    const DeviceTriangle<I> parts(triangle.lower, split.pattern_view(), split.source.data(), triangle.unit);
    StoredTriangle<T, V, I> stored(parts, parts.rows_in_level_order(), true);
    if (keeps) level_begin_ = parts.level_begins();
    Array<I> names = parts.levels().row;
    for (I& row : names) row = split.row[row];
    stored.name_rows(names);
    return stored;
  }

  template <int lanes, class Rhs> static constexpr auto one_column()
  {
    return solve_in_level_order<DeviceScalar<T>, V, I, Box, lanes, Rhs, false>;
  }

  /// All launches have the same number of thread blocks, by which they are counted.
  template <class Rhs> void launch_level_order(const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    with_lanes(lanes_, [&](auto lanes) {
      const unsigned blocks = blocks_for(static_cast<std::size_t>(triangle_.n()) * lanes, blocks_.threads);
      launch(one_column<lanes, Rhs>(), {blocks, blocks_.threads, blocks_.shared_bytes(), stream, mode.overlaps},
             triangle_.stored_view(), Rhs(), memory_.mailbox_view(), counter_.data(),
             Input<DeviceScalar<T>>{as_device(b)}, Output<DeviceScalar<T>>{as_device(x)}, 1u, mode.conjugate);
    });
  }

  const RowBlocks<I>* row_blocks_;  ///< that warps solve in a pair, or nullptr
  std::vector<I> level_begin_;  ///< of the stored rows, partial ones included; empty if a pair does not gain
  Granularity granularity_;     ///< of the triangle
  int lanes_;
  LevelOrderBlocks blocks_;
  StoredTriangle<T, V, I> triangle_;
  I partial_rows_;
  typename Box<DeviceScalar<T>>::Memory memory_;
  ValueLaunches<T> columns_;
  TicketCounterMemory counter_;
};

}  // namespace syncfree::cuda
