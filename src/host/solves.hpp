#pragma once

/// The four triangular solves of a factor: L, U and, made on first use, U^T and L^T. Values are stored in V while all
/// sums are in T. The factor is of entries or, with SolverOptions::block_size above 1, of dense blocks: rows and
/// entries of patterns are then blocks, and a vector has block_size entries for each row.

#include <memory>
#include <string>
#include <vector>

#include "syncfree/solver.hpp"

namespace syncfree {

/// Selects a triangle: the transpose of U is lower, that of L upper.
enum class Triangle { lower, upper, upper_transposed, lower_transposed };

/// The solves, independent of the storage type.
template <class T, class I> class FactorSolves {
public:
  virtual ~FactorSolves() = default;

  /// Takes new values. If V is not T they are rounded to V and the caller may free `values`; otherwise they must stay
  /// valid. Throws std::bad_alloc.
  ///   errors  not_finite(row) for the first row with a value (or pivot) outside the range of V
  virtual Status update_factor(const FactorValues<T>& values) = 0;

  /// Makes the transposed triangles if they do not exist yet. After out_of_memory the state is unchanged.
  virtual Status prepare_transposes() = 0;

  virtual void solve_factor(Triangle triangle, const T* b, T* x, const Columns<I>& columns, bool conjugate) = 0;

  /// Checks that D^(1/2) is real, with D the diagonal of U. For entries only, as scale_by_root().
  ///   errors  negative_pivot(row, D)
  virtual Status check_roots() const = 0;

  /// x = D^(1/2) b if `up`, else D^(-1/2) b. Call check_roots first.
  ///   b, x  n entries; x == b is allowed
  virtual void scale_by_root(bool up, const T* b, T* x) const = 0;

  virtual FactorValues<T> factor_values() const = 0;
  virtual std::size_t bytes_of_values() const = 0;

  /// Describes the solves with L and U together.
  virtual Description describe_factor() const = 0;

  /// As TriangularSolver::work_alone(), for all triangles.
  virtual void solve_alone(bool alone) = 0;

  /// Bytes of the patterns, values and plans of the transposed triangles.
  virtual std::size_t transpose_bytes() const = 0;
};

/// Makes the solves of `pattern` (which must outlive them) by the strategy of the options, which must not be `auto`.
///   errors  out_of_memory, unknown_strategy, invalid_argument
template <class T, class I>
Status make_factor_solves(const FactorPattern<I>& pattern, const SolverOptions& options,
                          std::unique_ptr<FactorSolves<T, I>>* out);

}  // namespace syncfree
