#include <sched.h>

#include <algorithm>
#include <new>
#include <vector>

#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

/// Cores in the affinity mask of this process. The kernel refuses a set smaller than its own, so
/// larger ones are tried; 1 if it never answers.
int allowed_cores()
{
  constexpr std::size_t most_sets = 1024;  // a million cores
  for (std::size_t count = 1; count <= most_sets; count *= 2) {
    std::vector<cpu_set_t> sets(count);
    const std::size_t bytes = count * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, sets.data()) == 0) return CPU_COUNT_S(bytes, sets.data());
  }
  return 1;
}

}  // namespace

int default_threads(int ranks_on_node)
try {
  return std::max(1, allowed_cores() / std::max(1, ranks_on_node));
} catch (const std::bad_alloc&) {
  return 1;
}

}  // namespace syncfree
