#pragma once

/// The kinds, contenders and effort that the options select.

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// Joins the names in a list of named objects, as "a,b,c".
template <class List>
std::string names_of(const List& list)
{
  std::string text;
  for (const auto& item : list) text.append(text.empty() ? "" : ",").append(item.name);
  return text;
}

/// Returns ilu, icc or both; throws if -bench_kinds names another.
std::vector<std::string> kinds(const Options& o);

/// Returns PETSc's own, then every strategy with every number of threads. With one thread all strategies do the same
/// work, so unless strategies are named only `auto` and `serial` run with one.
std::vector<Setting> contenders(const Options& o, const std::string& kind);

Effort effort_of(const Options& o);

}  // namespace bench
