#pragma once

/// The interface that every strategy implements, and the preconditioner built on it.

#include <cstdint>
#include <memory>
#include <string>

#include "syncfree/blocks.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/options.hpp"
#include "syncfree/scalar.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/status.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {

/// Several vectors as columns of a column-major block.
///   leading  distance between columns, >= n
template <class I> struct Columns {
  I count = 1;
  I b_leading = 0;
  I x_leading = 0;
};

/// What a solver reports about itself: PCView prints it and tests assert it.
struct Description {
  std::string strategy;   ///< the strategy that runs
  int threads = 1;
  std::size_t bytes = 0;  ///< memory of the plan, without the factor's own arrays
};

/// Solves with one triangle of fixed pattern; its values may be refreshed.
template <class T, class V, class I> class TriangularSolver {
public:
  virtual ~TriangularSolver() = default;

  /// x = Triangle^-1 b, or conj(Triangle)^-1 b.
  ///   b, x       n entries a column, in the triangle's row order; x == b (same leading) is allowed
  ///   conjugate  use the conjugated values
  /// Allocates nothing. Never hangs, whatever the values of b and of the triangle.
  virtual void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) = 0;

  /// Sets new values on the same pattern; the arrays must stay alive until the next update.
  virtual void update_values(const V* value, const V* inverse_diagonal) = 0;

  virtual Description describe_solver() const = 0;

  /// Restricts the following solves to one thread, or returns to all; the results are those of the strategy either
  /// way. Allocates nothing.
  virtual void work_alone(bool alone) { (void)alone; }
};

enum class Operation { none, transpose, adjoint, conjugate };

/// Memory and shape of the whole preconditioner.
struct Summary {
  std::string strategy;        ///< the strategy that runs
  std::string reason;          ///< why `auto` took it; "forced" otherwise
  /// On the device, names of PlanForm: the form that runs, and the form that `auto` chose.
  std::string form, estimated_form;
  std::int64_t rows = 0;
  int block_size = 1;  ///< of the dense blocks that are factored; rows and entries count single ones
  std::int64_t padding = 0;  ///< values of A's blocks that are no entries of A
  std::int64_t lower_nnz = 0, upper_nnz = 0;  ///< strict triangles
  std::int64_t operations = 0;  ///< of a factorization, as count_operations()
  int threads = 1;
  bool single_storage = false;
  std::size_t factor_bytes = 0;     ///< patterns and values
  std::size_t plan_bytes = 0;       ///< everything that the strategies add; of `merged` from the first refresh on
  std::size_t transpose_bytes = 0;  ///< made by the first transposed solve, else 0
  std::size_t peak_bytes = 0;       ///< most bytes in use from the analysis to the first refresh; 0: not counted
  double memory_limit = 0;  ///< bytes of factor and plan that `auto` and `merged` keep to; infinity: none; 0: no device
  std::size_t captured_bytes = 0;   ///< freed by the object, but held by CUDA graphs with captured solves
  std::string plan;             ///< one human-readable line, or empty
  PivotReport pivots;
};

/// An incomplete factorization and its solves: analyse once, refresh and solve many times.
template <class T, class I> class Preconditioner {
public:
  virtual ~Preconditioner() = default;

  /// Symbolic phase: checks, symbolic factorization, plans. Keeps no pointer into A.
  ///   errors  those of check_pattern and make_factor_pattern, unknown_strategy, no_plan, out_of_memory; on failure
  ///           the object is as after construction
  virtual Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) = 0;

  /// Tests whether A is, entry by entry, the pattern of the last analysis; false if that failed or there was none. IC
  /// that reads one triangle only may compare just that triangle.
  ///   same    [out]
  ///   errors  out_of_memory, device_failure
  ///   cost    one pass over A
  virtual Status has_pattern(PatternView<I> A, bool* same) = 0;

  /// Returns the orders of the last analysis.
  virtual Orders<I> orders() const = 0;

  /// Numeric factorization of A, which has the analysed pattern. Keeps no pointer into A.
  ///   errors  zero_pivot(row, value, tolerance), not_finite(row), invalid_argument before analyse, out_of_memory;
  ///           another_pattern(row) where the difference is found at no cost; has_pattern() finds every other one.
  ///           After an error no solves are allowed until a later refresh succeeds
  virtual Status refresh(CsrView<T, I> A, const PivotRule& rule) = 0;

  /// x = op(A~)^-1 b with A~ = L U in the caller's row and column order.
  ///   b, x    n entries a column, must not overlap
  ///   errors  invalid_argument before a successful refresh; out_of_memory in the first transposed solve and
  ///           where columns.count grows (also after a refresh that changed the plan of `merged`, and where the
  ///           vendor's solve gets another count or leading dimension); otherwise allocates nothing
  virtual Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) = 0;

  /// The two halves of a symmetric application. ILU: x = L^-1 b and x = U^-1 b. IC: x = D^(-1/2) U^-T b and
  /// x = U^-1 D^(-1/2) b, so that their product is the whole solve.
  ///   errors  negative_pivot(row, value) for IC where D is not real and nonnegative
  virtual Status solve_forward_half(const T* b, T* x) = 0;
  virtual Status solve_backward_half(const T* b, T* x) = 0;

  virtual Summary summarize() const = 0;

  /// Returns what `auto`, which runs on one thread, would choose for `threads` threads; empty if there is no such
  /// choice or no memory to find it. Costs as much as the plan of `blocks`.
  virtual Choice choice_with(int threads) const { return (void)threads, Choice(); }

  /// True if `auto` replaced several threads, which were slower, by one.
  virtual bool fell_back() const { return false; }

  /// Computes the levels at the first call, in O(nnz); zeros before analyse and if there is no memory for it.
  virtual LevelCounts levels() const = 0;

  /// Pattern and values of the factor, for tests and viewers. values() returns copies in T even if the factor is
  /// stored in single precision.
  virtual const FactorPattern<I>& pattern() const = 0;
  virtual FactorValues<T> values() const = 0;
};

/// Creates the preconditioner on CPU threads. Never nullptr; throws nothing but std::bad_alloc.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner();

/// Creates the preconditioner by dense blocks (syncfree/blocks.hpp) of SolverOptions::block_size on CPU threads: block
/// ILU(k). Patterns, orders and rows of a Status are those of blocks, values of A and of the factor are blocks, and
/// vectors have n * block_size entries. An inverse pivot is an inverted diagonal block. The strategies are `serial`,
/// `blocks` and `auto`; IC and the shift types nonzero and positive_definite are invalid arguments.
///   values  how the values of A are given
template <class T, class I>
std::unique_ptr<Preconditioner<T, I>> make_host_block_preconditioner(BlockValues values = BlockValues::by_blocks);

/// Creates the same for a matrix that is given by entries, in blocks of SolverOptions::block_size: patterns, values and
/// orders are those of entries, and zeros are added where a block has no entry. Orders must keep the rows of a block
/// together. pattern() and values() are those of blocks, as are the rows of a Status with `block_row`.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_blocked_preconditioner();

/// Creates a triangular solver on CPU threads, by the strategy name in the options (not `auto`).
///   errors  unknown_strategy, invalid_argument, no_plan, out_of_memory
template <class T, class V, class I>
Status make_host_solver(const SolverOptions& options, TriangleView<V, I> triangle,
                        std::unique_ptr<TriangularSolver<T, V, I>>* out);

}  // namespace syncfree
