/*
  Information about a factored matrix of MATSOLVERSYNCFREE: its size, how it solves, its pivots, and its two triangles
  as matrices.
*/

#include "choose_order.hpp"
#include "factor_impl.hpp"
#include "report.hpp"

#include <vector>

namespace syncfree_plugin {

PetscErrorCode MatGetInfo_SyncFree(Mat F, MatInfoType type, MatInfo *info)
{
  PetscFunctionBegin;
  *info = Data(F)->info;
  if (type == MAT_LOCAL) PetscFunctionReturn(PETSC_SUCCESS);
  double       local[] = {info->nz_used, info->memory}, global[2];
  const MPI_Op op      = type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM;
  PetscCallMPI(MPI_Allreduce(local, global, 2, MPI_DOUBLE, op, PetscObjectComm((PetscObject)F)));
  info->nz_used = info->nz_allocated = global[0];
  info->memory                       = global[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error unless an array of the factor is complete: it is empty if not factored, or if the device fails. */
static PetscErrorCode CheckGiven(Mat F, std::size_t wanted, std::size_t given)
{
  const bool device = Data(F)->analysis->cuda;

  PetscFunctionBegin;
  PetscCheck(given == wanted, PETSC_COMM_SELF, device ? PETSC_ERR_GPU : PETSC_ERR_ARG_WRONGSTATE, "%s has %zu of %zu entries; factor the matrix again", device ? "The factor copied from the device" : "The factor", given, wanted);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a block factor has in the place of single numbers cannot be passed in PETSc's formats. */
static PetscErrorCode CheckNoBlocks(Mat F, const char what[])
{
  const int size = Data(F)->analysis->key.options.block_size;

  PetscFunctionBegin;
  PetscCheck(size == 1, PETSC_COMM_SELF, PETSC_ERR_SUP, "The %s of a factor with dense blocks (block size %d) are matrices and cannot be read; use -pc_syncfree_block_size 1 and, with a BAIJ matrix, -mat_type aij", what, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the pivots in the order of the factorization, as PETSc does for its own factors. */
PetscErrorCode MatGetDiagonal_SyncFree(Mat F, Vec diagonal)
{
  PetscScalar *pivot;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(CheckNoBlocks(F, "pivots"));
  const auto inverse = Data(F)->analysis->preconditioner->values().inverse_pivot;
  PetscCall(VecGetLocalSize(diagonal, &n));
  PetscCheck(n == F->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Vector has local size %" PetscInt_FMT ", but the factor has %" PetscInt_FMT " pivots", n, F->rmap->n);
  PetscCall(CheckGiven(F, (std::size_t)n, inverse.size()));
  PetscCall(VecGetArrayWrite(diagonal, &pivot));
  for (PetscInt i = 0; i < n; i++) pivot[i] = PetscScalar(1.0) / inverse[i];
  PetscCall(VecRestoreArrayWrite(diagonal, &pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints rows per level and entries per row: "parallel granularity" in Su et al. 2020. */
static PetscErrorCode ViewGranularity(PetscViewer viewer, const syncfree::Summary &s, const syncfree::LevelCounts &levels)
{
  const double rows = (double)s.rows, count = (double)(levels.lower + levels.upper);

  PetscFunctionBegin;
  if (count > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree granularity: %.4g rows per level, %.4g entries per row\n", 2 * rows / count, 0.5 * (double)(s.lower_nnz + s.upper_nnz) / rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the size of dense blocks, and how many zeros were added to fill those of an AIJ matrix; or why there are none. */
static PetscErrorCode ViewBlocks(PetscViewer viewer, const syncfree::Summary &s, const std::string &why_entries)
{
  char padding[64] = "";

  PetscFunctionBegin;
  if (s.padding > 0) PetscCall(PetscSNPrintf(padding, sizeof(padding), ", filled with %lld zeros", (long long)s.padding));
  if (s.block_size > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree block size: %d (dense blocks%s; levels of block rows)\n", s.block_size, padding));
  else if (!why_entries.empty()) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree block size: 1 (%s)\n", why_entries.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints what `syncfree_auto` chose and from what, or that it would gain much. */
static PetscErrorCode ViewOrdering(PetscViewer viewer, const Analysis &analysis)
{
  PetscFunctionBegin;
  for (const auto &line : DescribeChoice(analysis)) PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", line.c_str()));
  const std::string hint = Hint(analysis);
  if (!hint.empty()) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree hint: %s\n", hint.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Report MakeReport(Mat F)
{
  const auto &analysis = *Data(F)->analysis;
  const auto  levels   = analysis.preconditioner->levels();
  Report      report;

  report.backend  = analysis.key.backend;
  report.why_host = Data(F)->why_host;
  report.why_entries = Data(F)->why_entries;
  report.copies   = Data(F)->copies;
  report.lower_levels = (double)levels.lower;
  report.upper_levels = (double)levels.upper;
  AddSummary(analysis.preconditioner->summarize(), &report);
  report.choice = DescribeChoice(analysis);
  if (!report.choice.empty()) report.ordering = OrderingName(analysis.choice.ordering());
  return report;
}

static PetscErrorCode ViewSolver(Mat F, PetscViewer viewer)
{
  char        peak[64] = "";
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)F), &size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree version: %s\n", Version()));
  if (size > 1) {
    Report         mine;
    PetscErrorCode ierr = Guard([&] {
      mine = MakeReport(F);
      return PETSC_SUCCESS;
    });
    PetscCall(Agree(PetscObjectComm((PetscObject)F), ierr));
    PetscCall(ViewReports(PetscObjectComm((PetscObject)F), viewer, "", mine));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const auto s      = Data(F)->analysis->preconditioner->summarize();
  const auto levels = Data(F)->analysis->preconditioner->levels();
  const auto advice = AdviceOnThreads(*Data(F)->analysis->preconditioner, (PetscObject)F);
  PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree strategy: %s (%s), threads: %d%s\n", s.strategy.c_str(), s.reason.c_str(), s.threads, advice.c_str()));
  PetscCall(ViewOrdering(viewer, *Data(F)->analysis));
  PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree levels: %d lower, %d upper; factor precision: %s\n", (int)levels.lower, (int)levels.upper, PCSyncFreePrecisionTypes[s.single_storage]));
  PetscCall(ViewGranularity(viewer, s, levels));
  PetscCall(ViewBlocks(viewer, s, Data(F)->why_entries));
  if (s.peak_bytes) PetscCall(PetscSNPrintf(peak, sizeof(peak), ", peak during set-up %.4g MB", 1e-6 * (double)s.peak_bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree memory: factor %.4g MB, plan %.4g MB, transposes %.4g MB%s%s\n", 1e-6 * (double)s.factor_bytes, 1e-6 * (double)s.plan_bytes, 1e-6 * (double)s.transpose_bytes, peak, DescribeLimit(s).c_str()));
  if (Data(F)->analysis->cuda) PetscCall(ViewWaitLimit(viewer, "", Data(F)->analysis->key.options.wait_limit));
  if (s.captured_bytes) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree memory held by CUDA graphs: %.4g MB\n", 1e-6 * (double)s.captured_bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree backend: %s%s\n", Data(F)->analysis->key.backend.c_str(), Data(F)->copies ? " (data copied from the host)" : ""));
  PetscCall(ViewHost(viewer, "", Data(F)->why_host));
  if (!s.plan.empty()) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree plan: %s\n", s.plan.c_str()));
  if (s.pivots.shifts) PetscCall(PetscViewerASCIIPrintf(viewer, "syncfree pivots: shifted %d times, shift amount %g\n", s.pivots.shifts, s.pivots.shift_amount));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReportShifts(Mat F)
{
  PetscBool informs;

  PetscFunctionBegin;
  PetscCall(PetscInfoEnabled(MAT_CLASSID, &informs));
  const auto pivots = informs ? Data(F)->analysis->preconditioner->summarize().pivots : syncfree::PivotReport(); /* a summary takes microseconds */
  if (pivots.shifts) PetscCall(PetscInfo(F, "Shifted %d times, shift_amount %g, fraction %g of top value %g\n", pivots.shifts, pivots.shift_amount, pivots.shift_fraction, pivots.shift_top));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewAnalysis(Mat F)
{
  const ViewRequest request = {(PetscObject)F, Data(F)->settings.view, F->factortype == MAT_FACTOR_ICC ? "ICC" : "ILU"};

  PetscFunctionBegin;
  PetscCall(ViewOnce(request, &Data(F)->analysis->viewed, [&](PetscViewer viewer) -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(ViewSolver(F, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatView_SyncFree(Mat F, PetscViewer viewer)
{
  PetscBool         ascii;
  PetscViewerFormat format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !F->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Agree(PetscObjectComm((PetscObject)F), guarded<ViewSolver>(F, viewer)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a triangle with its diagonal: 1 / inverse_pivot[i], or 1 if inverse_pivot is NULL. */
static PetscErrorCode MakeTriangle(const syncfree::PatternView<Index> &pattern, const syncfree::Array<PetscScalar> &value, const syncfree::Array<PetscScalar> *inverse_pivot, Mat *T)
{
  const PetscInt        n = pattern.n;
  std::vector<PetscInt> length(n), column;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) length[i] = 1 + pattern.row_begin[i + 1] - pattern.row_begin[i];
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 0, length.data(), T));
  for (PetscInt i = 0; i < n; i++) {
    const Index       begin    = pattern.row_begin[i], end = pattern.row_begin[i + 1];
    const PetscScalar diagonal = inverse_pivot ? PetscScalar(1.0) / (*inverse_pivot)[i] : PetscScalar(1.0);
    column.assign(pattern.column + begin, pattern.column + end);
    PetscCall(MatSetValues(*T, 1, &i, (PetscInt)column.size(), column.data(), value.data() + begin, INSERT_VALUES));
    PetscCall(MatSetValue(*T, i, i, diagonal, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*T, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*T, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests whether a PC, set up or not, has a factored matrix of this package. */
static PetscErrorCode HasOurFactor(PC pc, PetscBool *ours)
{
  const Settings *settings;
  OptionUser      user;
  MatSolverType   type = nullptr;

  PetscFunctionBegin;
  PetscCall(QuerySettings(pc, &settings, &user));
  *ours = (PetscBool)(settings != nullptr);
  if (*ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatSolverType(pc, &type));
  if (type) PetscCall(PetscStrcmp(type, MATSOLVERSYNCFREE, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetRunningStrategy(PC pc, RunningStrategy *running)
{
  std::shared_ptr<Analysis> analysis;
  Mat                       F = nullptr;
  PetscBool                 ours;
  bool                      sweeps;

  PetscFunctionBegin;
  PetscCall(QueryRunningSweeps(pc, &sweeps, running));
  if (sweeps) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HasOurFactor(pc, &ours));
  PetscCheck(ours, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "Only for PCs of type %s, %s and %s, and for PCs with solver type %s, not for %s", PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR, MATSOLVERSYNCFREE,
             ((PetscObject)pc)->type_name ? ((PetscObject)pc)->type_name : "a PC whose type is not set");
  if (pc->setupcalled) PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(GetAnalysis(F, &analysis));
  if (analysis && analysis->key.levels >= 0) *running = {analysis->preconditioner->summarize().strategy, analysis->key.backend};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFactors(Mat F, Mat *L, Mat *U)
{
  MatSolverType type = nullptr;
  PetscBool     ours = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(F, MAT_CLASSID, 1);
  if (F->factortype) PetscCall(MatFactorGetSolverType(F, &type));
  if (type) PetscCall(PetscStrcmp(type, MATSOLVERSYNCFREE, &ours));
  PetscCheck(ours && F->assembled && !F->factorerrortype, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Matrix must be successfully factored with solver type %s", MATSOLVERSYNCFREE);
  PetscCall(CheckNoBlocks(F, "entries"));
  const auto &preconditioner = *Data(F)->analysis->preconditioner;
  const auto &pattern        = preconditioner.pattern();
  const auto  values         = preconditioner.values();
  PetscCall(CheckGiven(F, (std::size_t)F->rmap->n, (std::size_t)pattern.n));
  PetscCall(CheckGiven(F, pattern.lower_column.size(), values.lower.size()));
  PetscCall(CheckGiven(F, pattern.upper_column.size(), values.upper.size()));
  PetscCall(CheckGiven(F, (std::size_t)pattern.n, values.inverse_pivot.size()));
  PetscCall(MakeTriangle(pattern.lower(), values.lower, nullptr, L));
  PetscCall(MakeTriangle(pattern.upper(), values.upper, &values.inverse_pivot, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin

/*@
   MatSyncFreeGetFactors - Gets copies of the two triangular factors of a matrix factored with `MATSOLVERSYNCFREE`

   Not Collective

   Input Parameter:
.  F - the factored matrix, obtained with, for example, `PCFactorGetMatrix()`

   Output Parameters:
+  L - the lower triangular factor with its unit diagonal, of type `MATSEQAIJ`
-  U - the upper triangular factor with its diagonal, of type `MATSEQAIJ`

   Level: advanced

   Notes:
   The caller must destroy both matrices with `MatDestroy()`.

   Rows and columns are in the order of the factorization. For `PCSYNCFREEICC`, whose factorization is $U^T D U$ with a
   unit diagonal of $U$, `L` is $U^T$ and `U` is $D U$. For a parallel matrix these are the factors of this process's
   diagonal block.

.seealso: `MATSOLVERSYNCFREE`, `PCFactorGetMatrix()`, `PCSYNCFREEILU`, `PCSYNCFREEICC`
@*/
PetscErrorCode MatSyncFreeGetFactors(Mat F, Mat *L, Mat *U)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *L = *U = nullptr;
  ierr    = syncfree_plugin::guarded<syncfree_plugin::GetFactors>(F, L, U);
  if (ierr) {
    PetscCall(MatDestroy(L));
    PetscCall(MatDestroy(U));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
