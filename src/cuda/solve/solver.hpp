#pragma once

/// What every strategy of this backend serves: solves with one triangle, or with L and U in one launch.

#include <memory>
#include <string>

#include "core/choose/strategy_list.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/multivector.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// L and U in one launch. Throws Failure.
template <class T> class PairSolver {
public:
  virtual ~PairSolver() = default;

  /// To be called when both solvers have new numbers; false where their plans have become others than those that this
  /// was made for.
  virtual bool refresh() = 0;

  /// x = U^-1 L^-1 b, n > 0; x and b must not overlap. Allocates nothing, waits for nothing.
  virtual void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  virtual std::size_t bytes() const = 0;
};

/// As TriangularSolver, with device pointers. Throws Failure.
template <class T, class I> class DeviceSolver {
public:
  virtual ~DeviceSolver() = default;

  /// x = Triangle^-1 b in the triangle's row order, n > 0; x == b is allowed. Allocates nothing, waits for nothing.
  virtual void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  /// The same right behind a solve() by another of these solvers in the same stream, with which it may overlap.
  virtual void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) { solve(b, x, conjugate, stream); }

  /// This solver behind another one in one launch, which has no numbers yet; nothing where two are as fast. Both must
  /// outlive it.
  virtual std::unique_ptr<PairSolver<T>> pair_behind(const DeviceSolver& first) const
  {
    (void)first;
    return nullptr;
  }

  /// Is solve_columns() more than one solve() after the other? It gives the same numbers to rounding; x == b is allowed
  /// where solves_in_place(). Behind a prepare_columns(); that returns true where refresh() must follow.
  virtual bool takes_columns() const { return false; }
  virtual void solve_columns(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream)
  {
    for (std::size_t c = 0; c < static_cast<std::size_t>(v.count); ++c)
      solve(v.b + c * v.b_leading, v.x + c * v.x_leading, conjugate, stream);
  }
  virtual void solve_columns_next(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream)
  {
    solve_columns(v, conjugate, stream);
  }
  virtual bool prepare_columns() { return false; }
  /// What is best between two solvers that both say so, for which x != b. Behind a prepare_columns().
  virtual Interleaving interleaving() const { return {}; }

  /// Where solves_inverse(): y_i = 1 / (b_i - sum_k c_k y_{column_k}) for a triangle with diagonal 1, c as the values
  /// of refresh(), which must follow before the next solve; y == b is allowed.
  virtual bool solves_inverse() const { return false; }
  virtual void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream)
  {
    (void)c, (void)b, (void)y, (void)stream;
  }

  /// Does x == b cost nothing?
  virtual bool solves_in_place() const { return true; }

  /// Takes the numbers of the factor over, rounded to the solver's storage.
  ///   value             in the order that `source` counts in
  ///   inverse_diagonal  n numbers, not read where the diagonal is 1
  virtual void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) = 0;

  /// refresh() in two parts. What needs no waiting belongs to the first one, which may come behind a factorization
  /// whose outcome is not known yet, and again without a second one if that has failed.
  virtual void begin_refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    if (!refreshes_by_waiting()) refresh(value, inverse_diagonal, stream);
  }
  virtual void end_refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    if (refreshes_by_waiting()) refresh(value, inverse_diagonal, stream);
  }
  /// May refresh() wait, or does it mind numbers that are not finite?
  virtual bool refreshes_by_waiting() const { return true; }
  /// Is the first part so long that L's and U's should be under way beside each other?
  virtual bool refreshes_slowly() const { return false; }

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
