static char help[] = "Options that change while a preconditioner lives, and its view through a string.\n\n";

#include "../tutorials/report.h"

#include "defects.h"

/* Views the PC in a string, and checks that it names the type, of which PETSc prints seven letters. */
static PetscErrorCode ViewString(PC pc)
{
  char        text[1024] = "", letters[8];
  PetscViewer viewer;
  PCType      type;
  PetscBool   named;
  char       *found;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerStringOpen(PETSC_COMM_SELF, text, sizeof(text), &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PCGetType(pc, &type));
  PetscCall(PetscStrncpy(letters, type, sizeof(letters)));
  PetscCall(PetscStrstr(text, letters, &found));
  named = found ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "string view names the type: %s\n", PetscBools[named]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets an option, calls KSPSetFromOptions(), and solves. */
static PetscErrorCode SolveWith(const char option[], const char value[], KSP ksp, Vec b, Vec x)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, option, value));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %s: ", option, value));
  PetscCall(ReportSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const strategies[] = {"serial", "level_set", "sync_free", "blocks", "loop", "auto"};
  static const char *const threads[]    = {"1", "3", "2"};
  Mat                      A;
  Vec                      b, x;
  KSP                      ksp;
  PC                       pc;
  PetscInt                 m = 15;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m * m, m * m, 5, NULL, &A));
  PetscCall(FillDefective(A, m, DEFECT_NONE, 0));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  for (size_t s = 0; s < sizeof(strategies) / sizeof(strategies[0]); s++) PetscCall(SolveWith("-pc_syncfree_strategy", strategies[s], ksp, b, x));
  for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) PetscCall(SolveWith("-pc_syncfree_threads", threads[t], ksp, b, x));
  PetscCall(SolveWith("-pc_syncfree_factor_precision", "single", ksp, b, x));
  PetscCall(SolveWith("-pc_syncfree_factor_precision", "scalar", ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewString(pc));
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
         args: -pc_type syncfree_ilu
         filter: grep -v "string view"
      test:
         suffix: icc
         args: -pc_type syncfree_icc -ksp_type cg
         filter: grep -v "string view"
      test:
         suffix: own_string
         args: -pc_type {{syncfree_ilu syncfree_icc}shared output}
         filter: grep "string view"

TEST*/
