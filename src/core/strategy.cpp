/// The strategies that exist, and which of them `auto` takes.

#include "syncfree/strategy.hpp"

#include "strategy_list.hpp"

namespace syncfree {

/// What the choice compares with. A parallel region costs a few microseconds and a wait
/// between cores a few hundred nanoseconds; a row costs some ten nanoseconds.
static constexpr std::int64_t least_entries = 20000;             ///< below it one thread is done first
static constexpr std::int64_t least_rows_a_level_a_thread = 16;  ///< below it threads mostly wait

const std::vector<StrategyInfo>& strategies()
{
#define LIST_LINE(name, reproducible, summary) {#name, "host", summary, reproducible},
  static const std::vector<StrategyInfo> list = {SYNCFREE_HOST_STRATEGIES(LIST_LINE)};
#undef LIST_LINE
  return list;
}

const StrategyInfo* find_strategy(const std::string& name)
{
  for (const StrategyInfo& info : strategies())
    if (name == info.name) return &info;
  return nullptr;
}

Choice choose_strategy(const ChoiceInput& input)
{
  if (input.threads <= 1) return {"serial", "one thread"};
  if (input.nnz < least_entries) return {"serial", std::to_string(input.nnz) + " entries are too few for threads"};
  const std::int64_t rows_a_level = input.levels > 0 ? 2 * input.n / input.levels : input.n;
  if (rows_a_level < least_rows_a_level_a_thread * input.threads)
    return {"serial", std::to_string(rows_a_level) + " rows a level are too few for " + std::to_string(input.threads) +
                          " threads"};
  return {"blocks", std::to_string(rows_a_level) + " rows a level for " + std::to_string(input.threads) + " threads"};
}

}  // namespace syncfree
