/// Implements settings.hpp.

#include "settings.hpp"

#include <set>
#include <stdexcept>

#include "syncfree/strategy.hpp"

namespace bench {
namespace {

/// Returns the strategies for matrices where they are (host or device). Those of kokkos, and on the host those of the
/// device's plans, exist to compare results, not times.
std::string natural_strategies()
{
  const std::set<std::string> for_tests = {"column_block", "row_block", "recursive_block", "merged", "tiled"};
  std::vector<syncfree::StrategyInfo> list;
  for (const auto& s : syncfree::strategies()) {
    const std::string name = s.name, backend = s.backend;
    const bool test = for_tests.count(name) > 0;
    if (on_device ? backend == "cuda" : backend == "host" && !test) list.push_back(s);
  }
  return names_of(list);
}

}  // namespace

std::vector<std::string> kinds(const Options& o)
{
  const std::vector<std::string> all = split(o.kinds);
  for (const std::string& kind : all)
    if (kind != "ilu" && kind != "icc") throw std::runtime_error("-bench_kinds: '" + kind + "' is not ilu or icc");
  return all;
}

std::vector<Setting> contenders(const Options& o, const std::string& kind)
{
  Setting setting;
  setting.kind = kind;
  setting.levels = o.levels;
  std::vector<Setting> all = {setting};
  const bool named = !o.strategies.empty();
  const auto threads = thread_counts(o);
  for (const std::int64_t t : threads)
    for (const std::string& s : split(named ? o.strategies : "auto," + natural_strategies())) {
      if (s == "serial" && t != threads.front()) continue;
      if (!named && !on_device && t == 1 && s != "auto" && s != "serial") continue;
      setting.strategy = s;
      setting.threads = s == "serial" ? 1 : static_cast<int>(t);
      all.push_back(setting);
    }
  return all;
}

Effort effort_of(const Options& o)
{
  Effort effort;
  effort.seconds = static_cast<double>(o.time);
  effort.repetitions = static_cast<int>(o.repetitions);
  effort.slow = static_cast<double>(o.slow);
  effort.tolerance = static_cast<double>(o.tolerance);
  return effort;
}

}  // namespace bench
