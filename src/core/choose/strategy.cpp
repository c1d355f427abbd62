/// The available strategies, and the choice of `auto` among them.

#include "syncfree/strategy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device_model.hpp"
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

/// Microseconds for both triangles: of an application, and of a plan with its share of one refresh; and the fraction of
/// the plan that is still to be made.
struct DeviceTimes {
  const char* strategy;
  double apply, plan, part = 1;
};

static constexpr const DeviceModel& model = device_model;

/// The rows of an inode share column indices and waits.
static DeviceTimes level_order_times(const ChoiceInput& f)
{
  const auto entries = static_cast<double>(f.nnz) / 2;
  const double bytes = 8 + 4.0 / std::max(f.node_size, 1);
  const double rows = model.rows_begin + model.rows_level * static_cast<double>(f.levels) + model.rows_entry * entries;
  const double nodes = model.nodes_begin + model.nodes_level * static_cast<double>(f.node_levels) +
                       model.nodes_byte * bytes * entries;
  return {"level_order", 2 * (f.node_size > 0 ? nodes : rows), 0};
}

static DeviceTimes tiled_times_of_inodes(const ChoiceInput& f)
{
  const double size = std::max(f.node_size, 1), nodes = static_cast<double>(f.rows) / size;
  const double solve = model.node_blocks_begin + model.node_blocks_level * static_cast<double>(f.node_levels) +
                       model.node_blocks_lane * size * size * nodes;
  return {"tiled", 2 * solve, model.nodes_plan_begin + model.nodes_plan_entry * static_cast<double>(f.nnz)};
}

/// Estimates the critical path: it crosses tiles at most as often as levels; tiles that cannot run concurrently follow
/// each other closely.
static double tiled_time_of_tiles(const ChoiceInput& f)
{
  const double n = static_cast<double>(f.rows), levels = static_cast<double>(f.levels);
  const double entries = static_cast<double>(f.nnz) / 2 / n, busy = n / levels / (entries > 16 ? 1.5 : 16);
  const double blocks = std::max({n / 16384, 1.0, busy}), hops = std::min({blocks, 132.0, levels});
  const double later = model.blocks_later_hop * std::max(blocks - 132, 0.0);
  const bool is_short = entries <= 5;
  if (f.tiled_on_device) {
    const double step = is_short ? model.ghosts_short_step : model.ghosts_step;
    return model.ghosts_begin + step * levels + model.ghosts_hop * hops + later;
  }
  const double step = is_short ? model.blocks_short_step : model.blocks_long_step;
  return model.blocks_begin + step * levels + model.blocks_hop * hops + later;
}

static DeviceTimes tiled_times(const ChoiceInput& f)
{
  if (f.tiled_inodes) return tiled_times_of_inodes(f);
  const auto entries = static_cast<double>(f.nnz);
  if (f.tiled_time > 0)
    return {"tiled", 2 * f.tiled_time, model.tiles_plan_begin + model.tiles_plan_entry * entries};
  const double on_host = model.host_plan_entry * entries / std::clamp(f.threads, 1, 12) +
                         model.host_plan_rest * std::min(entries, 8e5);
  const double on_device = model.ghosts_plan_begin + model.ghosts_plan_entry * entries;
  return {"tiled", 2 * tiled_time_of_tiles(f), f.tiled_on_device ? on_device : on_host};
}

static DeviceTimes wavefront_times(const ChoiceInput& f)
{
  return {"wavefront", 2 * f.wavefront_time,
          model.lines_plan_begin + model.lines_plan_entry * static_cast<double>(f.nnz)};
}

static double total(const ChoiceInput& f, const DeviceTimes& t)
{
  return static_cast<double>(f.expected_applies) * t.apply + t.part * t.plan;
}

/// Runs of 64 levels are planned concurrently, the rows of one run sequentially, with bitsets over all rows of the run.
static double merged_plan_time(const ChoiceInput& f, double entries, std::int64_t longest)
{
  const double rows_of_run = static_cast<double>(f.rows) * std::min(1.0, 64 / static_cast<double>(f.levels));
  return model.merged_plan_begin + model.merged_plan_entry * entries +
         model.merged_plan_level * static_cast<double>(longest) +
         model.merged_plan_row_squared * rows_of_run * rows_of_run;
}

