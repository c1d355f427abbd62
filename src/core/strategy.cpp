/// The strategies that exist, and which of them `auto` takes.

#include "syncfree/strategy.hpp"

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

Choice choose_strategy(const ChoiceInput& input)
{
  if (input.on_device) return {"level_order", "the device"};
  if (input.threads <= 1) return {"serial", "one thread"};
  if (input.nnz < least_entries) return {"serial", std::to_string(input.nnz) + " entries are too few for threads"};
  char reason[80];
  const bool pays = input.blocks_speedup >= least_speedup;
  std::snprintf(reason, sizeof reason, "row blocks promise %.1f times one thread", input.blocks_speedup);
  return {pays ? "blocks" : "serial", reason};
}

}  // namespace syncfree
