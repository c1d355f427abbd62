#pragma once

/// The interface that every strategy serves, and the preconditioner made of it.

#include <cstdint>
#include <memory>
#include <string>

#include "syncfree/csr.hpp"
#include "syncfree/factor.hpp"
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

/// What a solver says of itself: PCView prints it and tests assert it.
struct Description {
  std::string strategy;   ///< the strategy that really runs
  int threads = 1;
  std::size_t bytes = 0;  ///< memory of the plan, the factor's own arrays not counted
};

/// Solves with one triangle whose pattern is fixed and whose numbers may be refreshed.
template <class T, class V, class I> class TriangularSolver {
public:
  virtual ~TriangularSolver() = default;

  /// x = Triangle^-1 b, or conj(Triangle)^-1 b.
  ///   b, x       n entries a column, in the triangle's row order; x == b (same leading) is allowed
  ///   conjugate  use the conjugated values
  /// Allocates nothing. Never hangs, whatever numbers b and the values hold.
  virtual void solve(const T* b, T* x, const Columns<I>& columns, bool conjugate) = 0;

  /// New numbers on the same pattern; the arrays must stay alive until the next refresh.
  virtual void refresh(const V* value, const V* inverse_diagonal) = 0;

  virtual Description describe() const = 0;

  /// One thread does the solves that follow, or all do again; numbers are those of the strategy. Allocates nothing.
  virtual void work_alone(bool alone) { (void)alone; }
};

enum class Operation { none, transpose, adjoint, conjugate };

/// How the block algorithms cut and which kernels they take.
struct BlockOptions {
  std::string table = "h200";   ///< thresholds: "h200", or "paper" for those of Lu et al. 2020
  std::int64_t least_rows = 0;  ///< no triangle gets fewer rows by cutting; 0: the table's number. For `tiled` the
                                ///< rows of a block; 0: by the triangle
};

/// Options of a preconditioner that are fixed from analyse() on.
struct SolverOptions {
  std::string strategy = "auto";
  int threads = 1;
  bool single_storage = false;  ///< store the factor in single_t<T>; sums stay in T
  BlockOptions blocks = {};     ///< of column_block, row_block and recursive_block
  double merge_fill = 4;              ///< of `merged`: entries over those of the triangle with its diagonal, at most
  std::int64_t expected_applies = 50;  ///< of one analysis: what `auto` may spend on a plan, how far `merged` goes
  bool trials = false;  ///< `auto` plans and times a few strategies in place of asking a model
  double wait_limit = 60;  ///< seconds that threads of a device may wait for each other in one kernel; 0: for ever
};

/// Memory and shape of the whole preconditioner.
struct Summary {
  std::string strategy;        ///< that really runs
  std::string reason;          ///< why `auto` took it; "forced" otherwise
  std::int64_t rows = 0;
  std::int64_t lower_nnz = 0, upper_nnz = 0;  ///< strict triangles
  std::int64_t operations = 0;  ///< of a factorization, as count_operations()
  int threads = 1;
  bool single_storage = false;
  std::size_t factor_bytes = 0;     ///< patterns and numbers
  std::size_t plan_bytes = 0;       ///< everything the strategies added
  std::size_t transpose_bytes = 0;  ///< made by the first transposed solve, else 0
  std::size_t peak_bytes = 0;       ///< at once, from the analysis to the first refresh; 0 where nobody counts
  std::size_t captured_bytes = 0;   ///< kept only because CUDA graphs hold them that captured solves
  std::string plan;             ///< one line for people, or nothing
  PivotReport pivots;
};

/// An incomplete factorization with its solves: analyse once, refresh and solve many times.
template <class T, class I> class Preconditioner {
public:
  virtual ~Preconditioner() = default;

  /// Pattern work: checks, symbolic factorization, plans. Keeps no pointer into A.
  ///   errors  those of check_pattern and make_factor_pattern, unknown_strategy, no_plan, out_of_memory; on failure
  ///           the object is as after construction
  virtual Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) = 0;

  /// Is A, entry by entry, the pattern of the last analysis? It is not where that has failed or there was none. IC that
  /// reads one triangle only may compare just that.
  ///   same    [out]
  ///   errors  out_of_memory, device_failure
  ///   cost    one pass over A
  virtual Status has_pattern(PatternView<I> A, bool* same) = 0;

  /// Of the last analysis.
  virtual Orders<I> orders() const = 0;

  /// Numbers: factors A, which has the analysed pattern. Keeps no pointer into A.
  ///   errors  zero_pivot(row, value, tolerance), not_finite(row), invalid_argument before analyse, out_of_memory;
  ///           another_pattern(row) where that costs nothing to see: of what else differs has_pattern() tells; solves
  ///           are not allowed until a later refresh succeeds
  virtual Status refresh(CsrView<T, I> A, const PivotRule& rule) = 0;

  /// x = op(A~)^-1 b with A~ = L U in the caller's row and column order.
  ///   b, x    n entries a column, must not overlap
  ///   errors  invalid_argument before a successful refresh; out_of_memory in the first transposed solve and
  ///           where columns.count grows (also behind a refresh that changed the plan of `merged`, and where the
  ///           vendor's solve sees another count or leading dimension); otherwise allocates nothing
  virtual Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) = 0;

  /// The two halves of a symmetric application. ILU: x = L^-1 b and x = U^-1 b. IC: x = D^(-1/2) U^-T b and
  /// x = U^-1 D^(-1/2) b, so that their product is the whole solve.
  ///   errors  negative_pivot(row, value) for IC where D is not real and nonnegative
  virtual Status solve_forward_half(const T* b, T* x) = 0;
  virtual Status solve_backward_half(const T* b, T* x) = 0;

  virtual Summary summarize() const = 0;

  /// What `auto`, which works on one thread, would choose for `threads` of them; empty where there is no such choice or
  /// no memory to find it. Takes as long as the plan of `blocks`.
  virtual Choice choice_with(int threads) const { return (void)threads, Choice(); }

  /// Has `auto` put one thread in the place of several, which were slower?
  virtual bool fell_back() const { return false; }

  /// Found when first asked for, in O(nnz); zeros before analyse and where there is no memory to find them.
  virtual LevelCounts levels() const = 0;

  /// Pattern and numbers of the factor, for tests and viewers. Numbers are copied
  /// out in T even where they are stored in single.
  virtual const FactorPattern<I>& pattern() const = 0;
  virtual FactorValues<T> values() const = 0;
};

/// The preconditioner on CPU threads. Never nullptr; throws nothing but std::bad_alloc.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner();

/// One triangular solver on CPU threads, by the name in the options (not `auto`).
///   errors  unknown_strategy, invalid_argument, no_plan, out_of_memory
template <class T, class V, class I>
Status make_host_solver(const SolverOptions& options, TriangleView<V, I> triangle,
                        std::unique_ptr<TriangularSolver<T, V, I>>* out);

}  // namespace syncfree
