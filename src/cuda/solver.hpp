#pragma once

/// One triangle on the device: what every strategy of this backend serves.

#include <memory>
#include <string>

#include "core/strategy_list.hpp"
#include "pattern.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/cuda/device.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// A triangle's pattern, in host memory and only looked at while a solver is made.
///   source     entry k of the pattern has number source[k] of the factor's array; nullptr: number k
///   unit       the diagonal is 1
///   on_device  the pattern once more, or empty
///   levels     of the pattern, or nullptr
template <class I> struct DeviceTriangle {
  bool lower = true;
  PatternView<I> pattern;
  const I* source = nullptr;
  bool unit = true;
  DevicePattern<I> on_device = {};
  const LevelSets<I>* levels = nullptr;
};

/// As TriangularSolver, with device pointers and one column. Throws Failure.
template <class T, class I> class DeviceSolver {
public:
  virtual ~DeviceSolver() = default;

  /// x = Triangle^-1 b in the triangle's row order, n > 0; x == b is allowed. Allocates nothing, waits for nothing.
  virtual void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  /// The same right behind a solve() by another of these solvers in the same stream, with which it may overlap.
  virtual void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) { solve(b, x, conjugate, stream); }

  /// Does x == b cost nothing?
  virtual bool solves_in_place() const { return true; }

  /// Takes the numbers of the factor over, rounded to the solver's storage.
  ///   value             in the order that `source` counts in
  ///   inverse_diagonal  n numbers, not read where the diagonal is 1
  virtual void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) = 0;

  /// One line on the plan for people, or nothing.
  virtual std::string describe() const { return {}; }

  /// Memory of the plan and the numbers.
  virtual std::size_t plan_bytes() const = 0;
  virtual std::size_t value_bytes() const = 0;
};

/// Makes one strategy's solver, with numbers stored in V; the options' strategy is not looked at. Throws Failure and
/// std::bad_alloc.
#define DECLARE(name, reproducible, summary) \
  template <class T, class V, class I>       \
  std::unique_ptr<DeviceSolver<T, I>> make_##name(const DeviceTriangle<I>& triangle, const SolverOptions& options);
SYNCFREE_CUDA_STRATEGIES(DECLARE)
#undef DECLARE

}  // namespace syncfree::cuda
