/*
  Settings of the PC types and of the factor package: their options, and how they are passed from a PC to its factored
  matrix.
*/

#include "plugin_impl.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree/wait_limit.hpp"

const char *const PCSyncFreePrecisionTypes[] = {"scalar", "single", "PCSyncFreePrecisionType", "PC_SYNCFREE_PRECISION_", nullptr};

namespace syncfree_plugin {

static const char handover_name[] = "PCSyncFree_SetupContext";

bool Settings::operator==(const Settings &other) const
{
  return backend == other.backend && threads == other.threads && block_size == other.block_size && use_inodes == other.use_inodes && ordering_model == other.ordering_model && view == other.view && solver == other.solver && ordering.cyclic_colors == other.ordering.cyclic_colors && ordering.abmc_rows == other.ordering.abmc_rows;
}

/* Returns the strategies of triangular solves, or of sweeps, which Kokkos Kernels does not have. */
static std::vector<const char *> StrategyNames(OptionUser user)
{
  const bool sweeps = user == OptionUser::sweeps;

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

PetscErrorCode CheckStrategyName(OptionUser user, const char name[])
{
  std::string known;

  PetscFunctionBegin;
  for (const char *candidate : StrategyNames(user)) {
    if (!std::strcmp(candidate, name)) PetscFunctionReturn(PETSC_SUCCESS);
    known += std::string(known.empty() ? "" : ", ") + candidate;
  }
  const bool        no_sweeps = user == OptionUser::sweeps && !std::strcmp(name, "kokkos");
  const std::string why       = no_sweeps ? "it does not support SOR" : syncfree::why_not_built(name);
  PetscCheck(why.empty(), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Strategy %s is not available: %s; -pc_syncfree_strategy takes one of %s", name, why.c_str(), known.c_str());
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown strategy %s; -pc_syncfree_strategy takes one of %s", name, known.c_str());
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

PetscErrorCode CheckBackendName(OptionUser, const char name[])
{
  PetscFunctionBegin;
  std::string known;
  for (const char *candidate : backends) {
    if (!std::strcmp(candidate, name)) PetscFunctionReturn(PETSC_SUCCESS);
    known += std::string(known.empty() ? "" : ", ") + candidate;
  }
  const bool other_builds = !std::strcmp(name, "cuda") || !std::strcmp(name, "kokkos");
  PetscCheck(!other_builds, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Backend %s is not available: this library was built without it (CMake option %s)", name, *name == 'c' ? "SYNCFREE_CUDA" : "SYNCFREE_KOKKOS");
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown backend %s; -pc_syncfree_backend takes one of %s", name, known.c_str());
}

static std::vector<const char *> BackendNames(OptionUser)
{
  return {std::begin(backends), std::end(backends)};
}

static std::vector<const char *> CutTableNames(OptionUser)
{
  return syncfree::block_table_names();
}

static std::vector<const char *> OrderingModelNames(OptionUser)
{
  return {std::begin(ordering_models), std::end(ordering_models)};
}

/* ---- the table of options ---- */

/* A setting: a text or a name from a list, a flag (or two names), an integer or a real number */
using Field = std::variant<std::string *, bool *, std::int64_t *, double *>;

struct Option {
  const char *name, *manual, *help; /* -pc_syncfree_NAME; manual page and text in -help, with the unit */
  bool        factors, sweeps;      /* applies to factorizations, to sweeps */
  Field (*field)(Settings &);
  std::vector<const char *> (*names)(OptionUser);         /* of a list or a flag, the default first; the word for 0 of a number, and that for infinity; a text without is a viewer */
  PetscErrorCode (*check)(OptionUser, const char name[]); /* rejects an unknown name; if NULL, PETSc does */
  double least;                                           /* smallest value of a number; below 0: a number of threads */
  bool   viewed;                                          /* printed on another line of a view */
  std::int64_t most = std::numeric_limits<PetscInt>::max(); /* largest value of an integer */
};

constexpr std::int64_t most_block_size = 1024; /* larger blocks are dense matrices */

#define LIST(...) [](OptionUser) -> std::vector<const char *> { return {__VA_ARGS__}; }
#define FIELD(place) [](Settings &s) -> Field { return &s.place; }

static const Option options[] = {
  {"backend",          "PCSyncFreeSetBackend",         "Where the factorization and the solves run; auto: where the matrix is",                                   true,  false, FIELD(backend),                 BackendNames,             CheckBackendName,  0,  true },
  {"strategy",         "PCSyncFreeSetStrategy",        "Algorithm of the triangular solves or sweeps",                                                            true,  true,  FIELD(solver.strategy),         StrategyNames,            CheckStrategyName, 0,  true },
  {"threads",          "PCSyncFreeSetThreads",         "Number of CPU threads; -1: value of -omp_num_threads, else OMP_NUM_THREADS, else 1",                      true,  true,  FIELD(threads),                 nullptr,                  nullptr,           -1, true },
  {"factor_precision", "PCSyncFreeSetFactorPrecision", "Precision in which the factor is stored",                                                                 true,  false, FIELD(solver.single_storage),   LIST("scalar", "single"), nullptr,           0,  true },
  {"select",           "PCSYNCFREEILU",                "How auto selects: by a performance model, or by timing several strategies in set-up",                     true,  false, FIELD(solver.trials),           LIST("model", "trials"),  nullptr,           0,  false},
  {"expected_applies", "PCSYNCFREEILU",                "Expected number of applications per set-up; 0: cheapest set-up",                                          true,  false, FIELD(solver.expected_applies), nullptr,                  nullptr,           0,  false},
  {"merge_fill",       "PCSYNCFREEILU",                "Maximum number of entries of strategy merged, relative to the triangle with its diagonal",                true,  false, FIELD(solver.merge_fill),       nullptr,                  nullptr,           1,  false},
  {"memory_limit",     "PCSyncFreeSetMemoryLimit",     "Megabytes of factor and plan on a GPU; auto: 6 times those of PETSc's ILU factor, at least 64; unlimited: none", true,  true,  FIELD(solver.memory_limit),     LIST("auto", "unlimited"), nullptr,          0,  false},
  {"cut_table",        "PCSYNCFREEILU",                "Thresholds of column_block, row_block and recursive_block",                                               true,  false, FIELD(solver.blocks.table),     CutTableNames,            nullptr,           0,  false},
  {"cut_rows",         "PCSYNCFREEILU",                "Smallest part into which the block strategies split a triangle, in rows; 0: from -pc_syncfree_cut_table", true,  false, FIELD(solver.blocks.cut_rows),  nullptr,                  nullptr,           0,  false},
  {"tile_rows",        "PCSYNCFREEILU",                "Rows per tile of strategy tiled; 0: chosen automatically",                                                true,  false, FIELD(solver.blocks.tile_rows), nullptr,                  nullptr,           0,  false},
  {"block_size",       "PCSYNCFREEILU",                "Rows of the dense blocks by which an AIJ matrix is factored; auto: chosen, if blocks are full", true,  false, FIELD(block_size),              LIST("auto"),             nullptr,           0,  false, most_block_size},
  {"cyclic_colors",    "PCSYNCFREEILU",                "Number of colors with -pc_factor_mat_ordering_type syncfree_cyclic",                                       true,  false, FIELD(ordering.cyclic_colors),  nullptr,                  nullptr,           2,  false, syncfree::most_cyclic_colors},
  {"abmc_rows",        "PCSYNCFREEILU",                "Maximum number of rows in a block with -pc_factor_mat_ordering_type syncfree_abmc",                         true,  false, FIELD(ordering.abmc_rows),      nullptr,                  nullptr,           1,  false, syncfree::most_abmc_rows},
  {"ordering_model",   "PCSYNCFREEILU",                "Hardware whose times -pc_factor_mat_ordering_type syncfree_auto predicts; auto: that of the factor",                         true,  false, FIELD(ordering_model),          OrderingModelNames,       nullptr,           0,  false},
  {"wait_limit",       "PCSYNCFREEILU",                "Seconds after which a waiting GPU kernel is stopped with an error; 0: never",                             true,  true,  FIELD(solver.wait_limit),       nullptr,                  nullptr,           0,  true },
  {"use_inodes",       "PCSYNCFREESOR",                "Relax inodes together if the matrix uses them",                                                           false, true,  FIELD(use_inodes),              nullptr,                  nullptr,           0,  false},
  {"view",             "PCSYNCFREEILU",                "Prints once per analysis what runs; the viewer is given as to -ksp_view",                                 true,  true,  FIELD(view),                    nullptr,                  nullptr,           0,  true },
};
#undef FIELD
#undef LIST

static bool Has(OptionUser user, const Option &option)
{
  return user == OptionUser::factors ? option.factors : option.sweeps;
}

/* PETSc ignores case, and rejects a name that is not in the list without the reason why it is missing. */
static PetscErrorCode CheckName(OptionUser user, const Option &option, const char name[], OptionItems PetscOptionsObject)
{
  char      wanted[64];
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, name, wanted, sizeof(wanted), &set));
  if (!set || !option.check) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrtolower(wanted));
  PetscCall(option.check(user, wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -help prints the current name. */
static PetscErrorCode NameFromOptions(OptionUser user, const Option &option, const char name[], const char *current, const char **chosen, OptionItems PetscOptionsObject)
{
  const auto names = option.names(user);
  PetscInt   choice = 0;
  PetscBool  set    = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CheckName(user, option, name, PetscOptionsObject));
  PetscCall(PetscOptionsEList(name, option.help, option.manual, names.data(), (PetscInt)names.size(), current, &choice, &set));
  *chosen = set ? names[choice] : current;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An option without a value is PETSc's default viewer. */
static PetscErrorCode ViewerFromOptions(const Option &option, const char name[], std::string *viewer, OptionItems PetscOptionsObject)
{
  char      text[PETSC_MAX_PATH_LEN] = "";
  PetscBool set                      = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString(name, option.help, option.manual, viewer->c_str(), text, sizeof(text), &set));
  if (set) *viewer = text[0] ? text : "ascii";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns a real number, or the word for it, as it would be given to the option. */
static std::string WriteReal(const std::vector<const char *> &words, double value)
{
  char number[32];

  if (!words.empty() && value == 0) return words[0];
  if (!words.empty() && std::isinf(value)) return words[1];
  std::snprintf(number, sizeof(number), "%g", value);
  return number;
}

static bool IsNumber(const char text[])
{
  char *end;
  (void)std::strtod(text, &end);
  return end != text && *end == '\0';
}

/* The option takes a word for 0, or a number. */
static PetscErrorCode WordOrInteger(const Option &option, const char name[], const char word[], PetscInt *number, PetscBool *set, OptionItems PetscOptionsObject)
{
  const std::string current = *number ? std::to_string((long long)*number) : word;
  char              text[64];
  PetscBool         is_word;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString(name, option.help, option.manual, current.c_str(), text, sizeof(text), set));
  if (!*set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(text, word, &is_word));
  if (is_word) *number = 0;
  else {
    PetscCheck(IsNumber(text), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s is '%s', but takes %s or a number", name, text, word);
    PetscCall(PetscOptionsStringToInt(text, number));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IntegerFromOptions(OptionUser user, const Option &option, const char name[], std::int64_t *value, OptionItems PetscOptionsObject)
{
  PetscInt  number = (PetscInt)*value;
  PetscBool set    = PETSC_FALSE;

  PetscFunctionBegin;
  if (option.names) PetscCall(WordOrInteger(option, name, option.names(user)[0], &number, &set, PetscOptionsObject));
  else PetscCall(PetscOptionsInt(name, option.help, option.manual, number, &number, &set));
  if (set && option.least < 0) PetscCall(CheckThreads(PETSC_COMM_SELF, name, number));
  PetscCheck(!set || number >= (PetscInt)option.least, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT " must be at least %d", name, number, (int)option.least);
  PetscCheck(!set || number <= (PetscInt)option.most, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT " must be at most %" PetscInt_FMT, name, number, (PetscInt)option.most);
  *value = number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option takes a word for 0, one for infinity, or a number. */
static PetscErrorCode WordOrReal(const Option &option, const char name[], const std::vector<const char *> &words, const std::string &current, PetscReal *number, PetscBool *set, OptionItems PetscOptionsObject)
{
  char      text[64];
  PetscBool is_zero, is_infinite;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString(name, option.help, option.manual, current.c_str(), text, sizeof(text), set));
  if (!*set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(text, words[0], &is_zero));
  PetscCall(PetscStrcasecmp(text, words[1], &is_infinite));
  if (is_zero) *number = 0;
  else if (is_infinite) *number = std::numeric_limits<PetscReal>::infinity();
  else {
    PetscCheck(IsNumber(text), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s is '%s', but takes %s, %s or a number", name, text, words[0], words[1]);
    PetscCall(PetscOptionsStringToReal(text, number));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealFromOptions(OptionUser user, const Option &option, const char name[], double *value, OptionItems PetscOptionsObject)
{
  PetscReal number = (PetscReal)*value;
  PetscBool set    = PETSC_FALSE;

  PetscFunctionBegin;
  if (option.names) PetscCall(WordOrReal(option, name, option.names(user), WriteReal(option.names(user), *value), &number, &set, PetscOptionsObject));
  else PetscCall(PetscOptionsReal(name, option.help, option.manual, number, &number, &set));
  PetscCheck(!set || number >= option.least, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s %g must be at least %g", name, (double)number, option.least);
  if (set) *value = (double)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OptionFromOptions(OptionUser user, const Option &option, Settings *settings, OptionItems PetscOptionsObject)
{
  const std::string name  = std::string("-pc_syncfree_") + option.name;
  const Field       field = option.field(*settings);
  const char       *chosen;

  PetscFunctionBegin;
  if (auto *text = std::get_if<std::string *>(&field); text && !option.names) {
    PetscCall(ViewerFromOptions(option, name.c_str(), *text, PetscOptionsObject));
  } else if (text) {
    PetscCall(NameFromOptions(user, option, name.c_str(), (*text)->c_str(), &chosen, PetscOptionsObject));
    **text = std::string(chosen);
  } else if (auto *number = std::get_if<std::int64_t *>(&field)) {
    PetscCall(IntegerFromOptions(user, option, name.c_str(), *number, PetscOptionsObject));
  } else if (auto *real = std::get_if<double *>(&field)) {
    PetscCall(RealFromOptions(user, option, name.c_str(), *real, PetscOptionsObject));
  } else if (option.names) {
    bool      *second = std::get<bool *>(field);
    const auto names  = option.names(user);
    PetscCall(NameFromOptions(user, option, name.c_str(), names[*second ? 1 : 0], &chosen, PetscOptionsObject));
    *second = !std::strcmp(chosen, names[1]);
  } else {
    bool     *flag  = std::get<bool *>(field);
    PetscBool value = (PetscBool)*flag;
    PetscCall(PetscOptionsBool(name.c_str(), option.help, option.manual, value, &value, nullptr));
    *flag = value;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SettingsFromOptions(OptionUser user, Settings *settings, OptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, user == OptionUser::factors ? "Synchronization-free ILU and ICC options" : "Synchronization-free SOR options");
  for (const Option &option : options)
    if (Has(user, option)) PetscCall(OptionFromOptions(user, option, settings, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns the value as it would be given to the option. */
static std::string Write(OptionUser user, const Option &option, Settings settings)
{
  const Field field = option.field(settings);

  if (auto *text = std::get_if<std::string *>(&field)) return **text;
  if (auto *integer = std::get_if<std::int64_t *>(&field)) return option.names && !**integer ? option.names(user)[0] : std::to_string(**integer);
  if (auto *flag = std::get_if<bool *>(&field)) return option.names ? option.names(user)[**flag ? 1 : 0] : **flag ? "true" : "false";
  return WriteReal(option.names ? option.names(user) : std::vector<const char *>(), *std::get<double *>(field));
}

std::string ListSettings(OptionUser user, const Settings &settings)
{
  std::string list;

  for (const Option &option : options) {
    const std::string value = Write(user, option, settings);
    if (Has(user, option) && !option.viewed && value != Write(user, option, Settings())) list += std::string(" -pc_syncfree_") + option.name + " " + value;
  }
  return list;
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
  PetscBool parallel;
  Mat       block = nullptr;

  PetscFunctionBegin;
  PetscCall(ComposePointer((PetscObject)A, handover_name, handover));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block, nullptr, nullptr));
  if (block) PetscCall(ComposePointer((PetscObject)block, handover_name, handover));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QueryHandover(Mat A, SetupContext **handover)
{
  PetscFunctionBegin;
  PetscCall(QueryPointer((PetscObject)A, handover_name, handover));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
