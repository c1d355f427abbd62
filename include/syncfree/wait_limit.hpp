#pragma once

/// How long the threads of a kernel may wait for each other on a device.

#include <cstdlib>
#include <string>

#include "syncfree/status.hpp"

namespace syncfree {

constexpr double most_wait_limit = 1e9;  ///< seconds, of which the nanoseconds can be counted

/// The limit that is in force: the environment's SYNCFREE_WAIT_LIMIT where it is set and not empty, since tools slow a
/// device down by a hundred times; else the one asked for.
///   asked   SolverOptions::wait_limit, in seconds
///   limit   [out] in [0, most_wait_limit]; 0: waits never end. Untouched on failure
///   errors  invalid_argument, which names the value, if the variable is not a number of seconds, or is negative
inline Status wait_limit_in_force(double asked, double* limit)
{
  const char* const text = std::getenv("SYNCFREE_WAIT_LIMIT");
  double seconds = asked;
  if (text && *text) {
    char* end = nullptr;
    seconds = std::strtod(text, &end);
    if (*end || !(seconds >= 0))
      return failed(Code::invalid_argument, std::string("the environment variable SYNCFREE_WAIT_LIMIT is '") + text +
                                                "'; it must be a number of seconds, or 0 for no limit");
  }
  *limit = seconds > most_wait_limit ? most_wait_limit : seconds > 0 ? seconds : 0;
  return {};
}

}  // namespace syncfree
