/*
  The settings that both front ends share, the PC types and the factor package:
  their options, and how they travel from a PC to its factored matrix.
*/

#include "plugin_impl.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree/wait_limit.hpp"

const char *const PCSyncFreeILUStorageTypes[] = {"full", "single", "PCSyncFreeILUStorageType", "PC_SYNCFREE_ILU_STORAGE_", nullptr};

namespace syncfree_plugin {

static const char handover_name[] = "PCSyncFreeILU_Handover";

bool Settings::operator==(const Settings &other) const
{
  return !std::strcmp(backend, other.backend) && !std::strcmp(strategy, other.strategy) && threads == other.threads && storage == other.storage && !std::strcmp(table, other.table) && block_rows == other.block_rows && applies == other.applies && merge_fill == other.merge_fill && wait_limit == other.wait_limit && trials == other.trials;
}

static const char *const option_of_strategy[] = {"-pc_syncfree_ilu_strategy", "-pc_syncfree_sor_strategy"};

/* Those of the triangular solves, or of sweeps, which Kokkos Kernels lacks */
static std::vector<const char *> StrategyNames(bool sweeps)
{
  std::vector<const char *> names = {"auto"};

  for (const auto &info : syncfree::strategies())
    if (&info == syncfree::find_strategy(info.name) && !(sweeps && !std::strcmp(info.backend, "kokkos"))) names.push_back(info.name);
  return names;
}

std::string ListStrategies(const char backend[])
{
  std::string list = "auto";

  for (const auto &info : syncfree::strategies())
    if (!std::strcmp(info.backend, backend)) list += std::string(", ") + info.name;
  return list;
}

static PetscErrorCode CheckStrategy(bool sweeps, const char name[])
{
  const char *const option = option_of_strategy[sweeps];
  std::string       known;

  PetscFunctionBegin;
  for (const char *candidate : StrategyNames(sweeps)) {
    if (!std::strcmp(candidate, name)) PetscFunctionReturn(PETSC_SUCCESS);
    known += std::string(known.empty() ? "" : ", ") + candidate;
  }
  const std::string why = sweeps && !std::strcmp(name, "kokkos") ? "it makes no sweeps" : syncfree::why_not_built(name);
  PetscCheck(why.empty(), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Strategy %s is not available: %s; %s takes one of %s", name, why.c_str(), option, known.c_str());
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown strategy %s; %s takes one of %s", name, option, known.c_str());
}

PetscErrorCode CheckStrategyName(const char name[])
{
  PetscFunctionBegin;
  PetscCall(CheckStrategy(false, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc refuses what is not on a list without a word on what is missing, and takes capitals for small letters. */
PetscErrorCode StrategyFromOptions(bool sweeps, char (&strategy)[32], PetscBool *set, OptionItems PetscOptionsObject)
{
  const char *const option = option_of_strategy[sweeps];
  const auto        names  = StrategyNames(sweeps);
  PetscInt          choice = 0;
  char              wanted[sizeof(strategy)];

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, option, wanted, sizeof(wanted), set));
  if (*set) {
    PetscCall(PetscStrtolower(wanted));
    PetscCall(CheckStrategy(sweeps, wanted));
  }
  PetscCall(PetscOptionsEList(option, sweeps ? "How the sweeps run" : "How the triangular solves run", sweeps ? "PCSYNCFREESOR" : "PCSyncFreeILUSetStrategy", names.data(), (PetscInt)names.size(), strategy, &choice, set));
  if (*set) PetscCall(PetscStrncpy(strategy, names[choice], sizeof(strategy)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ThreadsFromOptions(bool sweeps, PetscInt *threads, PetscBool *set, OptionItems PetscOptionsObject)
{
  const char *const option = sweeps ? "-pc_syncfree_sor_threads" : "-pc_syncfree_ilu_threads";
  PetscInt          wanted = *threads;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt(option, "CPU threads; -1: from -omp_num_threads, else OMP_NUM_THREADS, else 1", sweeps ? "PCSYNCFREESOR" : "PCSyncFreeILUSetThreads", wanted, &wanted, set));
  if (*set) PetscCall(CheckThreads(PETSC_COMM_SELF, option, wanted));
  *threads = wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const backends[] = {
  "auto",
  "host",
#if defined(SYNCFREE_HAVE_KOKKOS)
  "kokkos",
#endif
#if defined(SYNCFREE_HAVE_CUDA)
  "cuda",
#endif
};

PetscErrorCode CheckBackendName(const char name[])
{
  PetscFunctionBegin;
  std::string known;
  for (const char *candidate : backends) {
    if (!std::strcmp(candidate, name)) PetscFunctionReturn(PETSC_SUCCESS);
    known += std::string(known.empty() ? "" : ", ") + candidate;
  }
  const bool other_builds = !std::strcmp(name, "cuda") || !std::strcmp(name, "kokkos");
  PetscCheck(!other_builds, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Backend %s is not available: this library was built without it (CMake option %s)", name, *name == 'c' ? "SYNCFREE_CUDA" : "SYNCFREE_KOKKOS");
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown backend %s; -pc_syncfree_ilu_backend takes one of %s", name, known.c_str());
}

/* Options of the block algorithms. */
static PetscErrorCode BlockOptionsFromOptions(Settings *settings, OptionItems PetscOptionsObject)
{
  const auto &tables = syncfree::block_table_names();
  PetscInt    choice = 0, rows = settings->block_rows;
  PetscBool   set    = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEList("-pc_syncfree_ilu_block_table", "Thresholds of the block algorithms", "PCSYNCFREEILU", tables.data(), (PetscInt)tables.size(), settings->table, &choice, &set));
  if (set) PetscCall(PetscStrncpy(settings->table, tables[choice], sizeof(settings->table)));
  PetscCall(PetscOptionsInt("-pc_syncfree_ilu_block_rows", "Least rows of a triangle that is cut off, 0 for the table's; of a block of tiled", "PCSYNCFREEILU", rows, &rows, &set));
  PetscCheck(rows >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-pc_syncfree_ilu_block_rows %" PetscInt_FMT " must be at least 1, or 0 for the number of the table", rows);
  settings->block_rows = rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlanOptionsFromOptions(Settings *settings, OptionItems PetscOptionsObject)
{
  static const char *const choices[] = {"model", "trials"};
  PetscInt                 applies   = settings->applies, choice = 0;
  PetscReal                fill      = settings->merge_fill;
  PetscBool                set       = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEList("-pc_syncfree_ilu_choice", "How auto chooses: by a model, or by timing a few strategies in set-up", "PCSYNCFREEILU", choices, PETSC_STATIC_ARRAY_LENGTH(choices), choices[settings->trials ? 1 : 0], &choice, &set));
  if (set) settings->trials = (PetscBool)(choice == 1);
  PetscCall(PetscOptionsInt("-pc_syncfree_ilu_expected_applies", "Applications of one analysis over which auto spreads its cost", "PCSYNCFREEILU", applies, &applies, &set));
  PetscCheck(applies >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-pc_syncfree_ilu_expected_applies %" PetscInt_FMT " must not be negative", applies);
  settings->applies = applies;
  PetscCall(PetscOptionsReal("-pc_syncfree_ilu_merge_fill", "Entries of merged levels, over those of the factor, at most", "PCSYNCFREEILU", fill, &fill, &set));
  PetscCheck(fill >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-pc_syncfree_ilu_merge_fill %g must be at least 1", (double)fill);
  settings->merge_fill = fill;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode WaitLimitFromOptions(PetscReal *limit, OptionItems PetscOptionsObject)
{
  PetscReal seconds = *limit;

  PetscFunctionBegin;
  PetscCall(PetscOptionsReal("-pc_syncfree_wait_limit", "Seconds after which a kernel of a device whose threads wait for each other gives up, 0 for never", "PCSYNCFREEILU", seconds, &seconds, nullptr));
  PetscCheck(seconds >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-pc_syncfree_wait_limit %g must be a number of seconds, or 0 for no limit", (double)seconds);
  *limit = seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewWaitLimit(PetscViewer viewer, const char indent[], double asked)
{
  double limit = 0;

  PetscFunctionBegin;
  const syncfree::Status status = syncfree::wait_limit_in_force(asked, &limit);
  PetscCheck(status.ok(), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s", status.message().c_str());
  const bool other = limit != std::min(asked, syncfree::most_wait_limit);
  if (other || limit != syncfree::SolverOptions().wait_limit) PetscCall(PetscViewerASCIIPrintf(viewer, "%ssyncfree wait limit: %g s%s\n", indent, limit, other ? " (SYNCFREE_WAIT_LIMIT)" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SettingsFromOptions(Settings *settings, OptionItems PetscOptionsObject)
{
  PetscInt  choice  = 0;
  PetscEnum storage = (PetscEnum)settings->storage;
  PetscBool set     = PETSC_FALSE;
  char      wanted[sizeof(settings->backend)];

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, "-pc_syncfree_ilu_backend", wanted, sizeof(wanted), &set));
  if (set) PetscCall(CheckBackendName(wanted));
  PetscOptionsHeadBegin(PetscOptionsObject, "Synchronization-free ILU and ICC options");
  PetscCall(PetscOptionsEList("-pc_syncfree_ilu_backend", "Where the factor is made and solved with", "PCSyncFreeILUSetBackend", backends, PETSC_STATIC_ARRAY_LENGTH(backends), settings->backend, &choice, &set));
  if (set) PetscCall(PetscStrncpy(settings->backend, backends[choice], sizeof(settings->backend)));
  PetscCall(StrategyFromOptions(false, settings->strategy, &set, PetscOptionsObject));
  PetscCall(ThreadsFromOptions(false, &settings->threads, &set, PetscOptionsObject));
  PetscCall(PetscOptionsEnum("-pc_syncfree_ilu_storage", "Precision in which the factor is stored", "PCSyncFreeILUSetStorage", PCSyncFreeILUStorageTypes, storage, &storage, nullptr));
  settings->storage = (PCSyncFreeILUStorageType)storage;
  PetscCall(PlanOptionsFromOptions(settings, PetscOptionsObject));
  PetscCall(BlockOptionsFromOptions(settings, PetscOptionsObject));
  PetscCall(WaitLimitFromOptions(&settings->wait_limit, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComposePointer(PetscObject object, const char name[], void *pointer)
{
  PetscContainer container = nullptr;

  PetscFunctionBegin;
  if (pointer) {
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, pointer));
  }
  PetscCall(PetscObjectCompose(object, name, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QueryPointer(PetscObject object, const char name[], void **pointer)
{
  PetscContainer container = nullptr;

  PetscFunctionBegin;
  *pointer = nullptr;
  PetscCall(PetscObjectQuery(object, name, (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, pointer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ForgetType(PC pc)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(pc, destroy);
  PetscCall(PetscMemzero(pc->ops, sizeof(*pc->ops)));
  pc->data = nullptr;
  PetscCall(PetscFree(((PetscObject)pc)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComposeHandover(Mat A, SetupContext *handover)
{
  PetscFunctionBegin;
  PetscCall(ComposePointer((PetscObject)A, handover_name, handover));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QueryHandover(Mat A, SetupContext **handover)
{
  PetscFunctionBegin;
  PetscCall(QueryPointer((PetscObject)A, handover_name, handover));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
