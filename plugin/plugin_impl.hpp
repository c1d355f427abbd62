#pragma once

/*
  Declarations shared by the files of the plugin: differences between PETSc versions, the settings of a
  preconditioner, and how they are passed from a PC to its factored matrix.

  PCSYNCFREEILU and PCSYNCFREEICC are PCILU and PCICC with a factored matrix of this package (pc_syncfree.cpp),
  PCSYNCFREESOR is PCSOR with other sweeps (pc_sor.cpp). The factored matrix is in mat_syncfree.cpp, the registration
  of all types in register.cpp.
*/

#include <petsc/private/matimpl.h>
#include <petsc/private/pcimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "guard.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/ordering_choice.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/status.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree_petsc.h"

namespace syncfree_plugin {

#if PETSC_VERSION_LT(3, 23, 0)
using OptionItems = PetscOptionItems *;
#else
using OptionItems = PetscOptionItems;
#endif

using Index = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;

/* User settings beyond the options of PCILU, PCICC and PCSOR; each is a line of the table in settings.cpp. */
struct Settings {
  std::string             backend    = "auto";
  std::int64_t            threads    = PETSC_DECIDE; /* replaces solver.threads */
  std::int64_t            block_size = 0;            /* of AIJ matrices; 0: chosen. Replaces solver.block_size */
  bool                    use_inodes = true;         /* sweeps only */
  std::string             ordering_model = "auto";   /* hardware for which `syncfree_auto` predicts times */
  std::string             view;                      /* where each analysis is viewed: a viewer as in options; empty: not */
  syncfree::SolverOptions solver;
  syncfree::OrderingOptions ordering;                /* but for its kind, which is that of the ordering's name */

  bool operator==(const Settings &) const;
};

/* Values of Settings::ordering_model */
inline constexpr const char *ordering_models[] = {"auto", "cpu", "gpu"};

/* An analysis and the input that it was made for (factor_impl.hpp) */
struct Analysis;

/* Data passed from a PC to its factored matrix. The shift is the one that the user requested: PCILU changes NONZERO to
   INBLOCKS for every matrix type except MATSEQAIJ and MATMPIAIJ. */
struct SetupContext {
  Settings                  settings;
  MatFactorShiftType        shift;
  std::shared_ptr<Analysis> last; /* of the existing factored matrix, or NULL */
  PetscBool                 index_sets = PETSC_TRUE;  /* the inner type makes index sets */
  PetscBool                 reuses_ordering = PETSC_FALSE;
  Mat                       operators       = nullptr; /* Amat of the PC: vectors are where it is */

  /* An ordering that the analysis makes, or one that it chooses; then no index sets count */
  std::optional<syncfree::OrderingOptions> ordering;
  PetscBool                                chooses = PETSC_FALSE;

  bool MakesOrdering() const { return ordering || chooses; }

  /* Failure of an ordering of this library on this process alone. Collective calls of PETSc follow an ordering, so the
     symbolic factorization reports it. */
  PetscErrorCode failed_ordering = PETSC_SUCCESS;

