/*
  PETSc started and ended three times in one process: a program that links our library registers
  it each time and finds the types, the log events and the factor package again, with -strategy
  <name> instead of `blocks`. MPI is started once, by the program.
*/

#include <petscksp.h>

#include <cstdio>

#include "syncfree_petsc.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

static PetscErrorCode SolveOnce(PCType type, const char strategy[], PetscInt* iterations)
{
  const PetscInt n = 100;
  Mat A;
  Vec b, x;
  KSP ksp;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, nullptr, &A));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatSetValue(A, i, i, 2.5, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < n - 9) PetscCall(MatSetValue(A, i, i + 9, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSyncFreeSetThreads(pc, 2));
  PetscCall(PCSyncFreeSetStrategy(pc, strategy));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, iterations));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Cycle(int k, int* argc, char*** argv)
{
  PetscInt ours, petsc;
  char strategy[32] = "blocks";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(argc, argv, nullptr, nullptr));
  PetscCall(PCSyncFreeRegister());
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-strategy", strategy, sizeof(strategy), nullptr));
  PetscCall(SolveOnce(PCSYNCFREEILU, strategy, &ours));
  PetscCall(SolveOnce(PCILU, strategy, &petsc));
  std::printf("CYCLE %d iterations %d and %d\n", k, (int)ours, (int)petsc);
  std::fflush(stdout);
  PetscCall(PetscFinalize());
  return PETSC_SUCCESS;
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  for (int k = 0; k < 3; k++)
    if (Cycle(k, &argc, &argv)) return 1;
  MPI_Finalize();
  return 0;
}
