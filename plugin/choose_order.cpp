/*
  The ordering `syncfree_auto`: which order a factored matrix gets, what is reported about the choice, and what becomes of
  it when a factorization breaks down.
*/

#include "choose_order.hpp"

#include <cstdio>

namespace syncfree_plugin {

std::string OrderingName(const std::optional<syncfree::OrderingOptions> &ordering)
{
  return (ordering ? "syncfree_" : "") + syncfree::name_of(ordering);
}

bool PredictsDevice(const Settings &settings, bool device)
{
  return settings.ordering_model == "auto" ? device : settings.ordering_model == "gpu";
}

static PetscErrorCode CheckSizes(syncfree::OrderingOptions sizes)
{
  PetscFunctionBegin;
  for (const auto kind : {syncfree::OrderingKind::cyclic, syncfree::OrderingKind::abmc}) {
    sizes.kind = kind;
    PetscCall(CheckOrdering(sizes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

syncfree::OrderingChoice ChooseOnHost(const syncfree::CsrView<PetscScalar, Index> &A, const syncfree::OrderingRequest &request, int threads)
{
  syncfree::OrderingChoice choice;

  syncfree::Status status = syncfree::check_pattern(A.pattern, threads);
  if (status.ok()) status = syncfree::choose_ordering(A, request, threads, &choice);
  if (!status.ok()) choice.reason = "the given order: " + status.message();
  return choice;
}

/* Tests whether a call reports, once, what happened to an earlier one. */
static bool IsOfEarlierCall(const syncfree::Status &status)
{
  using syncfree::Code;
  return status.code == Code::wait_expired || status.code == Code::stale_capture || status.code == Code::busy;
}

/* A failure, such as too little memory, or a fault of the pattern, which the analysis reports, leaves the given order. */
PetscErrorCode ChooseOrder(Mat F, const AnalysisKey &key, const Settings &settings, bool analysis_follows, BorrowedMatrix *matrix, syncfree::OrderingChoice *choice)
{
  const Analysis           &analysis = *Data(F)->analysis;
  syncfree::OrderingRequest request;

  PetscFunctionBegin;
  PetscCall(CheckSizes(settings.ordering));
  if (key.options.block_size > 1) {
    *choice = {}, choice->reason = "the given order: times are predicted for factors by entries, not by dense blocks";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  request = {key.kind, key.levels, key.options.strategy, key.options.expected_applies, settings.ordering, PredictsDevice(settings, analysis.cuda), key.options.threads, analysis_follows};
  if (!matrix->there.row_begin) PetscCall(BorrowThere(analysis.cuda, matrix));
  if (!matrix->value) PetscCall(BorrowValues(analysis.cuda, matrix));
  if (!analysis.cuda || !request.on_device) {
    *choice = ChooseOnHost({matrix->Pattern(), matrix->value}, request, key.options.threads);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(UseMemory(analysis.cuda, matrix->device ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST));
  const auto status = analysis.cuda->choose_ordering({matrix->Pattern(), matrix->value}, matrix->there, request, choice);
  if (IsOfEarlierCall(status)) PetscCall(Translate(F, F, status));
  if (!status.ok()) *choice = {}, choice->reason = "the given order: " + status.message();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindHint(Mat F, const Settings &settings, BorrowedMatrix *matrix)
{
  Analysis &analysis = *Data(F)->analysis;

  PetscFunctionBegin;
  if (matrix->upper || analysis.key.levels != 0 || analysis.key.automatic || analysis.hinted || !analysis.key.natural || !PredictsDevice(settings, analysis.cuda)) PetscFunctionReturn(PETSC_SUCCESS);
  analysis.hinted = true;
  PetscCall(ChooseOrder(F, analysis.key, settings, false, matrix, &analysis.choice));
  const std::string hint = Hint(analysis);
  if (!hint.empty()) PetscCall(PetscInfo(F, "%s\n", hint.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views of several processes have no hint. */
static PetscErrorCode ViewsHint(PetscObject object, bool *does)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
  *does = size == 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not if the operator is another one by now, for which the next set-up is due: a view must neither fail nor tell of it. */
PetscErrorCode FindHintForView(PC pc, const Settings &settings)
{
  std::shared_ptr<Analysis> analysis;
  PetscBool                 aij;
  bool                      views;
  Mat                       F;

  PetscFunctionBegin;
  PetscCall(ViewsHint((PetscObject)pc, &views));
  if (!views || !pc->setupcalled || !pc->pmat->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!aij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(GetAnalysis(F, &analysis));
  if (!analysis || !F->assembled || F->factorerrortype) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(WithRows(pc->pmat, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    PatternState now;

    PetscFunctionBegin;
    PetscCall(GetPatternState(*matrix, &now));
    if (now == Data(F)->seen) PetscCall(FindHint(F, settings, matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string Hint(const Analysis &analysis)
{
  constexpr double worth_a_hint = 2;
  const auto      &choice       = analysis.choice;
  const auto       ordering     = choice.ordering();
  char             text[256];

  if (analysis.key.automatic || !ordering || choice.gain_of(choice.chosen) < worth_a_hint) return {};
  std::snprintf(text, sizeof(text), "Ordering %s is %s (%.2g times the iterations); try -pc_factor_mat_ordering_type %s", OrderingName(ordering).c_str(), choice.reason.c_str(), choice.candidates[choice.chosen].iterations, MATORDERINGSYNCFREEAUTO);
  return text;
}

/* Sets the order that `syncfree_auto` takes: that of the last analysis, until PCReset(), or one for these values. */
PetscErrorCode TakeOrChoose(Mat F, const SetupContext &handover, const Orders &kept, BorrowedMatrix *matrix, AnalysisKey *key, syncfree::OrderingChoice *choice)
{
  const bool again = handover.last && handover.last->key.automatic;

  PetscFunctionBegin;
  key->automatic = true;
  if (again) *choice = handover.last->choice;
  else PetscCall(ChooseOrder(F, *key, handover.settings, true, matrix, choice));
  if (!again) PetscCall(InfoOfChoice(F, *choice));
  if (!kept.row) key->ordering = choice->ordering();
  key->natural = !kept.row && !key->ordering;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values are borrowed. */
PetscErrorCode FactorValues(Mat F, BorrowedMatrix *matrix, const syncfree::PivotRule &rule, syncfree::Status *status)
{
  Analysis &analysis = *Data(F)->analysis;

  PetscFunctionBegin;
  PetscCall(UseMemory(analysis.cuda, matrix->device ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST));
  *status = analysis.preconditioner->refresh({matrix->Pattern(), matrix->value}, rule);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FactorEntries(Mat F, Mat A, BorrowedMatrix *matrix, PetscReal fill, const syncfree::PivotRule &rule, syncfree::Status *status)
{
  AnalysisKey              key    = Data(F)->analysis->key;
  const Orders             orders = Data(F)->analysis->preconditioner->orders();
  const PetscInt           n      = orders.row ? OrderedRows(*Data(F)->analysis) : 0;
  const std::vector<Index> row(orders.row, orders.row + n), column(orders.column, orders.column + n);

  PetscFunctionBegin;
  PetscCall(TakeEntries(F, *status, &key)); /* frees the blocks */
  PetscCall(MakeOrTake(F, A, matrix, key, n ? Orders{row.data(), column.data()} : Orders(), fill));
  PetscCall(FactorValues(F, matrix, rule, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool HasShifts(const Analysis &analysis)
{
  return analysis.preconditioner->summarize().pivots.shifts > 0;
}

/* Tests whether the chosen order should be compared with the given one: there is no factor, or only of a shifted matrix. */
bool BreaksDown(const Analysis &analysis, const syncfree::Status &status)
{
  const bool failed = status.code == syncfree::Code::zero_pivot || status.code == syncfree::Code::not_finite;

  if (!analysis.key.automatic || !analysis.key.ordering) return false;
  return failed || (status.ok() && !analysis.compared && HasShifts(analysis));
}

static PetscErrorCode FactorInOrder(Mat F, Mat A, BorrowedMatrix *matrix, const AnalysisKey &key, PetscReal fill, const syncfree::PivotRule &rule, syncfree::Status *status)
{
  const syncfree::OrderingChoice choice = Data(F)->analysis->choice;

  PetscFunctionBegin;
  PetscCall(MakeOrTake(F, A, matrix, key, Orders(), fill));
  Data(F)->analysis->choice = choice;
  PetscCall(FactorValues(F, matrix, rule, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors in the given order, and stays with it unless that is no better. */
PetscErrorCode FallBack(Mat F, Mat A, BorrowedMatrix *matrix, PetscReal fill, const syncfree::PivotRule &rule, syncfree::Status *status)
{
  const AnalysisKey chosen = Data(F)->analysis->key;
  const bool        failed = !status->ok();
  const std::string name = OrderingName(chosen.ordering), what = failed ? status->message() : "a shift was needed";
  AnalysisKey       given = chosen;

  PetscFunctionBegin;
  PetscCall(PetscInfo(F, "Factorization in the ordering %s: %s; factoring in the given order\n", name.c_str(), what.c_str()));
  given.ordering.reset();
  given.natural = true;
  PetscCall(FactorInOrder(F, A, matrix, given, fill, rule, status));
  Analysis &analysis = *Data(F)->analysis;
  if (failed || (status->ok() && !HasShifts(analysis))) {
    analysis.choice.chosen = 0;
    analysis.choice.reason = "the given order: in " + name + " the factorization broke down: " + what;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FactorInOrder(F, A, matrix, chosen, fill, rule, status));
  Data(F)->analysis->compared = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks for a faster order if -info or -pc_syncfree_view would tell. */
PetscErrorCode LookForHint(Mat F, Mat A, BorrowedMatrix *matrix)
{
  SetupContext *handover;
  PetscBool     info;
  bool          views;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  PetscCall(PetscInfoEnabled(MAT_CLASSID, &info));
  PetscCall(ViewsHint((PetscObject)F, &views));
  if (handover && !F->factorerrortype && (info || (views && !Data(F)->settings.view.empty()))) PetscCall(FindHint(F, handover->settings, matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static std::string Describe(const syncfree::OrderingChoice &choice, const syncfree::OrderingCandidate &c)
{
  char       text[256], fill[48] = "";
  const char *const bound = c.has_more ? "at least " : "";

  if (c.fill >= 0) std::snprintf(fill, sizeof(fill), ", discarded fill %.3g", c.fill);
  std::snprintf(text, sizeof(text), "%s%lld levels, %s%.3g us per application%s, %.3g times the iterations, %.3g us for each iteration in the given order", bound, (long long)c.levels, bound, c.apply, fill, c.iterations, choice.time_of(c));
  return text;
}

std::vector<std::string> DescribeChoice(const Analysis &analysis)
{
  const auto              &choice = analysis.choice;
  std::vector<std::string> lines;
  char                     text[160];

  if (!analysis.key.automatic) return lines;
  lines.push_back("syncfree ordering: " + OrderingName(choice.ordering()) + " (" + choice.reason + ")");
  for (const auto &c : choice.candidates) lines.push_back("syncfree ordering " + OrderingName(c.ordering) + ": predicted " + Describe(choice, c));
  if (choice.candidates.empty()) return lines;
  std::snprintf(text, sizeof(text), "syncfree ordering: predicted with %.3g us for MatMult(), %.3g us for the rest of an iteration; unsymmetry %.3g", choice.product, choice.rest, choice.unsymmetry);
  lines.push_back(text);
  return lines;
}

} // namespace syncfree_plugin
