#pragma once

/*
  What the files of the plugin share: differences between PETSc versions, the
  settings of a preconditioner and the names under which they travel.

  The PC types are PCILU and PCICC themselves, with this package's factored matrix
  under them (pc_syncfree.cpp), and PCSOR with other sweeps (pc_sor.cpp); the factored matrix is in mat_syncfree.cpp; what the
  loader calls is in register.cpp.
*/

#include <petsc/private/matimpl.h>
#include <petsc/private/pcimpl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "guard.hpp"
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

/* What a user can set beyond the options of PETSc's own types: a line of the table in settings.cpp each. */
struct Settings {
  std::string             backend    = "auto";
  std::int64_t            threads    = PETSC_DECIDE; /* in place of those of `solver` */
  bool                    use_inodes = true;         /* of sweeps */
  syncfree::SolverOptions solver;

  bool operator==(const Settings &) const;
};

/* An analysis and what it was made of (factor_impl.hpp) */
struct Analysis;

/* What a PC hands to its factored matrix. The shift is the one that the user asked for:
   PCILU turns NONZERO into INBLOCKS for every matrix type but MATSEQAIJ and MATMPIAIJ. */
struct SetupContext {
  Settings                  settings;
  MatFactorShiftType        shift;
  std::shared_ptr<Analysis> last; /* of the factored matrix so far, if there is one */
  PetscBool                 natural = PETSC_FALSE; /* rows and columns stay where they are, so nobody needs index sets */

  /* Where a set-up fails on this process, do the others of the PC wait in Agree() to be told of it? */
  PetscBool others_wait = PETSC_FALSE;
};

/* The analysis of a factored matrix of ours; NULL of another. */
PetscErrorCode GetAnalysis(Mat, std::shared_ptr<Analysis> *);

/* Is the pattern of A the one that this factored matrix of ours was analysed for? */
PetscErrorCode HasPattern(Mat F, Mat A, PetscBool *);

/* Which options of the table a PC or a factor has */
enum class OptionUser { factors, sweeps };

/* The settings of a PC of ours and who it is; NULL of another, or an error. New ones lead to a new analysis. */
PetscErrorCode QuerySettings(PC, const Settings **, OptionUser *);
PetscErrorCode RequireSettings(PC, bool of_sweeps, const Settings **);
PetscErrorCode ChangeSettings(PC, const Settings &);

/* The same of a PCSYNCFREESOR. */
PetscErrorCode QuerySweepSettings(PC, const Settings **);
PetscErrorCode ChangeSweepSettings(PC, const Settings &);

/* Registers these options with the block that is open. */
PetscErrorCode SettingsFromOptions(OptionUser, Settings *, OptionItems);

/* Those that differ from their defaults and are in no other line of a view, as they would be set; or nothing. */
std::string ListSettings(OptionUser, const Settings &);

/* A line with the limit that is in force, which the environment may have set, unless it is the usual one. */
PetscErrorCode ViewWaitLimit(PetscViewer, const char indent[], double asked);

/* What an option of a strategy takes for a backend: "auto, serial, ..." */
std::string ListStrategies(const char backend[]);

/* An error that says what the operator is, if it is no AIJ matrix, and what to do. */
PetscErrorCode CheckMatrixType(PC);

/* End in an error that lists the known names if there is none such. */
PetscErrorCode CheckStrategyName(OptionUser, const char[]);
PetscErrorCode CheckBackendName(OptionUser, const char[]);

/* Threads that PETSC_DECIDE stands for: -omp_num_threads, else OMP_NUM_THREADS, else one; a set-up on a device has helpers
   that sleep when it is done. */
PetscErrorCode DefaultThreads(bool device, PetscInt *);

/* Ends in an error that names the limit if so many threads are not to be had. */
PetscErrorCode CheckThreads(MPI_Comm, const char what[], PetscInt);

/* Of this process's share of its node. */
int UsableCores();

/* What more threads would promise, as the end of a line of a view, or nothing: `of` is a Preconditioner or Relaxation. */
template <class Of> std::string AdviceOnThreads(const Of &of, const char option[])
{
  const int cores = UsableCores();
  if (cores == 1) return {};
  const syncfree::Choice choice = of.choice_with(cores);
  if (choice.strategy.empty() || choice.strategy == "serial") return {};
  return std::string("; ") + option + " " + std::to_string(cores) + " would use " + choice.strategy + " (" + choice.reason + ")";
}

/* A pointer that hangs on an object under a name; NULL takes it away, and is the answer where there is none. Whom it
   points to is nobody's business here. */
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

/* Leaves a PC whose type could not be made without a type, so that PCSetType() tries again: PETSc has noted the name. */
PetscErrorCode ForgetType(PC);

/* While one of our PCs sets itself up its handover hangs on the operator, where the
   factored matrix finds it; NULL takes it away, and is the answer when there is none. */
PetscErrorCode ComposeHandover(Mat, SetupContext *);
PetscErrorCode QueryHandover(Mat, SetupContext **);

/* The core's answer as PETSc's (guard.cpp): bad numbers are data of F unless A wants an error at once, bad calls are
   errors. `whole` is the matrix of all processes of which A is this one's diagonal block; NULL: A itself. */
PetscErrorCode Translate(Mat F, Mat A, const syncfree::Status &, Mat whole = nullptr);

/* What a message that names the row of a status ends in: which row of `whole` that is where there are several processes,
   else nothing. F is the factored matrix, whose rows may be in another order, or any other one. */
PetscErrorCode GetPlace(Mat F, Mat whole, const syncfree::Status &, std::string *place);

/* Log events, valid while PETSc is initialized. */
struct Events {
  PetscLogEvent analysis, numeric, solve;
};
extern Events events;

PetscErrorCode RegisterFactorPackage();
PetscErrorCode RegisterPCTypes();
PetscErrorCode RegisterSorType();

} // namespace syncfree_plugin
