#pragma once

/// Everything that one analysis makes, and how it is made. Throws Failure and std::bad_alloc.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/same_rows.hpp"
#include "cuda/backend/call_scope.hpp"
#include "cuda/backend/refresh_pair.hpp"
#include "cuda/factor/factorize.hpp"
#include "cuda/solve/merged/plan.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree::cuda {

enum TriangleIndex { lower, upper, lower_transposed, upper_transposed };

/// What was found of merging L's levels and U's, for the first plans of their solvers; and their rows by level, until
/// solvers take them.
template <class I> struct MergePlannerPair {
  PermutedRows<I> lower_rows, upper_rows;
  DeviceLevels<I> upper_levels;  ///< when the analysis has ended
  std::optional<MergePlanner<I>> lower, upper;

  bool begun = false;

  MergeForecast forecast();  ///< of L; nothing where the device gives up
  void begin_plans();        ///< beside each other; only once
};

/// It does not move, because its parts refer to each other.
template <class T, class I> struct Analysis {
  I nnz = 0;  ///< of A
  FactorPattern<I> made;  ///< orders, natural where there are none; triangles from fetch_pattern() on
  DeviceFactorPattern<I> pattern;
  DeviceLevels<I> lower_levels;
  SolverOptions options;
  Choice choice;
  LevelCounts levels;
  std::unique_ptr<DeviceFactorization<T, I>> factorization;  ///< where the task asks for one
  std::unique_ptr<MergePlannerPair<I>> merging;                  ///< until solvers that ask for it have planned
  std::array<std::unique_ptr<DeviceSolver<T, I>>, 4> solver;  ///< by Which; the transposed ones when first needed
  std::unique_ptr<PairSolver<T>> pair;  ///< of L's and U's in the natural order, where one launch is faster than two
  DeviceArray<I> row_order, column_order;                     ///< empty in the natural order
  DeviceArray<T> work;                                        ///< n numbers where orders or solvers ask for them
  DeviceArray<T> wide_work;                                   ///< n numbers for each of several right-hand sides
  bool interleaves = true;  ///< false: there was no memory for interleaved numbers between L and U
  Copies<T> copies;
  PivotReport pivots;
  CapturedSolves* captures = nullptr;    ///< of the object that has it
  std::int64_t memory_before = 0;  ///< bytes of all arrays of the process, those of other preconditioners too
  std::size_t peak_bytes = 0;      ///< beyond them, up to the first refresh; 0: not yet
  I bad_root = -2;  ///< as find_bad_root after a refresh; -2: not looked for yet
};

/// What is analysed: A in host memory, the same in device memory or empty, and how.
template <class I> struct Task {
  PatternView<I> A, on_device;
  const SymbolicOptions<I>& symbolic;
  bool factorizes = true;  ///< else the solvers' numbers come from elsewhere
};

/// Reads a->options, fills the rest. The pattern of ILU(0) and IC(0) in natural order is made on the device.
template <class T, class I> Status make_analysis(const Task<I>& task, Analysis<T, I>* a);

/// The first part of new numbers for the solvers of L and of U; before the first ones their plans are ended, while the
/// device is at what is in the queue.
template <class T, class I> void begin_refresh(Analysis<T, I>* a, const PairUpdate<T, I>& solvers);

/// The solvers of the transposed triangles, without numbers.
template <class T, class I> void make_transposes(Analysis<T, I>* a);

/// Is A, entry by entry, the pattern that was analysed? Waits for the stream.
///   on_device  A in device memory, or empty
template <class T, class I>
bool is_made_of(const Analysis<T, I>& a, const PatternView<I>& A, const PatternView<I>& on_device,
                cudaStream_t stream)
{
  const PatternCopyView<I> kept = a.factorization ? a.factorization->rows() : PatternCopyView<I>();
  return A.n == a.pattern.n && A.nnz() == a.nnz && has_same_rows(a.pattern, kept, A, on_device, stream);
}

/// All but what the factorization knows.
template <class T, class I> Summary describe(const Analysis<T, I>& a);

/// Copies the triangles to a->made, unless they are there.
template <class T, class I> void fetch_pattern(Analysis<T, I>* a);

}  // namespace syncfree::cuda
