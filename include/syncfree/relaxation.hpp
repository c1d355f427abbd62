#pragma once

/// Gauss-Seidel and SOR: sweeps over the rows of a matrix, with the results of a serial sweep.
///
/// A sweep sets x_i to
///   (1 - omega) x_i + omega (b_i - sum of a_ij x_j over j != i) / (a_ii + shift)
/// row after row, forward from the first or backward from the last. Rows may be relaxed by nodes, groups of
/// consecutive rows with the same columns; then x_i, b_i and a_ii are those of a node. A forward sweep is a solve
/// with the lower triangle of A, its rows scaled by omega (a_ii + shift)^-1, and a backward sweep one with the upper
/// triangle; so every strategy for triangular solves applies.

#include <memory>
#include <string>
#include <vector>

#include "syncfree/csr.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/status.hpp"
#include "syncfree/sweep.hpp"

namespace syncfree {

/// Analyse once, refresh and relax many times.
template <class T, class I> class Relaxation {
public:
  virtual ~Relaxation() = default;

  /// Symbolic phase. Keeps no pointer into A.
  ///   A           columns in any order; has a diagonal
  ///   node_begin  first rows of the nodes, then n; empty: each row is a node
  ///   errors      those of check_pattern, missing_diagonal(row), invalid_argument for nodes whose rows differ,
  ///               unknown_strategy, out_of_memory; on failure the object is as after construction
  virtual Status analyse(PatternView<I> A, const std::vector<I>& node_begin, const SolverOptions& options) = 0;

  /// Tests whether A, entry by entry, and the nodes are those of the last analysis; false if that failed or there was
  /// none.
  ///   same    [out]
  ///   errors  out_of_memory, device_failure
  virtual Status has_pattern(PatternView<I> A, const std::vector<I>& node_begin, bool* same) = 0;

  /// Numeric phase. Keeps no pointer into A, which has the analysed pattern.
  ///   omega   relaxation factor
  ///   shift   added to diagonal entries
  ///   least   the diagonal entry of a one-row node is treated as zero if its magnitude is 0 or below this
  ///   errors  not_finite(row): the first row of A with a NaN or an infinity; no sweeps are allowed until a refresh
  ///           with a finite matrix. zero_pivot(row): the first zero diagonal, or node with a singular diagonal
  ///           block; sweeps are still allowed, with infinite or NaN results. invalid_argument before analyse,
  ///           out_of_memory; another_pattern(row) where the difference is found at no cost; has_pattern() finds
  ///           every other one
  virtual Status refresh(CsrView<T, I> A, double omega, double shift, double least) = 0;

  /// Sweeps over x; b and x have n entries and must not overlap. Allocates nothing.
  ///   from_zero  x is uninitialized and treated as zero
  ///   errors     invalid_argument before a refresh
  virtual Status relax(Sweep sweep, bool from_zero, I times, const T* b, T* x) = 0;

  /// Strategy, reason, entries, threads and bytes of the sweeps.
  virtual Summary summarize() const = 0;

  /// See Preconditioner.
  virtual Choice choice_with(int threads) const { return (void)threads, Choice(); }
  virtual bool fell_back() const { return false; }
};

/// Status of refresh() for a matrix that is not finite; elsewhere this code refers to the factor. May throw
/// std::bad_alloc.
inline Status not_finite_in_matrix(std::int64_t row)
{
  Status status = failed(Code::not_finite, row);
  status.detail = "the matrix";
  return status;
}

/// Creates the relaxation on CPU threads. Throws nothing but std::bad_alloc.
template <class T, class I> std::unique_ptr<Relaxation<T, I>> make_host_relaxation();

}  // namespace syncfree
