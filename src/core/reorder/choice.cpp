/// Decides by set-up + (application + product + rest of an iteration) x iterations.

#include "choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "core/choose/device_model.hpp"
#include "core/choose/estimate.hpp"
#include "core/plan/merge_plan.hpp"

namespace syncfree {
namespace {

/// Other orders are looked at if an application takes longer than this.
constexpr double least_products = 2, least_apply = 20;
/// A predicted gain that is clear: the number of iterations is predicted within a factor of 1.4 in half of the cases,
/// and is at most 1.4 times the prediction in nine of ten. A further order is looked at if it may improve on the best
/// one by the second number: if less is hoped for, the look mostly costs more on the meshes that were timed.
constexpr double clear_gain = 1.3, further_gain = 1.25;
/// What a choice promises that is only told to the user: a hint needs more certainty, and may take longer.
constexpr double told_gain = 2;
/// Orders whose times differ by less are as fast as each other; of these the one of fewest iterations is taken.
constexpr double equal_times = 1.1;
/// Discarded fill below this is as good as none.
constexpr double least_fill = 1e-3;
/// Iterations follow a power of the ratio of discarded fill to that in the given order: the exponent of symmetric
/// matrices, and what unsymmetry adds to it where an order discards more. Fitted to 64 matrices with convection. Of two
/// orders of colors the exponent is 1: 19 solves of six meshes in blocks and in cyclic colors took 0.78 to 1.11 times
/// the iterations that this predicts. Where both disagree, the latter is not followed below a part of the former.
constexpr double exponent = 0.5, unsymmetric_exponent = 1.5, least_of_prediction = 0.8;
/// In more colors than that, other orders hardly discard less than this fraction of what `multicolor` does: blocks do
/// so on a quarter of the matrices.
constexpr std::int64_t few_colors = 4;
constexpr double least_of_multicolor = 0.6;
/// Looks at other orders take at most this part of a set-up in the given order, or each of the time that the order may
/// save over the given one: the first look, and later ones, for which more is known.
constexpr double most_of_set_up = 0.2, first_of_savings = 0.1, later_of_savings = 0.2;

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

/// What an order takes more than `multicolor`.
double extra_time(const MatrixSize& A, OrderingKind kind)
{
  if (kind == OrderingKind::abmc) return model.joins_begin + model.joins_entry * static_cast<double>(A.entries);
  return kind == OrderingKind::cyclic ? model.search_begin : 0;
}

double look_time(const MatrixSize& A, OrderingKind kind)
{
  return model.look_begin + model.look_entry * static_cast<double>(A.entries) + extra_time(A, kind);
}

std::int64_t rows_of_unit(const OrderingOptions& options, int node)
{
  return options.kind == OrderingKind::abmc ? std::max<std::int64_t>(options.abmc_rows, node) : node;
}

/// Blocks of a mesh hardly ever have fewer colors.
constexpr std::int64_t fewest_colors = 4;

/// The fewest levels that an order can have, but for matrices that are nearly diagonal.
std::int64_t fewest_levels(const OrderingOptions& options, int node)
{
  if (options.kind == OrderingKind::cyclic) return options.cyclic_colors * node;
  return options.kind == OrderingKind::abmc ? rows_of_unit(options, node) : 2 * node;
}

/// Blocks that are smaller than asked for, by a quarter in the mean, have as many rows as others on the critical path.
///   f  of the given order
double apply_in_colors(ChoiceInput f, const OrderingOptions& options, std::int64_t levels, std::int64_t colors)
{
  const int node = std::max(f.node_size, 1);
  const std::int64_t rows = options.kind == OrderingKind::abmc ? rows_of_unit(options, node) : 0;
  const std::int64_t blocks = rows > 0 ? 4 * f.rows / (3 * rows) : 0;
  if (warps_solve_blocks(rows, f.rows, blocks, f.longest)) f.block_rows = rows, f.block_colors = colors;
  f.levels = levels;
  f.node_levels = f.node_size > 0 ? (levels + f.node_size - 1) / f.node_size : 0;
  return estimate_level_order(f).apply;
}

/// In the sequence of looks: blocks mostly take fewer iterations than cyclic colors.
constexpr OrderingKind kinds[] = {OrderingKind::multicolor, OrderingKind::abmc, OrderingKind::cyclic};

class Decision {
public:
  Decision(const MatrixSize& A, const OrderingRequest& request, OrderingProspects* prospects)
      : A_(A), request_(request), prospects_(*prospects)
  {
    choice_.product = product_time(A);
    choice_.rest = rest_time(A);
    choice_.applies = static_cast<double>(request.expected_applies);
  }

