/// The available strategies, and the choice of `auto` among them.

#include "syncfree/strategy.hpp"

#include <algorithm>
#include <cstdio>

#include "estimate.hpp"
#include "strategy_list.hpp"

namespace syncfree {

/// Thresholds of the choice on the host. A parallel region costs a few microseconds and a wait between cores some
/// hundred nanoseconds; an entry costs a few nanoseconds.
static constexpr std::int64_t least_entries = 20000;  ///< below it one thread is faster
static constexpr double least_speedup = 1.2;          ///< a plan that predicts less is not worth using threads

const std::vector<StrategyInfo>& strategies()
{
#define HOST_LINE(name, reproducible, summary) {#name, "host", summary, reproducible},
#define CUDA_LINE(name, reproducible, summary) {#name, "cuda", summary, reproducible},
#define KOKKOS_LINE(name, reproducible, summary) {#name, "kokkos", summary, reproducible},
  static const std::vector<StrategyInfo> list = {SYNCFREE_HOST_STRATEGIES(HOST_LINE)
                                                     SYNCFREE_KOKKOS_STRATEGIES(KOKKOS_LINE)
                                                         SYNCFREE_CUDA_STRATEGIES(CUDA_LINE)};
#undef CUDA_LINE
#undef HOST_LINE
#undef KOKKOS_LINE
  return list;
}

const StrategyInfo* find_strategy(const std::string& name)
{
  for (const StrategyInfo& info : strategies())
    if (name == info.name) return &info;
  return nullptr;
}

const StrategyInfo* find_strategy(const std::string& name, const std::string& backend)
{
  for (const StrategyInfo& info : strategies())
    if (name == info.name && backend == info.backend) return &info;
  return nullptr;
}

const char* name_of(PlanForm form)
{
  switch (form) {
    case PlanForm::rows: return "rows";
    case PlanForm::inodes: return "inodes";
    case PlanForm::grid: return "grid";
    case PlanForm::pencils: return "pencils";
    case PlanForm::groups: return "groups";
    default: return "any";
  }
}

std::string why_not_built(const std::string& name)
{
  if (find_strategy(name)) return {};
  const auto without = [](const std::string& what, const std::string& option) {
    return "it needs " + what + ", but this library was built without it (CMake option " + option + ")";
  };
  if (name == "kokkos") return without("Kokkos Kernels", "SYNCFREE_KOKKOS");
#define IS_CUDA(candidate, reproducible, summary) \
  if (name == #candidate) return without("CUDA", "SYNCFREE_CUDA");
  SYNCFREE_ALL_CUDA_STRATEGIES(IS_CUDA)
#undef IS_CUDA
  return {};
}

/// Says in which precision the chosen strategy stores its values, if single was asked for.
static Choice with_storage(const ChoiceInput& f, Choice choice, bool single)
{
  choice.single = f.single_saves > 0 && single;
  if (f.single_saves > 0 && !single) choice.reason += stored_in_double;
  return choice;
}

/// Takes the strategy with the least expected time for its plan and all applies, by the rule of choose_estimate().
static Choice choose_on_device(const ChoiceInput& f)
{
  const Estimate plain = estimate_level_order(f);
  if (f.rows == 0 || f.expected_applies == 0)
    return with_storage(f, {plain.strategy, "cheapest set-up", plain.form}, single_pays(f, plain));
  if (f.memory_is_short) return with_storage(f, {plain.strategy, "device memory is short", plain.form}, true);
  const Estimate best =
      choose_estimate(f, {plain, estimate_wavefront(f), estimate_tiled(f), estimate_merged(f)});
  char reason[160];
  if (best.strategy == plain.strategy)
    std::snprintf(reason, sizeof reason,
                  "no other strategy is predicted to be faster within %lld applications (%.0f us each)",
                  static_cast<long long>(f.expected_applies), plain.apply);
  else
    std::snprintf(reason, sizeof reason, "predicted %.0f us per application, level_order %.0f us, plan %.1f ms",
                  best.apply, plain.apply, best.plan / 1000);
  return with_storage(f, {best.strategy, reason, best.form}, single_pays(f, best));
}

Choice choose_strategy(const ChoiceInput& input)
{
  if (input.on_device) return choose_on_device(input);
  if (input.threads <= 1) return {"serial", "one thread"};
  if (input.nnz < least_entries)
    return {"serial", std::to_string(input.nnz) + " entries are too few for threads"};
  char reason[80];
  const bool pays = input.blocks_speedup >= least_speedup;
  std::snprintf(reason, sizeof reason, "row blocks: predicted %.1f times as fast as one thread", input.blocks_speedup);
  return {pays ? "blocks" : "serial", reason};
}

std::size_t best_trial(const std::vector<Trial>& trials, std::int64_t expected_applies)
{
  const auto total = [expected_applies](const Trial& t, double times) {
    return t.plan + times * static_cast<double>(expected_applies) * t.apply;
  };
  std::size_t best = 0;
  for (std::size_t k = 1; k < trials.size(); ++k) {
    const double before = total(trials[best], 1), now = total(trials[k], 1);
    const bool are_close = std::max(before, now) <= close_times * std::min(before, now);
    const double times = are_close ? 2 : 1;
    if (total(trials[k], times) < total(trials[best], times)) best = k;
  }
  return best;
}

Choice choose_by_trials(const std::vector<Trial>& trials, std::int64_t expected_applies)
{
  const std::size_t best = best_trial(trials, expected_applies);
  std::string reason;
  for (const Trial& t : trials) {
    char words[96];
    std::snprintf(words, sizeof words, "%s%s %.4g us, plan %.3g ms", reason.empty() ? "trials: " : "; ",
                  t.strategy.c_str(), 1e6 * t.apply, 1e3 * t.plan);
    reason += words;
  }
  return {trials[best].strategy, reason};
}

}  // namespace syncfree
