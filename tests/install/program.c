/*
  A program of a user of the installed library: links it, registers the types and solves a small
  system with each. Prints one line with the iterations.
*/
#include <petscksp.h>
#include <syncfree_petsc.h>

static PetscErrorCode Solve(Mat A, PCType type, PetscInt *iterations)
{
  Vec b, x;
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSyncFreeSetStrategy(pc, "blocks"));
  PetscCall(PCSyncFreeSetThreads(pc, 2));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, iterations));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn((PetscErrorCode)0);
}

int main(int argc, char **argv)
{
  const PetscInt n = 400, m = 20;
  PetscInt       ilu, icc;
  const char    *version;
  Mat            A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCSyncFreeRegister());
  PetscCall(PCSyncFreeGetVersion(&version));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "version: %s\n", version));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, &A));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatSetValue(A, i, i, 4.0, INSERT_VALUES));
    if (i % m) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    if ((i + 1) % m) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
    if (i >= m) PetscCall(MatSetValue(A, i, i - m, -1.0, INSERT_VALUES));
    if (i + m < n) PetscCall(MatSetValue(A, i, i + m, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solve(A, PCSYNCFREEILU, &ilu));
  PetscCall(Solve(A, PCSYNCFREEICC, &icc));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "iterations: %d with %s, %d with %s\n", (int)ilu, PCSYNCFREEILU, (int)icc, PCSYNCFREEICC));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
