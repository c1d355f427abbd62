static char help[] = "Three processes, a defect on one of them or a process without rows: all must agree on how the solve ended.\n\n";

#include "../tutorials/report.h"

#include "defects.h"

/* Solves; each process prints its converged reason, in the order of ranks. */
static PetscErrorCode Solve(const char name[], KSP ksp, Vec b, Vec x)
{
  KSPConvergedReason reason;
  PetscMPIInt        rank;
  PC                 pc;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  /* older PETSc versions set up for new values only in the first application, see ex1.c */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetUpOnBlocks(pc));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "%s, process %d: %s\n", name, (int)rank, KSPConvergedReasons[reason]));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  if (reason > 0) PetscCall(ReportSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a matrix of n rows, distributed evenly over all processes except the empty one. */
static PetscErrorCode CreateMatrix(PetscInt n, PetscInt empty, Mat *A)
{
  PetscMPIInt rank, size;
  PetscInt    local, index, owners;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  owners = empty >= 0 && empty < size ? size - 1 : size;
  index  = empty >= 0 && rank > empty ? rank - 1 : rank;
  local  = rank == empty ? 0 : n / owners + (index < n % owners);
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, local, local, n, n, 5, NULL, 5, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat             A;
  Vec             b, x;
  KSP             ksp;
  Defect          defect = DEFECT_NONE;
  PetscInt        m = 9, bad_rank = 1, empty = -1;
  PetscBool       recover = PETSC_FALSE;
  const PetscInt *ranges;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-defect", Defects, (PetscEnum *)&defect, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bad_rank", &bad_rank, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-empty_rank", &empty, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-recover", &recover, NULL));
  PetscCall(CreateMatrix(m * m, empty, &A));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCall(FillDefective(A, m, defect, ranges[bad_rank]));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(Defects[defect], ksp, b, x));
  if (recover) {
    PetscCall(FillDefective(A, m, DEFECT_NONE, 0));
    PetscCall(Solve("good", ksp, b, x));
    PetscCall(FillDefective(A, m, defect, ranges[bad_rank]));
    PetscCall(Solve(Defects[defect], ksp, b, x));
  }

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: 3
      test:
         suffix: bjacobi
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -defect zero_pivot -bad_rank {{0 1 2}shared output}
      test:
         suffix: direct
         args: -pc_type syncfree_ilu -defect zero_pivot -bad_rank {{0 1 2}shared output}
         output_file: output/ex3_bjacobi.out
      test:
         suffix: icc
         args: -pc_type bjacobi -sub_pc_type syncfree_icc -sub_pc_factor_shift_type none -defect zero_pivot -ksp_type cg
      test:
         suffix: asm
         args: -pc_type asm -sub_pc_type syncfree_ilu -pc_asm_overlap {{0 1}separate output} -defect zero_pivot
      # PCILU detects a NaN only in the Krylov method, so it is no reference for the iterations in single precision either
      test:
         suffix: own_nan_bjacobi
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -defect nan -bad_rank {{0 1 2}shared output}
         output_file: output/ex3_own_nan_blocks.out
      test:
         suffix: own_nan_direct
         requires: double
         args: -pc_type syncfree_ilu -recover -defect nan -bad_rank {{0 1 2}shared output}
         output_file: output/ex3_own_nan.out
      test:
         suffix: own_nan_asm
         args: -pc_type asm -pc_asm_overlap 0 -sub_pc_type syncfree_ilu -defect nan -bad_rank {{0 1 2}shared output}
         output_file: output/ex3_own_nan_blocks.out
      # PCILU keeps the failure of a zero pivot after new, valid values, and so do bjacobi and asm with syncfree_ilu as
      # sub_pc; double for the reason above
      test:
         suffix: own_recover_direct
         requires: double
         args: -recover -defect zero_pivot -pc_type syncfree_ilu
         output_file: output/ex3_own_recover.out
      test:
         suffix: empty
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -recover -empty_rank {{0 1 2}shared output}
      test:
         suffix: empty_direct
         args: -pc_type syncfree_ilu -recover -empty_rank {{0 1 2}shared output} -pc_syncfree_threads 2
         output_file: output/ex3_empty.out
      test:
         suffix: empty_icc
         args: -ksp_type cg -pc_type bjacobi -sub_pc_type syncfree_icc -recover -empty_rank 1
      test:
         suffix: empty_icc_direct
         args: -ksp_type cg -pc_type syncfree_icc -recover -empty_rank 1
         output_file: output/ex3_empty_icc.out
      test:
         suffix: empty_asm
         args: -pc_type asm -sub_pc_type syncfree_ilu -recover -empty_rank 1

TEST*/
