/*
  The settings that both front ends share, the PC types and the factor package:
  their options, and how they travel from a PC to its factored matrix.
*/

#include "plugin_impl.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "syncfree/strategy.hpp"

const char *const PCSyncFreeILUStorageTypes[] = {"full", "single", "PCSyncFreeILUStorageType", "PC_SYNCFREE_ILU_STORAGE_", nullptr};

namespace syncfree_plugin {

static const char handover_name[] = "PCSyncFreeILU_Handover";

bool Settings::operator==(const Settings &other) const
{
  return !std::strcmp(backend, other.backend) && !std::strcmp(strategy, other.strategy) && threads == other.threads && storage == other.storage && !std::strcmp(table, other.table) && block_rows == other.block_rows && applies == other.applies && merge_fill == other.merge_fill && wait_limit == other.wait_limit && trials == other.trials;
}

static std::vector<const char *> StrategyNames()
{
  std::vector<const char *> names = {"auto"};

  for (const auto &info : syncfree::strategies())
    if (&info == syncfree::find_strategy(info.name)) names.push_back(info.name);
  return names;
}

static PetscErrorCode CheckBuilt(const char name[])
{
  PetscFunctionBegin;
  const std::string why = syncfree::why_not_built(name);
  PetscCheck(why.empty(), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Strategy %s is not available: %s", name, why.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckStrategyName(const char name[])
{
  PetscFunctionBegin;
  PetscCall(CheckBuilt(name));
  std::string known;
  for (const char *candidate : StrategyNames()) {
    if (!std::strcmp(candidate, name)) PetscFunctionReturn(PETSC_SUCCESS);
    known += std::string(known.empty() ? "" : ", ") + candidate;
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown strategy %s; -pc_syncfree_ilu_strategy takes one of %s", name, known.c_str());
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

PetscErrorCode SettingsFromOptions(Settings *settings, OptionItems PetscOptionsObject)
{
  const auto names   = StrategyNames();
  PetscInt   choice  = 0, threads = settings->threads;
  PetscEnum  storage = (PetscEnum)settings->storage;
  PetscBool  set     = PETSC_FALSE;
  char       wanted[sizeof(settings->strategy)];

  PetscFunctionBegin;
  /* the list of names would be refused without a word on what is missing */
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, "-pc_syncfree_ilu_strategy", wanted, sizeof(wanted), &set));
  if (set) PetscCall(CheckBuilt(wanted));
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, "-pc_syncfree_ilu_backend", wanted, sizeof(wanted), &set));
  if (set) PetscCall(CheckBackendName(wanted));
  PetscOptionsHeadBegin(PetscOptionsObject, "Synchronization-free ILU and ICC options");
  PetscCall(PetscOptionsEList("-pc_syncfree_ilu_backend", "Where the factor is made and solved with", "PCSyncFreeILUSetBackend", backends, PETSC_STATIC_ARRAY_LENGTH(backends), settings->backend, &choice, &set));
  if (set) PetscCall(PetscStrncpy(settings->backend, backends[choice], sizeof(settings->backend)));
  PetscCall(PetscOptionsEList("-pc_syncfree_ilu_strategy", "How the triangular solves run", "PCSyncFreeILUSetStrategy", names.data(), (PetscInt)names.size(), settings->strategy, &choice, &set));
  if (set) PetscCall(PetscStrncpy(settings->strategy, names[choice], sizeof(settings->strategy)));
  PetscCall(PetscOptionsInt("-pc_syncfree_ilu_threads", "CPU threads", "PCSyncFreeILUSetThreads", threads, &threads, &set));
  if (set) PetscCall(CheckThreads(PETSC_COMM_SELF, "-pc_syncfree_ilu_threads", threads));
  settings->threads = threads;
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
