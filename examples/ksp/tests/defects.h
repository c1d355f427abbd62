/*
  Matrices with a defect at a known row, for ex1.c and ex3.c.

  The matrix is -lap with five points on a grid of m columns, plus one on the diagonal so that every rank's block is
  comfortably regular. A defect sits in one row r:

    zero_pivot   the diagonal and everything left of it (and above it in column r) is zero, so the pivot is
    nan, inf     the diagonal is that

  The zeros are stored: the pattern is that of the good matrix, and good values can follow on the same analysis.
*/
#pragma once

#include <petscmat.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
  #define PETSC_SUCCESS 0
#endif

typedef enum {
  DEFECT_NONE,
  DEFECT_ZERO_PIVOT,
  DEFECT_NAN,
  DEFECT_INF
} Defect;
static const char *const Defects[] = {"none", "zero_pivot", "nan", "inf", "Defect", "DEFECT_", NULL};

static inline PetscScalar DefectiveEntry(PetscInt row, PetscInt column, PetscScalar good, Defect defect, PetscInt bad)
{
  const PetscReal zero = 0.0;

  if (defect == DEFECT_ZERO_PIVOT && ((row == bad && column <= bad) || (column == bad && row <= bad))) return 0.0;
  if (defect == DEFECT_NAN && row == bad && column == bad) return zero / zero;
  if (defect == DEFECT_INF && row == bad && column == bad) return 1.0 / zero;
  return good;
}

/* Fills the rows of this process; m is the width of the grid. */
static inline PetscErrorCode FillDefective(Mat A, PetscInt m, Defect defect, PetscInt bad)
{
  PetscInt n, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt column[5] = {row - m, row % m ? row - 1 : -1, row, row % m < m - 1 ? row + 1 : -1, row + m < n ? row + m : -1};

    for (PetscInt e = 0; e < 5; e++)
      if (column[e] >= 0) PetscCall(MatSetValue(A, row, column[e], DefectiveEntry(row, column[e], e == 2 ? 5.0 : -1.0, defect, bad), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
