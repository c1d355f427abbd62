/// The strategies that exist, and which of them `auto` takes.

#include "syncfree/strategy.hpp"

#include <algorithm>
#include <cstdio>

#include "strategy_list.hpp"

namespace syncfree {

/// What the choice compares with. A parallel region costs a few microseconds and a wait
/// between cores some hundred nanoseconds; an entry costs a few nanoseconds.
static constexpr std::int64_t least_entries = 20000;  ///< below it one thread is done first
static constexpr double least_speedup = 1.2;          ///< a plan that promises less is not worth the team

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
    return "it needs " + what + ", and this library was built without (CMake option " + option + ")";
  };
  if (name == "kokkos") return without("Kokkos Kernels", "SYNCFREE_KOKKOS");
#define IS_CUDA(candidate, reproducible, summary) \
  if (name == #candidate) return without("CUDA", "SYNCFREE_CUDA");
  SYNCFREE_ALL_CUDA_STRATEGIES(IS_CUDA)
#undef IS_CUDA
  return {};
}

/// Microseconds of one triangle on an H200, fitted to 80 factors: `courier` against `level_order`. A factor of two is
/// within reach of the error, which matters where a plan costs about what it saves.
static double level_order_time(const ChoiceInput& f)
{
  return 8 + 0.62 * static_cast<double>(f.levels) + static_cast<double>(f.nnz) / 2 * 12 / 1.7e6;
}
static double courier_time(const ChoiceInput& f)
{
  const double n = static_cast<double>(f.rows), entries = static_cast<double>(f.nnz) / 2 / n;
  const double step = entries <= 5 ? 0.09 : entries <= 16 ? 0.15 : 0.25;
  const double width = n / static_cast<double>(f.levels), busy = width / (entries > 16 ? 1.5 : 16);
  const double blocks = std::max(n / 16384, std::max(1.0, busy));
  return 10 + step * static_cast<double>(f.levels) + 0.5 * blocks;
}
/// Of both plans of `courier`.
static double courier_plan_time(const ChoiceInput& f)
{
  return 0.06 * static_cast<double>(f.nnz) / std::clamp(f.threads, 1, 12);
}

/// Few levels are done as fast without blocks, and a long row is the work of one thread there.
static constexpr std::int64_t least_levels = 14;
static constexpr double longest_row = 8;  ///< mean rows, and 8 entries

static Choice choose_on_device(const ChoiceInput& f)
{
  char reason[120];
  if (f.expected_applies == 0) return {"level_order", "the device"};
  if (f.levels < least_levels) return {"level_order", std::to_string(f.levels) + " levels are few"};
  const double mean = static_cast<double>(f.nnz) / 2 / static_cast<double>(f.rows);
  if (static_cast<double>(f.longest) > longest_row * mean + 8)
    return {"level_order", "a row of " + std::to_string(f.longest) + " entries is long for a block"};
  const double saved = 2 * (level_order_time(f) - courier_time(f)), plan = courier_plan_time(f);
  const bool pays = saved * static_cast<double>(f.expected_applies) >= plan && saved > 0;
  std::snprintf(reason, sizeof reason, "row blocks promise %.0f us less in an apply, for %.1f ms", saved, plan / 1000);
  return {pays ? "courier" : "level_order", reason};
}

Choice choose_strategy(const ChoiceInput& input)
{
  if (input.on_device) return choose_on_device(input);
  if (input.threads <= 1) return {"serial", "one thread"};
  if (input.nnz < least_entries) return {"serial", std::to_string(input.nnz) + " entries are too few for threads"};
  char reason[80];
  const bool pays = input.blocks_speedup >= least_speedup;
  std::snprintf(reason, sizeof reason, "row blocks promise %.1f times one thread", input.blocks_speedup);
  return {pays ? "blocks" : "serial", reason};
}

}  // namespace syncfree
