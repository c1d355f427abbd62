/// How much memory factor and plan may take on a device.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "syncfree/memory_limit.hpp"

namespace syncfree {
namespace {

/// In 64 bits: 12 bytes an entry and 16 a row, and an end of two offsets and a pivot that PETSc has, too.
TEST(MemoryLimit, counts_petscs_factor_as_a_matrix_with_pivots)
{
  EXPECT_EQ(petsc_factor_bytes(0, 0, 8, 4), 16);
  EXPECT_EQ(petsc_factor_bytes(1784, 34656, 8, 4), 444432);  // as measured for 2dcyl1, tests/bench/results
  EXPECT_EQ(petsc_factor_bytes(100, 460, 16, 8), 460 * 24 + 101 * 32);
}

TEST(MemoryLimit, is_by_default_six_factors_or_64_megabytes)
{
  const SolverOptions options;
  EXPECT_EQ(memory_limit_in_force(options, 0), 64e6);
  EXPECT_EQ(memory_limit_in_force(options, 10e6), 64e6);
  EXPECT_EQ(memory_limit_in_force(options, 11e6), 66e6);
  EXPECT_EQ(memory_limit_in_force(options, 5e9), 30e9);
}

TEST(MemoryLimit, is_that_of_the_options_where_they_have_one)
{
  SolverOptions options;
  for (const double megabytes : {0.5, 64.0, 1e5}) {
    options.memory_limit = megabytes;
    EXPECT_EQ(memory_limit_in_force(options, 10e9), megabytes * 1e6);
  }
  options.memory_limit = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isinf(memory_limit_in_force(options, 10e9)));
}

TEST(MemoryLimit, is_part_of_what_an_analysis_was_made_for)
{
  SolverOptions some, others;
  EXPECT_TRUE(some == others);
  others.memory_limit = 100;
  EXPECT_FALSE(some == others);
}

TEST(MemoryLimit, tells_what_a_strategy_would_take)
{
  EXPECT_EQ(over_memory_limit("merged", 210e6, 64e6), "merged would take 210 MB, more than the limit of 64 MB");
  EXPECT_EQ(over_memory_limit("tiled", 1.5e9, 0.25e6, true),
            "tiled would take at least 1500 MB, more than the limit of 0.25 MB");
}

}  // namespace
}  // namespace syncfree
