/*
  The factored matrix of MATSOLVERSYNCFREE: borrows the arrays of an AIJ matrix (borrow.hpp), has the core analyse and
  factor it, and returns solutions in PETSc's vectors.

  For MATMPIAIJ each process factors its diagonal block, so every solve is local. Only the result of the numeric
  factorization is shared, so that all processes see a failure.
*/

#include "choose_order.hpp"
#include "local_order.hpp"
#include "report.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace syncfree_plugin {

/* Calls Agree() on the processes of A. After a failure of the set-up, or after its last stage, no process waits for
   another one any more. */
static PetscErrorCode AgreeOnStage(Mat A, PetscErrorCode mine, PetscBool last, int *number)
{
  SetupContext      *handover;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Agree(PetscObjectComm((PetscObject)A), mine, number);
  PetscCall(QueryHandover(A, &handover));
  if (handover && (ierr || last)) handover->others_wait = PETSC_FALSE;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- analysis ---- */

static PetscErrorCode GetSettings(Mat F, Mat A, Settings *settings)
{
  SetupContext      *handover;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  if (handover) {
    *settings = handover->settings;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* Who uses the package itself may ask for pivots and for halves of a solve, which blocks do not have in PETSc's form */
  *settings            = Settings();
  settings->block_size = 1;
  /* PetscObjectOptionsBegin() would print nothing with -help, because the options of A, which has the same class and
     mostly the same prefix, were printed before */
  PetscOptionsBegin(PetscObjectComm((PetscObject)F), ((PetscObject)F)->prefix, "Matrix solver type syncfree options", "Mat");
  if (!ierr) ierr = guarded<SettingsFromOptions>(OptionUser::factors, settings, PetscOptionsObject);
  PetscOptionsEnd();
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets what of a key depends on settings, matrix, shift type and given orders, and gives F a preconditioner for it. */
static PetscErrorCode ApplySettings(Mat F, Mat A, const MatFactorInfo *info, const BlockRequest &request, AnalysisKey *key)
{
  const Settings &settings = request.settings;
  ChosenBlocks    blocks;
  PetscInt        threads = (PetscInt)settings.threads;

  PetscFunctionBegin;
  PetscCall(GetBlocks(F, A, info, request, &blocks));
  PetscCall(UseBackend(F, A, info, settings, blocks.from));
  if (threads == PETSC_DECIDE) PetscCall(DefaultThreads(Data(F)->analysis->cuda, &threads));
  key->backend            = Data(F)->analysis->key.backend;
  key->baij               = blocks.from == Blocks::stored;
  key->chose_blocks       = blocks.chosen;
  key->shift              = blocks.shift;
  key->options            = settings.solver;
  key->options.threads    = (int)std::min(threads, std::max((PetscInt)1, A->rmap->n));
  key->options.block_size = (int)blocks.size;
  Data(F)->why_entries    = blocks.why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc counts one triangle only of an incomplete Cholesky factor. */
static void FillInfo(Mat F, const syncfree::Summary &summary, PetscLogDouble nnz, PetscReal fill_given)
{
  Factor    *factor = Data(F);
  const auto n      = (PetscLogDouble)summary.rows;
  const bool icc    = F->factortype == MAT_FACTOR_ICC;
  const auto values = (PetscLogDouble)summary.block_size * summary.block_size; /* of a block; PETSc counts blocks as full */
  const auto used   = (PetscLogDouble)summary.upper_nnz + (icc ? 0.0 : (PetscLogDouble)summary.lower_nnz) + n * summary.block_size;

  factor->numeric_flops          = (PetscLogDouble)summary.operations;
  factor->solve_flops            = 2.0 * (PetscLogDouble)(summary.lower_nnz + summary.upper_nnz) + n * summary.block_size;
  factor->info                   = {};
  factor->info.block_size        = Data(F)->analysis->key.baij ? values : 1.0;
  factor->info.nz_used           = used;
  factor->info.nz_allocated      = used;
  factor->info.fill_ratio_given  = fill_given;
  factor->info.fill_ratio_needed = nnz ? (icc ? 2.0 * used / (nnz + n) : used / nnz) : 0.0;
  factor->info.memory            = (PetscLogDouble)(summary.factor_bytes + summary.plan_bytes);
  F->info.fill_ratio_given       = factor->info.fill_ratio_given;
  F->info.fill_ratio_needed      = factor->info.fill_ratio_needed;
}

static bool SameOrdering(const std::optional<syncfree::OrderingOptions> &a, const std::optional<syncfree::OrderingOptions> &b)
{
  if (!a || !b) return !a && !b;
  return a->kind == b->kind && a->cyclic_colors == b->cyclic_colors && a->abmc_rows == b->abmc_rows;
}

bool AnalysisKey::operator==(const AnalysisKey &other) const
{
  return backend == other.backend && kind == other.kind && levels == other.levels && diagonal_fill == other.diagonal_fill && baij == other.baij && chose_blocks == other.chose_blocks && natural == other.natural && options == other.options && automatic == other.automatic && SameOrdering(ordering, other.ordering);
}

PetscErrorCode GetAnalysis(Mat F, std::shared_ptr<Analysis> *analysis)
{
  PetscBool ours = PETSC_FALSE;

  PetscFunctionBegin;
  analysis->reset();
  if (F) PetscCall(PetscStrcmp(((PetscObject)F)->type_name, MATSOLVERSYNCFREE, &ours));
  if (ours) *analysis = Data(F)->analysis;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares the pattern, entry by entry, with the one that was analysed; called after BorrowThere(). */
static PetscErrorCode Compare(Mat F, Mat A, const Analysis &analysis, const BorrowedMatrix &matrix, bool *same)
{
  PetscFunctionBegin;
  *same = matrix.block_size == (analysis.key.baij ? analysis.key.options.block_size : 1);
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseMemory(analysis.cuda, PETSC_MEMTYPE_HOST));
  if (analysis.cuda) PetscCall(Translate(F, A, analysis.cuda->has_pattern_on_device(matrix.Pattern(), matrix.there, same)));
  else PetscCall(Translate(F, A, analysis.preconditioner->has_pattern(matrix.Pattern(), same)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares two pairs of orderings of n rows. */
static bool SameOrders(const Orders &a, const Orders &b, PetscInt n)
{
  if (!a.row || !b.row) return !a.row && !b.row;
  if (!std::equal(a.row, a.row + n, b.row)) return false;
  return (a.row == a.column && b.row == b.column) || std::equal(a.column, a.column + n, b.column);
}

/* Takes over the analysis of the factored matrix that F replaces if key, pattern and given orderings are the same and no
   other object uses it. Otherwise this reference to it is dropped.
     orders   reset where it made them and another object uses it: they are made again, with their colors and blocks */
static PetscErrorCode TakeLast(Mat F, Mat A, const BorrowedMatrix &matrix, const AnalysisKey &key, Orders *orders, bool *taken)
{
  SetupContext *handover;
  bool          same;

  PetscFunctionBegin;
  *taken = false;
  PetscCall(QueryHandover(A, &handover));
  if (!handover || !handover->last) PetscFunctionReturn(PETSC_SUCCESS);
  const auto last = std::move(handover->last);
  if ((last.use_count() > 1 && !key.ordering) || !(last->key == key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Compare(F, A, *last, matrix, &same));
  if (!key.ordering || orders->row) same = same && SameOrders(last->preconditioner->orders(), *orders, matrix.n);
  if (same && last.use_count() > 1) *orders = Orders();
  else if (same) Data(F)->analysis = last, *taken = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeNew(Mat F, Mat A, const BorrowedMatrix &matrix, const AnalysisKey &key, const Orders &orders, syncfree::Status *status)
{
  Analysis                        &analysis = *Data(F)->analysis;
  syncfree::SymbolicOptions<Index> symbolic;

  PetscFunctionBegin;
  if (key.ordering) PetscCall(CheckOrdering(*key.ordering));
  analysis.key = key;
  if (orders.row) analysis.key.ordering.reset(); /* they may be those of another pattern */
  symbolic           = {key.kind, key.levels, key.diagonal_fill, orders.row, orders.column, analysis.key.ordering};
  analysis.viewed    = false;
  analysis.compared  = false;
  Data(F)->fell_back = false;
  if (!key.automatic) analysis.choice = {}, analysis.hinted = false; /* of another pattern */
  PetscCall(UseMemory(analysis.cuda, PETSC_MEMTYPE_HOST));
  PetscCall(WithEvent(events.analysis, (PetscObject)F, (PetscObject)A, [&] {
    if (analysis.cuda) *status = analysis.cuda->analyse_on_device(matrix.Pattern(), matrix.there, symbolic, key.options);
    else *status = analysis.preconditioner->analyse(matrix.Pattern(), symbolic, key.options);
    return LackMemory(key, *status) ? PETSC_SUCCESS : Translate(F, A, *status);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MakeOrTake(Mat F, Mat A, BorrowedMatrix *matrix, const AnalysisKey &key, Orders orders, PetscReal fill)
{
  Factor          *factor = Data(F);
  bool             taken;
  syncfree::Status status;

  PetscFunctionBegin;
  factor->copies = PETSC_FALSE; /* no values were copied yet */
  factor->seen   = PatternState();
  if (!matrix->there.row_begin) PetscCall(BorrowThere(factor->analysis->cuda, matrix));
  PetscCall(TakeLast(F, A, *matrix, key, &orders, &taken));
  if (taken) PetscCall(PetscInfo(F, "Same nonzero pattern as in the last set-up: reusing the analysis\n"));
  else PetscCall(MakeNew(F, A, *matrix, key, orders, &status));
  if (!status.ok()) {
    AnalysisKey of_entries = key;
    PetscCall(TakeEntries(F, status, &of_entries));
    PetscCall(MakeNew(F, A, *matrix, of_entries, orders, &status));
  }
  PetscCall(GetPatternState(*matrix, &factor->seen));

  const auto summary = factor->analysis->preconditioner->summarize();
  const auto stored  = (PetscLogDouble)factor->seen.nonzeros * matrix->block_size * matrix->block_size;
  FillInfo(F, summary, matrix->upper ? 2 * stored - (PetscLogDouble)matrix->n : stored, fill);
  PetscCall(CiteStrategy(summary.strategy));
  if (factor->analysis->key.ordering) PetscCall(CiteOrdering(OrderingName(factor->analysis->key.ordering)));
  PetscCall(PetscInfo(F, "Strategy %s (%s), %d threads, %.3g MB factor, %.3g MB plan\n", summary.strategy.c_str(), summary.reason.c_str(), summary.threads, 1e-6 * (double)summary.factor_bytes, 1e-6 * (double)summary.plan_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets copies of the last analysis's orders if an ordering of this library is to be reused, which PCICC does not support;
   else the ordering that the analysis is to make. */
static PetscErrorCode ReuseOrMakeOrdering(Mat F, const SetupContext &handover, PetscInt n, AnalysisKey *key, std::vector<Index> *row, std::vector<Index> *column)
{
  PetscFunctionBegin;
  key->ordering = handover.ordering;
  if (!handover.reuses_ordering || F->factortype != MAT_FACTOR_ILU || !handover.last) PetscFunctionReturn(PETSC_SUCCESS);
  const Orders last = handover.last->preconditioner->orders();
  if (!last.row || OrderedRows(*handover.last) != n) PetscFunctionReturn(PETSC_SUCCESS);
  key->ordering = handover.last->key.ordering; /* the analysis itself may be reused, too */
  row->assign(last.row, last.row + n);
  column->assign(last.column, last.column + n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AnalyseInOrder(Mat F, Mat A, const Orders &given, PetscInt ordered_rows, const MatFactorInfo *info)
{
  AnalysisKey        key;
  Orders             orders = given;
  std::vector<Index> row, column;
  SetupContext      *handover;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  PetscCall(GetSettings(F, A, &Data(F)->settings));
  PetscCall(ApplySettings(F, A, info, {Data(F)->settings, given, handover && handover->MakesOrdering()}, &key));
  if (handover && handover->MakesOrdering()) {
    PetscCall(ReuseOrMakeOrdering(F, *handover, ordered_rows, &key, &row, &column));
    orders = row.empty() ? Orders() : Orders{row.data(), column.data()};
  }
  key.kind          = F->factortype == MAT_FACTOR_ICC ? syncfree::Kind::icc : syncfree::Kind::ilu;
  key.levels        = (int)info->levels;
  key.diagonal_fill = info->diagonal_fill != 0.0;
  key.natural       = !orders.row && !key.ordering;
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    syncfree::OrderingChoice choice;

    PetscFunctionBegin;
    if (handover && handover->chooses) PetscCall(TakeOrChoose(F, *handover, orders, matrix, &key, &choice));
    PetscCall(MakeOrTake(F, A, matrix, key, orders, info->fill));
    if (key.automatic) Data(F)->analysis->choice = choice;
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SBAIJ does not store the other triangle, which an ordering needs. The natural one may be given as index sets, too. */
static PetscErrorCode CheckOrdersOfTriangle(Mat A, bool makes_ordering, IS row, IS column)
{
  PetscBool upper, natural = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (!upper) PetscFunctionReturn(PETSC_SUCCESS);
  if (makes_ordering) natural = PETSC_FALSE;
  else if (row) PetscCall(ISIdentity(row, &natural));
  if (natural && !makes_ordering && column && column != row) PetscCall(ISIdentity(column, &natural));
  PetscCheck(natural, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s matrices are factored in natural order only, as in PETSc: leave out -pc_factor_mat_ordering_type, or use -mat_type aij", ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Analyse(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
  SetupContext *handover;
  PetscInt      block_size = 1;
  PetscBool     baij;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  if (handover) PetscCall(handover->failed_ordering);
  PetscCheck(A->rmap->n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Must be square matrix, rows %" PetscInt_FMT " columns %" PetscInt_FMT, A->rmap->n, A->cmap->n);
  PetscCheck(!info->usedt, PETSC_COMM_SELF, PETSC_ERR_SUP, "A drop tolerance (ILUDT) is not supported; use -pc_factor_levels");
  PetscCall(CheckOrdersOfTriangle(A, handover && handover->MakesOrdering(), row, column));
  if (handover && handover->MakesOrdering()) row = column = nullptr; /* of an earlier set-up, before PCFactorSetReuseOrdering() */
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) PetscCall(MatGetBlockSize(A, &block_size));
  const PetscInt n = A->rmap->n / block_size; /* rows that are ordered */
  PetscCall(WithOrders(row, column, n, [&](const Orders &orders) { return AnalyseInOrder(F, A, orders, n, info); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares the pattern with the analysed one; does not read its entries if it is the pattern seen last. */
static PetscErrorCode LookAtPattern(Mat F, Mat A, BorrowedMatrix *matrix, bool *same)
{
  Factor      *factor = Data(F);
  PatternState now;

  PetscFunctionBegin;
  PetscCall(GetPatternState(*matrix, &now));
  *same = factor->seen == now;
  if (*same) PetscFunctionReturn(PETSC_SUCCESS);
  factor->seen = PatternState();
  PetscCall(BorrowThere(factor->analysis->cuda, matrix));
  PetscCall(Compare(F, A, *factor->analysis, *matrix, same));
  if (*same) factor->seen = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HasStorage(Mat F, Mat A, PetscBool *has)
{
  const AnalysisKey &key  = Data(F)->analysis->key;
  PetscInt           size = 1;
  PetscBool          baij;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) PetscCall(MatGetBlockSize(A, &size));
  *has = (PetscBool)(key.levels < 0 || size == (key.baij ? key.options.block_size : 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HasPattern(Mat F, Mat A, PetscBool *has)
{
  bool same = false;

  PetscFunctionBegin;
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) { return LookAtPattern(F, A, matrix, &same); }));
  *has = (PetscBool)same;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of a pattern that was not analysed would silently give a wrong factor. So the new pattern is analysed, as the
   last symbolic factorization requested it: the result is the factor of this matrix. Blocks that were chosen are chosen
   again, also where the shift type is another one by now. */
static PetscErrorCode FollowPattern(Mat F, Mat A, BorrowedMatrix *matrix, const MatFactorInfo *info)
{
  bool same, keeps;

  PetscFunctionBegin;
  AnalysisKey key = Data(F)->analysis->key;
  PetscCall(LookAtPattern(F, A, matrix, &same));
  PetscCall(KeepsBlocks(A, info, key, &keeps));
  if (same && keeps) PetscFunctionReturn(PETSC_SUCCESS);
  const Orders   orders = key.ordering ? Orders() : Data(F)->analysis->preconditioner->orders();
  const PetscInt n      = OrderedRows(*Data(F)->analysis);
  PetscCheck(key.levels >= 0 && (key.ordering || key.natural == !orders.row), PETSC_COMM_SELF, PETSC_ERR_ORDER, "The symbolic factorization is missing or failed; call MatILUFactorSymbolic() or MatICCFactorSymbolic() first, or PCReset()");
  const int size = key.baij ? key.options.block_size : 1;
  PetscCheck(matrix->block_size == size, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Matrix has dense blocks of size %" PetscInt_FMT ", but the symbolic factorization was for size %d; repeat the symbolic factorization", matrix->block_size, size);
  PetscCheck(!orders.row || matrix->n == n, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Matrix has %" PetscInt_FMT " local rows, but the ordering of the symbolic factorization has %" PetscInt_FMT "; repeat the symbolic factorization", matrix->n, n);
  PetscCall(PetscInfo(F, "%s has changed: repeating the symbolic factorization\n", same ? "Shift type" : "Nonzero pattern"));
  const std::vector<Index> row(orders.row, orders.row ? orders.row + n : nullptr), column(orders.column, orders.row ? orders.column + n : nullptr);
  const Orders             kept = orders.row ? Orders{row.data(), column.data()} : Orders();
  if (key.chose_blocks) PetscCall(ApplySettings(F, A, info, {Data(F)->settings, kept, key.ordering || key.automatic}, &key));
  PetscCall(MakeOrTake(F, A, matrix, key, kept, info->fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactorSymbolic_SyncFree(Mat F, Mat A, IS row, IS column, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(AgreeOnStage(A, guarded<Analyse>(F, A, row, column, info), PETSC_FALSE, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatICCFactorSymbolic_SyncFree(Mat F, Mat A, IS permutation, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(AgreeOnStage(A, guarded<Analyse>(F, A, permutation, permutation, info), PETSC_FALSE, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numeric factorization ---- */

static PetscErrorCode GetPivotRule(Mat A, const MatFactorInfo *info, syncfree::PivotRule *rule)
{
  MatFactorShiftType shift;

  PetscFunctionBegin;
  PetscCall(GetShift(A, info, &shift));
  switch (shift) {
  case MAT_SHIFT_NONZERO:
    rule->shift = syncfree::Shift::nonzero;
    break;
  case MAT_SHIFT_POSITIVE_DEFINITE:
    rule->shift = syncfree::Shift::positive_definite;
    break;
  case MAT_SHIFT_INBLOCKS:
    rule->shift = syncfree::Shift::inblocks;
    break;
  default:
    rule->shift = syncfree::Shift::none;
  }
  rule->shift_amount = (double)info->shiftamount;
  rule->zero_pivot   = (double)info->zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refresh(Mat F, Mat A, const MatFactorInfo *info, BorrowedMatrix *matrix)
{
  Factor             *factor = Data(F);
  syncfree::PivotRule rule;

  PetscFunctionBegin;
  PetscCall(GetPivotRule(A, info, &rule));
  PetscCall(FollowPattern(F, A, matrix, info));
  PetscCall(BorrowValues(factor->analysis->cuda, matrix));
  NoteCopies(factor, matrix->device);
  syncfree::Status status;
  PetscCall(FactorValues(F, matrix, rule, &status));
  if (LackMemory(factor->analysis->key, status)) PetscCall(FactorEntries(F, A, matrix, info->fill, rule, &status));
  if (BreaksDown(*factor->analysis, status)) PetscCall(FallBack(F, A, matrix, info->fill, rule, &status));
  if (status.code == syncfree::Code::another_pattern) factor->seen = PatternState(); /* the arrays were changed without PETSc's knowledge */
  PetscCall(Translate(F, A, status));
  PetscCall(ReportShifts(F));
  PetscCall(LookForHint(F, A, matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A failure on one process is a failure of the parallel factor. */
static PetscErrorCode RefreshOnAll(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscErrorCode ierr;
  int            flag;

  PetscFunctionBegin;
  ierr = WithRows(A, [&](BorrowedMatrix *matrix) { return Refresh(F, A, info, matrix); });
  flag = (int)F->factorerrortype;
  PetscCall(AgreeOnStage(A, ierr, PETSC_TRUE, &flag));
  F->factorerrortype = (MatFactorError)flag;
  PetscCall(PetscLogFlops(Data(F)->numeric_flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFactorNumeric_SyncFree(Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  F->factorerrortype = MAT_FACTOR_NOERROR;
  PetscCall(WithEvent(events.numeric, (PetscObject)F, (PetscObject)A, [&] { return RefreshOnAll(F, A, info); }));
  F->assembled    = PETSC_TRUE;
  F->preallocated = PETSC_TRUE;
  PetscCall(ViewAnalysis(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

static PetscErrorCode MatFactorGetSolverType_SyncFree(Mat, MatSolverType *type)
{
  PetscFunctionBegin;
  *type = MATSOLVERSYNCFREE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SyncFree(Mat F)
{
  PetscFunctionBegin;
  delete Data(F);
  F->data = nullptr;
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetOperations(Mat F)
{
  F->ops->ilufactorsymbolic     = guarded<MatILUFactorSymbolic_SyncFree>;
  F->ops->iccfactorsymbolic     = guarded<MatICCFactorSymbolic_SyncFree>;
  F->ops->lufactornumeric       = guarded<MatFactorNumeric_SyncFree>;
  F->ops->choleskyfactornumeric = guarded<MatFactorNumeric_SyncFree>;
  F->ops->solve                 = guarded<MatSolve_SyncFree>;
  F->ops->solvetranspose        = guarded<MatSolveTranspose_SyncFree>;
  F->ops->forwardsolve          = guarded<MatForwardSolve_SyncFree>;
  F->ops->backwardsolve         = guarded<MatBackwardSolve_SyncFree>;
  F->ops->matsolve              = guarded<MatMatSolve_SyncFree>;
  F->ops->matsolvetranspose     = guarded<MatMatSolveTranspose_SyncFree>;
  F->ops->getinfo               = guarded<MatGetInfo_SyncFree>;
  F->ops->getdiagonal           = guarded<MatGetDiagonal_SyncFree>;
  F->ops->view                  = guarded<MatView_SyncFree>;
  F->ops->destroy               = guarded<MatDestroy_SyncFree>;
}

/* Turns a matrix without a type into a factored matrix of MATSOLVERSYNCFREE. */
static PetscErrorCode MakeFactor(Mat F, Mat A, MatFactorType type)
{
  VecType   vec_type;
  SetupContext *handover;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  F->data = new Factor;
  SetOperations(F);
  PetscCall(UseEntries(Data(F), "host"));
  PetscCall(MatGetVecType(A, &vec_type));
  PetscCall(MatSetVecType(F, vec_type));
  F->factortype     = type;
  F->canuseordering = (PetscBool)(!handover || handover->index_sets);
  PetscCall(PetscFree(F->solvertype));
  PetscCall(PetscStrallocpy(MATSOLVERSYNCFREE, &F->solvertype));
  PetscCall(PetscStrallocpy(MATORDERINGNATURAL, (char **)&F->preferredordering[type]));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", guarded<MatFactorGetSolverType_SyncFree>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_AIJ_SyncFree(Mat A, MatFactorType type, Mat *F)
{
  Mat            B;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  /* as PETSc does: an ILU factor has the block size of its matrix, an ICC factor has none */
  if (type == MAT_FACTOR_ILU) PetscCall(MatSetBlockSizesFromMats(B, A, A));
  PetscCall(PetscStrallocpy(MATSOLVERSYNCFREE, &((PetscObject)B)->type_name));
  PetscCall(MatSetUp(B));
  ierr = AgreeOnStage(A, guarded<MakeFactor>(B, A, type), PETSC_FALSE, nullptr);
  if (ierr) PetscCall(MatDestroy(&B));
  PetscCall(ierr);
  *F = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_SBAIJ_SyncFree(Mat A, MatFactorType type, Mat *F)
{
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Solver type %s factors %s matrices with block size 1, not %" PetscInt_FMT "; use -mat_type aij", MATSOLVERSYNCFREE, ((PetscObject)A)->type_name, size);
  PetscCall(MatGetFactor_AIJ_SyncFree(A, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the PC types of this plugin factor parallel matrices: any other PC requests a factorization of the whole matrix,
   not of its diagonal blocks. */
static PetscErrorCode MatGetFactor_MPIAIJ_SyncFree(Mat A, MatFactorType type, Mat *F)
{
  SetupContext *handover;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  PetscCheck(handover, PetscObjectComm((PetscObject)A), PETSC_ERR_MISSING_FACTOR, "Could not locate a solver type for factorization type %s and matrix type %s. Use -pc_type bjacobi -sub_pc_type ilu, or -pc_type %s", MatFactorTypes[type], ((PetscObject)A)->type_name, PCSYNCFREEILU);
  PetscCall(MatGetFactor_AIJ_SyncFree(A, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATSOLVERSYNCFREE = "syncfree" - A matrix solver type providing ILU and ICC with parallel, synchronization-free solves

   Options Database Keys:
+  -pc_factor_mat_solver_type syncfree - use this package with `PCILU` or `PCICC`
-  -pc_syncfree_*                      - as for `PCSYNCFREEILU`

   Level: beginner

   Notes:
   Works with `MATSEQAIJ` and `MATSEQAIJCUSPARSE` matrices; as `MAT_FACTOR_ILU`, with `MATSEQBAIJ` matrices, which are
   factored by dense blocks; and as `MAT_FACTOR_ICC`, with `MATSEQSBAIJ` matrices of block size 1. In parallel use
   it for the blocks of `PCBJACOBI` or `PCASM`. `PCSYNCFREEILU` and `PCSYNCFREEICC` use this package for `MATMPIAIJ`
   matrices, too, the former for `MATMPIBAIJ` and the latter for `MATMPISBAIJ` matrices.

   `MAT_FACTOR_ILU` and `MAT_FACTOR_ICC` are supported, with levels of fill, but without a drop tolerance.

.seealso: [](ch_ksp), `PCFactorSetMatSolverType()`, `MatSolverType`, `PCSYNCFREEILU`, `PCSYNCFREEICC`, `MatSyncFreeGetFactors()`
M*/
PetscErrorCode RegisterFactorPackage()
{
  const MatFactorType kinds[] = {MAT_FACTOR_ILU, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  for (MatFactorType kind : kinds) {
    /* PETSc takes the first registered name that is a prefix of the type's name, so the longer name comes first */
    PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATSEQAIJCUSPARSE, kind, guarded<MatGetFactor_AIJ_SyncFree>));
    PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATSEQAIJ, kind, guarded<MatGetFactor_AIJ_SyncFree>));
    PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATMPIAIJ, kind, guarded<MatGetFactor_MPIAIJ_SyncFree>));
  }
  PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATSEQBAIJ, MAT_FACTOR_ILU, guarded<MatGetFactor_AIJ_SyncFree>));
  PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATMPIBAIJ, MAT_FACTOR_ILU, guarded<MatGetFactor_MPIAIJ_SyncFree>));
  PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATSEQSBAIJ, MAT_FACTOR_ICC, guarded<MatGetFactor_SBAIJ_SyncFree>));
  PetscCall(MatSolverTypeRegister(MATSOLVERSYNCFREE, MATMPISBAIJ, MAT_FACTOR_ICC, guarded<MatGetFactor_MPIAIJ_SyncFree>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
