/*
  The PC types `syncfree_ilu` and `syncfree_icc`.

  Each is PCILU or PCICC with two changes: the factored matrix is of this package, and a few more options are read. All
  -pc_factor_* options, setters, getters, orderings, views and failure reports are therefore PETSc's, also in later
  versions. The changes are made by wrapping four operations of the inner type, PCILU or PCICC.
*/

#include "plugin_impl.hpp"

/* Constructors of the inner types, which PETSc exports but declares in no header */
PETSC_EXTERN PetscErrorCode PCCreate_ILU(PC);
PETSC_EXTERN PetscErrorCode PCCreate_ICC(PC);

namespace syncfree_plugin {

/* Data of a PC in addition to the inner type's */
struct Extension {
  Settings  settings;
  PetscBool in_place            = PETSC_FALSE; /* requested with PCFactorSetUseInPlace() */
  PetscBool ordered = PETSC_FALSE, reorders = PETSC_FALSE; /* requested: an ordering, nonzeros on the diagonal */
  PetscBool reuses_ordering     = PETSC_FALSE; /* requested with PCFactorSetReuseOrdering() */
  PetscBool index_sets          = PETSC_FALSE; /* the inner type has made index sets */
  std::optional<syncfree::OrderingKind> ordering; /* the ordering, if it is of this library */
  PetscBool                             chooses = PETSC_FALSE; /* the ordering is `syncfree_auto` */
  char      solver_type[64]     = "";          /* requested with PCFactorSetMatSolverType() */
  PetscErrorCode (*setup)(PC)   = nullptr;     /* operations of the inner type */
  PetscErrorCode (*destroy)(PC) = nullptr;
  PetscErrorCode (*view)(PC, PetscViewer) = nullptr;
  PetscErrorCode (*setfromoptions)(PC, OptionItems) = nullptr;
  PetscErrorCode (*setordering)(PC, MatOrderingType) = nullptr;
  PetscErrorCode (*setreuse)(PC, PetscBool)          = nullptr;
  PetscErrorCode (*reorder)(PC, PetscReal)           = nullptr; /* PCILU only */

