#pragma once

/// What the options say of kinds, contenders and effort.

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// The names in a list of things with names, as "a,b,c".
template <class List>
std::string names_of(const List& list)
{
  std::string text;
  for (const auto& item : list) text.append(text.empty() ? "" : ",").append(item.name);
  return text;
}

/// ilu, icc or both; throws where -bench_kinds names another.
std::vector<std::string> kinds(const Options& o);

/// PETSc's own, then every strategy with every number of threads; with one thread all strategies do the same work,
/// so unless strategies are named only `auto` and `serial` run there.
std::vector<Setting> contenders(const Options& o, const std::string& kind);

Effort effort_of(const Options& o);

}  // namespace bench