  /* True if, after a failure of the set-up on this process alone, the other processes of the PC wait in Agree(). */
  PetscBool others_wait = PETSC_FALSE;
};

/* Gets the analysis of a factored matrix of MATSOLVERSYNCFREE; NULL for another matrix. */
PetscErrorCode GetAnalysis(Mat, std::shared_ptr<Analysis> *);

/* Tests whether A has entries, or dense blocks of the same size, as had the matrix for which F was analysed. */
PetscErrorCode HasStorage(Mat F, Mat A, PetscBool *);

/* Tests whether A has the pattern for which F, a factored matrix of MATSOLVERSYNCFREE, was analysed. */
PetscErrorCode HasPattern(Mat F, Mat A, PetscBool *);

/* The options of the table that a PC or a factored matrix has: those of factorizations or those of sweeps */
enum class OptionUser { factors, sweeps };

/* QuerySettings() gets the settings of a PC of this plugin and its kind; NULL for another PC, which is an error in
   RequireSettings(). New settings cause a new analysis. */
PetscErrorCode QuerySettings(PC, const Settings **, OptionUser *);
PetscErrorCode RequireSettings(PC, bool of_sweeps, const Settings **);
PetscErrorCode ChangeSettings(PC, const Settings &);

/* The same for a PCSYNCFREESOR */
PetscErrorCode QuerySweepSettings(PC, const Settings **);
PetscErrorCode ChangeSweepSettings(PC, const Settings &);

/* Reads the options of the table; called between PetscOptionsBegin() and PetscOptionsEnd(). */
PetscErrorCode SettingsFromOptions(OptionUser, Settings *, OptionItems);

/* Returns, as options, the settings that differ from their defaults and are on no other line of a view; may be empty. */
std::string ListSettings(OptionUser, const Settings &);

/* Prints the wait limit in force, which the environment may have set; nothing if it is the default. */
PetscErrorCode ViewWaitLimit(PetscViewer, const char indent[], double asked);

/* Returns the names that -pc_syncfree_strategy accepts for a backend: "auto, serial, ..." */
std::string ListStrategies(const char backend[]);

/* What a PC of this plugin does, whatever name its type was registered under */
enum class Work { ilu, icc, sor };

/* Raises an error unless the operator is an AIJ matrix or, for ILU, a BAIJ matrix; the message describes the matrix and
   what to do. */
PetscErrorCode CheckMatrixType(PC, Work);

/* Raise an error that lists the known names if this name is unknown. */
PetscErrorCode CheckStrategyName(OptionUser, const char[]);
PetscErrorCode CheckBackendName(OptionUser, const char[]);

/* Gets the number of threads that PETSC_DECIDE stands for: -omp_num_threads, else OMP_NUM_THREADS, else one. On a device
   it is, instead of one, up to five: helper threads of the set-up sleep when that is done. */
PetscErrorCode DefaultThreads(bool device, PetscInt *);

/* Raises an error that names the limit if this process may not use that number of threads. */
PetscErrorCode CheckThreads(MPI_Comm, const char what[], PetscInt);

/* Returns the number of cores in this process's share of its node. */
int UsableCores();

/* Returns the predicted gain of more threads, the end of a view's line, or nothing. Of: Preconditioner or Relaxation;
   with the object's prefix the option is the one that it reads. */
template <class Of> std::string AdviceOnThreads(const Of &of, PetscObject object)
{
  const int cores = UsableCores();
  if (cores == 1) return {};
  const syncfree::Choice choice = of.choice_with(cores);
  if (choice.strategy.empty() || choice.strategy == "serial") return {};
  const std::string prefix = object->prefix ? object->prefix : "";
  return "; with -" + prefix + "pc_syncfree_threads " + std::to_string(cores) + ": " + choice.strategy + " (" + choice.reason + ")";
}

/* Compose a raw pointer with an object under a name and query it; NULL removes it, and is the result if there is none.
   The pointer is not owned. */
PetscErrorCode ComposePointer(PetscObject, const char name[], void *);
PetscErrorCode QueryPointer(PetscObject, const char name[], void **);
template <class T> PetscErrorCode QueryPointer(PetscObject object, const char name[], T **pointer)
{
  void *found = nullptr;

  PetscFunctionBegin;
  PetscCall(QueryPointer(object, name, &found));
  *pointer = static_cast<T *>(found);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes the type of a PC whose constructor failed, so that PCSetType() tries again: PETSc has stored the name. */
PetscErrorCode ForgetType(PC);

/* While a PC of this plugin is set up, its SetupContext is composed with the operator, where the factored matrix finds
   it, and with its diagonal block, where an ordering finds it. NULL removes it, and is the result if there is none. */
PetscErrorCode ComposeHandover(Mat, SetupContext *);
PetscErrorCode QueryHandover(Mat, SetupContext **);

/* Translates a Status of the core into PETSc's error handling (guard.cpp): bad values set the error flag of F, unless
   A->erroriffailure requests an error; bad calls are errors. `whole` is the parallel matrix of which A is this process's
   diagonal block; NULL: A itself. */
PetscErrorCode Translate(Mat F, Mat A, const syncfree::Status &, Mat whole = nullptr);

/* Gets the end of a message that names the row of a status: with several processes the row of `whole`, else empty. F is
   the factored matrix, whose rows may be permuted, or any other matrix. */
PetscErrorCode GetPlace(Mat F, Mat whole, const syncfree::Status &, std::string *place);

/* The strategy that runs for a PC of this plugin, or of PETSc with a factor of this package; empty before an analysis.
   Gets an error for other PCs. */
struct RunningStrategy {
  std::string strategy, backend;
};
PetscErrorCode GetRunningStrategy(PC, RunningStrategy *);
PetscErrorCode QueryRunningSweeps(PC, bool *ours, RunningStrategy *); /* of a PCSYNCFREESOR */

/* Log events, valid while PETSc is initialized */
struct Events {
  PetscLogEvent analysis, numeric, solve;
};
extern Events events;

/* Gets the kind of an ordering of this library by its name; empty for another one. */
PetscErrorCode FindOrdering(MatOrderingType, std::optional<syncfree::OrderingKind> *);

/* Tests whether the name is that of the ordering which is chosen. */
PetscErrorCode IsOrderingAuto(MatOrderingType, PetscBool *);

/* Looks for a hint that a view of the PC prints (choose_order.hpp); without communication. */
PetscErrorCode FindHintForView(PC, const Settings &);

/* Raises an error that names the option unless its number is in range. */
PetscErrorCode CheckOrdering(const syncfree::OrderingOptions &);

/* Tells -info which order `syncfree_auto` chose for a matrix, how much is gained and why. */
PetscErrorCode InfoOfChoice(Mat, const syncfree::OrderingChoice &);

PetscErrorCode RegisterFactorPackage();
PetscErrorCode RegisterOrderings();
PetscErrorCode RegisterPCTypes();
PetscErrorCode RegisterSorType();

} // namespace syncfree_plugin
