/// Decides by (application + product + rest of an iteration) x iterations.

#include "choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/choose/device_model.hpp"
#include "core/choose/estimate.hpp"
#include "core/plan/merge_plan.hpp"

namespace syncfree {
namespace {

/// Other orders are looked at if an application takes longer than this.
constexpr double least_products = 2, least_apply = 20;
/// A predicted gain that is clear: the number of iterations is predicted within a factor of 2.2 in nine of ten cases,
/// 1.2 in the middle. A further order is looked at only if it may improve on the best one by this.
constexpr double clear_gain = 1.5, further_gain = 1.1;
/// Orders whose times differ by less are as fast as each other; of these the one of fewest iterations is taken.
constexpr double equal_times = 1.1;
/// Discarded fill below this is as good as none.
constexpr double least_fill = 1e-3;
/// Flow that follows the given order is not seen in the fill: of unsymmetric matrices other orders cost up to five
/// times the iterations predicted.
constexpr double unsymmetric_iterations = 4;

constexpr const DeviceModel& model = device_model;

double product_time(const MatrixSize& A)
{
  const double bytes = static_cast<double>(A.entries) * static_cast<double>(A.scalar + 4) +
                       3 * static_cast<double>(A.rows) * static_cast<double>(A.scalar);
  return model.product_begin + model.product_byte * bytes;
}

double rest_time(const MatrixSize& A)
{
  return model.rest_begin + model.rest_byte * static_cast<double>(A.rows) * static_cast<double>(A.scalar);
}

/// The time that looking at an order adds to a set-up.
double look_time(const MatrixSize& A)
{
  return model.ordering_begin + model.ordering_entry * static_cast<double>(A.entries);
}

std::int64_t rows_of_unit(const OrderingOptions& options, int node)
{
  return options.kind == OrderingKind::abmc ? std::max<std::int64_t>(options.abmc_rows, node) : node;
}

/// The fewest levels that an order can have, but for matrices that are nearly diagonal.
std::int64_t fewest_levels(const OrderingOptions& options, int node)
{
  if (options.kind == OrderingKind::cyclic) return options.cyclic_colors * node;
  return options.kind == OrderingKind::abmc ? rows_of_unit(options, node) : 2 * node;
}

double apply_in_colors(ChoiceInput of_given, std::int64_t levels)
{
  of_given.levels = levels;
  of_given.node_levels = of_given.node_size > 0 ? (levels + of_given.node_size - 1) / of_given.node_size : 0;
  return estimate_level_order(of_given).apply;
}

class Decision {
public:
  Decision(const MatrixSize& A, const OrderingRequest& request, OrderingProspects* prospects)
      : A_(A), request_(request), prospects_(*prospects)
  {
    choice_.product = product_time(A);
    choice_.rest = rest_time(A);
  }

  OrderingChoice decide()
  {
    const GivenOrder given = prospects_.look_at_given();
    input_ = given.input;
    OrderingCandidate first;
    first.levels = input_.levels;
    first.has_more = given.has_more_levels;
    first.apply = estimate_apply(input_, may_merge(input_.rows, input_.levels, input_.longest));
    choice_.candidates.push_back(first);
    if (first.apply <= least_products * choice_.product + least_apply) return keep("its application is fast");
    choice_.unsymmetry = prospects_.unsymmetry();
    for (const OrderingKind kind : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc}) look_at(kind);
    return take_best();
  }

private:
  OrderingChoice keep(const char* why)
  {
    choice_.reason = std::string("the given order: ") + why;
    return choice_;
  }

  int node() const { return std::max(input_.node_size, 1); }

  double iterations_with(double fill_ratio) const
  {
    return std::sqrt(fill_ratio) * (1 + unsymmetric_iterations * choice_.unsymmetry);
  }

  /// True if the order may be the fastest by far enough, should it discard no more than the given one, and if that
  /// pays for looking.
  bool may_pay(const OrderingOptions& options) const
  {
    OrderingCandidate hoped;
    hoped.apply = apply_in_colors(input_, fewest_levels(options, node()));
    hoped.iterations = iterations_with(1);
    const double given = choice_.time_of(choice_.candidates[0]), now = choice_.time_of(hoped);
    const std::size_t best = choice_.fastest();
    const double wanted = best == 0 ? clear_gain : further_gain;
    const double saved = static_cast<double>(request_.expected_applies) * (given - now);
    return now * wanted < choice_.time_of(choice_.candidates[best]) && saved > look_time(A_);
  }

