#pragma once

/// The interface of all strategies of this backend: solves with one triangle, or with L and U in one launch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/base/multivector.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
struct SolverOptions;
}

namespace syncfree::cuda {

/// Solves with L and U in one launch. Throws Failure.
template <class T> class PairSolver {
public:
  virtual ~PairSolver() = default;

  /// Called when both solvers have new values. Returns false if their plans are no longer those that this object was
  /// made for.
  virtual bool accept_new_values() = 0;

  /// Computes x = U^-1 L^-1 b, n > 0; x and b must not overlap. Allocates nothing, does not synchronize.
  virtual void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) = 0;

  virtual std::size_t pair_bytes() const = 0;
  virtual std::string describe_pair() const { return "both in one launch"; }
};

/// What a solver can do; `interleaving` may change with prepare_columns().
struct SolverTraits {
  bool in_place = true;      ///< x == b costs nothing
  bool columns = false;      ///< several columns are solved together, after prepare_columns()
  bool inverse = false;      ///< it has solve_inverse()
  bool slow_update = false;  ///< UpdatePart::queued is so long that those of L and U should run concurrently
  /// The preferred layout of columns between L's and U's solver, used if both report the same; requires x != b.
  Interleaving interleaving = {};
};

/// How a solve is queued.
struct SolveMode {
  bool conjugate = false;  ///< with the conjugates of the triangle's values
  bool overlaps = false;   ///< queued directly after a solve of another of these solvers, which it may overlap
};

/// Parts of an update of values. `queued` is what neither synchronizes nor requires finite values. It may follow a
/// factorization with an outcome that is not known yet; if that has failed, it is repeated without `rest` in between.
/// With traits().slow_update what was queued must have ended before `rest`.
enum class UpdatePart { queued, rest, whole };

/// The plan that a solver runs.
struct PlanSummary {
  std::string text;  ///< one human-readable line, or empty
  std::size_t plan_bytes = 0, value_bytes = 0;
  PlanForm form = PlanForm::any;
};

/// As TriangularSolver, with device pointers. Throws Failure.
template <class T, class I> class DeviceSolver {
public:
  virtual ~DeviceSolver() = default;

  virtual SolverTraits traits() const { return {}; }

  /// Computes x = Triangle^-1 b in the triangle's row order, n > 0, for one column, or several if traits().columns;
  /// their values equal those of one column up to rounding. x == b is allowed for one column, and for several if
  /// traits().in_place. Allocates nothing, does not synchronize.
  virtual void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) = 0;

  /// Called before several columns are solved. If it returns true, update_values() must be called again.
  virtual bool prepare_columns() { return false; }

  /// If traits().inverse: y_i = 1 / (b_i - sum_k c_k y_{column_k}) for a triangle with unit diagonal, c ordered as the
  /// values of update_values(), which must be called before the next solve; y == b is allowed.
  virtual void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream)
  {
    (void)c, (void)b, (void)y, (void)stream;
  }

  /// Returns a solver for `first` and then this one in one launch, which has no values yet; nullptr if two launches are
  /// as fast. Both solvers must outlive it.
  ///   orders  in device memory: b is read in the order of the rows, x stored in that of the columns
  virtual std::unique_ptr<PairSolver<T>> make_pair_solver(const DeviceSolver& first, const Orders<I>& orders) const
  {
    (void)first, (void)orders;
    return nullptr;
  }

  /// Copies the values of the factor, rounded to the solver's storage.
  ///   value             in the order of the indices in `source`
  ///   inverse_diagonal  n values, not read if the diagonal is 1
  virtual void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) = 0;

  /// Changes when UpdatePart::queued will queue other launches than before, if traits().slow_update.
  virtual std::uint64_t update_revision() const { return 0; }

  virtual PlanSummary summarize_plan() const = 0;
};

/// Solves for one column.
template <class T, class I>
void solve_column(DeviceSolver<T, I>* solver, const T* b, T* x, SolveMode mode, cudaStream_t stream)
{
  solver->solve({b, x, 0, 0, 1}, mode, stream);
}

}  // namespace syncfree::cuda
