/*
  What a program sets and gets of a PC of this plugin: functions of syncfree_petsc.h.
*/

#include "plugin_impl.hpp"

using namespace syncfree_plugin;

/* Other PCs ignore what is set. */
static PetscErrorCode SetName(PC pc, bool of_sweeps, std::string &(*place)(Settings &), PetscErrorCode (*check)(OptionUser, const char[]), const char name[])
{
  const Settings *old;
  OptionUser      user;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old, &user));
  if (!old || (user == OptionUser::sweeps && !of_sweeps)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(check(user, name));
  Settings settings = *old;
  place(settings)   = name;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetThreads(PC pc, PetscInt threads)
{
  const Settings *old;
  OptionUser      user;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old, &user));
  if (!old) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckThreads(PetscObjectComm((PetscObject)pc), "Number of threads", threads));
  Settings settings = *old;
  settings.threads  = threads;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetPrecision(PC pc, PCSyncFreePrecisionType precision)
{
  const Settings *old;
  OptionUser      user;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old, &user));
  if (!old || user != OptionUser::factors) PetscFunctionReturn(PETSC_SUCCESS);
  Settings settings              = *old;
  settings.solver.single_storage = precision == PC_SYNCFREE_PRECISION_SINGLE;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other PCs have nothing to tell, which is an error. */
static PetscErrorCode GetSettings(PC pc, bool of_sweeps, const Settings **settings)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(RequireSettings(pc, of_sweeps, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeSetBackend - Sets where the factor is made and solved with

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  backend - `auto` (default): where the matrix is; `host`, or `kokkos` and `cuda` where the library was built with them

   Options Database Key:
.  -pc_syncfree_backend (auto|host|kokkos|cuda) - the backend

   Level: intermediate

   Note:
   With `cuda` a matrix or a vector of the host is copied to the device and back; `-ksp_view` says so. A strategy that belongs to
   another backend is an error in `PCSetUp()`.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeGetBackend()`, `PCSyncFreeSetStrategy()`
@*/
PetscErrorCode PCSyncFreeSetBackend(PC pc, const char backend[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, false, [](Settings &s) -> std::string & { return s.backend; }, CheckBackendName, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetBackend - Gets the backend that was set, `auto` if none was

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  backend - its name; valid until the next change, do not free it

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeSetBackend()`
@*/
PetscErrorCode PCSyncFreeGetBackend(PC pc, const char *backend[])
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, false, &settings));
  *backend = settings->backend.c_str();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeSetStrategy - Sets how the triangular solves or sweeps run

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`; others ignore the call
-  strategy - `auto` (default) or a name that `-help` lists: `serial`, `level_set`, `sync_free`, `blocks`, `loop` and
              the block algorithms on the host, others on a device

   Options Database Key:
.  -pc_syncfree_strategy (auto|...) - the strategy

   Level: intermediate

   Note:
   `-ksp_view` prints the strategy that really runs and why `auto` took it. After `PCSetUp()` a change leads to a new analysis.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetStrategy()`
@*/
PetscErrorCode PCSyncFreeSetStrategy(PC pc, const char strategy[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, true, [](Settings &s) -> std::string & { return s.solver.strategy; }, CheckStrategyName, strategy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetStrategy - Gets the strategy that was set, `auto` if none was

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`

   Output Parameter:
.  strategy - its name; valid until the next change, do not free it

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeSetStrategy()`
@*/
PetscErrorCode PCSyncFreeGetStrategy(PC pc, const char *strategy[])
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, true, &settings));
  *strategy = settings->solver.strategy.c_str();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeSetThreads - Sets the number of CPU threads that factor and solve

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`; others ignore the call
-  threads - at least 1, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_syncfree_threads n - the number of threads

   Level: intermediate

   Note:
   `PETSC_DECIDE` stands for the option `-omp_num_threads`, else the environment variable `OMP_NUM_THREADS`, else one thread;
   `PCView()` tells what more would promise. A set-up on a device then has up to four threads that help and sleep when it is done.
   There may be at most 64 threads, or four times as many as this process has processors. Where several threads are slower than one,
   three times in a row, `auto` goes on with one.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetThreads()`
@*/
PetscErrorCode PCSyncFreeSetThreads(PC pc, PetscInt threads)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetThreads>(pc, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetThreads - Gets the number of CPU threads that factor and solve

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`

   Output Parameter:
.  threads - the number that was set, or the one that `PETSC_DECIDE` stands for on the CPU

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeSetThreads()`
@*/
PetscErrorCode PCSyncFreeGetThreads(PC pc, PetscInt *threads)
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, true, &settings));
  *threads = (PetscInt)settings->threads;
  if (*threads == PETSC_DECIDE) PetscCall(guarded<DefaultThreads>(false, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeSetFactorPrecision - Sets the precision in which the factor is stored

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  precision - `PC_SYNCFREE_PRECISION_SCALAR` (default) or `PC_SYNCFREE_PRECISION_SINGLE`

   Options Database Key:
.  -pc_syncfree_factor_precision (scalar|single) - the precision

   Level: intermediate

   Note:
   The factorization and all sums of the solves are done in `PetscScalar` in either case.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeGetFactorPrecision()`, `PCSyncFreePrecisionType`
@*/
PetscErrorCode PCSyncFreeSetFactorPrecision(PC pc, PCSyncFreePrecisionType precision)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetPrecision>(pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetFactorPrecision - Gets the precision in which the factor is stored

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  precision - the precision

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeSetFactorPrecision()`, `PCSyncFreePrecisionType`
@*/
PetscErrorCode PCSyncFreeGetFactorPrecision(PC pc, PCSyncFreePrecisionType *precision)
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, false, &settings));
  *precision = settings->solver.single_storage ? PC_SYNCFREE_PRECISION_SINGLE : PC_SYNCFREE_PRECISION_SCALAR;
  PetscFunctionReturn(PETSC_SUCCESS);
}
