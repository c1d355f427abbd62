#pragma once

/// The result of one analysis, and its construction. Throws Failure and std::bad_alloc.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "cuda/analysis/row_blocks.hpp"
#include "cuda/backend/call_scope.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/backend/recorded_update.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/factor/factor.hpp"
#include "cuda/solve/merged/plan.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree::cuda {

enum TriangleIndex { lower, upper, lower_transposed, upper_transposed };

/// The pending plans of `merged` for L and U, which begin with the search for groups, go on while solvers are made and
/// the device factors, and end with the first update of the solvers' values; the rows by level, until solvers take
/// them; and what follow_merged() needs.
template <class I> struct PendingMergePlans {
  PermutedRows<I> lower_rows, upper_rows;
  DeviceLevels<I> upper_levels;  ///< set at the end of the analysis
  std::optional<MergePlanner<I>> lower, upper;

  bool begun = false;

  /// Of L, but short of memory if U is, too; all zeros if the device gives up.
  MergeForecast forecast_lower();
  void begin_early();  ///< queues the groups, or where all have been chosen the rest, too
  void begin_plans();  ///< queues the rest, concurrently; only once
  void drop_plans();   ///< when the solvers have theirs
};

/// Never moved, because its parts refer to each other. If A and the factor are of dense blocks of options.block_size,
/// rows and entries of patterns, levels and orders are blocks.
template <class T, class I> struct Analysis {
  bool by_blocks = false;  ///< A and the factor are of dense blocks, of one row or more
  I nnz = 0;               ///< of A
  FactorPattern<I> made;  ///< orders after fetch_orders(), triangles after fetch_pattern(), both as they were asked for
  Array<I> lower_entry, upper_entry;  ///< of `made`: index of each entry in `pattern`; empty: its own
  DeviceFactorPattern<I> pattern;
  DeviceLevels<I> lower_levels;
  SolverOptions options;
  bool single = false;  ///< values are stored in single_t<T>: as options say, but as the choice says with `auto`
  Choice choice;
  LevelCounts levels;
  std::unique_ptr<DeviceFactor<T, I>> factorization;  ///< if the task requests one
  std::unique_ptr<PendingMergePlans<I>> pending_merge;        ///< until the solvers have had values
  std::array<std::unique_ptr<DeviceSolver<T, I>>, 4> solver;  ///< by TriangleIndex; transposed ones when first needed
  bool has_values = false;  ///< a refresh has succeeded
  RecordedUpdate<T, I> recorded;
  std::unique_ptr<PairSolver<T>> pair;  ///< L and U, if one launch is faster
  DeviceArray<I> row_order, column_order;  ///< empty in natural order
  bool has_orders = false;  ///< orders were given or made; with pattern.given_row, rows may have another one
  Grid<I> grid = {};        ///< if there is pattern.given_row: its natural order is that of the rows
  RowBlocks<I> blocks;  ///< of rows in their order, if a warp can solve each; else empty
  DeviceArray<T> work;       ///< a vector if orders or solvers require it
  DeviceArray<T> wide_work;  ///< a vector for each of several right-hand sides
  double memory_limit = 0;   ///< bytes of factor and plan that the choice keeps to; infinity: none
  std::array<std::int64_t, 2> most_merged = {any_bytes, any_bytes};  ///< of L and U: DeviceTriangle::most_merged
  bool overlaps = launches_can_overlap();  ///< U's launch with L's
  bool interleaves = true;  ///< false: there was no memory for interleaved values between L and U
  Copies<T> copies;
  PivotReport pivots;
  CapturedSolves* captures = nullptr;    ///< of the object that owns this
  std::int64_t memory_before = 0;  ///< bytes of all arrays of the process, including other preconditioners
  std::size_t peak_bytes = 0;      ///< in addition to these, up to the first refresh; 0: not known yet
  I bad_root = -2;  ///< result of find_bad_root after a refresh; -2: not computed yet

  std::size_t block_values() const
  {
    const auto size = static_cast<std::size_t>(options.block_size);
    return size * size;
  }
  /// True if the rows of L and U have the order that was asked for.
  bool has_given_order() const { return pattern.given_row.empty(); }
  /// Entries of a vector.
  std::size_t vector_size() const
  {
    return static_cast<std::size_t>(pattern.n) * static_cast<std::size_t>(options.block_size);
  }
};

template <class I> struct PreparedMatrix;

/// Input of an analysis: A in host memory, the same in device memory or empty, and the options.
template <class I> struct Task {
  PatternView<I> A, on_device;
  const SymbolicOptions<I>& symbolic;
  bool factorizes = true;  ///< otherwise the solvers' values come from elsewhere
  PreparedMatrix<I>* prepared = nullptr;  ///< of A, or nullptr; what the analysis needs is taken from it
};

/// Reads a->options and a->by_blocks and fills the rest. The pattern of ILU(0) and IC(0) is made on the device.
template <class T, class I> Status make_analysis(const Task<I>& task, Analysis<T, I>* a);

/// Queues new values for L's and U's solvers; ends pending plans first, while the device processes what is queued.
template <class T, class I> void queue_update(Analysis<T, I>* a, const PairUpdate<T, I>& solvers);

/// The rest of the update; throws what a pending plan lacked.
///   is_idle  nothing has been queued in the stream since a wait for it
template <class T, class I> void finish_update(Analysis<T, I>* a, const PairUpdate<T, I>& solvers, bool is_idle)
{
  solvers.finish_update(is_idle);
  a->pending_merge.reset();
}

/// True if the first update of `merged`, chosen by `auto`, failed for want of memory: `level_order` may follow.
template <class T, class I> bool may_follow_merged(const Analysis<T, I>& a, const Failure& failure)
{
  return a.pending_merge && a.options.strategy == "auto" && failure.status.code == Code::out_of_memory;
}

/// Makes solvers of `level_order`, without values, in place of those of `merged`.
template <class T, class I> void follow_merged(Analysis<T, I>* a);

/// Calls update(), which gives L's and U's solvers new values; once more with `level_order` if may_follow_merged().
template <class T, class I, class Update>
auto update_or_follow_merged(Analysis<T, I>* a, cudaStream_t stream, const Update& update)
{
  try {
    return update();
  } catch (const Failure& failure) {
    if (!may_follow_merged(*a, failure)) throw;
  }
  SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  follow_merged(a);
  return update();
}

/// Makes the solvers of the transposed triangles, without values.
template <class T, class I> void make_transposes(Analysis<T, I>* a);

/// True if A is, entry by entry, the pattern that was analysed. Synchronizes the stream.
///   on_device  A in device memory, or empty
template <class T, class I>
bool is_made_of(const Analysis<T, I>& a, const PatternView<I>& A, const PatternView<I>& on_device,
                cudaStream_t stream)
{
  const PatternCopyView<I> kept = a.factorization ? a.factorization->kept_rows() : PatternCopyView<I>();
  return A.n == a.pattern.n && A.nnz() == a.nnz && has_same_rows(a.pattern, kept, A, on_device, stream);
}

/// Summarizes all but the factorization's data.
template <class T, class I> Summary summarize_analysis(const Analysis<T, I>& a);

/// Puts values that are in the order of a->pattern into that of a->made, which fetch_pattern() has made.
template <class T, class I> void put_in_given_order(const Analysis<T, I>& a, FactorValues<T>* values);

/// Copies the orders to a->made, unless that has been done.
template <class T, class I> void fetch_orders(Analysis<T, I>* a);

/// Copies orders and triangles to a->made, unless that has been done.
template <class T, class I> void fetch_pattern(Analysis<T, I>* a);

}  // namespace syncfree::cuda
