/*
  Setters and getters of the PCs of this plugin, declared in syncfree_petsc.h.
*/

#include "plugin_impl.hpp"

#include <cmath>
#include <limits>

using namespace syncfree_plugin;

/* Has no effect on other PCs. */
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

static PetscErrorCode SetMemoryLimit(PC pc, PetscReal megabytes)
{
  const Settings *old;
  OptionUser      user;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(QuerySettings(pc, &old, &user));
  if (!old) PetscFunctionReturn(PETSC_SUCCESS);
  if (megabytes == (PetscReal)PETSC_DECIDE) megabytes = 0;
  PetscCheck(megabytes >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Memory limit %g must be a number of megabytes, PETSC_INFINITY, or PETSC_DECIDE for the default", (double)megabytes);
  Settings settings            = *old;
  settings.solver.memory_limit = megabytes >= PETSC_INFINITY ? std::numeric_limits<double>::infinity() : (double)megabytes;
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error for other PCs. */
static PetscErrorCode GetSettings(PC pc, bool of_sweeps, const Settings **settings)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(RequireSettings(pc, of_sweeps, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeSetBackend - Sets the backend that computes the factorization and the triangular solves

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner context
-  backend - `auto` (default), `host`, or, if the library was built with it, `kokkos` or `cuda`

   Options Database Key:
.  -pc_syncfree_backend (auto|host|kokkos|cuda) - the backend

   Level: intermediate

   Notes:
   Only for preconditioners of type `PCSYNCFREEILU` and `PCSYNCFREEICC`; it is ignored for others.

   `auto` selects the CPU or the GPU, wherever the matrix resides, unless the strategy exists for another backend only.

   With `cuda`, matrices and vectors in host memory are copied to the device and back; `-ksp_view` reports such copies.
   `PCSetUp()` generates an error if the strategy set with `PCSyncFreeSetStrategy()` does not exist for the backend.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeGetBackend()`, `PCSyncFreeSetStrategy()`
@*/
PetscErrorCode PCSyncFreeSetBackend(PC pc, const char backend[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, false, [](Settings &s) -> std::string & { return s.backend; }, CheckBackendName, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetBackend - Gets the backend set with `PCSyncFreeSetBackend()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU` or `PCSYNCFREEICC`

   Output Parameter:
.  backend - the name of the backend, `auto` by default; do not free it, it is valid until the backend is changed

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
   PCSyncFreeSetStrategy - Sets the algorithm of the triangular solves or SOR sweeps

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner context
-  strategy - `auto` (default) or one of the names that `-help` lists

   Options Database Key:
.  -pc_syncfree_strategy (auto|...) - the strategy, see `-help`

   Level: intermediate

   Notes:
   Only for preconditioners of type `PCSYNCFREEILU`, `PCSYNCFREEICC` and `PCSYNCFREESOR`; it is ignored for others.

   `serial`, `level_set`, `sync_free`, `blocks`, `loop` and the block algorithms run on the CPU, others on a GPU.

   `-ksp_view` prints the strategy in use and why `auto` selected it. A change after `PCSetUp()` causes a new analysis.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetStrategy()`
@*/
PetscErrorCode PCSyncFreeSetStrategy(PC pc, const char strategy[])
{
  PetscFunctionBegin;
  PetscCall(guarded<SetName>(pc, true, [](Settings &s) -> std::string & { return s.solver.strategy; }, CheckStrategyName, strategy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetStrategy - Gets the strategy set with `PCSyncFreeSetStrategy()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`

   Output Parameter:
.  strategy - the name of the strategy, `auto` by default; do not free it, it is valid until the strategy is changed

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetRunningStrategy()`, `PCSyncFreeSetStrategy()`
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
   PCSyncFreeSetThreads - Sets the number of CPU threads of each process

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner context
-  threads - the number of threads, at least 1, or `PETSC_DECIDE` (default)

   Options Database Key:
.  -pc_syncfree_threads n - the number of threads

   Level: intermediate

   Notes:
   Only for preconditioners of type `PCSYNCFREEILU`, `PCSYNCFREEICC` and `PCSYNCFREESOR`; it is ignored for others.

   `PETSC_DECIDE` takes the value of the option `-omp_num_threads`, else that of the environment variable
   `OMP_NUM_THREADS`, else one thread; `PCView()` reports what more threads are predicted to gain. If neither is set, a
   set-up on a GPU uses up to four additional CPU threads, which sleep when it is done.

   The number of threads is limited to 64 or four times the number of processors of this process, whichever is larger. If
   several threads are slower than one three times in a row, `auto` continues with one thread.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetThreads()`
@*/
PetscErrorCode PCSyncFreeSetThreads(PC pc, PetscInt threads)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetThreads>(pc, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetThreads - Gets the number of CPU threads of each process

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`

   Output Parameter:
.  threads - the number of threads that was set, or that `PETSC_DECIDE` selects on the CPU

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
+  pc        - the preconditioner context
-  precision - `PC_SYNCFREE_PRECISION_SCALAR` (default) or `PC_SYNCFREE_PRECISION_SINGLE`

   Options Database Key:
.  -pc_syncfree_factor_precision (scalar|single) - the precision

   Level: intermediate

   Notes:
   Only for preconditioners of type `PCSYNCFREEILU` and `PCSYNCFREEICC`; it is ignored for others.

   The factorization and all sums of the solves are computed in `PetscScalar` in either case. With the strategy `auto` on a GPU the
   factor is stored in single precision only where that is predicted to be faster; the view says so.

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

/*@
   PCSyncFreeSetMemoryLimit - Sets how much memory the factor and the plan of its solves may take on a GPU

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner context
-  megabytes - the limit in units of 10^6 bytes for each process, `PETSC_INFINITY` for none, or `PETSC_DECIDE` (default)

   Options Database Key:
.  -pc_syncfree_memory_limit (auto|unlimited|megabytes) - the limit

   Level: intermediate

   Notes:
   Only for preconditioners of type `PCSYNCFREEILU`, `PCSYNCFREEICC` and `PCSYNCFREESOR`; it is ignored for others.

   `PETSC_DECIDE` allows six times the memory of PETSc's factor, but at least 64 megabytes.

   On a GPU the strategy `auto` takes none that would exceed the limit, but for `level_order`, which is always allowed, and
   `merged` merges as many levels as the limit allows. Other strategies that are set by name ignore it, as do factors on
   the CPU, whose plans are small. `-ksp_view` prints the limit, what is taken, and what the limit prevented.

   Transposed solves and applications to several vectors take additional memory when they are first used.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeGetMemoryLimit()`, `PCSyncFreeSetStrategy()`
@*/
PetscErrorCode PCSyncFreeSetMemoryLimit(PC pc, PetscReal megabytes)
{
  PetscFunctionBegin;
  PetscCall(guarded<SetMemoryLimit>(pc, megabytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCSyncFreeGetMemoryLimit - Gets the limit set with `PCSyncFreeSetMemoryLimit()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`

   Output Parameter:
.  megabytes - the limit in units of 10^6 bytes, `PETSC_INFINITY` for none, or `PETSC_DECIDE` by default

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeSetMemoryLimit()`
@*/
PetscErrorCode PCSyncFreeGetMemoryLimit(PC pc, PetscReal *megabytes)
{
  const Settings *settings;

  PetscFunctionBegin;
  PetscCall(guarded<GetSettings>(pc, true, &settings));
  const double limit = settings->solver.memory_limit;
  *megabytes = limit == 0 ? (PetscReal)PETSC_DECIDE : std::isinf(limit) ? PETSC_INFINITY : (PetscReal)limit;
  PetscFunctionReturn(PETSC_SUCCESS);
}
