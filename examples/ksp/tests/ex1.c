static char help[] = "A zero pivot, a NaN or an infinity in the matrix: the failure is reported, and good values cure it.\n\n";

#include "../tutorials/report.h"

#include "defects.h"

/* Returns the name of a failed reason (PCGetFailedReason()), the same for all PETSc versions. */
static const char *FailedReason(PCFailedReason reason)
{
  switch (reason) {
  case PC_NOERROR:
    return "none";
  case PC_FACTOR_STRUCT_ZEROPIVOT:
    return "structural zero pivot";
  case PC_FACTOR_NUMERIC_ZEROPIVOT:
    return "zero pivot";
  case PC_FACTOR_OUTMEMORY:
    return "memory";
  default:
    return "other";
  }
}

static const char *ErrorName(PetscErrorCode code)
{
  if (code == PETSC_ERR_MAT_LU_ZRPVT) return "zero pivot in LU";
  if (code == PETSC_ERR_MAT_CH_ZRPVT) return "zero pivot in Cholesky";
  if (code == PETSC_ERR_NOT_CONVERGED) return "not converged";
  if (code == PETSC_ERR_CONV_FAILED) return "failed";
  return code ? "another one" : "none";
}

static PetscErrorCode Solve(const char name[], KSP ksp, Vec b, Vec x)
{
  PetscErrorCode     code = (PetscErrorCode)0;
  KSPConvergedReason reason;
  PCFailedReason     failed;
  PetscBool          stop;
  PC                 pc;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  /* older PETSc versions set up for new values only in the first application, when the Krylov method has already given up
     on the failed preconditioner; so they do with PETSc's LU */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetErrorIfNotConverged(ksp, &stop));
  if (!stop) code = PCSetUp(pc);
  if (!code) code = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %s", name, ErrorName(code)));
  if (!code || !stop) {
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCGetFailedReason(pc, &failed));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %s, PC failure %s", KSPConvergedReasons[reason], FailedReason(failed)));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  if (!code) {
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (reason > 0) PetscCall(ReportSolve(ksp, b, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A;
  Vec       b, x;
  KSP       ksp;
  Defect    defect = DEFECT_ZERO_PIVOT;
  PetscInt  m = 6, row = 14;
  PetscBool recover = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-defect", Defects, (PetscEnum *)&defect, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-row", &row, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-recover", &recover, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m * m, m * m, 5, NULL, &A));
  PetscCall(FillDefective(A, m, defect, row));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve("defective", ksp, b, x));
  if (recover) {
    PetscCall(FillDefective(A, m, DEFECT_NONE, row));
    PetscCall(Solve("good", ksp, b, x));
    PetscCall(FillDefective(A, m, defect, row));
    PetscCall(Solve("defective again", ksp, b, x));
    PetscCall(FillDefective(A, m, DEFECT_NONE, row));
    PetscCall(Solve("good again", ksp, b, x));
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
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads 2
      test:
         suffix: first_row
         args: -pc_type syncfree_ilu -row 0
         output_file: output/ex1_ilu.out
      test:
         suffix: last_row
         args: -pc_type syncfree_ilu -row 35
         output_file: output/ex1_ilu.out
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/ex1_ilu.out
      test:
         suffix: icc
         args: -pc_type syncfree_icc -pc_factor_shift_type none
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm -row 0
         output_file: output/ex1_ilu.out
      test:
         suffix: ilu_error
         args: -pc_type syncfree_ilu -ksp_error_if_not_converged
         filter: grep defective
      test:
         suffix: icc_error
         args: -pc_type syncfree_icc -pc_factor_shift_type none -ksp_error_if_not_converged
         filter: grep defective
      test:
         suffix: nonzero
         args: -recover -pc_type syncfree_ilu -pc_factor_shift_type nonzero -pc_factor_shift_amount 0.5 -ksp_type gmres
      test:
         suffix: inblocks
         args: -recover -pc_type syncfree_ilu -pc_factor_shift_type inblocks -pc_factor_shift_amount 0.5 -ksp_type gmres
      test:
         suffix: positive_definite
         args: -recover -pc_type syncfree_ilu -pc_factor_shift_type positive_definite -ksp_type gmres
      # PCILU and PCICC detect a NaN only in the Krylov method
      test:
         suffix: own_nan
         args: -recover -pc_type {{syncfree_ilu syncfree_icc}shared output} -defect {{nan inf}shared output} -pc_factor_shift_type none -pc_syncfree_strategy {{serial blocks}shared output} -pc_syncfree_threads 2
      # PCILU and PCICC keep the failure of a zero pivot after new, valid values
      test:
         suffix: own_recover
         args: -recover -pc_type {{syncfree_ilu syncfree_icc}shared output} -pc_factor_shift_type none

TEST*/
