/*
  Orderings of this library, registered with PETSc: `-pc_factor_mat_ordering_type` of any PC, and MatGetOrdering(). The
  PC types of this library have the analysis make them instead.
*/

#include "choose_order.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <utility>

#include "syncfree/factor.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree_plugin {

/* Options have the prefix that the last PC has set for factored matrices, else that of the matrix; where one is not given,
   its value is kept. */
static PetscErrorCode NumberFromOptions(Mat A, const char name[], std::int64_t *number)
{
  PetscInt  value = 0;
  PetscBool set   = PETSC_FALSE;

  PetscFunctionBegin;
  if (A->factorprefix) PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, A->factorprefix, name, &value, &set));
  if (!set) PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, ((PetscObject)A)->prefix, name, &value, &set));
  if (set) *number = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ModelFromOptions(Mat A, std::string *model)
{
  const char *const name   = "-pc_syncfree_ordering_model";
  const PetscInt    models = (PetscInt)std::size(ordering_models);
  PetscInt          choice = 0;
  PetscBool         set    = PETSC_FALSE;

  PetscFunctionBegin;
  if (A->factorprefix) PetscCall(PetscOptionsGetEList(((PetscObject)A)->options, A->factorprefix, name, ordering_models, models, &choice, &set));
  if (!set) PetscCall(PetscOptionsGetEList(((PetscObject)A)->options, ((PetscObject)A)->prefix, name, ordering_models, models, &choice, &set));
  if (set) *model = ordering_models[choice];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC of this plugin passes its settings with the matrix; any other caller of MatGetOrdering() passes a matrix only. */
static PetscErrorCode GetSettings(Mat A, Settings *settings, PetscInt *threads)
{
  SetupContext *handover;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  if (handover) *settings = handover->settings;
  else {
    PetscCall(NumberFromOptions(A, "-pc_syncfree_cyclic_colors", &settings->ordering.cyclic_colors));
    PetscCall(NumberFromOptions(A, "-pc_syncfree_abmc_rows", &settings->ordering.abmc_rows));
    PetscCall(ModelFromOptions(A, &settings->ordering_model));
  }
  *threads = (PetscInt)settings->threads;
  if (*threads == PETSC_DECIDE) PetscCall(DefaultThreads(false, threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckOrdering(const syncfree::OrderingOptions &options)
{
  const auto status = syncfree::check_ordering_options(options);

  PetscFunctionBegin;
  PetscCheck(status.ok(), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s; set it with -pc_syncfree_%s", status.message().c_str(), options.kind == syncfree::OrderingKind::abmc ? "abmc_rows" : "cyclic_colors");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OrderPattern(Mat A, syncfree::OrderingKind kind, const syncfree::PatternView<Index> &pattern, syncfree::Ordering<Index> *made)
{
  Settings settings;
  PetscInt threads = 1;

  PetscFunctionBegin;
  PetscCall(GetSettings(A, &settings, &threads));
  syncfree::OrderingOptions &options = settings.ordering;
  options.kind                       = kind;
  PetscCall(Translate(A, A, syncfree::check_pattern(pattern, (int)threads)));
  PetscCall(CheckOrdering(options));
  PetscCall(Translate(A, A, syncfree::make_ordering(pattern, options, (int)threads, made)));
  PetscCall(PetscInfo(A, "%d colors of %" PetscInt_FMT " rows\n", (int)made->color_begin.size() - 1, (PetscInt)pattern.n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode InfoOfChoice(Mat A, const syncfree::OrderingChoice &choice)
{
  char why[160] = "";

  PetscFunctionBegin;
  if (choice.ordering()) {
    const auto &given = choice.candidates[0], &taken = choice.candidates[choice.chosen];
    std::snprintf(why, sizeof(why), ": %.3g us per application, in the given order %s%.3g us; %.3g times the iterations", taken.apply, given.has_more ? "at least " : "", given.apply, taken.iterations);
  }
  PetscCall(PetscInfo(A, "Ordering %s: %s%s\n", OrderingName(choice.ordering()).c_str(), choice.reason.c_str(), why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses from the values of an AIJ matrix, by times of the GPU if it is there, unless an option asks for others. */
static PetscErrorCode ChooseAndOrder(Mat A, const syncfree::PatternView<Index> &pattern, syncfree::Ordering<Index> *made)
{
  syncfree::OrderingRequest request;
  syncfree::OrderingChoice  choice;
  Settings                  settings;
  const PetscScalar        *value;
  PetscInt                  threads = 1;
  PetscBool                 device;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(GetSettings(A, &settings, &threads));
  PetscCall(IsOnDevice(A, &device));
  request.sizes     = settings.ordering;
  request.on_device = PredictsDevice(settings, device);
  PetscCall(MatSeqAIJGetArrayRead(A, &value));
  ierr = Guard([&] {
    choice = ChooseOnHost({pattern, value}, request, (int)threads);
    return PETSC_SUCCESS;
  });
  PetscCall(MatSeqAIJRestoreArrayRead(A, &value));
  PetscCall(ierr);
  PetscCall(InfoOfChoice(A, choice));
  if (choice.ordering()) PetscCall(OrderPattern(A, choice.ordering()->kind, pattern, made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orders the rows of a sequential matrix, or the blocks of rows if it stores such blocks (as PETSc's orderings do). The
   core finds the nodes of an AIJ matrix, so PETSc's inodes are not used. */
static PetscErrorCode OrderRows(Mat A, std::optional<syncfree::OrderingKind> kind, syncfree::Ordering<Index> *made)
{
  const PetscInt *row, *column;
  PetscInt        n;
  PetscBool       aij, done;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCheck(A->rmap->n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Must be square matrix, rows %" PetscInt_FMT " columns %" PetscInt_FMT, A->rmap->n, A->cmap->n);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, (PetscBool)!aij, &n, &row, &column, &done));
  PetscCheck(done, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Matrix type %s does not support MatGetRowIJ(); convert it with MatConvert(A,MATAIJ,...)", ((PetscObject)A)->type_name);
  const syncfree::PatternView<Index> pattern = {(Index)n, reinterpret_cast<const Index *>(row), reinterpret_cast<const Index *>(column)};
  ierr                                       = Guard([&] {
    if (kind) return OrderPattern(A, *kind, pattern, made);
    made->order.resize(pattern.n);
    std::iota(made->order.begin(), made->order.end(), (Index)0);
    return aij ? ChooseAndOrder(A, pattern, made) : PETSC_SUCCESS;
  });
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, (PetscBool)!aij, &n, &row, &column, &done));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective calls follow, so a failure is agreed on here or, if only the block of one process is ordered in a set-up of
   ours, reported by the symbolic factorization. */
static PetscErrorCode ReportFailure(Mat A, bool parallel, PetscErrorCode mine)
{
  SetupContext *handover;

  PetscFunctionBegin;
  if (parallel) PetscCall(Agree(PetscObjectComm((PetscObject)A), mine));
  else if (mine) {
    PetscCall(QueryHandover(A, &handover));
    if (!handover) PetscCall(mine);
    else handover->failed_ordering = mine;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As in PETSc's orderings of parallel matrices, the indices are global and each process orders its own rows. */
static PetscErrorCode GetOrdering(Mat A, std::optional<syncfree::OrderingKind> kind, IS *row, IS *column)
{
  syncfree::Ordering<Index> made;
  PetscBool                 parallel;
  PetscMPIInt               processes;
  Mat                       block = A;
  PetscInt                  first = 0, *index;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &block, nullptr, nullptr));
    PetscCall(MatGetOwnershipRange(A, &first, nullptr));
  }
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &processes));
  PetscCheck(parallel || processes == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Matrix type %s is not supported by orderings on several processes; convert it with MatConvert(A,MATAIJ,...)", ((PetscObject)A)->type_name);
  ierr = Guard([&] { return OrderRows(block, kind, &made); });
  PetscCall(ReportFailure(A, parallel, ierr));
  const auto n = ierr ? block->rmap->n : (PetscInt)made.order.size();
  PetscCall(PetscMalloc1(n, &index));
  if (ierr) std::iota(index, index + n, first);
  else std::transform(made.order.begin(), made.order.end(), index, [first](Index i) { return first + (PetscInt)i; });
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)A), n, index, PETSC_OWN_POINTER, row));
  PetscCall(ISSetPermutation(*row));
  PetscCall(ISDuplicate(*row, column));
  PetscCall(ISSetPermutation(*column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <syncfree::OrderingKind kind> static PetscErrorCode MatGetOrdering_SyncFree(Mat A, MatOrderingType, IS *row, IS *column)
{
  PetscFunctionBegin;
  PetscCall(GetOrdering(A, kind, row, column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetOrdering_SyncFreeAuto(Mat A, MatOrderingType, IS *row, IS *column)
{
  PetscFunctionBegin;
  PetscCall(GetOrdering(A, std::nullopt, row, column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindOrdering(MatOrderingType type, std::optional<syncfree::OrderingKind> *found)
{
  using syncfree::OrderingKind;
  const std::pair<MatOrderingType, OrderingKind> ours[] = {{MATORDERINGSYNCFREEMULTICOLOR, OrderingKind::multicolor}, {MATORDERINGSYNCFREECYCLIC, OrderingKind::cyclic}, {MATORDERINGSYNCFREEABMC, OrderingKind::abmc}};
  PetscBool same;

  PetscFunctionBegin;
  found->reset();
  for (const auto &[name, kind] : ours) {
    PetscCall(PetscStrcmp(type, name, &same));
    if (same) *found = kind;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IsOrderingAuto(MatOrderingType type, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, MATORDERINGSYNCFREEAUTO, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RegisterOrderings()
{
  using syncfree::OrderingKind;

  PetscFunctionBegin;
  PetscCall(MatOrderingRegister(MATORDERINGSYNCFREEMULTICOLOR, guarded<MatGetOrdering_SyncFree<OrderingKind::multicolor>>));
  PetscCall(MatOrderingRegister(MATORDERINGSYNCFREECYCLIC, guarded<MatGetOrdering_SyncFree<OrderingKind::cyclic>>));
  PetscCall(MatOrderingRegister(MATORDERINGSYNCFREEABMC, guarded<MatGetOrdering_SyncFree<OrderingKind::abmc>>));
  PetscCall(MatOrderingRegister(MATORDERINGSYNCFREEAUTO, guarded<MatGetOrdering_SyncFreeAuto>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
