#include <sched.h>

#include <algorithm>

#include "syncfree/solver.hpp"

namespace syncfree {

int default_threads(int ranks_on_node)
{
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  return std::max(1, cores / std::max(1, ranks_on_node));
}

}  // namespace syncfree
