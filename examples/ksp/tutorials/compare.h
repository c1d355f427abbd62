/*
  A table of what ILU by entries and ILU by dense blocks need for the same problem, for the option -compare:

    AIJ, scalar    syncfree_ilu with -pc_syncfree_block_size 1
    AIJ, blocks    syncfree_ilu with -pc_syncfree_block_size n, where n is the block size of the matrix
    BAIJ, blocks   syncfree_ilu of a BAIJ matrix
    BAIJ, PETSc    ilu of a BAIJ matrix, in parallel bjacobi with ilu

  The last two only where the matrix is AIJ in host memory: PETSc has BAIJ there only. A program solves with each of them
  and adds a line. Other options, for example -pc_factor_levels, hold for all.
*/
#pragma once

#include "report.h"

typedef struct {
  const char *name;
  PetscBool   petsc, baij, blocks;
} Variant;

static const Variant Variants[] = {
  {"AIJ, scalar",  PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"AIJ, blocks",  PETSC_FALSE, PETSC_FALSE, PETSC_TRUE },
  {"BAIJ, blocks", PETSC_FALSE, PETSC_TRUE,  PETSC_TRUE },
  {"BAIJ, PETSc",  PETSC_TRUE,  PETSC_TRUE,  PETSC_TRUE },
};

static inline PetscErrorCode GetCompare(PetscBool *compare)
{
  PetscFunctionBeginUser;
  *compare = PETSC_FALSE;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Comparison", NULL);
  PetscCall(PetscOptionsBool("-compare", "Solve with ILU by entries, by dense blocks and with PETSc's, and print what each needs", NULL, *compare, compare, NULL));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the number of variants for a matrix. */
static inline PetscErrorCode CountVariants(Mat A, PetscInt *count)
{
  PetscBool aij;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  *count = aij ? 4 : 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts the variant into the options database, from which the next KSPSetFromOptions() takes it. */
static inline PetscErrorCode SelectVariant(const Variant *variant, PetscInt block_size)
{
  char        number[16];
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_type", !variant->petsc ? "syncfree_ilu" : ranks > 1 ? PCBJACOBI : PCILU));
  PetscCall(PetscSNPrintf(number, sizeof(number), "%" PetscInt_FMT, variant->blocks ? block_size : 1));
  if (variant->petsc) PetscCall(PetscOptionsClearValue(NULL, "-pc_syncfree_block_size"));
  else PetscCall(PetscOptionsSetValue(NULL, "-pc_syncfree_block_size", number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode PrintCompareHeader(void)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %10s %10s %9s %10s %8s %10s %11s %10s\n", "", "iterations", "set-up, s", "refreshes", "each, s", "applies", "each, s", "sum of PC", "solve, s"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Prints the line of a variant that was used before, so that nothing is timed that happens only once. Iterations and time of
  the whole are those of the solves; a set-up, a refresh and an apply are timed with the last matrix, the shortest of
  three. There is one set-up; each further linear solve has new values. A solve applies the preconditioner in each
  iteration and once before (restarts of GMRES are not counted).
*/
static inline PetscErrorCode PrintCompareLine(const Variant *variant, KSP ksp, Vec b, PetscInt solves, PetscInt iterations, PetscLogDouble seconds)
{
  const PetscInt refreshes = solves - 1, applies = iterations + solves;
  Vec            z;
  Times          best;
  PetscLogDouble sum;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &z));
  PetscCall(TimedSolve(ksp, b, z, &best));
  for (PetscInt i = 1; i < 3; i++) {
    Times times;

    PetscCall(TimedSolve(ksp, b, z, &times));
    best.setup   = PetscMin(best.setup, times.setup);
    best.refresh = PetscMin(best.refresh, times.refresh);
    best.apply   = PetscMin(best.apply, times.apply);
  }
  PetscCall(VecDestroy(&z));
  sum = best.setup + (PetscLogDouble)refreshes * best.refresh + (PetscLogDouble)applies * best.apply;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %10" PetscInt_FMT " %10.5f %9" PetscInt_FMT " %10.5f %8" PetscInt_FMT " %10.6f %11.5f %10.5f\n", variant->name, iterations, best.setup, refreshes, best.refresh, applies, best.apply, sum, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}