  void look_at(OrderingKind kind)
  {
    OrderingOptions options = request_.sizes;
    options.kind = kind;
    if (!may_pay(options)) return;
    if (choice_.candidates[0].fill < 0) choice_.candidates[0].fill = prospects_.fill_of_given();
    OrderingCandidate made;
    made.ordering = options;
    made.levels = std::min(A_.rows, prospects_.make(options) * rows_of_unit(options, node()));
    made.apply = apply_in_colors(input_, made.levels);
    made.fill = prospects_.fill_of_made();
    const double of_given = choice_.candidates[0].fill;
    made.iterations = iterations_with(std::max(made.fill, least_fill) / std::max(of_given, least_fill));
    choice_.candidates.push_back(made);
  }

  std::size_t find_best() const
  {
    const auto& all = choice_.candidates;
    const double least = choice_.time_of(all[choice_.fastest()]);
    std::size_t best = choice_.fastest();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (choice_.time_of(all[k]) < equal_times * least && all[k].iterations < all[best].iterations) best = k;
    return best;
  }

  OrderingChoice take_best()
  {
    if (choice_.candidates.size() == 1)
      return keep(choice_.unsymmetry > 0.05 ? "the matrix is unsymmetric, so another may cost many iterations"
                                            : "no other can be much faster");
    const std::size_t best = find_best();
    const double gain = choice_.gain_of(best);
    char words[128];
    if (gain < clear_gain) {
      std::snprintf(words, sizeof words, "no other is predicted to be %g times as fast", clear_gain);
      return keep(words);
    }
    choice_.chosen = best;
    std::snprintf(words, sizeof words, "predicted %s%.1f times as fast as the given order",
                  choice_.candidates[0].has_more ? "at least " : "", gain);
    choice_.reason = words;
    return choice_;
  }

  const MatrixSize A_;
  const OrderingRequest& request_;
  OrderingProspects& prospects_;
  ChoiceInput input_;
  OrderingChoice choice_;
};

/// Returns why no prediction is needed, or nullptr.
const char* why_given(const MatrixSize& A, const OrderingRequest& request)
{
  if (!request.on_device) return "on CPU threads an application takes about as long as a product, in each order";
  if (request.fill_levels > 0) return "colors bound the levels of ILU(0) and IC(0) only";
  if (request.expected_applies == 0) return "cheapest set-up";
  if (request.strategy != "auto" && request.strategy != "level_order") return "predictions are for strategy auto";
  if (A.rows == 0) return "there are no rows";
  return nullptr;
}

}  // namespace

bool needs_prediction(const MatrixSize& A, const OrderingRequest& request)
{
  return !why_given(A, request);
}

OrderingChoice decide_ordering(const MatrixSize& A, const OrderingRequest& request, OrderingProspects* prospects)
{
  if (const char* why = why_given(A, request)) {
    OrderingChoice choice;
    choice.reason = std::string("the given order: ") + why;
    return choice;
  }
  return Decision(A, request, prospects).decide();
}

std::optional<OrderingOptions> OrderingChoice::ordering() const
{
  return candidates.empty() ? std::nullopt : candidates[chosen].ordering;
}

double OrderingChoice::time_of(const OrderingCandidate& candidate) const
{
  return (candidate.apply + product + rest) * candidate.iterations;
}

std::size_t OrderingChoice::fastest() const
{
  const auto less = [&](const auto& a, const auto& b) { return time_of(a) < time_of(b); };
  return candidates.empty() ? 0
                            : static_cast<std::size_t>(std::min_element(candidates.begin(), candidates.end(), less) -
                                                       candidates.begin());
}

double OrderingChoice::gain_of(std::size_t candidate) const
{
  return candidates.empty() ? 1 : time_of(candidates[0]) / time_of(candidates[candidate]);
}

std::string name_of(const std::optional<OrderingOptions>& ordering)
{
  if (!ordering) return "given";
  switch (ordering->kind) {
    case OrderingKind::cyclic: return "cyclic " + std::to_string(ordering->cyclic_colors);
    case OrderingKind::abmc: return "abmc " + std::to_string(ordering->abmc_rows);
    default: return "multicolor";
  }
}

}  // namespace syncfree
