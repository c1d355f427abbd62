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

/// Throws if something else than the two words follows the name of the strategy.
void check_words(const Setting& s)
{
  std::size_t known = s.name().size();
  for (const std::string word : {"single", "trials"}) known += s.has(word) ? 1 + word.size() : 0;
  if (known != s.strategy.size())
    throw std::runtime_error("-bench_strategies: '" + s.strategy + "' may only end in :single, :trials or both");
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
      setting.strategy = s;
      check_words(setting);
      const bool serial = setting.name() == "serial";
      if (serial && t != threads.front()) continue;
      if (!named && !on_device && t == 1 && s != "auto" && !serial) continue;
      setting.threads = serial ? 1 : static_cast<int>(t);
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
