static char help[] = "Many right-hand sides, transposes and the two halves of a preconditioner, each against plain applications.\n\n";

/*
  Tests of the preconditioner M: PCMatApply() equals PCApply() column by column; <M^-1 x, y> = <x, M^-T y>; the left half
  after the right half is M^-1; the residuals of KSPMatSolve() and KSPSolveTranspose().
*/

#include "../tutorials/report.h"

#define COLUMNS 5

static PetscErrorCode CreateMatrix(PetscInt m, PetscBool symmetric, Mat *A)
{
  const PetscReal wind = symmetric ? 0.0 : 0.5;
  PetscInt        begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m, 5, NULL, 5, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt    column[5] = {row - m, row % m ? row - 1 : -1, row, row % m < m - 1 ? row + 1 : -1, row + m < m * m ? row + m : -1};
    const PetscScalar value[5]  = {-1.0 - wind, -1.0 - 2.0 * wind, 4.5 + 3.0 * wind + (PetscReal)(row % 3), -1.0, -1.0};

    PetscCall(MatSetValues(*A, 1, &row, 5, column, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (symmetric) {
    for (PetscInt row = begin; row < end; row++) PetscCall(MatSetValue(*A, row, row, 5.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates an n x COLUMNS matrix of smooth values: the same on every machine and for any number of processes. */
static PetscErrorCode CreateBlock(Mat A, Mat *B)
{
  PetscInt local, n, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, n, COLUMNS, NULL, B));
  PetscCall(MatGetOwnershipRange(*B, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < COLUMNS; j++) PetscCall(MatSetValue(*B, i, j, PetscSinReal(0.1 * (PetscReal)(i + 1) * (PetscReal)(j + 1)) + 0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the largest ||M^-1 b - x|| / ||x|| over the columns b of B and x of X. */
static PetscErrorCode TestMatApply(PC pc, Mat B)
{
  Mat       X;
  Vec       b, x, y;
  PetscReal error, norm, worst = 0.0;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PCMatApply(pc, B, X));
  for (PetscInt j = 0; j < COLUMNS; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(PCApply(pc, b, y));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(VecNorm(y, NORM_2, &error));
    PetscCall(VecDestroy(&y));
    worst = PetscMax(worst, error / norm);
  }
  PetscCall(ReportError(PETSC_COMM_WORLD, "PCMatApply against PCApply", worst, 500 * PETSC_MACHINE_EPSILON));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTranspose(PC pc, Vec x, Vec y)
{
  Vec         applied, transposed;
  PetscScalar left, right;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &applied));
  PetscCall(VecDuplicate(x, &transposed));
  PetscCall(PCApply(pc, x, applied));
  PetscCall(PCApplyTranspose(pc, y, transposed));
  PetscCall(VecTDot(applied, y, &left));
  PetscCall(VecTDot(x, transposed, &right));
  PetscCall(ReportError(PETSC_COMM_WORLD, "PCApplyTranspose against PCApply", PetscAbsScalar(left - right) / PetscAbsScalar(left), 500 * PETSC_MACHINE_EPSILON));
  PetscCall(VecDestroy(&applied));
  PetscCall(VecDestroy(&transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestHalves(PC pc, Vec x)
{
  Vec       whole, half, halves;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &whole));
  PetscCall(VecDuplicate(x, &half));
  PetscCall(VecDuplicate(x, &halves));
  PetscCall(PCApply(pc, x, whole));
  PetscCall(PCApplySymmetricLeft(pc, x, half));
  PetscCall(PCApplySymmetricRight(pc, half, halves));
  PetscCall(VecNorm(whole, NORM_2, &norm));
  PetscCall(VecAXPY(halves, -1.0, whole));
  PetscCall(VecNorm(halves, NORM_2, &error));
  PetscCall(ReportError(PETSC_COMM_WORLD, "both halves against PCApply", error / norm, 500 * PETSC_MACHINE_EPSILON));
  PetscCall(VecDestroy(&whole));
  PetscCall(VecDestroy(&half));
  PetscCall(VecDestroy(&halves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes ||B - A X|| / ||B|| after KSPMatSolve(). */
static PetscErrorCode TestMatSolve(KSP ksp, Mat A, Mat B)
{
  Mat       X, R;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &R));
  PetscCall(MatAXPY(R, -1.0, B, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &error));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
  PetscCall(ReportError(PETSC_COMM_WORLD, "KSPMatSolve residual", error / norm, 100 * RTOL));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolveTranspose(KSP ksp, Mat A, Vec b)
{
  Vec       x, r;
  PetscInt  iterations;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(MatMultTranspose(A, x, r));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &error));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSPSolveTranspose: iterations %" PetscInt_FMT "\n", iterations));
  PetscCall(ReportError(PETSC_COMM_WORLD, "KSPSolveTranspose residual", error / norm, 100 * RTOL));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(KSP ksp, Mat A, Mat B, PetscBool halves, PetscBool transposed)
{
  PC  pc;
  Vec b, x, y;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(MatGetColumnVector(B, b, 0));
  PetscCall(MatGetColumnVector(B, y, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ReportSolve(ksp, b, x));
  if (transposed) PetscCall(TestTranspose(pc, b, y));
  if (halves) PetscCall(TestHalves(pc, b));
  PetscCall(TestMatApply(pc, B));
  PetscCall(TestMatSolve(ksp, A, B));
  if (transposed) PetscCall(TestSolveTranspose(ksp, A, b));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A, B;
  KSP       ksp;
  PetscInt  m = 12;
  PetscBool symmetric = PETSC_FALSE, halves = PETSC_FALSE, transposed = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-symmetric", &symmetric, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-halves", &halves, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transposed", &transposed, NULL));
  PetscCall(CreateMatrix(m, symmetric, &A));
  PetscCall(CreateBlock(A, &B));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TestAll(ksp, A, B, halves, transposed));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/ex4_ilu.out
      test:
         suffix: single
         args: -pc_type syncfree_ilu -pc_syncfree_factor_precision single -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output}
         output_file: output/ex4_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm
      test:
         suffix: icc
         args: -symmetric -halves -pc_type syncfree_icc -ksp_type cg -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads 2
      test:
         suffix: icc_symmetric
         args: -symmetric -halves -pc_type syncfree_icc -ksp_type gmres -ksp_pc_side symmetric -transposed 0
      # PCILU has no symmetric left and right halves
      test:
         suffix: own_halves
         args: -halves -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_factor_levels {{0 1}shared output} -ksp_rtol 1e-12 -ksp_type preonly
         filter: grep halves
      test:
         suffix: bjacobi
         nsize: 2
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu
      test:
         suffix: direct
         nsize: 2
         args: -pc_type syncfree_ilu
         output_file: output/ex4_bjacobi.out
      test:
         suffix: asm
         nsize: 2
         args: -pc_type asm -sub_pc_type syncfree_ilu

TEST*/
