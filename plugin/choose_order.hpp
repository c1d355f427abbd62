#pragma once

/* The choice of `syncfree_auto` (choose_order.cpp) */

#include "factor_impl.hpp"

#include <string>
#include <vector>

#include "syncfree/ordering_choice.hpp"

namespace syncfree_plugin {

/* Returns "given", "syncfree_multicolor", "syncfree_cyclic 16", ... */
std::string OrderingName(const std::optional<syncfree::OrderingOptions> &);

/* Tells for which hardware times are predicted: `device` unless an option says otherwise. */
bool PredictsDevice(const Settings &, bool device);

/* Chooses an order from the pattern and the values, without communication.
     analysis_follows - the next call is an analysis of this matrix */
PetscErrorCode ChooseOrder(Mat F, const AnalysisKey &, const Settings &, bool analysis_follows, BorrowedMatrix *, syncfree::OrderingChoice *);
syncfree::OrderingChoice ChooseOnHost(const syncfree::CsrView<PetscScalar, Index> &, const syncfree::OrderingRequest &, int threads);

/* Sets key and choice of a PC that is set up with `syncfree_auto`. */
PetscErrorCode TakeOrChoose(Mat F, const SetupContext &, const Orders &kept, BorrowedMatrix *, AnalysisKey *, syncfree::OrderingChoice *);

/* Factors the values that are borrowed. If chosen blocks then LackMemory(), FactorEntries() factors by entries. If
   BreaksDown() then, FallBack() factors in the given order. */
PetscErrorCode FactorValues(Mat F, BorrowedMatrix *, const syncfree::PivotRule &, syncfree::Status *);
PetscErrorCode FactorEntries(Mat F, Mat A, BorrowedMatrix *, PetscReal fill, const syncfree::PivotRule &, syncfree::Status *);
bool           BreaksDown(const Analysis &, const syncfree::Status &);
PetscErrorCode FallBack(Mat F, Mat A, BorrowedMatrix *, PetscReal fill, const syncfree::PivotRule &, syncfree::Status *);
PetscErrorCode LookForHint(Mat F, Mat A, BorrowedMatrix *);

/* Looks, once per analysis, whether another order than the caller's would be much faster on the device; Hint() returns
   what to tell then, or nothing. */
PetscErrorCode FindHint(Mat F, const Settings &, BorrowedMatrix *);
std::string    Hint(const Analysis &);

/* Returns the lines of a view: what was chosen, and what from; none if the order was not chosen by the library. */
std::vector<std::string> DescribeChoice(const Analysis &);

} // namespace syncfree_plugin