  OrderingChoice decide()
  {
    const GivenOrder seen = prospects_.look_at_given();
    input_ = seen.input;
    choice_.candidates.push_back({});
    describe_given(seen.has_more_levels);
    if (is_fast()) count_more_levels();
    if (is_fast() && !given().has_more) return keep("its application is fast");
    if (!any_may_pay()) count_more_levels();
    if (!any_may_pay()) return keep("no other can be so much faster that it pays to look at it");
    choice_.unsymmetry = prospects_.unsymmetry();
    for (const OrderingKind kind : kinds) look_at(kind);
    return take_best();
  }

private:
  OrderingCandidate& given() { return choice_.candidates[0]; }
  const OrderingCandidate& given() const { return choice_.candidates[0]; }

  /// By the levels that were counted so far.
  bool is_fast() const { return given().apply <= least_products * choice_.product + least_apply; }

  OrderingChoice keep(const char* why)
  {
    choice_.reason = std::string("the given order: ") + why;
    return choice_;
  }

  int node() const { return std::max(input_.node_size, 1); }

  /// After the levels.
  void describe_given(bool has_more)
  {
    given().levels = input_.levels;
    given().has_more = has_more;
    given().apply = estimate_apply(input_, may_merge(input_.rows, input_.levels, input_.longest));
    const bool on_grid = input_.wavefront_time > 0 || input_.tiled_time > 0;  // levels are not visited one by one
    given().set_up = on_grid ? 0 : model.set_up_level * static_cast<double>(input_.levels);
  }

  /// Counts on, once, if there are more levels.
  void count_more_levels()
  {
    if (!given().has_more || has_counted_more_) return;
    has_counted_more_ = true;
    const GivenLevels all = prospects_.count_more_levels();
    input_.levels = all.levels;
    if (input_.node_size > 0) input_.node_levels = (input_.levels + input_.node_size - 1) / input_.node_size;
    describe_given(all.has_more);
  }

  /// Returns the candidate of that kind, or nullptr.
  const OrderingCandidate* find(OrderingKind kind) const
  {
    const auto is_of_kind = [&](const auto& c) { return c.ordering && c.ordering->kind == kind; };
    const auto at = std::find_if(choice_.candidates.begin(), choice_.candidates.end(), is_of_kind);
    return at == choice_.candidates.end() ? nullptr : &*at;
  }

  /// Iterations as the ratio of discarded fill to that in the given order tells them.
  double iterations_by_given(double fill_ratio) const
  {
    const double more = fill_ratio > 1 ? unsymmetric_exponent * choice_.unsymmetry : 0;
    return std::pow(fill_ratio, exponent + more);
  }

  double iterations_with(double fill_ratio) const
  {
    const double by_given = iterations_by_given(fill_ratio);
    const auto* const colors = find(OrderingKind::multicolor);
    if (!colors) return by_given;
    return std::max(colors->iterations * fill_ratio / ratio_of(*colors), least_of_prediction * by_given);
  }

  /// The times of an order with that many levels and colors and that fill, relative to the given order's.
  OrderingCandidate predict(const OrderingOptions& options, std::int64_t levels, std::int64_t colors,
                            double fill_ratio) const
  {
    OrderingCandidate predicted;
    predicted.ordering = options;
    predicted.levels = levels;
    predicted.apply = apply_in_colors(input_, options, levels, colors);
    predicted.iterations = iterations_with(fill_ratio);
    predicted.set_up = model.ordering_begin + model.ordering_entry * static_cast<double>(A_.entries) +
                       extra_time(A_, options.kind);
    return predicted;
  }

