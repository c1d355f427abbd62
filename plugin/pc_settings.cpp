/*
  What a program sets and gets of a PC of this plugin: functions of syncfree_petsc.h.
*/

#include "plugin_impl.hpp"

using namespace syncfree_plugin;

/* Other PCs ignore what is set. */
static PetscErrorCode SetName(PC pc, char (Settings::*place)[32], PetscErrorCode (*check)(const char[]), const char name[])
{
  const Settings *old;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old));
  if (!old) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(check(name));
  Settings settings = *old;
  PetscCall(PetscStrncpy(settings.*place, name, sizeof(settings.*place)));
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetThreads(PC pc, PetscInt threads)
{
  const Settings *old;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old));
  if (!old) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckThreads(PetscObjectComm((PetscObject)pc), "Number of threads", threads));
  Settings settings = *old;
  settings.threads  = threads;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetStorage(PC pc, PCSyncFreeILUStorageType storage)
{
  const Settings *old;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old));
  if (!old) PetscFunctionReturn(PETSC_SUCCESS);
  Settings settings = *old;
  settings.storage  = storage;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other PCs have nothing to tell, which is an error. */
static PetscErrorCode GetSettings(PC pc, const Settings **settings)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(RequireSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUSetBackend - Sets where the factor is made and solved with

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  backend - `auto` (default): where the matrix is; `host`, or `kokkos` and `cuda` where the library was built with them

   Options Database Key:
.  -pc_syncfree_ilu_backend (auto|host|kokkos|cuda) - the backend

   Level: intermediate

   Note:
   With `cuda` a matrix or a vector of the host is copied to the device and back; `-ksp_view` says so. A strategy that belongs to
   another backend is an error in `PCSetUp()`.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUGetBackend()`, `PCSyncFreeILUSetStrategy()`
@*/
PetscErrorCode PCSyncFreeILUSetBackend(PC pc, const char backend[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, &Settings::backend, CheckBackendName, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUGetBackend - Gets the backend that was set, `auto` if none was

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  backend - its name; valid until the next change, do not free it

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUSetBackend()`
@*/
PetscErrorCode PCSyncFreeILUGetBackend(PC pc, const char *backend[])
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, &settings));
  *backend = settings->backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUSetStrategy - Sets how the triangular solves run

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  strategy - `auto` (default) or a name that `-help` lists: `serial`, `level_set`, `sync_free`, `blocks`, `loop` and
              the block algorithms on the host, others on a device

   Options Database Key:
.  -pc_syncfree_ilu_strategy (auto|...) - the strategy

   Level: intermediate

   Note:
   `-ksp_view` prints the strategy that really runs and why `auto` took it. After `PCSetUp()` a change leads to a new analysis.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUGetStrategy()`
@*/
PetscErrorCode PCSyncFreeILUSetStrategy(PC pc, const char strategy[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, &Settings::strategy, CheckStrategyName, strategy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUGetStrategy - Gets the strategy that was set, `auto` if none was

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  strategy - its name; valid until the next change, do not free it

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUSetStrategy()`
@*/
PetscErrorCode PCSyncFreeILUGetStrategy(PC pc, const char *strategy[])
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, &settings));
  *strategy = settings->strategy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUSetThreads - Sets the number of CPU threads that factor and solve

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  threads - at least 1, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_syncfree_ilu_threads n - the number of threads

   Level: intermediate

   Note:
   `PETSC_DECIDE` stands for the option `-omp_num_threads`, else the environment variable `OMP_NUM_THREADS`, else one thread;
   `PCView()` tells what more would promise. A set-up on a device then has up to four threads that help and sleep when it is done.
   There may be at most 64 threads, or four times as many as this process has processors. Where several threads are slower than one,
   three times in a row, `auto` goes on with one.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUGetThreads()`
@*/
PetscErrorCode PCSyncFreeILUSetThreads(PC pc, PetscInt threads)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetThreads>(pc, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUGetThreads - Gets the number of CPU threads that factor and solve

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  threads - the number that was set, or the one that `PETSC_DECIDE` stands for on the CPU

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUSetThreads()`
@*/
PetscErrorCode PCSyncFreeILUGetThreads(PC pc, PetscInt *threads)
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, &settings));
  *threads = settings->threads;
  if (*threads == PETSC_DECIDE) PetscCall(guarded<DefaultThreads>(false, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUSetStorage - Sets the precision in which the factor is stored

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`; others ignore the call
-  storage - `PC_SYNCFREE_ILU_STORAGE_FULL` (default) or `PC_SYNCFREE_ILU_STORAGE_SINGLE`

   Options Database Key:
.  -pc_syncfree_ilu_storage (full|single) - the precision

   Level: intermediate

   Note:
   The factorization and all sums of the solves are done in `PetscScalar` in either case.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUGetStorage()`, `PCSyncFreeILUStorageType`
@*/
PetscErrorCode PCSyncFreeILUSetStorage(PC pc, PCSyncFreeILUStorageType storage)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetStorage>(pc, storage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeILUGetStorage - Gets the precision in which the factor is stored

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  storage - the precision

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeILUSetStorage()`, `PCSyncFreeILUStorageType`
@*/
PetscErrorCode PCSyncFreeILUGetStorage(PC pc, PCSyncFreeILUStorageType *storage)
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, &settings));
  *storage = settings->storage;
  PetscFunctionReturn(PETSC_SUCCESS);
}
