static char help[] = "The life of a preconditioner: several at once, new values, a new pattern, another size, reuse, many refreshes.\n\n";

#include "../tutorials/report.h"

/* Fills A with convection-diffusion on an m x m grid: 5 points, or 9 if `wide`; `shift` is added to the diagonal. */
static PetscErrorCode Fill(Mat A, PetscInt m, PetscBool wide, PetscReal shift)
{
  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < m * m; row++) {
    for (PetscInt dj = -1; dj <= 1; dj++) {
      for (PetscInt di = -1; di <= 1; di++) {
        const PetscInt  i = row % m + di, j = row / m + dj;
        const PetscReal side = di && dj ? -0.25 : (di + 2 * dj < 0 ? -1.5 : -1.0);

        if (i < 0 || j < 0 || i >= m || j >= m || (di && dj && !wide)) continue;
        PetscCall(MatSetValue(A, row, j * m + i, di || dj ? side : 6.0 + shift, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt m, PetscBool wide, PetscReal shift, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m * m, m * m, 9, NULL, A));
  PetscCall(Fill(*A, m, wide, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves A x = 1 with the operator of ksp, and reports the result. */
static PetscErrorCode Solve(const char name[], KSP ksp)
{
  Mat A;
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: ", name));
  PetscCall(ReportSolve(ksp, b, x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetTolerances(*ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three solvers exist at the same time and solve in turn. */
static PetscErrorCode TestSeveral(void)
{
  Mat A[3];
  KSP ksp[3];

  PetscFunctionBeginUser;
  for (PetscInt s = 0; s < 3; s++) {
    PetscCall(Create(6 + 4 * s, (PetscBool)(s == 1), 0.0, &A[s]));
    PetscCall(CreateSolver(A[s], &ksp[s]));
  }
  for (PetscInt turn = 0; turn < 2; turn++) {
    for (PetscInt s = 0; s < 3; s++) {
      PetscCall(Solve("several", ksp[s]));
      PetscCall(Fill(A[s], 6 + 4 * s, (PetscBool)(s == 1), 0.5 + (PetscReal)s));
    }
  }
  for (PetscInt s = 0; s < 3; s++) {
    PetscCall(KSPDestroy(&ksp[s]));
    PetscCall(MatDestroy(&A[s]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver gets new values, another matrix of the same size, and after a reset a matrix of another size. */
static PetscErrorCode TestChanges(void)
{
  Mat A, wide, large;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(Create(12, PETSC_FALSE, 0.0, &A));
  PetscCall(Create(12, PETSC_TRUE, 0.0, &wide));
  PetscCall(Create(17, PETSC_FALSE, 0.0, &large));
  PetscCall(CreateSolver(A, &ksp));
  PetscCall(Solve("first", ksp));
  PetscCall(Fill(A, 12, PETSC_FALSE, 3.0));
  PetscCall(Solve("new values", ksp));
  PetscCall(KSPSetOperators(ksp, wide, wide));
  PetscCall(Solve("new pattern", ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Solve("old pattern", ksp));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, large, large));
  PetscCall(Solve("other size", ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&wide));
  PetscCall(MatDestroy(&large));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A reused preconditioner is that of the old values, and requires more iterations than a new one. */
static PetscErrorCode TestReuse(void)
{
  Mat A;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(Create(12, PETSC_FALSE, 0.0, &A));
  PetscCall(CreateSolver(A, &ksp));
  PetscCall(Solve("before reuse", ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(Fill(A, 12, PETSC_FALSE, 20.0));
  PetscCall(Solve("reused", ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  PetscCall(Fill(A, 12, PETSC_FALSE, 20.0));
  PetscCall(Solve("made anew", ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Thousands of numeric factorizations, each followed by a solve; the last solve equals one with a new preconditioner. */
static PetscErrorCode TestRefreshes(PetscInt refreshes)
{
  Mat       A;
  Vec       b, x;
  KSP       ksp;
  PetscInt  iterations, sum = 0;
  PetscReal residual, worst = 0.0;

  PetscFunctionBeginUser;
  PetscCall(Create(7, PETSC_FALSE, 0.0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, &ksp));
  for (PetscInt i = 0; i < refreshes; i++) {
    PetscCall(Fill(A, 7, PETSC_FALSE, (PetscReal)(i % 10)));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(TrueResidual(A, b, x, &residual));
    sum += iterations;
    if (!(residual <= worst)) worst = residual;
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " refreshes: iterations %" PetscInt_FMT "\n", refreshes, sum));
  PetscCall(ReportError(PETSC_COMM_SELF, "worst true residual", worst, 100 * RTOL));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt refreshes = 2000;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-refreshes", &refreshes, NULL));
  PetscCall(TestSeveral());
  PetscCall(TestChanges());
  PetscCall(TestReuse());
  PetscCall(TestRefreshes(refreshes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: refreshes
         args: -pc_type syncfree_ilu -pc_syncfree_strategy serial
      test:
         suffix: ilu
         args: -refreshes 100 -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: package
         args: -refreshes 100 -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/ex2_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 2 -pc_factor_mat_ordering_type rcm
      test:
         suffix: multicolor
         args: -refreshes 100 -pc_type {{syncfree_ilu ilu}shared output} -pc_factor_mat_ordering_type syncfree_multicolor
      test:
         suffix: abmc
         args: -refreshes 100 -pc_type {{syncfree_ilu ilu}shared output} -pc_factor_mat_ordering_type syncfree_abmc
      # PCILU leaks memory here (3.18, 3.26); the lines of -malloc_dump are not in the reference output
      test:
         suffix: reuse_ordering
         args: -pc_type syncfree_ilu -pc_factor_mat_ordering_type nd -pc_factor_reuse_ordering

TEST*/