/// Time of both triangles without waits.
static double merged_time_of_rows(const ChoiceInput& f, double entries)
{
  return model.merged_begin + model.merged_entry * entries +
         2 * model.merged_longest_row * static_cast<double>(f.longest);
}

/// Estimate after the groups have been searched for, at least in a sample.
static DeviceTimes merged_times(const ChoiceInput& f)
{
  const double groups = 2 * f.merged_groups, entries = 2 * f.merged_entries;
  const double length = f.merged_entries / static_cast<double>(f.rows);
  const double of_group = model.merged_group + model.merged_length * length;
  return {"merged", merged_time_of_rows(f, entries) + of_group * groups, merged_plan_time(f, entries, f.merged_longest),
          f.merged_is_known ? model.merged_plan_rest : 1};
}

/// Estimate before the search, assuming groups as good as the better ones of those observed.
static DeviceTimes good_merged_times(const ChoiceInput& f)
{
  constexpr double fill = 3;
  constexpr std::int64_t levels_of_group = 30;
  const double entries = static_cast<double>(f.nnz) / 2;
  const double groups = model.merged_good * std::sqrt(static_cast<double>(f.levels) * entries);
  return {"merged", merged_time_of_rows(f, 0) + groups, merged_plan_time(f, fill * 2 * entries, levels_of_group)};
}

/// With few levels a solve without tiles is as fast; and in a tile a long row is the work of one thread.
static constexpr std::int64_t least_levels = 14;
static constexpr double longest_row = 8;  ///< longest row allowed: 8 times the mean, plus 8 entries

static bool suits_tiles(const ChoiceInput& f)
{
  if (!f.regular || !f.may_have_tiles) return false;
  const double mean = static_cast<double>(f.nnz) / 2 / static_cast<double>(f.rows);
  return f.levels >= least_levels && static_cast<double>(f.longest) <= longest_row * mean + 8;
}

/// True for a triangle on a grid for which `wavefront` applies; `tiled` is slower on those.
static bool suits_wavefront(const ChoiceInput& f) { return f.wavefront_time > 0 && f.levels >= least_levels; }

bool could_pay_to_merge(const ChoiceInput& f)
{
  double others = total(f, level_order_times(f));
  if (suits_wavefront(f)) others = std::min(others, total(f, wavefront_times(f)));
  else if (suits_tiles(f)) others = std::min(others, total(f, tiled_times(f)));
  return total(f, good_merged_times(f)) < others;
}

static Choice choose_on_device(const ChoiceInput& f)
{
  const DeviceTimes plain = level_order_times(f);
  if (f.rows == 0 || f.expected_applies == 0) return {plain.strategy, "cheapest set-up"};
  DeviceTimes best = plain;
  const auto consider = [&](const DeviceTimes& other) {
    if (total(f, other) < total(f, best)) best = other;
  };
  if (suits_wavefront(f)) consider(wavefront_times(f));
  else if (suits_tiles(f)) consider(tiled_times(f));
  if (f.merged_groups > 0) consider(merged_times(f));
  char reason[160];
  if (best.strategy == plain.strategy)
    std::snprintf(reason, sizeof reason,
                  "no other strategy is predicted to be faster within %lld applications (%.0f us each)",
                  static_cast<long long>(f.expected_applies), plain.apply);
  else
    std::snprintf(reason, sizeof reason, "predicted %.0f us per application, level_order %.0f us, plan %.1f ms",
                  best.apply, plain.apply, best.part * best.plan / 1000);
  return {best.strategy, reason};
}

Choice choose_strategy(const ChoiceInput& input)
{
  if (input.on_device) return choose_on_device(input);
  if (input.threads <= 1) return {"serial", "one thread"};
  if (input.nnz < least_entries) return {"serial", std::to_string(input.nnz) + " entries are too few for threads"};
  char reason[80];
  const bool pays = input.blocks_speedup >= least_speedup;
  std::snprintf(reason, sizeof reason, "row blocks: predicted %.1f times as fast as one thread", input.blocks_speedup);
  return {pays ? "blocks" : "serial", reason};
}

std::size_t best_trial(const std::vector<Trial>& trials, std::int64_t expected_applies)
{
  const auto total = [expected_applies](const Trial& t) {
    return t.plan + static_cast<double>(expected_applies) * t.apply;
  };
  const auto less = [&](const Trial& a, const Trial& b) { return total(a) < total(b); };
  return static_cast<std::size_t>(std::min_element(trials.begin(), trials.end(), less) - trials.begin());
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
