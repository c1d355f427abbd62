/*
  The take-over library of the conformance tests. Loaded after libsyncfree_ilu.so, it registers our
  constructors under the names `ilu`, `icc` and `sor`, so that PETSc's own examples use our
  preconditioners with their own arguments and reference outputs.

  The file named by SYNCFREE_TAKEOVER_LOG proves that a run was taken over: every rank adds a line
  `create TYPE` when it makes such a preconditioner, and a line `setup TYPE PACKAGE` after each set-up,
  with the package that the factored matrix reports, or `failed` if the set-up ended in an error;
  `matrix TYPE MATTYPE` is the type of the factored matrix's operator. For `sor`, which has no set-up,
  these lines are written for its applications.
*/

#include <petsc/private/pcimpl.h>

#include <cstdio>
#include <cstdlib>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

namespace {

struct Taken {
  const char *name;
  PetscErrorCode (*create)(PC) = nullptr;
  PetscErrorCode (*setup)(PC)  = nullptr;
  PetscErrorCode (*apply)(PC, Vec, Vec) = nullptr;
  PetscErrorCode (*richardson)(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *) = nullptr;
};

Taken ilu{"ilu"}, icc{"icc"}, sor{"sor"};

/* One write per line, as the ranks of a run share the file. */
void Log(const char event[], const char type[], const char package[])
{
  const char *path = std::getenv("SYNCFREE_TAKEOVER_LOG");
  std::FILE  *file = path ? std::fopen(path, "a") : nullptr;

  if (!file) return;
  std::fprintf(file, "%s %s %s\n", event, type, package);
  std::fclose(file);
}

PetscErrorCode SetUp(PC pc, const Taken &taken)
{
  Mat            factor  = nullptr;
  MatSolverType  package = nullptr;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = taken.setup(pc);
  if (ierr) Log("setup", taken.name, "failed");
  PetscCall(ierr);
  PetscCall(PCFactorGetMatrix(pc, &factor));
  if (factor) PetscCall(MatFactorGetSolverType(factor, &package));
  Log("setup", taken.name, package ? package : "unknown");
  Log("matrix", taken.name, ((PetscObject)pc->pmat)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetUpILU(PC pc) { return SetUp(pc, ilu); }
PetscErrorCode SetUpICC(PC pc) { return SetUp(pc, icc); }

PetscErrorCode Create(PC pc, Taken &taken, PetscErrorCode (*setup)(PC))
{
  PetscFunctionBegin;
  Log("create", taken.name, "");
  PetscCall(taken.create(pc));
  taken.setup    = pc->ops->setup;
  pc->ops->setup = setup;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Applied(PC pc, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  Log("setup", sor.name, ierr ? "failed" : "syncfree");
  PetscCall(ierr);
  Log("matrix", sor.name, ((PetscObject)pc->pmat)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ApplySOR(PC pc, Vec b, Vec x) { return Applied(pc, sor.apply(pc, b, x)); }

PetscErrorCode ApplyRichardsonSOR(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its, PetscBool zero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  return Applied(pc, sor.richardson(pc, b, x, w, rtol, abstol, dtol, its, zero, outits, reason));
}

PetscErrorCode CreateSOR(PC pc)
{
  PetscFunctionBegin;
  Log("create", sor.name, "");
  PetscCall(sor.create(pc));
  sor.apply                = pc->ops->apply;
  sor.richardson           = pc->ops->applyrichardson;
  pc->ops->apply           = ApplySOR;
  pc->ops->applyrichardson = ApplyRichardsonSOR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateILU(PC pc) { return Create(pc, ilu, SetUpILU); }
PetscErrorCode CreateICC(PC pc) { return Create(pc, icc, SetUpICC); }

} // namespace

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_syncfree_takeover(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(PCList, "syncfree_ilu", &ilu.create));
  PetscCall(PetscFunctionListFind(PCList, "syncfree_icc", &icc.create));
  PetscCall(PetscFunctionListFind(PCList, "syncfree_sor", &sor.create));
  PetscCheck(ilu.create && icc.create && sor.create, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Load libsyncfree_ilu.so before libsyncfree_takeover.so");
  PetscCall(PCRegister("ilu", CreateILU));
  PetscCall(PCRegister("icc", CreateICC));
  PetscCall(PCRegister("sor", CreateSOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
