#pragma once

/*
  One preconditioner, set up on one matrix: PETSc's own or ours, with the same options.
*/

#include "factors.hpp"

/* The options of a test; PETSc's type and ours differ in the name only. */
struct Request {
  bool icc = false;
  MatFactorShiftType shift = MAT_SHIFT_NONE;
  const char* ordering = MATORDERINGNATURAL;
  PetscInt levels = 0;
  bool diagonal_fill = false;

  std::string text() const;
};

extern const std::vector<MatFactorShiftType> shifts;
extern const std::vector<const char*> orderings;

/* Returns the default shift of a type. */
inline MatFactorShiftType default_shift(bool icc) { return icc ? MAT_SHIFT_POSITIVE_DEFINITE : MAT_SHIFT_NONE; }

struct Factored {
  PCOwner pc;
  Refusal refusal; /* code != 0: PCSetUp() ended in an error */
  PCFailedReason reason = PC_NOERROR;
  bool ours = false;

  Mat matrix() const; /* the factored matrix */
  bool usable() const { return refusal.code == 0 && reason == PC_NOERROR; }
};

/* Sets the options of a PC that has a type. */
PetscErrorCode apply_request(PC, const Request&);

Factored set_up_petsc(Mat A, const Request&);
Factored set_up_ours(Mat A, const Request&, const std::string& strategy = "auto", PetscInt threads = 2,
                     PCSyncFreePrecisionType storage = PC_SYNCFREE_PRECISION_SCALAR);

/* The two factors of one request, PETSc's with its error bounds. */
struct Pair {
  Factor petsc, ours;
};
Pair read_factors(const Factored& petsc, const Factored& ours, const Request&);

/* Row and column orders that PETSc computes for A. */
struct Order {
  std::vector<PetscInt> row, column;
};
Order order_of(Mat A, const Request&);

/* Compute the expected results of the four operations of a PC from a bounded factor. */
Bounded expected_apply(const Factor&, const Order&, const Numbers& b);
Bounded expected_transpose(const Factor&, const Order&, const Numbers& b);
Bounded expected_left(const Factor&, const Order&, bool icc, const Numbers& b);
Bounded expected_right(const Factor&, const Order&, bool icc, const Numbers& b);

using VectorOperation = PetscErrorCode (*)(PC, Vec, Vec);
Numbers applied(const Factored&, VectorOperation, const Numbers& b);

/* Returns a failure with the values unless x equals the reference to rounding. */
testing::AssertionResult agrees(const Bounded& reference, const Numbers& x);
testing::AssertionResult agrees(const Factor& reference, const Factor& x);
