#pragma once

/// The interface of all strategies of this backend: solves with one triangle, or with L and U in one launch.

#include <memory>
#include <string>

#include "core/choose/strategy_list.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/multivector.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Solves with L and U in one launch. Throws Failure.
template <class T> class PairSolver {
public:
  virtual ~PairSolver() = default;

  /// Called when both solvers have new values. Returns false if their plans are no longer those that this object was
  /// made for.
  virtual bool refresh() = 0;

  /// Computes x = U^-1 L^-1 b, n > 0; x and b must not overlap. Allocates nothing, does not synchronize.
  virtual void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  virtual std::size_t bytes() const = 0;
};

/// As TriangularSolver, with device pointers. Throws Failure.
template <class T, class I> class DeviceSolver {
public:
  virtual ~DeviceSolver() = default;

  /// Computes x = Triangle^-1 b in the triangle's row order, n > 0; x == b is allowed. Allocates nothing, does not
  /// synchronize.
  virtual void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  /// As solve(), queued directly after a solve() of another of these solvers in the same stream; the two may overlap.
  virtual void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) { solve(b, x, conjugate, stream); }

  /// Returns a solver for `first` and then this one in one launch, which has no values yet; nullptr if two launches are
  /// as fast. Both solvers must outlive it.
  virtual std::unique_ptr<PairSolver<T>> pair_behind(const DeviceSolver& first) const
  {
    (void)first;
    return nullptr;
  }

  /// True if several columns are solved together. solve_columns() returns the same values as solve() up to rounding;
  /// x == b is allowed if solves_in_place(). Call prepare_columns() first; if it returns true, call refresh() again.
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
  /// Returns the preferred layout of the columns between L's and U's solver, used if both report the same. Requires
  /// x != b and an earlier prepare_columns().
  virtual Interleaving interleaving() const { return {}; }

  /// If solves_inverse(): y_i = 1 / (b_i - sum_k c_k y_{column_k}) for a triangle with unit diagonal, c ordered as the
  /// values of refresh(), which must be called before the next solve; y == b is allowed.
  virtual bool solves_inverse() const { return false; }
  virtual void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream)
  {
    (void)c, (void)b, (void)y, (void)stream;
  }

  /// True if x == b costs nothing.
  virtual bool solves_in_place() const { return true; }

  /// Copies the values of the factor, rounded to the solver's storage.
  ///   value             in the order of the indices in `source`
  ///   inverse_diagonal  n values, not read if the diagonal is 1
  virtual void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) = 0;

  /// refresh() in two parts. The first does what needs no synchronization. It may follow a factorization with an
  /// outcome that is not known yet; if that has failed, it is called again without a second part in between.
  virtual void begin_refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    if (!refreshes_by_waiting()) refresh(value, inverse_diagonal, stream);
  }
  virtual void end_refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    if (refreshes_by_waiting()) refresh(value, inverse_diagonal, stream);
  }
  /// True if refresh() may synchronize or requires finite values.
  virtual bool refreshes_by_waiting() const { return true; }
  /// True if the first part is so long that those of L and U should run concurrently.
  virtual bool refreshes_slowly() const { return false; }

  /// Returns one human-readable line on the plan, or nothing.
  virtual std::string describe() const { return {}; }

  /// Bytes of the plan and of the values.
  virtual std::size_t plan_bytes() const = 0;
  virtual std::size_t value_bytes() const = 0;
};

/// Makes one strategy's solver, with values stored as V; ignores the strategy of the options. Throws Failure and
/// std::bad_alloc.
#define DECLARE(name, reproducible, summary) \
  template <class T, class V, class I>       \
  std::unique_ptr<DeviceSolver<T, I>> make_##name(const DeviceTriangle<I>& triangle, const SolverOptions& options);
SYNCFREE_CUDA_STRATEGIES(DECLARE)
#undef DECLARE

}  // namespace syncfree::cuda
