/// How many threads a process should use.

#include <gtest/gtest.h>
#include <sched.h>

#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

TEST(Threads, are_the_cores_of_this_process_shared_by_its_ranks)
{
  cpu_set_t all, one;
  ASSERT_EQ(0, sched_getaffinity(0, sizeof all, &all));
  EXPECT_EQ(default_threads(1), CPU_COUNT(&all));
  EXPECT_EQ(default_threads(0), CPU_COUNT(&all));
  EXPECT_EQ(default_threads(1000000), 1);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  ASSERT_EQ(0, sched_setaffinity(0, sizeof one, &one));
  EXPECT_EQ(default_threads(1), 1);
  ASSERT_EQ(0, sched_setaffinity(0, sizeof all, &all));
}

}  // namespace
}  // namespace syncfree
