#pragma once

/// How many threads are worth having, and how many may be asked for.

#include "syncfree/status.hpp"

namespace syncfree {

/// Cores that this process may use: those of its affinity, hyperthreads of one core counted once, at most the quota of
/// its cgroups; divided by the ranks on the node. At least 1.
int usable_cores(int ranks_on_node);

/// Four times the processors that this process may use, at least 64. More threads than processors are of no use, and
/// OpenMP ends the process where the system refuses a thread.
int most_threads();

/// Is a number of threads from 1 to most_threads()?
///   errors  invalid_argument, with the number and the limit
Status check_threads(int threads);

}  // namespace syncfree
