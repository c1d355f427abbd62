#pragma once

/// Explores a program, then the same with each of its memory orders weakened, and with each store and each
/// notification left out: a checker that finds nothing then would not find a defect of the program either.

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "checker.hpp"

namespace syncfree::model {

/// The weakest first; what holds with that one holds with the others.
inline std::vector<Order> weaker_than(Order order, const std::string& operation)
{
  const bool loads = operation == "load", stores = operation == "store" || operation == "=";
  switch (order) {
    case seq_cst:
      if (loads) return {relaxed, acquire};
      if (stores) return {relaxed, release};
      return {relaxed, acquire, release, acq_rel};
    case acq_rel: return {relaxed, acquire, release};
    case acquire:
    case release: return {relaxed};
    default: return {};
  }
}

/// Without a lock that guards memory a program would crash.
inline bool may_be_dropped(const Site& site)
{
  const std::string operation = site.operation;
  if (operation == "lock") return site.name == "helpers -- seq_cst lock";  // guards nothing, but orders a wake-up
  return operation == "store" || operation == "=" || operation.rfind("notify", 0) == 0;
}

inline std::string verdict(const std::function<void()>& program, Options options, const Mutation& mutation)
{
  options.mutation = mutation;
  const Result result = explore(program, options);
  if (!result.violation.empty()) return result.violation;
  return result.complete ? "holds" : "holds as far as explored";
}

/// Expects that the program holds, all of it explored.
inline Result expect_to_hold(const std::function<void()>& program, const Options& options = {})
{
  const Result result = explore(program, options);
  EXPECT_EQ(result.violation, "") << result.trace;
  EXPECT_TRUE(result.complete) << "not all was explored";
  std::printf("%ld executions, %ld states\n", result.executions, result.states);
  return result;
}

/// Expects the same, and that its mutations have these verdicts:
/// `operation -> order: verdict` or `without operation: verdict`.
inline void expect_verdicts(const std::function<void()>& program, const std::vector<std::string>& expected,
                            const Options& options = {})
{
  const Result result = expect_to_hold(program, options);
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const Site& site : result.sites) {
    if (!seen.insert(site.name).second) continue;
    for (const Order order : site.has_order ? weaker_than(site.order, site.operation) : std::vector<Order>()) {
      const std::string what = verdict(program, options, {site.name, order});
      found.push_back(site.name + " -> " + name_of(order) + ": " + what);
      if (order == relaxed && what == "holds") break;
    }
    if (may_be_dropped(site))
      found.push_back("without " + site.name + ": " + verdict(program, options, {site.name, relaxed, true}));
  }
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_EQ(found[k], k < expected.size() ? expected[k] : "no verdict was expected");
}

}  // namespace syncfree::model
