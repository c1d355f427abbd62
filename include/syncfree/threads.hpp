#pragma once

/// Useful and allowed numbers of threads.

#include "syncfree/status.hpp"

namespace syncfree {

/// Number of cores that this process may use: those of its affinity mask, with the hyperthreads of a core counted
/// once, at most the quota of its cgroups; divided by the ranks on the node. At least 1.
int usable_cores(int ranks_on_node);

/// Returns four times the number of processors that this process may use, at least 64. More threads than processors
/// are of no use, and OpenMP aborts the process if the system cannot create a thread.
int most_threads();

/// Checks that a number of threads is between 1 and most_threads().
///   errors  invalid_argument, with the number and the limit
Status check_threads(int threads);

}  // namespace syncfree
