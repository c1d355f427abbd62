#pragma once

/*
  Incomplete factors A(r, c) ~ L U as plain arrays, read from PETSc's own factored matrix or from
  ours, and bounds on the difference between two correct computations of the same factor, or of a
  solve with it.

  Tests of floating-point programs usually compare with a tolerance found by experiment. Here the
  tolerance of each entry is computed: the elimination is repeated with the moduli of the terms,
  and every operation adds its rounding error and propagates those of its operands (running error
  analysis, Higham, Accuracy and Stability, 3.3). With tiny pivots the bound grows as the error
  may; an entry whose bound is not small relative to its value proves little and counts as
  `vacuous`.
*/

#include "petsc_test.hpp"

/* Strict triangle or whole matrix by rows; `error` bounds each value's error. */
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

/* Reads the factored matrix of PETSc's ILU of a SEQAIJ. */
Factor read_petsc_ilu(Mat F);

/* Reads the factor of PETSc's ICC, which gives access to its values but not to its pattern, so the pattern of `like` is
   assumed. The number of values is checked; a wrong pattern shows as wrong values. */
Factor read_petsc_icc(Mat F, const Factor& like);

/* Reads a factor by MatSyncFreeGetFactors(); throws unless L has unit diagonal and both are triangular with ascending
   columns. */
Factor read_ours(Mat F);

/* Sets `error` and `pivot_error` to bounds on the difference of two computations of this factor; adds `relative` times
   the value to each entry's error (for factors stored in lower precision). */
void bound_errors(Factor&, double relative = 0);

struct Difference {
  double worst = 0;        /* largest |a - b| / bound; at most 1 if a and b may be the same factor */
  std::size_t vacuous = 0; /* entries whose bound is not small relative to them */
  std::size_t entries = 0;
  std::string where; /* "" if the patterns agree */
};

/* Compares the patterns and values of b with the bounded a. */
Difference compare(const Factor& a, const Factor& b);

/* A vector and, for each entry, a bound on the difference of two computations of it. */
struct Bounded {
  Numbers value;
  std::vector<double> error;

  Bounded() = default;
  explicit Bounded(const Numbers& exact) : value(exact), error(exact.size(), 0.0) {}
};

/* Solve with the bounded factor, in the factor's own numbering. */
Bounded solve_lower(const Factor&, const Bounded& b);
Bounded solve_upper(const Factor&, const Bounded& b);
Bounded solve_upper_transposed(const Factor&, const Bounded& b);
Bounded solve_lower_transposed(const Factor&, const Bounded& b);

/* Scales b by pivot^(1/2) or its inverse: the D^(1/2) of the symmetric halves. */
Bounded times_root_of_pivots(const Factor&, const Bounded& b, bool inverse);

/* Permute: y[k] = x[order[k]], and back. */
Bounded gather(const Bounded& x, const std::vector<PetscInt>& order);
Bounded scatter(const Bounded& x, const std::vector<PetscInt>& order);

/* Returns the largest |x - reference| / bound, and the number of entries without a bound. NaN counts as infinite. */
Difference compare(const Bounded& reference, const Numbers& x);
