/*
  Registration: with `-dll_append /path/libsyncfree_ilu.so` PETSc calls PetscDLLibraryRegister_syncfree_ilu(), a PETSc
  that was configured with this library PetscDLLibraryRegister_petscsyncfree_ilu(); a program that links it calls
  PCSyncFreeRegister(). All first check that this library was built for the running PETSc, because it uses PETSc's
  private structures.
*/

#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "syncfree/threads.hpp"

namespace syncfree_plugin {

Events events;

static PetscBool registered    = PETSC_FALSE;
static int       ranks_on_node = 1;

static PetscErrorCode CheckRelease()
{
  PetscInt major, minor, subminor, release;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libsyncfree_ilu was built for PETSc %d.%d, but this program runs PETSc %d.%d; rebuild it with the PETSC_DIR and PETSC_ARCH of this program", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)major, (int)minor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queries the running library by name, which returns the library's configuration and not that of the headers. */
static PetscErrorCode CheckDataType(const char name[], PetscDataType built)
{
  PetscDataType running = PETSC_DATATYPE_UNKNOWN;
  PetscBool     found   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeFromString(name, &running, &found));
  PetscCheck(found && running == built, PETSC_COMM_SELF, PETSC_ERR_SUP, "libsyncfree_ilu was built for a PETSc whose %s is %s, but this program's is %s; rebuild it with the PETSC_DIR and PETSC_ARCH of this program", name, PetscDataTypes[built], found ? PetscDataTypes[running] : "unknown");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIndexSize()
{
  size_t size;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &size));
  PetscCheck(size == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_SUP, "libsyncfree_ilu was built for a PETSc with %d-bit indices, but this program's has %d-bit indices; rebuild it with the PETSC_DIR and PETSC_ARCH of this program", (int)(8 * sizeof(PetscInt)), (int)(8 * size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountRanksOnNode()
{
  MPI_Comm node;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &ranks_on_node));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckThreads(MPI_Comm comm, const char what[], PetscInt threads)
{
  const int most = syncfree::most_threads();

  PetscFunctionBegin;
  PetscCheck(threads == PETSC_DECIDE || (threads >= 1 && threads <= most), comm, PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT " must be at least 1 and at most %d, or -1 (PETSC_DECIDE) for the default; this process may use %d cores, and more threads than cores are slower", what, threads, most, UsableCores());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int UsableCores()
{
  return syncfree::usable_cores(ranks_on_node);
}

PetscErrorCode DefaultThreads(bool device, PetscInt *threads)
{
  const int   helpers     = 4, most = syncfree::most_threads();
  PetscBool   set         = PETSC_FALSE;
  const char *environment = std::getenv("OMP_NUM_THREADS");

  PetscFunctionBegin;
  *threads = 0;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-omp_num_threads", threads, &set));
  /* OMP_NUM_THREADS may be a list, one number per nesting level; the first one applies */
  if (!set && environment) *threads = (PetscInt)std::min(std::max(std::strtol(environment, nullptr, 10), 0L), (long)most);
  if (*threads > most) PetscCall(PetscInfo(nullptr, "%" PetscInt_FMT " OpenMP threads exceed the limit of this process, using %d\n", *threads, most));
  if (*threads < 1) *threads = device ? std::min(1 + helpers, UsableCores()) : 1;
  *threads = std::min(*threads, (PetscInt)most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Finalize()
{
  PetscFunctionBegin;
  registered = PETSC_FALSE;
  ForgetCitations();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterEvents()
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("SyncFreeAnalysis", MAT_CLASSID, &events.analysis));
  PetscCall(PetscLogEventRegister("SyncFreeNumeric", MAT_CLASSID, &events.numeric));
  PetscCall(PetscLogEventRegister("SyncFreeSolve", MAT_CLASSID, &events.solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterAll()
{
  PetscFunctionBegin;
  PetscCall(CheckIndexSize()); /* first: what follows passes addresses of PetscInt */
  PetscCall(CheckRelease());
  PetscCall(CheckDataType("scalar", PETSC_SCALAR));
  if (registered) PetscFunctionReturn(PETSC_SUCCESS);
  /* MatSolverTypeRegister() reads its list before it ensures that PETSc's own packages are in it */
  PetscCall(MatInitializePackage());
  PetscCall(PCInitializePackage());
  PetscCall(CountRanksOnNode());
  PetscCall(RegisterEvents());
  PetscCall(RegisterFactorPackage());
  PetscCall(RegisterOrderings());
  PetscCall(RegisterPCTypes());
  PetscCall(RegisterSorType());
  PetscCall(PetscRegisterFinalize(guarded<Finalize>));
  registered = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin

/*@C
   PCSyncFreeRegister - Registers `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR` and `MATSOLVERSYNCFREE` with PETSc

   Collective on `PETSC_COMM_WORLD`

   Level: intermediate

   Notes:
   A program that links this library must call this routine after `PetscInitialize()`. It is not needed with the option
   `-dll_append /path/to/libsyncfree_ilu.so`. It may be called more than once.

   Generates an error if this library was built for another minor version, scalar type or index size of PETSc.

.seealso: `PCRegister()`, `MATSOLVERSYNCFREE`, `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`
@*/
PetscErrorCode PCSyncFreeRegister(void)
{
  PetscFunctionBegin;
  PetscCall(syncfree_plugin::guarded<syncfree_plugin::RegisterAll>());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Python loads PETSc with local symbols, so a library built for another PETSc loads that one, too, uninitialized.
   PetscInitialized() cannot detect this, because PETSc loads libraries before it sets that flag. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_syncfree_ilu(void)
{
  if (PETSC_COMM_WORLD == MPI_COMM_NULL) {
    std::fprintf(stderr, "libsyncfree_ilu: the PETSc (%d.%d) it was built for is not initialized: PetscInitialize() was not called, or the program uses another PETSc; in that case rebuild it with the PETSC_DIR and PETSC_ARCH of this program\n", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR);
    return (PetscErrorCode)PETSC_ERR_ORDER;
  }
  return PCSyncFreeRegister();
}

/* By the name libpetscsyncfree_ilu.so: config/packaging/petsc */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscsyncfree_ilu(void)
{
  return PCSyncFreeRegister();
}
