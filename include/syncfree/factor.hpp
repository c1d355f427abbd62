#pragma once

/// Incomplete factors A(r, c) ~ L U with L unit lower and U upper triangular.
///
/// ILU(k) keeps entries whose level of fill is at most k; ILU(0) keeps A's pattern.
/// IC(k) of a symmetric A (only the upper triangle of the permuted A is read) is
/// stored in the same form: PETSc's U^T D U with unit U is L = U^T, "U" = D U, so one
/// solve serves both kinds. No square roots are taken and nothing is conjugated.
///
/// Two types separate the two lifetimes: `FactorPattern` is made once per pattern, `FactorValues` for each set of
/// values.

#include <cstdint>
#include <optional>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/scalar.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

enum class Kind { ilu, icc };

/// How to treat a pivot that is too small, with the meaning of PETSc's MatFactorShiftType.
enum class Shift { none, nonzero, positive_definite, inblocks };

/// Pivot rule; the defaults are PETSc's for ILU in double precision.
struct PivotRule {
  Shift shift = Shift::none;
  double shift_amount = 2.220446049250313e-14;  ///< 100 eps
  double zero_pivot = 2.220446049250313e-14;    ///< 100 eps; relative to the row sum for nonzero, positive_definite
};

/// What the pivot rule did, for PetscInfo and the view.
struct PivotReport {
  int shifts = 0;             ///< restarts (nonzero, positive_definite) or shifted pivots (inblocks)
  double shift_amount = 0;    ///< added to the diagonal in the attempt that succeeded
  double shift_fraction = 0;  ///< positive_definite: shift_amount / shift_top
  double shift_top = 0;       ///< positive_definite, if there were shifts: 1.1 x the largest shift any row needs
};

/// Row and column orders of A in the factor, n entries each; nullptr for the natural order.
template <class I> struct Orders {
  const I *row = nullptr, *column = nullptr;
};

/// The nonzero pattern of a factor.
///   kind, n        as requested
///   levels         k of ILU(k), IC(k)
///   lower_*        strictly lower pattern of L, CSR, columns ascending
///   upper_*        strictly upper pattern of U, CSR, columns ascending
///   row_order      row_order[i] = row of A that is row i of the factor; empty: identity
///   column_order   column_order[i] = column of A that is column i of the factor; empty: identity
///   column_place   inverse of column_order; empty: identity
///   block_begin    blocks + 1 offsets into the rows if the order was made as `abmc`; else empty
///   colors         of the order if it was made
template <class I> struct FactorPattern {
  Kind kind = Kind::ilu;
  I n = 0;
  int levels = 0;
  Array<I> lower_begin, lower_column;
  Array<I> upper_begin, upper_column;
  std::vector<I> row_order, column_order, column_place, block_begin;
  I colors = 0;

  PatternView<I> lower() const { return {n, lower_begin.data(), lower_column.data()}; }
  PatternView<I> upper() const { return {n, upper_begin.data(), upper_column.data()}; }
  bool natural() const { return row_order.empty(); }
  Orders<I> order_arrays() const
  {
    return natural() ? Orders<I>() : Orders<I>{row_order.data(), column_order.data()};
  }

  /// Frees the patterns and keeps the orders.
  void drop_triangles()
  {
    for (Array<I>* of : {&lower_begin, &lower_column, &upper_begin, &upper_column}) Array<I>().swap(*of);
  }
};

/// The values of a factor, in the order of its FactorPattern.
///   inverse_pivot  n entries, 1 / U(i, i)
template <class T> struct FactorValues {
  Array<T> lower, upper, inverse_pivot;
};

/// Input of the symbolic factorization.
template <class I> struct SymbolicOptions {
  Kind kind = Kind::ilu;
  int levels = 0;              ///< k >= 0
  bool diagonal_fill = false;  ///< insert a missing diagonal entry, as PETSc does for k > 0 or a permuted matrix
  const I* row_order = nullptr;     ///< n entries; both orders or neither (natural)
  const I* column_order = nullptr;  ///< n entries; equal to row_order for IC
  /// Makes the order of rows and columns from A, as make_ordering() does; row_order and column_order are then nullptr.
  std::optional<OrderingOptions> ordering = {};
};

/// Checks that row offsets ascend from 0.
///   errors  bad_row_offsets(row)
///   cost    O(n) on `threads` threads; allocates nothing with one thread
template <class I> Status check_row_offsets(PatternView<I> A, int threads = 1);

/// Checks that row offsets ascend and that the columns of a row ascend, are distinct and lie in [0, n).
///   errors  bad_row_offsets, column_out_of_range, unsorted_columns, duplicate_column (row, column)
///   cost    O(nnz) on `threads` threads; allocates nothing with one thread
template <class I> Status check_pattern(PatternView<I> A, int threads = 1);

/// Computes the pattern of ILU(k) or IC(k).
///   A       n x n, already checked by check_pattern
///   out     [out] unchanged on failure
///   errors  missing_diagonal(row of A), out_of_memory; invalid_argument: levels below 0, orders that are no
///           permutations, different orders for IC, one only, orders both given and made, those of make_ordering()
///   threads number of threads; the result does not depend on it
///   cost    that of make_ordering() and, for ILU(0) and IC(0): O(nnz); k > 0: O(sum over rows i of the rows reached by
///           paths of at most k edges through rows below i), twice if the pattern is unsymmetric; O(n) memory per
///           thread. k > 12: O(sum over entries L(i,j) of row j of U), serial
///   source  Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 10.6; level rule of PETSc:
///           lev(i,j) = min(lev(i,j), lev(i,p) + lev(p,j) + 1); found by fill paths: Hysom & Pothen 2001
template <class I>
Status make_factor_pattern(PatternView<I> A, const SymbolicOptions<I>& options, FactorPattern<I>* out,
                           int threads = 1);

/// Operations of a factorization as PETSc counts them: n + the sum over the rows of U, with u entries each, of u (1 +
/// 2 u). Row p of U is used once for each entry of column p of L, which has as many entries if the pattern is
/// symmetric; otherwise this is an estimate.
template <class I> std::int64_t count_operations(const FactorPattern<I>& pattern);

}  // namespace syncfree
