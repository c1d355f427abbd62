/* The system of first.c on a GPU, with the types set in code. Where PETSc has no CUDA or finds no GPU it says so and runs
   on the CPU. With an MPI that is not GPU-aware PETSc stops and says so: then run it with -use_gpu_aware_mpi 0. */
#include <petscdevice.h>
#include <petscksp.h>
#include <syncfree_petsc.h>

/* A GPU that cannot be used is an error of PetscDeviceInitialize(), here one that is not printed. */
static PetscErrorCode FindGPU(PetscBool *found)
{
  PetscFunctionBeginUser;
  *found = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *found = PetscDeviceInitialize(PETSC_DEVICE_CUDA) ? PETSC_FALSE : PETSC_TRUE;
  PetscCall(PetscPopErrorHandler());
  if (!*found) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PETSc finds no GPU: matrix and vectors have the types of the CPU\n"));
#else
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This PETSc was built without CUDA: matrix and vectors have the types of the CPU\n"));
#endif
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mat         A;
  Vec         x, b;
  KSP         ksp;
  PC          pc;
  PetscBool   gpu;
  PetscInt    n = 1000, first, end, its;
  const char *mat, *vec, *strategy, *backend;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCSyncFreeRegister());
  PetscCall(FindGPU(&gpu));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, gpu ? MATAIJCUSPARSE : MATAIJ));
  PetscCall(MatSetFromOptions(A)); /* -mat_type still decides */
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
    if (i + 1 < n) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b)); /* on the GPU if A is; other vectors: VecSetType(x, VECCUDA) */
  PetscCall(VecSet(b, 1.0));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSYNCFREEILU));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PCSyncFreeGetRunningStrategy(pc, &strategy, &backend));
  PetscCall(MatGetType(A, &mat));
  PetscCall(VecGetType(x, &vec));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations: %d, types: %s %s, strategy: %s, backend: %s\n", (int)its, mat, vec, strategy, backend));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
