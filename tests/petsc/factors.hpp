#pragma once

/*
  Incomplete factors A(r, c) ~ L U as plain numbers, read from PETSc's own factored
  matrix or from ours, and bounds for how far two correct computations of the same
  factor, or of a solve with it, may lie apart.

  Tests of floating-point programs usually compare with a tolerance that somebody
  found to work. Here the tolerance of each single entry is computed: the
  elimination is walked again with the moduli of the terms, and every operation adds
  its rounding error and passes on those of its operands (running error analysis,
  Higham, Accuracy and Stability, 3.3). Where pivots are tiny the bound grows as the
  error may; where it is not small beside the number itself little can be said, and
  the entry counts as `vacuous`.
*/

#include "petsc_test.hpp"

/* Strict triangle or whole matrix in rows; `error` bounds each value's error. */
struct Rows {
  std::vector<PetscInt> begin = {0}, column;
  Numbers value;
  std::vector<double> error;

  PetscInt count() const { return (PetscInt)begin.size() - 1; }
};

struct Factor {
  PetscInt n = 0;
  Rows lower, upper; /* strict triangles, columns ascending */
  Numbers pivot;     /* U(i, i) */
  std::vector<double> pivot_error;

  std::size_t nnz() const { return lower.column.size() + upper.column.size() + pivot.size(); }
};

/* What the factored matrix of PETSc's ILU of a SEQAIJ holds. */
Factor read_petsc_ilu(Mat F);

/* The same of PETSc's ICC. It gives its values away but not its pattern, so that of `like` is supposed; the number of
   values is checked, and a wrong place shows as a wrong value. */
Factor read_petsc_icc(Mat F, const Factor& like);

/* What MatSyncFreeGetFactors() gives; throws unless L has unit diagonal and both are triangular with ascending columns.
 */
Factor read_ours(Mat F);

/* Sets `error` and `pivot_error` to what two computations of this factor may differ by; `relative` is added to each
   entry's error as a share of it (for factors stored in lower precision). */
void bound_errors(Factor&, double relative = 0);

struct Difference {
  double worst = 0;        /* largest |a - b| / bound; at most 1 where a and b may be the same factor */
  std::size_t vacuous = 0; /* entries whose bound is not small beside them */
  std::size_t entries = 0;
  std::string where; /* "" if the patterns agree */
};

/* Patterns and values of b against the bounded a. */
Difference compare(const Factor& a, const Factor& b);

/* A vector and, for each entry, what two computations of it may differ by. */
struct Bounded {
  Numbers value;
  std::vector<double> error;

  Bounded() = default;
  explicit Bounded(const Numbers& exact) : value(exact), error(exact.size(), 0.0) {}
};

/* Solves with the bounded factor, in the factor's own numbering. */
Bounded solve_lower(const Factor&, const Bounded& b);
Bounded solve_upper(const Factor&, const Bounded& b);
Bounded solve_upper_transposed(const Factor&, const Bounded& b);
Bounded solve_lower_transposed(const Factor&, const Bounded& b);

/* b scaled by pivot^(1/2) or its inverse: the D^(1/2) of the symmetric halves. */
Bounded times_root_of_pivots(const Factor&, const Bounded& b, bool inverse);

/* y[k] = x[order[k]], and back. */
Bounded gather(const Bounded& x, const std::vector<PetscInt>& order);
Bounded scatter(const Bounded& x, const std::vector<PetscInt>& order);

/* Largest |x - reference| / bound, and the entries without a bound. NaN counts as infinite. */
Difference compare(const Bounded& reference, const Numbers& x);
