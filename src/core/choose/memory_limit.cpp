/// Implements syncfree/memory_limit.hpp.

#include "syncfree/memory_limit.hpp"

#include <cstdio>

namespace syncfree {

std::string over_memory_limit(const std::string& strategy, double bytes, double limit, bool at_least)
{
  char text[160];
  std::snprintf(text, sizeof text, "%.31s would take %s%.4g MB, more than the limit of %.4g MB", strategy.c_str(),
                at_least ? "at least " : "", bytes / megabyte, limit / megabyte);
  return text;
}

}  // namespace syncfree
