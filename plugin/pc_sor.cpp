/*
  The PC type `syncfree_sor`.

  It is PETSc's own PCSOR with one thing changed: while it applies itself, the operation MatSOR of the sequential AIJ
  matrix at hand, or of the diagonal block of a parallel one, is ours. So every -pc_sor_* option, setter, getter and
  view is PETSc's, and so is what several processes do between their local sweeps.
*/

#include "plugin_impl.hpp"

#include <new>
#include <string>
#include <vector>

#include "syncfree/fingerprint.hpp"
#include "syncfree/relaxation.hpp"
#include "syncfree/strategy.hpp"

/* The constructor of the inner type; PETSc exports it but declares it in no header. */
PETSC_EXTERN PetscErrorCode PCCreate_SOR(PC);

namespace syncfree_plugin {

using Relaxation = syncfree::Relaxation<PetscScalar, Index>;

/* What an analysis or numbers were made of. */
struct SorState {
  PetscObjectId    matrix  = 0;
  PetscObjectState pattern = 0, values = 0;
  PetscReal        omega = 0, shift = 0;
  bool             nodes = false;
};

/* What a PC carries beside the inner type's own data. */
struct Sor {
  char                        strategy[32] = "auto";
  PetscInt                    threads      = PETSC_DECIDE;
  PetscBool                   inode        = PETSC_TRUE; /* as the matrix does it */
  std::unique_ptr<Relaxation> relaxation; /* with the analysis of the next two, where there is one */
  syncfree::Fingerprint       pattern;
  std::vector<Index>          nodes;
  SorState                    state;
  PetscLogDouble              flops = 0; /* of one sweep */
  PetscErrorCode (*destroy)(PC)           = nullptr; /* the inner type's operations */
  PetscErrorCode (*view)(PC, PetscViewer) = nullptr;
  PetscErrorCode (*setfromoptions)(PC, OptionItems) = nullptr;
  PetscErrorCode (*apply)(PC, Vec, Vec)             = nullptr;
  PetscErrorCode (*applytranspose)(PC, Vec, Vec)    = nullptr;
  PetscErrorCode (*applyrichardson)(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *) = nullptr;
  PetscErrorCode (*sor)(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec) = nullptr; /* the matrix's, while it is ours */
};

static const char sor_name[] = "PCSyncFreeSOR_Data";

static PetscErrorCode GetSor(PetscObject object, Sor **sor)
{
  PetscFunctionBegin;
  PetscCall(QueryPointer(object, sor_name, sor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PutSor(PetscObject object, Sor *sor)
{
  PetscFunctionBegin;
  PetscCall(ComposePointer(object, sor_name, sor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Would the matrix itself relax by nodes? */
static PetscErrorCode HasNodes(Mat block, bool *has)
{
  PetscInt nodes = 0, *sizes = nullptr;

  PetscFunctionBegin;
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  *has = sizes && nodes > 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First rows of the nodes that the matrix has, and the number of rows behind them. Young PETScs answer with offsets, old
   ones with sizes. */
static PetscErrorCode GetNodes(Mat block, std::vector<Index> *begin)
{
  PetscInt  nodes = 0, *sizes = nullptr;
  PetscBool offsets;

  PetscFunctionBegin;
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  offsets = (PetscBool)(sizes[0] == 0);
  begin->push_back(0);
  for (PetscInt k = 0; k < nodes; k++) begin->push_back(offsets ? (Index)sizes[k + 1] : (Index)(begin->back() + sizes[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Require(const syncfree::Status &status)
{
  using syncfree::Code;

  PetscFunctionBegin;
  if (status.ok()) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode error = (PetscErrorCode)(status.code == Code::out_of_memory ? PETSC_ERR_MEM : status.code == Code::missing_diagonal ? PETSC_ERR_ARG_WRONGSTATE : PETSC_ERR_ARG_WRONG);
  SETERRQ(PETSC_COMM_SELF, error, "%s", status.message().c_str());
}

/* The arrays of a sequential AIJ matrix */
struct SorMatrix {
  Mat                matrix;
  PetscInt           n      = 0;
  const PetscInt    *row    = nullptr, *column = nullptr;
  const PetscScalar *value  = nullptr;

  syncfree::PatternView<Index> Pattern() const { return {(Index)n, reinterpret_cast<const Index *>(row), reinterpret_cast<const Index *>(column)}; }
};

static PetscErrorCode BorrowRows(Mat matrix, SorMatrix *rows)
{
  PetscBool done;

  PetscFunctionBegin;
  rows->matrix = matrix;
  PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows->n, &rows->row, &rows->column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Matrix type %s gives no access to its rows; convert it with MatConvert(A,MATAIJ,...)", ((PetscObject)matrix)->type_name);
  PetscCall(MatSeqAIJGetArrayRead(matrix, &rows->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReturnRows(SorMatrix *rows)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreArrayRead(rows->matrix, &rows->value));
  PetscCall(MatRestoreRowIJ(rows->matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows->n, &rows->row, &rows->column, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Unless the analysis at hand is of another matrix with this pattern. */
static syncfree::Status AnalysePattern(Sor *sor, const SorMatrix &rows, std::vector<Index> nodes, const syncfree::SolverOptions &options, bool *made)
try {
  const syncfree::Fingerprint pattern = syncfree::fingerprint(rows.Pattern(), options.threads);
  if (sor->relaxation && sor->pattern == pattern && sor->nodes == nodes) return {};
  *made = true;
  auto                   relaxation = syncfree::make_host_relaxation<PetscScalar, Index>();
  const syncfree::Status status     = relaxation->analyse(rows.Pattern(), nodes, options);
  if (!status.ok()) return status;
  sor->relaxation = std::move(relaxation);
  sor->pattern    = pattern;
  sor->nodes      = std::move(nodes);
  return {};
} catch (const std::bad_alloc &) {
  return syncfree::failed(syncfree::Code::out_of_memory);
}

static PetscErrorCode Analyse(Sor *sor, const SorMatrix &rows, bool nodes)
{
  syncfree::SolverOptions options;
  PetscInt                threads = sor->threads;
  std::vector<Index>      node_begin;
  bool                    made = false;

  PetscFunctionBegin;
  if (threads == PETSC_DECIDE) PetscCall(DefaultThreads(&threads));
  if (nodes) PetscCall(GetNodes(rows.matrix, &node_begin));
  options.strategy = sor->strategy;
  options.threads  = (int)threads;
  PetscCall(PetscLogEventBegin(events.analysis, rows.matrix, 0, 0, 0));
  const syncfree::Status status = AnalysePattern(sor, rows, std::move(node_begin), options, &made);
  PetscCall(PetscLogEventEnd(events.analysis, rows.matrix, 0, 0, 0));
  if (!made) PetscCall(PetscInfo(rows.matrix, "The pattern is that of the last matrix, and so is the analysis\n"));
  PetscCall(Require(status));
  const syncfree::Summary s = sor->relaxation->summarize();
  sor->flops                = 2.0 * (PetscLogDouble)(s.lower_nnz + s.upper_nnz);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros on the diagonal are reported where and as PETSc's own sweeps do it. */
static PetscErrorCode ReportZero(Mat A, const syncfree::Status &status, bool nodes, PetscReal shift)
{
  PetscFunctionBegin;
  PetscCheck(nodes || shift < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Zero diagonal on row %" PetscInt_FMT, (PetscInt)status.row);
  PetscCheck(!nodes || !A->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "Zero pivot on row %" PetscInt_FMT, (PetscInt)status.row);
  PetscCall(PetscInfo(A, "Zero diagonal on row %" PetscInt_FMT "\n", (PetscInt)status.row));
  A->factorerrortype             = MAT_FACTOR_NUMERIC_ZEROPIVOT;
  A->factorerror_zeropivot_value = 0.0;
  A->factorerror_zeropivot_row   = (PetscInt)status.row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shift that is not positive only says that zeros are no error, and with omega other than 1 nobody looks for them. */
static PetscErrorCode Refresh(Sor *sor, const SorMatrix &rows, const SorState &wanted)
{
  const bool       plain = wanted.omega == 1 && wanted.shift <= 0;
  syncfree::Status status;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(events.numeric, rows.matrix, 0, 0, 0));
  status = sor->relaxation->refresh({rows.Pattern(), rows.value}, wanted.omega, plain ? 0 : wanted.shift, wanted.nodes ? 100 * PETSC_MACHINE_EPSILON : 0);
  PetscCall(PetscLogEventEnd(events.numeric, rows.matrix, 0, 0, 0));
  if (status.code != syncfree::Code::zero_pivot) {
    PetscCall(Require(status));
    rows.matrix->factorerrortype = MAT_FACTOR_NOERROR;
  } else if (plain || wanted.nodes) PetscCall(ReportZero(rows.matrix, status, wanted.nodes, wanted.shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pattern and numbers as far as they are not those at hand. */
static PetscErrorCode Prepare(Sor *sor, Mat A, PetscReal omega, PetscReal shift, bool nodes)
{
  SorState       wanted;
  SorMatrix      rows;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &wanted.matrix));
  PetscCall(PetscObjectStateGet((PetscObject)A, &wanted.values));
  wanted.pattern = A->nonzerostate, wanted.omega = omega, wanted.shift = shift, wanted.nodes = nodes;
  const bool same_rows = sor->state.matrix == wanted.matrix && sor->state.pattern == wanted.pattern && sor->state.nodes == nodes;
  if (same_rows && sor->state.values == wanted.values && sor->state.omega == omega && sor->state.shift == shift) PetscFunctionReturn(PETSC_SUCCESS);
  sor->state = SorState(); /* nothing is known if what follows fails */
  PetscCall(BorrowRows(A, &rows));
  if (!same_rows) ierr = Analyse(sor, rows, nodes);
  if (!ierr) ierr = Refresh(sor, rows, wanted);
  PetscCall(ReturnRows(&rows));
  PetscCall(ierr);
  sor->state = wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSOR of a sequential matrix while a PC of ours applies itself. */
static PetscErrorCode MatSOR_SyncFree(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  Sor                *sor;
  const PetscScalar  *from;
  PetscScalar        *to;
  bool                nodes   = false;
  const bool          forward = flag & SOR_FORWARD_SWEEP || flag & SOR_LOCAL_FORWARD_SWEEP, backward = flag & SOR_BACKWARD_SWEEP || flag & SOR_LOCAL_BACKWARD_SWEEP;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)A, &sor));
  if (flag == SOR_APPLY_UPPER || flag == SOR_APPLY_LOWER || flag & SOR_EISENSTAT || !(forward || backward)) {
    PetscCall(sor->sor(A, b, omega, flag, shift, its, lits, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (sor->inode && omega == 1 && shift == 0) PetscCall(HasNodes(A, &nodes));
  PetscCall(Prepare(sor, A, omega, shift, nodes));
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArray(x, &to));
  PetscCall(PetscLogEventBegin(events.solve, A, b, x, 0));
  /* PETSc's sweeps by nodes know no local iterations */
  sor->relaxation->relax(forward && backward ? syncfree::Sweep::symmetric : forward ? syncfree::Sweep::forward : syncfree::Sweep::backward, flag & SOR_ZERO_INITIAL_GUESS, nodes ? its : its * lits, from, to);
  PetscCall(PetscLogEventEnd(events.solve, A, b, x, 0));
  PetscCall(PetscLogFlops((forward && backward ? 2 : 1) * (PetscLogDouble)its * sor->flops));
  PetscCall(VecRestoreArray(x, &to));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls an operation of the inner type while MatSOR of the matrix at hand is ours. */
template <class Inner> static PetscErrorCode WithOurSweeps(PC pc, Inner inner)
{
  Sor           *sor;
  Mat            block = pc->pmat;
  PetscBool      aij, parallel;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCheck(aij, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PC type %s relaxes AIJ matrices, not %s; convert yours with MatConvert(A,MATAIJ,MAT_INITIAL_MATRIX,&B)", PCSYNCFREESOR, ((PetscObject)pc->pmat)->type_name);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatGetDiagonalBlock(pc->pmat, &block));
  PetscCall(PutSor((PetscObject)block, sor));
  sor->sor        = block->ops->sor;
  block->ops->sor = MatSOR_SyncFree;
  ierr            = inner(sor);
  block->ops->sor = sor->sor;
  PetscCall(PutSor((PetscObject)block, nullptr));
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

static void Forget(Sor *sor)
{
  sor->relaxation.reset();
  sor->state = SorState();
}

/* Those that any triangle can be solved with on the host */
static std::vector<const char *> SorStrategies()
{
  std::vector<const char *> names = {"auto"};

  for (const auto &info : syncfree::strategies())
    if (std::string(info.backend) == "host") names.push_back(info.name);
  return names;
}

static PetscErrorCode PCSetFromOptions_SyncFreeSOR(PC pc, OptionItems PetscOptionsObject)
{
  Sor       *sor;
  const auto names  = SorStrategies();
  PetscInt   choice = 0, threads;
  PetscBool  set    = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  PetscCall(sor->setfromoptions(pc, PetscOptionsObject));
  threads = sor->threads;
  PetscOptionsHeadBegin(PetscOptionsObject, "Synchronization-free SOR options");
  PetscCall(PetscOptionsEList("-pc_syncfree_sor_strategy", "How the sweeps run", PCSYNCFREESOR, names.data(), (PetscInt)names.size(), sor->strategy, &choice, &set));
  if (set) PetscCall(PetscStrncpy(sor->strategy, names[choice], sizeof(sor->strategy)));
  if (set) Forget(sor);
  PetscCall(PetscOptionsInt("-pc_syncfree_sor_threads", "CPU threads", PCSYNCFREESOR, threads, &threads, &set));
  PetscCheck(!set || threads >= 1 || threads == PETSC_DECIDE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-pc_syncfree_sor_threads %" PetscInt_FMT " must be at least 1, or PETSC_DECIDE", threads);
  if (set) Forget(sor);
  sor->threads = threads;
  PetscCall(PetscOptionsBool("-pc_syncfree_sor_inode", "Relax rows of equal columns together where the matrix does", PCSYNCFREESOR, sor->inode, &sor->inode, nullptr));
  PetscOptionsHeadEnd();
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
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree strategy: %s\n", sor->strategy));
  if (!sor->state.matrix) PetscFunctionReturn(PETSC_SUCCESS);
  const syncfree::Summary s = sor->relaxation->summarize();
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree sweeps: %s (%s), threads: %d, rows %s\n", s.strategy.c_str(), s.reason.c_str(), s.threads, sor->state.nodes ? "by nodes" : "one by one"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree memory: rows %.4g MB, plan %.4g MB\n", 1e-6 * (double)s.factor_bytes, 1e-6 * (double)s.plan_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_SyncFreeSOR(PC pc)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  Forget(sor);
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

static PetscErrorCode CreateSor(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate_SOR(pc));
  Sor *sor = new (std::nothrow) Sor;
  PetscCheck(sor, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory for a preconditioner");
  PetscCall(PutSor((PetscObject)pc, sor));
  sor->destroy             = pc->ops->destroy;
  sor->view                = pc->ops->view;
  sor->setfromoptions      = pc->ops->setfromoptions;
  sor->apply               = pc->ops->apply;
  sor->applytranspose      = pc->ops->applytranspose;
  sor->applyrichardson     = pc->ops->applyrichardson;
  pc->ops->destroy         = PCDestroy_SyncFreeSOR;
  pc->ops->reset           = PCReset_SyncFreeSOR;
  pc->ops->view            = PCView_SyncFreeSOR;
  pc->ops->setfromoptions  = PCSetFromOptions_SyncFreeSOR;
  pc->ops->apply           = PCApply_SyncFreeSOR;
  pc->ops->applyrichardson = PCApplyRichardson_SyncFreeSOR;
  if (sor->applytranspose) pc->ops->applytranspose = PCApplyTranspose_SyncFreeSOR; /* old PETScs have none */
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin

/*MC
   PCSYNCFREESOR - Gauss-Seidel and (S)SOR whose sweeps run synchronization-free in parallel, with the numbers of a sequential sweep

   Options Database Keys:
+  -pc_syncfree_sor_strategy (auto|...)                                             - how the sweeps run, `-help` lists the names
.  -pc_syncfree_sor_threads n                                                       - number of CPU threads
.  -pc_syncfree_sor_inode (true|false)                                              - relax rows of equal columns together where the matrix does
-  -pc_sor_omega, -pc_sor_its, -pc_sor_lits, -pc_sor_symmetric and all other -pc_sor_* - as for `PCSOR`

   Level: beginner

   Notes:
   The iterates, and so the iterations, are those of `PCSOR`; only the way to them differs. As in `PCSOR` each process of a `MATMPIAIJ`
   relaxes its own rows.

   Sweeps run on the CPU; those of a matrix of the device work on a copy of it.

   A zero on the diagonal is reported as by `PCSOR`.

   Developer Note:
   This is `PCSOR` itself; while it applies itself the operation `MatSOR()` of the local matrix is another.

.seealso: [](ch_ksp), `PCSOR`, `PCSORSetOmega()`, `PCSORSetIterations()`, `PCSORSetSymmetric()`, `PCSYNCFREEILU`
M*/
PETSC_EXTERN PetscErrorCode PCCreate_SyncFreeSOR(PC pc)
{
  PetscFunctionBegin;
  PetscCall(syncfree_plugin::CreateSor(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode syncfree_plugin::RegisterSorType()
{
  PetscFunctionBegin;
  PetscCall(PCRegister(PCSYNCFREESOR, PCCreate_SyncFreeSOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