  double ratio_of(const OrderingCandidate& made) const
  {
    return std::max(made.fill, least_fill) / std::max(given().fill, least_fill);
  }

  /// The least that can be hoped for: as much as in the given order, and, where colors tell more, as much as in a part
  /// of them. Cyclic colors discard as much as blocks, and mostly more.
  double hoped_ratio(OrderingKind kind) const
  {
    const auto *const colors = find(OrderingKind::multicolor), *const blocks = find(OrderingKind::abmc);
    if (!colors) return 1;
    if (blocks && kind == OrderingKind::cyclic) return ratio_of(*blocks);
    const double ratio = ratio_of(*colors), of_given = std::min(1.0, ratio);
    return colors->levels > few_colors * node() ? std::max(least_of_multicolor * ratio, of_given) : of_given;
  }

  OrderingOptions options_of(OrderingKind kind) const
  {
    OrderingOptions options = request_.sizes;
    options.kind = kind;
    return options;
  }

  /// True if the order may be the fastest by far enough to pay for looking.
  bool may_pay(OrderingKind kind) const
  {
    const OrderingOptions options = options_of(kind);
    const std::int64_t levels = fewest_levels(options, node());
    const double hoped = choice_.time_of(predict(options, levels, fewest_colors, hoped_ratio(kind)));
    const std::size_t best = choice_.fastest();
    const double time = choice_.time_of(choice_.candidates[best]), wanted = best == 0 ? clear_gain : further_gain;
    if (hoped * wanted >= time) return false;
    const double set_up = model.set_up_begin + model.set_up_entry * static_cast<double>(A_.entries) + given().set_up;
    const double look = look_time(A_, kind), savings = choice_.applies * (choice_.time_of(given()) - hoped);
    const double part = looked_ == 0 ? first_of_savings : later_of_savings;
    return looked_ + look <= most_of_set_up * set_up || look <= part * savings;
  }

  bool any_may_pay() const
  {
    return std::any_of(std::begin(kinds), std::end(kinds), [&](OrderingKind kind) { return may_pay(kind); });
  }

  void look_at(OrderingKind kind)
  {
    if (!may_pay(kind)) return;
    const OrderingOptions options = options_of(kind);
    looked_ += look_time(A_, kind);
    const std::int64_t colors = prospects_.make(options);
    if (given().fill < 0) given().fill = prospects_.fill_of_given();
    const std::int64_t levels = std::min(A_.rows, colors * rows_of_unit(options, node()));
    OrderingCandidate made;
    made.fill = prospects_.fill_of_made();
    const double fill = made.fill;
    made = predict(options, levels, colors, ratio_of(made));
    made.fill = fill;
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
    const double certain_gain = request_.analysis_follows ? clear_gain : told_gain;
    if (choice_.gain_of(find_best()) < certain_gain) count_more_levels();
    const std::size_t best = find_best();
    const double gain = choice_.gain_of(best);
    char words[128];
    if (gain < clear_gain) {
      std::snprintf(words, sizeof words, "no other is predicted to be %g times as fast", clear_gain);
      return keep(words);
    }
    choice_.chosen = best;
    std::snprintf(words, sizeof words, "predicted %s%.1f times as fast as the given order",
                  given().has_more ? "at least " : "", gain);
    choice_.reason = words;
    return choice_;
  }

  const MatrixSize A_;
  const OrderingRequest& request_;
  OrderingProspects& prospects_;
  ChoiceInput input_;
  OrderingChoice choice_;
  double looked_ = 0;  ///< time of the looks so far
  bool has_counted_more_ = false;
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
  return (candidate.apply + product + rest) * candidate.iterations + candidate.set_up / applies;
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
