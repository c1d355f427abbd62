/*
  The PC type `syncfree_sor`.

  It is PCSOR with one change: while it is applied, the operation MatSOR() of the sequential AIJ matrix, or of the
  diagonal block of a parallel one, is that of this file. All -pc_sor_* options, setters, getters and views are therefore
  PETSc's, and so is the communication between the local sweeps of several processes.
*/

#include "report.hpp"
#include "sor_impl.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "syncfree/strategy.hpp"

/* Constructor of the inner type, PCSOR, which PETSc exports but declares in no header */
PETSC_EXTERN PetscErrorCode PCCreate_SOR(PC);

namespace syncfree_plugin {

static PetscErrorCode PutSor(PetscObject object, Sor *sor)
{
  PetscFunctionBegin;
  PetscCall(ComposePointer(object, sor_name, sor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps run where the matrix is, unless the strategy exists on the host only. A matrix with inodes is on the host. */
static PetscErrorCode ChooseDevice(const Sor *sor, Mat block, bool *device)
{
  const char *const name  = sor->settings.solver.strategy.c_str();
  const auto       *known = syncfree::find_strategy(name);
  PetscBool         there, found;
  std::string       why;

  PetscFunctionBegin;
  PetscCall(IsOnDevice(block, &there));
  if (there) PetscCall(FindDevice(&found, &why));
  *device = there && found && (!known || syncfree::find_strategy(name, "cuda"));
  PetscCheck(*device || !known || syncfree::find_strategy(name, "host"), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Strategy %s runs on a CUDA device, but %s; on the CPU -pc_syncfree_strategy takes one of %s", name, there ? why.c_str() : "the matrix is in host memory (use -mat_type aijcusparse)", ListStrategies("host").c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Forget(Sor *sor)
{
  sor->relaxation.reset();
  sor->cuda  = nullptr;
  sor->state = SorState();
}

static PetscErrorCode MakeRelaxation(Sor *sor, bool device)
{
  PetscFunctionBegin;
  Forget(sor);
#if defined(SYNCFREE_HAVE_CUDA)
  if (device) {
    auto made       = syncfree::make_cuda_relaxation<PetscScalar, Index>();
    sor->cuda       = made.get();
    sor->relaxation = std::move(made);
  }
#endif
  if (!device) sor->relaxation = syncfree::make_host_relaxation<PetscScalar, Index>();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Analyses the pattern, unless the existing analysis is of the same pattern, entry by entry. */
static syncfree::Status AnalysePattern(Sor *sor, const BorrowedMatrix &rows, const std::vector<Index> &nodes, const syncfree::SolverOptions &options, bool *made)
{
  bool             same   = false;
  syncfree::Status status = sor->cuda ? sor->cuda->has_pattern_on_device(rows.Pattern(), rows.there, &same) : sor->relaxation->has_pattern(rows.Pattern(), nodes, &same);

  if (!status.ok() || same) return status;
  *made          = true;
  sor->fell_back = false;
  sor->viewed    = false;
  return sor->cuda ? sor->cuda->analyse_on_device(rows.Pattern(), rows.there, options) : sor->relaxation->analyse(rows.Pattern(), nodes, options);
}

static PetscErrorCode Analyse(Sor *sor, BorrowedMatrix *rows, bool nodes)
{
  syncfree::SolverOptions options = sor->settings.solver;
  PetscInt                threads = (PetscInt)sor->settings.threads;
  std::vector<Index>      node_begin;
  std::string             place;
  bool                    made = false;

  PetscFunctionBegin;
  if (threads == PETSC_DECIDE) PetscCall(DefaultThreads(sor->cuda, &threads));
  if (nodes) PetscCall(GetNodes(rows->block, &node_begin));
  options.threads = (int)std::min(threads, std::max((PetscInt)1, rows->block->rmap->n));
  PetscCall(UseMemory(sor->cuda, PETSC_MEMTYPE_HOST));
  PetscCall(BorrowThere(sor->cuda, rows));
  syncfree::Status status;
  PetscCall(WithEvent(events.analysis, (PetscObject)rows->block, nullptr, [&]() -> PetscErrorCode {
    status = AnalysePattern(sor, *rows, node_begin, options, &made);
    return PETSC_SUCCESS;
  }));
  if (!made) PetscCall(PetscInfo(rows->block, "Same nonzero pattern as the last matrix: reusing the analysis\n"));
  PetscCall(GetPlace(rows->block, sor->whole, status, &place));
  PetscCheck(status.code != syncfree::Code::missing_diagonal, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Matrix is missing diagonal entry in row %" PetscInt_FMT ", required by SOR; insert it (a zero also needs -pc_sor_diagonal_shift), or permute the rows (MatPermute()) so that every row has one%s", (PetscInt)status.row, place.c_str());
  PetscCall(Translate(rows->block, rows->block, status, sor->whole));
  const syncfree::Summary s = sor->relaxation->summarize();
  sor->flops                = 2.0 * (PetscLogDouble)(s.lower_nnz + s.upper_nnz);
  PetscCall(CiteStrategy(s.strategy));
  sor->why_host.clear();
  const bool host_only = syncfree::find_strategy(sor->settings.solver.strategy) && !syncfree::find_strategy(sor->settings.solver.strategy, "cuda");
  if (!sor->cuda) PetscCall(NoteHost(rows->block, host_only ? "strategy " + sor->settings.solver.strategy + " runs on the CPU only" : "", &sor->why_host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reports zeros on the diagonal where and as PETSc's sweeps do. Those propagate NaN through the vectors and divide by an
   infinite diagonal entry; here the row of such a value is reported, as for a factor. */
static PetscErrorCode ReportNumbers(Mat A, Mat whole, const SorState &found)
{
  const PetscInt row = (PetscInt)found.bad;
  std::string    place;

  PetscFunctionBegin;
  if (!found.finite) {
    PetscCall(Translate(A, A, syncfree::not_finite_in_matrix(row), whole));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetPlace(A, whole, syncfree::failed(syncfree::Code::zero_pivot, row), &place));
  PetscCheck(found.nodes || found.shift < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Zero diagonal on row %" PetscInt_FMT "%s", row, place.c_str());
  PetscCheck(!found.nodes || !A->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "Zero pivot on row %" PetscInt_FMT "%s", row, place.c_str());
  PetscCall(PetscInfo(A, "Zero diagonal on row %" PetscInt_FMT "%s\n", row, place.c_str()));
  A->factorerrortype             = MAT_FACTOR_NUMERIC_ZEROPIVOT;
  A->factorerror_zeropivot_value = 0.0;
  A->factorerror_zeropivot_row   = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As in PETSc: with omega = 1 a shift <= 0 is not added, and zeros are reported (an error if it is 0); else not. */
static PetscErrorCode Refresh(Sor *sor, BorrowedMatrix *rows, SorState *made)
{
  const bool       plain = made->omega == 1 && made->shift <= 0;
  syncfree::Status status;

  PetscFunctionBegin;
  PetscCall(BorrowValues(sor->cuda, rows));
  PetscCall(WithEvent(events.numeric, (PetscObject)rows->block, nullptr, [&]() -> PetscErrorCode {
    status = sor->relaxation->refresh({rows->Pattern(), rows->value}, made->omega, plain ? 0 : made->shift, made->nodes ? 100 * PETSC_MACHINE_EPSILON : 0);
    return PETSC_SUCCESS;
  }));
  made->finite = status.code != syncfree::Code::not_finite;
  if (!made->finite || (status.code == syncfree::Code::zero_pivot && (plain || made->nodes))) {
    made->bad = (Index)status.row;
    PetscCall(ReportNumbers(rows->block, sor->whole, *made));
  } else {
    if (status.code != syncfree::Code::zero_pivot) PetscCall(Translate(rows->block, rows->block, status, sor->whole));
    rows->block->factorerrortype = MAT_FACTOR_NOERROR;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AnalyseAndRefresh(Sor *sor, BorrowedMatrix *rows, const SorState &last, SorState *made)
{
  PetscFunctionBegin;
  PetscCall(GetPatternState(*rows, &made->pattern));
  if (!(last.pattern == made->pattern && last.nodes == made->nodes && last.device == made->device)) PetscCall(Analyse(sor, rows, made->nodes));
  PetscCall(Refresh(sor, rows, made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares pattern and values if they have changed. Arrays are examined only if the values have changed, so a program
   that changes rows directly must report a change of values to PETSc. Other column indices in arrays of the same address
   and length, which MatSeqAIJSetColumnIndices() makes, are not detected. */
static PetscErrorCode Prepare(Sor *sor, Mat A, PetscReal omega, PetscReal shift, bool nodes)
{
  SorState      wanted;
  PetscObjectId matrix;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &matrix));
  PetscCall(PetscObjectStateGet((PetscObject)A, &wanted.values));
  PetscCall(ChooseDevice(sor, A, &wanted.device));
  wanted.omega = omega, wanted.shift = shift, wanted.nodes = nodes;
  const SorState last = sor->state;
  const bool     same = last.pattern.matrix == matrix && last.pattern.changes == A->nonzerostate && last.values == wanted.values;
  if (same && last.nodes == nodes && last.device == wanted.device && last.omega == omega && last.shift == shift) {
    if (last.bad >= 0) PetscCall(ReportNumbers(A, sor->whole, last)); /* the flag may have been cleared */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!sor->relaxation || !!sor->cuda != wanted.device) PetscCall(MakeRelaxation(sor, wanted.device));
  sor->state = SorState(); /* remains empty if the following fails */
  PetscCall(WithRows(A, [&](BorrowedMatrix *rows) { return AnalyseAndRefresh(sor, rows, last, &wanted); }));
  sor->state = wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps; logs flops for the GPU or the CPU, wherever they were done. */
static PetscErrorCode Relax(Sor *sor, Mat A, syncfree::Sweep sweep, PetscBool from_zero, PetscInt times, Vec b, Vec x)
{
  syncfree::Status     status;
  const PetscLogDouble flops = (sweep == syncfree::Sweep::symmetric ? 2 : 1) * (PetscLogDouble)times * sor->flops;

  PetscFunctionBegin;
  PetscCall(WithVectors(sor->cuda, b, x, (PetscBool)!from_zero, [&](const BorrowedVectors &v) {
    return WithEvent(events.solve, (PetscObject)b, (PetscObject)x, [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCall(WithGpuTime(sor->cuda, [&]() -> PetscErrorCode {
        status = sor->relaxation->relax(sweep, from_zero, (Index)times, v.from, v.to);
        return PETSC_SUCCESS;
      }));
      if (status.ok() && sor->cuda) PetscCall(PetscLogGpuFlops(flops));
      else if (status.ok()) PetscCall(PetscLogFlops(flops));
      PetscFunctionReturn(PETSC_SUCCESS);
    });
  }));
  PetscCall(Translate(A, A, status, sor->whole));
  if (sor->relaxation->fell_back() && !sor->fell_back) {
    sor->fell_back = true;
    PetscCall(PetscInfo(A, "Several threads were slower than predicted for one thread: continuing with one thread\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweep(Sor *sor, Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  bool       nodes   = false;
  const bool forward = flag & SOR_FORWARD_SWEEP || flag & SOR_LOCAL_FORWARD_SWEEP, backward = flag & SOR_BACKWARD_SWEEP || flag & SOR_LOCAL_BACKWARD_SWEEP;

  PetscFunctionBegin;
  if (flag == SOR_APPLY_UPPER || flag == SOR_APPLY_LOWER || flag & SOR_EISENSTAT || !(forward || backward)) {
    PetscCall(sor->sor(A, b, omega, flag, shift, its, lits, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (sor->settings.use_inodes && omega == 1 && shift == 0) PetscCall(UsesNodes(A, sor, &nodes));
  PetscCall(Prepare(sor, A, omega, shift, nodes));
  if (!sor->state.finite) { /* a Krylov method that finds a NaN queries the PC's failed reason */
    PetscCall(VecSet(x, std::numeric_limits<PetscReal>::quiet_NaN()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* PETSc's sweeps with inodes ignore local iterations */
  PetscCall(Relax(sor, A, forward && backward ? syncfree::Sweep::symmetric : forward ? syncfree::Sweep::forward : syncfree::Sweep::backward, (PetscBool)!!(flag & SOR_ZERO_INITIAL_GUESS), nodes ? its : its * lits, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSOR() of a sequential matrix while a PCSYNCFREESOR is applied. With several processes PETSc communicates between
   sweeps: a failure is stored, and returned when that is done. */
static PetscErrorCode MatSOR_SyncFree(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  Sor           *sor;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)A, &sor));
  ierr = guarded<Sweep>(sor, A, b, omega, flag, shift, its, lits, x);
  if (sor->parallel) {
    if (!sor->failure) sor->failure = ierr;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The processes agree on failures only if an application had to prepare something, which all of them know: otherwise the
   reduction would be a needless synchronization. */
static PetscErrorCode AgreeOnSweeps(PC pc, Sor *sor, PetscErrorCode mine)
{
  SorState now;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &now.pattern.matrix));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &now.values));
  PetscCall(PCSORGetOmega(pc, &now.omega));
  if (now.pattern.matrix != sor->agreed.pattern.matrix || now.values != sor->agreed.values || now.omega != sor->agreed.omega) {
    sor->agreed = SorState();
    mine        = Agree(PetscObjectComm((PetscObject)pc), mine);
    if (!mine) {
      sor->agreed = now;
      mine        = ViewSweepAnalysis(pc, sor);
    }
  }
  PetscCall(mine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBlock(PC pc, Mat *block, PetscBool *parallel)
{
  PetscFunctionBegin;
  *block = pc->pmat;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIAIJ, parallel));
  if (*parallel) PetscCall(MatGetDiagonalBlock(pc->pmat, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Clears a failure of values that have changed since: KSPSolve() checks for failures before it applies the PC. */
static PetscErrorCode PCSetUp_SyncFreeSOR(PC pc)
{
  Sor             *sor;
  Mat              block;
  PetscBool        parallel;
  PetscObjectId    matrix;
  PetscObjectState values;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(GetBlock(pc, &block, &parallel));
  PetscCall(PetscObjectGetId((PetscObject)block, &matrix));
  PetscCall(PetscObjectStateGet((PetscObject)block, &values));
  if (sor->state.pattern.matrix == matrix && sor->state.values == values) PetscFunctionReturn(PETSC_SUCCESS);
  block->factorerrortype = MAT_FACTOR_NOERROR;
  pc->failedreason       = PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls an operation of PCSOR while MatSOR() of the local matrix is replaced. If it cannot be replaced, the matrix's own
   sweeps run, as the other processes wait for its values. */
template <class Inner> static PetscErrorCode WithOurSweeps(PC pc, Inner inner)
{
  Sor           *sor;
  Mat            block;
  PetscBool      parallel;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(CheckMatrixType(pc, Work::sor));
  PetscCall(GetBlock(pc, &block, &parallel));
  const PetscBool reports = block->erroriffailure;
  sor->whole              = pc->pmat;
  sor->parallel           = parallel;
  sor->sor                = block->ops->sor;
  sor->failure            = PutSor((PetscObject)block, sor);
  if (!sor->failure) block->ops->sor = guarded<MatSOR_SyncFree>;
  block->erroriffailure = pc->pmat->erroriffailure; /* PETSc sets this flag in the parallel matrix only */
  ierr                  = inner(sor);
  block->erroriffailure = reports;
  block->ops->sor       = sor->sor;
  PetscCall(PutSor((PetscObject)block, nullptr));
  if (!ierr) ierr = sor->failure;
  if (parallel) ierr = AgreeOnSweeps(pc, sor, ierr);
  else if (!ierr) ierr = ViewSweepAnalysis(pc, sor);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_SyncFreeSOR(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(WithOurSweeps(pc, [&](Sor *sor) { return sor->apply(pc, b, x); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_SyncFreeSOR(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(WithOurSweeps(pc, [&](Sor *sor) { return sor->applytranspose(pc, b, x); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyRichardson_SyncFreeSOR(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its, PetscBool guesszero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(WithOurSweeps(pc, [&](Sor *sor) { return sor->applyrichardson(pc, b, x, w, rtol, abstol, dtol, its, guesszero, outits, reason); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QuerySweepSettings(PC pc, const Settings **settings)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  *settings = sor ? &sor->settings : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ChangeSweepSettings(PC pc, const Settings &settings)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCheck(sor, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "Only for PCs of type %s", PCSYNCFREESOR);
  if (settings == sor->settings) PetscFunctionReturn(PETSC_SUCCESS);
  sor->settings = settings;
  sor->agreed   = SorState();
  Forget(sor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOptions(PC pc, OptionItems PetscOptionsObject)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(sor->setfromoptions(pc, PetscOptionsObject));
  sor->agreed       = SorState();
  Settings settings = sor->settings;
  PetscCall(SettingsFromOptions(OptionUser::sweeps, &settings, PetscOptionsObject));
  PetscCall(ChangeSweepSettings(pc, settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_SyncFreeSOR(PC pc, OptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall(Agree(PetscObjectComm((PetscObject)pc), guarded<SetOptions>(pc, PetscOptionsObject)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_SyncFreeSOR(PC pc, PetscViewer viewer)
{
  Sor      *sor;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(sor->view(pc, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(Agree(PetscObjectComm((PetscObject)pc), guarded<ViewSweeps>(pc, sor, viewer)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_SyncFreeSOR(PC pc)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  Forget(sor);
  sor->agreed = SorState();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_SyncFreeSOR(PC pc)
{
  Sor *sor;
  PetscErrorCode (*destroy)(PC);

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  destroy = sor->destroy;
  PetscCall(PutSor((PetscObject)pc, nullptr));
  delete sor;
  PetscCall(destroy(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives pc the type PCSOR and then wraps its operations; nothing fails after PutSor(). */
static PetscErrorCode WrapSor(PC pc)
{
  auto data = std::make_unique<Sor>();

  PetscFunctionBegin;
  PetscCall(PCCreate_SOR(pc));
  PetscCall(PutSor((PetscObject)pc, data.get()));
  Sor *sor = data.release();
  sor->destroy             = pc->ops->destroy;
  sor->view                = pc->ops->view;
  sor->setfromoptions      = pc->ops->setfromoptions;
  sor->apply               = pc->ops->apply;
  sor->applytranspose      = pc->ops->applytranspose;
  sor->applyrichardson     = pc->ops->applyrichardson;
  pc->ops->setup           = guarded<PCSetUp_SyncFreeSOR>;
  pc->ops->setuponblocks   = guarded<PCSetUp_SyncFreeSOR>;
  pc->ops->destroy         = guarded<PCDestroy_SyncFreeSOR>;
  pc->ops->reset           = guarded<PCReset_SyncFreeSOR>;
  pc->ops->view            = guarded<PCView_SyncFreeSOR>;
  pc->ops->setfromoptions  = guarded<PCSetFromOptions_SyncFreeSOR>;
  pc->ops->apply           = guarded<PCApply_SyncFreeSOR>;
  pc->ops->applyrichardson = guarded<PCApplyRichardson_SyncFreeSOR>;
  if (sor->applytranspose) pc->ops->applytranspose = guarded<PCApplyTranspose_SyncFreeSOR>; /* NULL in old PETSc versions */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSor(PC pc)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Agree(PetscObjectComm((PetscObject)pc), guarded<WrapSor>(pc));
  if (ierr) PetscCall(ForgetType(pc));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin

/*MC
   PCSYNCFREESOR - (S)SOR (successive over relaxation, Gauss-Seidel) with parallel, synchronization-free sweeps

   Options Database Keys:
+  -pc_syncfree_strategy (auto|...)              - algorithm of the sweeps, see `-help` for the names
.  -pc_syncfree_threads n                        - number of CPU threads
.  -pc_syncfree_memory_limit (auto|unlimited|megabytes) - memory of rows and plan on a GPU (default auto: 6 times that of PETSc's ILU(0), at least 64)
.  -pc_syncfree_wait_limit seconds               - time after which a kernel on a GPU whose threads wait for each other gives up (0: never, default 60)
.  -pc_syncfree_use_inodes (true|false)          - relax inodes, rows with the same columns, together if the matrix uses them
.  -pc_syncfree_view [viewer]                    - print what runs once per analysis, for all processes; the viewer is given as to `-ksp_view`
-  -pc_sor_omega and all other -pc_sor_* options - as for `PCSOR`

   Level: beginner

   Notes:
   The iterates are those of `PCSOR`, that is, of sequential sweeps, and so is the number of iterations; only the
   algorithms differ. As with `PCSOR`, each process of a `MATMPIAIJ` relaxes its own rows.

   The sweeps run where the matrix resides, on CPU threads or on a CUDA device. Inodes are used on the CPU only.

   A zero on the diagonal is reported as by `PCSOR`, a NaN or an infinity as `PC_FACTOR_OTHER`; `-info` prints its row.

   Developer Note:
   This is `PCSOR`, with another `MatSOR()` of the local matrix while it is applied.

.seealso: [](ch_ksp), `PCSOR`, `PCSORSetOmega()`, `PCSORSetIterations()`, `PCSORSetSymmetric()`, `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeSetStrategy()`, `PCSyncFreeGetRunningStrategy()`, `PCSyncFreeSetThreads()`
M*/
PETSC_EXTERN PetscErrorCode PCCreate_SyncFreeSOR(PC pc)
{
  PetscFunctionBegin;
  PetscCall(syncfree_plugin::guarded<syncfree_plugin::CreateSor>(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode syncfree_plugin::RegisterSorType()
{
  PetscFunctionBegin;
  PetscCall(PCRegister(PCSYNCFREESOR, PCCreate_SyncFreeSOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