  Work WorkOfInner() const { return reorder ? Work::ilu : Work::icc; }
};

static const char extension_name[] = "PCSyncFree_Extension";

/* Gets NULL if the PC is of another type. */
static PetscErrorCode GetExtension(PC pc, Extension **extension)
{
  PetscFunctionBegin;
  PetscCall(QueryPointer((PetscObject)pc, extension_name, extension));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RequireExtension(PC pc, Extension **extension)
{
  PetscFunctionBegin;
  PetscCall(GetExtension(pc, extension));
  PetscCheck(*extension, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "Only for PCs of type %s and %s, not for %s", PCSYNCFREEILU, PCSYNCFREEICC, ((PetscObject)pc)->type_name ? ((PetscObject)pc)->type_name : "a PC whose type is not set");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inner type gives up if the factored matrix still has the error flag of its last values, before it reads the new
   ones. If it creates another factored matrix, the analysis may be reused. */
static PetscErrorCode ClearFailure(PC pc, std::shared_ptr<Analysis> *last)
{
  Mat F;

  PetscFunctionBegin;
  if (!pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatFactorClearError(F));
  PetscCall(GetAnalysis(F, last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSetFromOptions() may have created the factored matrix, for another number of rows than the matrix has by now
   (MatHeaderReplace()). */
static PetscErrorCode DropFactorOfAnotherSize(PC pc)
{
  Mat       F;
  PetscBool same;

  PetscFunctionBegin;
  if (pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorSetUpMatSolverType(pc));
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(PetscLayoutCompare(F->rmap, pc->pmat->rmap, &same));
  if (!same) PetscUseTypeMethod(pc, reset);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The natural ordering needs no index sets, and the analysis makes those of this library: the inner type would create two
   index sets of all rows, which takes longer than the rest of a set-up on a device. It creates none for a factored matrix
   that cannot use orderings. */
static PetscErrorCode SetUpWithoutIndexSets(PC pc, Extension *extension)
{
  Mat F;

  PetscFunctionBegin;
  if (!pc->setupcalled) {
    if (!extension->ordered) PetscCall(extension->setordering(pc, MATORDERINGNATURAL)); /* for views */
    PetscCall(PCFactorSetUpMatSolverType(pc));
    PetscCall(PCFactorGetMatrix(pc, &F));
    F->canuseordering = PETSC_FALSE;
  }
  PetscCall(extension->setup(pc));
  PetscCall(PCFactorGetMatrix(pc, &F));
  F->canuseordering = PETSC_TRUE; /* for views, as well */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls an operation of the inner type with the SetupContext composed with the operator. */
template <class Inner> static PetscErrorCode WithHandover(PC pc, SetupContext *handover, Inner inner)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = ComposeHandover(pc->pmat, handover);
  if (!handover->others_wait) ierr = Agree(PetscObjectComm((PetscObject)pc), ierr); /* collective calls of PETSc follow */
  if (!ierr) ierr = Guard(inner);
  PetscCall(ComposeHandover(pc->pmat, nullptr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Resets the PC, so that the next set-up starts from the beginning: PETSc records the operator of a PC before it calls
   the set-up, and would consider a PC set up although that failed. */
static PetscErrorCode Discard(PC pc)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(pc, reset);
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc considers the pattern of a matrix unchanged if its header was replaced (MatHeaderReplace()). The factored matrix
   then analyses the new pattern itself, but permuted rows require a new ordering, which the inner type makes only if
   pc->flag says so. If the number of rows of a process has changed, which all processes know, the PC is reset. */
static PetscErrorCode NoticeOtherPattern(PC pc, PetscBool natural)
{
  Mat            F;
  PetscBool      same;
  int            other = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(PetscLayoutCompare(F->rmap, pc->pmat->rmap, &same));
  if (!same) PetscCall(Discard(pc));
  if (!same || pc->flag != SAME_NONZERO_PATTERN || natural) PetscFunctionReturn(PETSC_SUCCESS);
  ierr  = guarded<HasPattern>(F, pc->pmat, &same); /* a difference on one process is one on all */
  other = !ierr && !same;
  PetscCall(Agree(PetscObjectComm((PetscObject)pc), ierr, &other));
  if (other) pc->flag = DIFFERENT_NONZERO_PATTERN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix may become one of blocks, or of entries, under its Mat object (MatConvert() in place). This is a new operator. */
static PetscErrorCode NoticeOtherStorage(PC pc, std::shared_ptr<Analysis> *last)
{
  Mat       F;
  PetscBool same;

  PetscFunctionBegin;
  if (!*last) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(HasStorage(F, pc->pmat, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  last->reset();
  PetscCall(Discard(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An ordering of this library is made by the analysis, unless PETSc is to move nonzeros to the diagonal; but where an
   ordering is reused, it is the one that was made first. */
static void PassOrdering(PC pc, const Extension &extension, SetupContext *handover)
{
  handover->reuses_ordering = (PetscBool)(pc->setupcalled && extension.reuses_ordering);

  const bool kept      = handover->reuses_ordering && !extension.index_sets;
  handover->index_sets = (PetscBool)((extension.reorders && !kept) || (extension.ordered && !extension.ordering && !extension.chooses));
  handover->chooses    = (PetscBool)(extension.chooses && !handover->index_sets);
  if (!extension.ordering || handover->index_sets) return;
  handover->ordering       = extension.settings.ordering;
  handover->ordering->kind = *extension.ordering;
}

/* As PETSc's inner type does, for BAIJ only: it would change the shift type for types derived from AIJ, as well. */
static PetscErrorCode GetShiftType(PC pc, MatFactorShiftType *shift)
{
  PetscBool baij;

  PetscFunctionBegin;
  PetscCall(PCFactorGetShiftType(pc, shift));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij && *shift == MAT_SHIFT_NONZERO) *shift = MAT_SHIFT_INBLOCKS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc orders sequential matrices and MATMPIAIJ; of MATMPIBAIJ its message would name neither the option nor a way out. */
static PetscErrorCode CheckIndexSets(PC pc, const SetupContext &handover)
{
  PetscBool baij;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIBAIJ, &baij));
  PetscCheck(!baij || !handover.index_sets, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PETSc computes no orderings of %s matrices: -pc_factor_mat_ordering_type must be natural or one of this library (syncfree_*), without -pc_factor_nonzeros_along_diagonal; or use -pc_type bjacobi -sub_pc_type %s with -sub_pc_factor_mat_ordering_type", ((PetscObject)pc->pmat)->type_name, PCSYNCFREEILU);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_SyncFreeILU(PC pc)
{
  Extension     *extension;
  SetupContext       handover;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetExtension(pc, &extension));
  PetscCall(CheckMatrixType(pc, extension->WorkOfInner()));
  PetscCall(ClearFailure(pc, &handover.last));
  handover.settings  = extension->settings;
  handover.operators = pc->mat;
  PetscCall(NoticeOtherStorage(pc, &handover.last));
  PetscCall(GetShiftType(pc, &handover.shift));
  ierr = NoticeOtherPattern(pc, (PetscBool)(!extension->ordered && !extension->reorders));
  PassOrdering(pc, *extension, &handover);
  PetscCall(CheckIndexSets(pc, handover));
  const bool new_order = !pc->setupcalled || (pc->flag != SAME_NONZERO_PATTERN && !handover.reuses_ordering);
  if (new_order) extension->index_sets = handover.index_sets;
  /* the inner type then requests a numeric factorization only */
  handover.others_wait = (PetscBool)(!ierr && pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN);
  if (!ierr) ierr = WithHandover(pc, &handover, [&] {
    handover.others_wait = PETSC_TRUE;
    const PetscErrorCode dropped = DropFactorOfAnotherSize(pc);
    if (dropped) return dropped;
    return handover.index_sets ? extension->setup(pc) : SetUpWithoutIndexSets(pc, extension);
  });
  if (ierr && handover.others_wait) ierr = Agree(PetscObjectComm((PetscObject)pc), ierr);
  PetscCall(PCFactorSetShiftType(pc, handover.shift));
  if (ierr) PetscCall(Discard(pc));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QuerySettings(PC pc, const Settings **settings, OptionUser *user)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(GetExtension(pc, &extension));
  *user = extension ? OptionUser::factors : OptionUser::sweeps;
  if (extension) *settings = &extension->settings;
  else PetscCall(QuerySweepSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RequireSettings(PC pc, bool of_sweeps, const Settings **settings)
{
  OptionUser user;

  PetscFunctionBegin;
  PetscCall(QuerySettings(pc, settings, &user));
  PetscCheck(*settings && (of_sweeps || user == OptionUser::factors), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "Only for PCs of type %s%s and %s, not for %s", of_sweeps ? PCSYNCFREESOR ", " : "", PCSYNCFREEILU, PCSYNCFREEICC, ((PetscObject)pc)->type_name ? ((PetscObject)pc)->type_name : "a PC whose type is not set");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New settings require a new analysis, as a new level of fill does in PCILU. */
PetscErrorCode ChangeSettings(PC pc, const Settings &settings)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(GetExtension(pc, &extension));
  if (!extension) {
    PetscCall(ChangeSweepSettings(pc, settings));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (settings == extension->settings) PetscFunctionReturn(PETSC_SUCCESS);
  extension->settings = settings;
  if (pc->setupcalled) PetscCall(Discard(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inner type creates the factored matrix when it reads options; for BAIJ, which has no ICC here, and SBAIJ,
   which has no ILU, PETSc's error would not tell what to do. */
static PetscErrorCode CheckBlockMatrix(PC pc, Work work)
{
  PetscBool of_blocks;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &of_blocks, MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (of_blocks) PetscCall(CheckMatrixType(pc, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOptions(PC pc, SetupContext *handover, OptionItems PetscOptionsObject)
{
  Extension *extension;

  PetscFunctionBegin;
  handover->others_wait = PETSC_TRUE;
  PetscCall(GetExtension(pc, &extension));
  if (!pc->pmat) PetscCall(extension->setfromoptions(pc, PetscOptionsObject));
  else {
    /* the inner type may create the factored matrix here to query its preferred ordering */
    PetscCall(CheckBlockMatrix(pc, extension->WorkOfInner()));
    handover->others_wait = PETSC_FALSE;
    PetscCall(WithHandover(pc, handover, [&] {
      handover->others_wait = PETSC_TRUE;
      return extension->setfromoptions(pc, PetscOptionsObject);
    }));
  }
  Settings settings = extension->settings;
  PetscCall(SettingsFromOptions(OptionUser::factors, &settings, PetscOptionsObject));
  PetscCall(ChangeSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_SyncFreeILU(PC pc, OptionItems PetscOptionsObject)
{
  SetupContext       handover;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = guarded<SetOptions>(pc, &handover, PetscOptionsObject);
  if (!ierr || handover.others_wait) ierr = Agree(PetscObjectComm((PetscObject)pc), ierr);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewRequests(const Extension *extension, PetscViewer viewer)
{
  const syncfree::SolverOptions &asked = extension->settings.solver;

  PetscFunctionBegin;
  const std::string others = ListSettings(OptionUser::factors, extension->settings);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree requested: strategy %s, factor precision %s\n", asked.strategy.c_str(), PCSyncFreePrecisionTypes[asked.single_storage]));
  if (!others.empty()) PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree options:%s\n", others.c_str()));
  if (extension->in_place) PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree: in-place factorization was requested but is not supported; the factor is out of place\n"));
  if (extension->solver_type[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree: solver type %s was requested, but this PC type ignores it\n", extension->solver_type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_SyncFreeILU(PC pc, PetscViewer viewer)
{
  Extension *extension;
  PetscBool  ascii;

  PetscFunctionBegin;
  PetscCall(GetExtension(pc, &extension));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(Agree(PetscObjectComm((PetscObject)pc), guarded<FindHintForView>(pc, extension->settings)));
  PetscCall(extension->view(pc, viewer));
  if (ascii) PetscCall(Agree(PetscObjectComm((PetscObject)pc), guarded<ViewRequests>(extension, viewer)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_SyncFreeILU(PC pc)
{
  Extension *extension;
  PetscErrorCode (*destroy)(PC);

  PetscFunctionBegin;
  PetscCall(GetExtension(pc, &extension));
  destroy = extension->destroy;
  PetscCall(ComposePointer((PetscObject)pc, extension_name, nullptr));
  delete extension;
  PetscCall(destroy(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorSetUseInPlace_SyncFreeILU(PC pc, PetscBool flag)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  extension->in_place = flag;
  if (flag) PetscCall(PetscInfo(pc, "In-place factorization was requested but is not supported; the factor is out of place\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorGetUseInPlace_SyncFreeILU(PC pc, PetscBool *flag)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  *flag = extension->in_place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorSetMatSolverType_SyncFree(PC pc, MatSolverType type)
{
  Extension *extension;
  PetscBool  ours;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  PetscCall(PetscStrcmp(type, MATSOLVERSYNCFREE, &ours));
  PetscCall(PetscStrncpy(extension->solver_type, ours ? "" : type, sizeof(extension->solver_type)));
  if (!ours) PetscCall(PetscInfo(pc, "Solver type %s was requested, but this PC type ignores it\n", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorSetMatOrderingType_SyncFreeILU(PC pc, MatOrderingType type)
{
  Extension *extension;
  PetscBool  natural;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  PetscCall(extension->setordering(pc, type));
  PetscCall(PetscStrcmp(type, MATORDERINGNATURAL, &natural));
  PetscCall(FindOrdering(type, &extension->ordering));
  PetscCall(IsOrderingAuto(type, &extension->chooses));
  extension->ordered = (PetscBool)!natural;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorSetReuseOrdering_SyncFreeILU(PC pc, PetscBool flag)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  PetscCall(extension->setreuse(pc, flag));
  extension->reuses_ordering = flag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactorReorderForNonzeroDiagonal_SyncFreeILU(PC pc, PetscReal tolerance)
{
  Extension *extension;

  PetscFunctionBegin;
  PetscCall(RequireExtension(pc, &extension));
  PetscCall(extension->reorder(pc, tolerance));
  extension->reorders = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrapOrders(PC pc, Extension *extension)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCFactorSetMatOrderingType_C", &extension->setordering));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCFactorReorderForNonzeroDiagonal_C", &extension->reorder));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCFactorSetReuseOrdering_C", &extension->setreuse));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorSetMatOrderingType_C", guarded<PCFactorSetMatOrderingType_SyncFreeILU>));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorSetReuseOrdering_C", guarded<PCFactorSetReuseOrdering_SyncFreeILU>));
  if (extension->reorder) PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorReorderForNonzeroDiagonal_C", guarded<PCFactorReorderForNonzeroDiagonal_SyncFreeILU>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cannot fail. */
static void WrapOperations(PC pc, Extension *extension)
{
  extension->setup          = pc->ops->setup;
  extension->destroy        = pc->ops->destroy;
  extension->view           = pc->ops->view;
  extension->setfromoptions = pc->ops->setfromoptions;
  pc->ops->setup            = guarded<PCSetUp_SyncFreeILU>;
  pc->ops->destroy          = guarded<PCDestroy_SyncFreeILU>;
  pc->ops->view             = guarded<PCView_SyncFreeILU>;
  pc->ops->setfromoptions   = guarded<PCSetFromOptions_SyncFreeILU>;
}

/* Gives pc the inner type and then wraps its operations. */
static PetscErrorCode WrapInner(PC pc, PetscErrorCode (*create_inner)(PC))
{
  auto extension = std::make_unique<Extension>();

  PetscFunctionBegin;
  PetscCall(create_inner(pc));
  PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSYNCFREE));
  PetscCall(WrapOrders(pc, extension.get()));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorSetUseInPlace_C", guarded<PCFactorSetUseInPlace_SyncFreeILU>));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorGetUseInPlace_C", guarded<PCFactorGetUseInPlace_SyncFreeILU>));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCFactorSetMatSolverType_C", guarded<PCFactorSetMatSolverType_SyncFree>));
  PetscCall(ComposePointer((PetscObject)pc, extension_name, extension.get()));
  WrapOperations(pc, extension.release());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateFrom(PC pc, PetscErrorCode (*create_inner)(PC))
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Agree(PetscObjectComm((PetscObject)pc), guarded<WrapInner>(pc, create_inner));
  if (ierr) PetscCall(ForgetType(pc));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin

using namespace syncfree_plugin;

/*MC
   PCSYNCFREEILU - Incomplete LU factorization with parallel, synchronization-free triangular solves

   Options Database Keys:
+  -pc_syncfree_backend (auto|host|kokkos|cuda)           - where the factorization and the solves run (auto: where the matrix is)
.  -pc_syncfree_strategy (auto|...)                       - algorithm of the triangular solves, see `-help` for the names
.  -pc_syncfree_threads n                                 - number of CPU threads
.  -pc_syncfree_factor_precision (scalar|single)          - precision in which the factor is stored
.  -pc_syncfree_memory_limit (auto|unlimited|megabytes)   - memory of factor and plan on a GPU (default auto: 6 times that of PETSc's ILU factor, at least 64)
.  -pc_syncfree_cut_table (h200|paper)                    - thresholds of `column_block`, `row_block` and `recursive_block`
.  -pc_syncfree_cut_rows n                                - smallest part into which these strategies split a triangle, in rows (default 0: from the table)
.  -pc_syncfree_tile_rows n                               - rows per tile of strategy `tiled` (default 0: chosen automatically)
.  -pc_syncfree_expected_applies n                        - expected number of applications between two set-ups with new values, against which `auto` and `merged` weigh the time of a plan (default 50)
.  -pc_syncfree_select (model|trials)                     - how `auto` selects: by a performance model, or by timing a few strategies in each analysis
.  -pc_syncfree_merge_fill f                              - maximum number of entries of merged levels, relative to the triangle with its diagonal (default 4)
.  -pc_syncfree_block_size (auto|n)                       - factor an AIJ matrix by dense blocks of n rows (1: by entries; default auto: chosen, if blocks are full); for `PCSYNCFREEILU`
.  -pc_syncfree_cyclic_colors K                           - number of colors of the ordering `syncfree_cyclic` (default 16)
.  -pc_syncfree_abmc_rows B                               - maximum number of rows in a block of the ordering `syncfree_abmc` (default 16)
.  -pc_syncfree_ordering_model (auto|cpu|gpu)             - hardware whose times the ordering `syncfree_auto` predicts (auto: that of the factor)
.  -pc_syncfree_wait_limit seconds                        - time after which a kernel on a GPU whose threads wait for each other gives up (0: never, default 60)
.  -pc_syncfree_view [viewer]                             - print what runs once per analysis, for all processes; the viewer is given as to `-ksp_view`
-  -pc_factor_levels k and all other -pc_factor_* options - as for `PCILU`

   Level: beginner

   Notes:
   The factor, and therefore the number of iterations, is that of `PCILU`; only the algorithms differ. The nonzero
   pattern is analyzed once; the analysis is reused as long as the pattern does not change.

   For `MATSEQAIJ` and `MATMPIAIJ` matrices and types derived from them, and for `MATSEQBAIJ` and `MATMPIBAIJ` matrices,
   whose dense blocks are factored as blocks: on the CPU with the strategies `serial`, `blocks` and `auto`, on a GPU with
   `level_order`, `tiled` and `auto`. Of a parallel matrix each process factors its diagonal block, as `PCBJACOBI` with
   `PCILU` on each block does.

   An AIJ matrix that consists of full dense blocks is factored by these, too, unless `-pc_syncfree_block_size` is 1: on
   the CPU by blocks of 2 to 8 rows, on a GPU by blocks of 4 to 6 and, if the points are those of a grid, of 2 and 3. Without
   small pivots the factor is the same, up to rounding; blocks pivot inside a block, so that a zero pivot may not be reported.

   A zero pivot, a NaN or an infinity in the factor results in `KSP_DIVERGED_PC_FAILED` on all processes of the `PC`.

   Developer Note:
   This is `PCILU` with a factored matrix of type `MATSOLVERSYNCFREE`.

.seealso: [](ch_ksp), `PCILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `MATSOLVERSYNCFREE`, `PCSyncFreeSetStrategy()`, `PCSyncFreeGetRunningStrategy()`, `PCSyncFreeSetBackend()`, `PCSyncFreeSetThreads()`, `PCSyncFreeSetFactorPrecision()`
M*/
PETSC_EXTERN PetscErrorCode PCCreate_SyncFreeILU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(guarded<CreateFrom>(pc, PCCreate_ILU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCSYNCFREEICC - Incomplete Cholesky factorization with parallel, synchronization-free triangular solves

   Options Database Keys:
+  -pc_syncfree_backend (auto|host|kokkos|cuda)           - where the factorization and the solves run (auto: where the matrix is)
.  -pc_syncfree_strategy (auto|...)                       - algorithm of the triangular solves, see `-help` for the names
.  -pc_syncfree_threads n                                 - number of CPU threads
.  -pc_syncfree_factor_precision (scalar|single)          - precision in which the factor is stored
.  -pc_syncfree_memory_limit (auto|unlimited|megabytes)   - memory of factor and plan on a GPU (default auto: 6 times that of PETSc's ILU factor, at least 64)
.  -pc_syncfree_cut_table (h200|paper)                    - thresholds of `column_block`, `row_block` and `recursive_block`
.  -pc_syncfree_cut_rows n                                - smallest part into which these strategies split a triangle, in rows (default 0: from the table)
.  -pc_syncfree_tile_rows n                               - rows per tile of strategy `tiled` (default 0: chosen automatically)
.  -pc_syncfree_expected_applies n                        - expected number of applications between two set-ups with new values, against which `auto` and `merged` weigh the time of a plan (default 50)
.  -pc_syncfree_select (model|trials)                     - how `auto` selects: by a performance model, or by timing a few strategies in each analysis
.  -pc_syncfree_merge_fill f                              - maximum number of entries of merged levels, relative to the triangle with its diagonal (default 4)
.  -pc_syncfree_block_size (auto|n)                       - factor an AIJ matrix by dense blocks of n rows (1: by entries; default auto: chosen, if blocks are full); for `PCSYNCFREEILU`
.  -pc_syncfree_cyclic_colors K                           - number of colors of the ordering `syncfree_cyclic` (default 16)
.  -pc_syncfree_abmc_rows B                               - maximum number of rows in a block of the ordering `syncfree_abmc` (default 16)
.  -pc_syncfree_ordering_model (auto|cpu|gpu)             - hardware whose times the ordering `syncfree_auto` predicts (auto: that of the factor)
.  -pc_syncfree_wait_limit seconds                        - time after which a kernel on a GPU whose threads wait for each other gives up (0: never, default 60)
.  -pc_syncfree_view [viewer]                             - print what runs once per analysis, for all processes; the viewer is given as to `-ksp_view`
-  -pc_factor_levels k and all other -pc_factor_* options - as for `PCICC`

   Level: beginner

   Notes:
   As with `PCICC`, only the upper triangle of the matrix is read, the factorization is $U^T D U$ without complex
   conjugation, and the default shift type is `MAT_SHIFT_POSITIVE_DEFINITE`.

   See the notes of `PCSYNCFREEILU` on reuse, parallel matrices and failures.

.seealso: [](ch_ksp), `PCICC`, `PCSYNCFREEILU`, `PCSYNCFREESOR`, `MATSOLVERSYNCFREE`, `PCSyncFreeSetStrategy()`, `PCSyncFreeGetRunningStrategy()`, `PCSyncFreeSetBackend()`, `PCSyncFreeSetThreads()`, `PCSyncFreeSetFactorPrecision()`
M*/
PETSC_EXTERN PetscErrorCode PCCreate_SyncFreeICC(PC pc)
{
  PetscFunctionBegin;
  PetscCall(guarded<CreateFrom>(pc, PCCreate_ICC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode syncfree_plugin::RegisterPCTypes()
{
  PetscFunctionBegin;
  PetscCall(PCRegister(PCSYNCFREEILU, PCCreate_SyncFreeILU));
  PetscCall(PCRegister(PCSYNCFREEICC, PCCreate_SyncFreeICC));
  PetscFunctionReturn(PETSC_SUCCESS);
}
