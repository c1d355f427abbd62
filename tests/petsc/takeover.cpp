/*
  The take-over library of the conformance tests. Loaded after libsyncfree_ilu.so it registers
  our constructors under the names `ilu` and `icc`, so that PETSc's own examples use our
  preconditioners with their own arguments and reference outputs.

  If the environment names a file with SYNCFREE_TAKEOVER_LOG, every creation adds a line to
  it: the proof that a test really was taken over.
*/

#include <petsc/private/pcimpl.h>

#include <cstdio>
#include <cstdlib>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static PetscErrorCode (*create_ilu)(PC), (*create_icc)(PC);

static void Log(const char name[])
{
  const char *path = std::getenv("SYNCFREE_TAKEOVER_LOG");

  if (!path) return;
  if (std::FILE *file = std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", name);
    std::fclose(file);
  }
}

static PetscErrorCode CreateILU(PC pc)
{
  PetscFunctionBegin;
  Log("ilu");
  PetscCall(create_ilu(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateICC(PC pc)
{
  PetscFunctionBegin;
  Log("icc");
  PetscCall(create_icc(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_syncfree_takeover(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(PCList, "syncfree_ilu", &create_ilu));
  PetscCall(PetscFunctionListFind(PCList, "syncfree_icc", &create_icc));
  PetscCheck(create_ilu && create_icc, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Load libsyncfree_ilu.so before libsyncfree_takeover.so");
  PetscCall(PCRegister("ilu", CreateILU));
  PetscCall(PCRegister("icc", CreateICC));
  PetscFunctionReturn(PETSC_SUCCESS);
}
