#pragma once

/// What the model expects of each strategy that `auto` may take on the device. The constants are in device_model.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "syncfree/strategy.hpp"

namespace syncfree {

/// Microseconds for both triangles.
struct Estimate {
  const char* strategy;
  PlanForm form;
  double apply;                ///< of one application
  double plan;                 ///< of what is left to be done for the plan, with its share of one refresh
  std::string why_not = {};    ///< why the strategy does not apply; empty if it does

  bool applies() const { return why_not.empty(); }
};

/// The time of the plan and of `times` the expected applies.
inline double total_time(const ChoiceInput& f, const Estimate& e, double times = 1)
{
  return times * static_cast<double>(f.expected_applies) * e.apply + e.plan;
}

/// True if `level_order` solves each block of rows by a warp, if rows come in blocks.
///   rows_of_largest  0: they do not
///   longest          entries of the longest row of a triangle
bool warps_solve_blocks(std::int64_t rows_of_largest, std::int64_t rows, std::int64_t blocks, std::int64_t longest);

/// Returns the microseconds that it takes to gather b in the order of the rows and to scatter x.
double time_of_orders(std::int64_t rows);

Estimate estimate_level_order(const ChoiceInput& f);  ///< applies to each triangle, and needs the least memory
Estimate estimate_wavefront(const ChoiceInput& f);
Estimate estimate_tiled(const ChoiceInput& f);
Estimate estimate_merged(const ChoiceInput& f);

/// Times of a plan and all applies are close if none is longer than the least by more than this factor.
inline constexpr double close_times = 1.15;

/// Returns, of the estimates that apply, the one with the least total time; but of those within 15 % of it, the one
/// with the least for twice the applies: what hardly pays for its plan after the set-up gains after a refresh. Not for
/// less than 10 us an apply, a tenth of what else an iteration takes. The first estimate must apply.
Estimate choose_estimate(const ChoiceInput& f, const std::vector<Estimate>& estimates);

/// True if single storage was asked for and is predicted to make applications by this strategy faster, with f's rows,
/// entries and levels. Never for `merged`, whose groups would be smaller to keep the accuracy.
bool single_pays(const ChoiceInput& f, const Estimate& e);

/// The clause for the view if it does not.
inline constexpr const char* stored_in_double = "; stored in double precision: single would not be faster here";

/// Returns the microseconds that an application of both triangles takes by the strategy that makes it fastest, without
/// a search for groups of `merged`: if it may be taken, those observed in the mean are assumed.
double estimate_apply(const ChoiceInput& f, bool may_merge);

}  // namespace syncfree
