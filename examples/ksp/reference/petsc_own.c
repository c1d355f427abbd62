/*
  PETSc's own ILU and ICC under our names: with this library in place of libsyncfree_ilu.so the TEST blocks of the
  examples run with what PETSc itself does. outputs.sh writes the reference outputs that way, so that a passing test
  means "as PETSc's own", not "as ours last week".

  On several processes an AIJ matrix is taken apart by block Jacobi, as our types do.
*/

#include <petsc/private/pcimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

/* Constructors that PETSc exports but declares in no header */
PETSC_EXTERN PetscErrorCode PCCreate_ILU(PC);
PETSC_EXTERN PetscErrorCode PCCreate_ICC(PC);
PETSC_EXTERN PetscErrorCode PCCreate_BJacobi(PC);

static PetscErrorCode Create(PC pc, const char sub_type[], PetscErrorCode (*create)(PC))
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size == 1) PetscCall(create(pc));
  else {
    PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", sub_type));
    PetscCall(PCCreate_BJacobi(pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateILU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Create(pc, "ilu", PCCreate_ILU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateICC(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Create(pc, "icc", PCCreate_ICC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFactor(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petsc_own(void)
{
  PetscFunctionBegin;
  PetscCall(PCRegister("syncfree_ilu", CreateILU));
  PetscCall(PCRegister("syncfree_icc", CreateICC));
  PetscCall(MatInitializePackage()); /* else the next line wipes PETSc's own list */
  PetscCall(MatSolverTypeRegister("syncfree", MATSEQAIJ, MAT_FACTOR_ILU, GetFactor));
  PetscCall(MatSolverTypeRegister("syncfree", MATSEQAIJ, MAT_FACTOR_ICC, GetFactor));
  PetscFunctionReturn(PETSC_SUCCESS);
}
