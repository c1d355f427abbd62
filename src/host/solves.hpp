#pragma once

/// The four triangular solves of a factor, L, U and, made when first asked for, U^T and L^T,
/// with the numbers stored in V while all sums are in T.

#include <memory>
#include <string>
#include <vector>

#include "syncfree/solver.hpp"

namespace syncfree {

/// Which triangle: transposes of U are lower, of L upper.
enum class Triangle { lower, upper, upper_transposed, lower_transposed };

/// The solves with the storage type hidden.
template <class T, class I> class FactorSolves {
public:
  virtual ~FactorSolves() = default;

  /// Takes new numbers. Where V is not T they are rounded to V and the caller may free `values`; else they must
  /// stay alive. Throws std::bad_alloc.
  ///   errors  not_finite(row) for the first row with a number outside the range of V, its pivot among them
  virtual Status refresh(const FactorValues<T>& values) = 0;

  /// Makes the transposed triangles if they are not there. out_of_memory leaves things as they were.
  virtual Status prepare_transposes() = 0;

  virtual void solve(Triangle triangle, const T* b, T* x, const Columns<I>& columns, bool conjugate) = 0;

  /// Is there a real D^(1/2), with D the diagonal of U?
  ///   errors  negative_pivot(row, D)
  virtual Status check_roots() const = 0;

  /// x = D^(1/2) b if `up`, else D^(-1/2) b. Call check_roots first.
  ///   b, x  n entries; x == b is allowed
  virtual void scale_by_root(bool up, const T* b, T* x) const = 0;

  virtual FactorValues<T> values() const = 0;
  virtual std::size_t value_bytes() const = 0;

  /// Of the solves with L and U together.
  virtual Description describe() const = 0;

  /// As that of TriangularSolver, for all triangles.
  virtual void work_alone(bool alone) = 0;

  /// Patterns, numbers and plans of the transposed triangles.
  virtual std::size_t transpose_bytes() const = 0;
};

/// Solves of `pattern` (which must outlive them) by the strategy of the options, which is not `auto`.
///   errors  out_of_memory, unknown_strategy, invalid_argument
template <class T, class I>
Status make_factor_solves(const FactorPattern<I>& pattern, const SolverOptions& options,
                          std::unique_ptr<FactorSolves<T, I>>* out);

}  // namespace syncfree
