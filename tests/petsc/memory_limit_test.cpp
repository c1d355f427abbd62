/*
  The limit of the memory that factor and plan take on a GPU, -pc_syncfree_memory_limit and its setter: for all PC types
  of this library, which on the CPU are not limited.
*/

#include <algorithm>

#include "factored.hpp"
#include "matrices.hpp"
#include "syncfree/strategy.hpp"

namespace {

bool has_device() { return std::count(strategies().begin(), strategies().end(), "level_order"); }

class MemoryLimit : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override
  {
    ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
    ok(PCSetOperators(pc_, A_, A_));
    ok(PCSetType(pc_, GetParam()));
  }
  PetscReal limit() const
  {
    PetscReal megabytes = -7;
    ok(PCSyncFreeGetMemoryLimit(pc_, &megabytes));
    return megabytes;
  }
  void from_options(const std::string& value)
  {
    Options options("-pc_syncfree_memory_limit " + value);
    ok(PCSetFromOptions(pc_));
  }
  Numbers apply()
  {
    VecOwner from = make_vector(random_numbers(rows(A_), 3)), x = make_vector(rows(A_));
    ok(PCApply(pc_, from, x));
    return entries(x);
  }

  MatOwner A_ = poisson_2d(30, 30);
  PCOwner pc_;
};

TEST_P(MemoryLimit, is_that_of_the_call_or_of_the_option)
{
  EXPECT_EQ((PetscReal)PETSC_DECIDE, limit());
  for (const PetscReal megabytes : {(PetscReal)0.5, (PetscReal)200, PETSC_INFINITY, (PetscReal)PETSC_DECIDE}) {
    ok(PCSyncFreeSetMemoryLimit(pc_, megabytes));
    EXPECT_EQ(megabytes, limit());
  }
  from_options("12.5");
  EXPECT_EQ((PetscReal)12.5, limit());
  from_options("unlimited");
  EXPECT_EQ(PETSC_INFINITY, limit());
  from_options("auto");
  EXPECT_EQ((PetscReal)PETSC_DECIDE, limit());
  from_options("Unlimited");
  EXPECT_EQ(PETSC_INFINITY, limit());
  ok(PCSetFromOptions(pc_));
  EXPECT_EQ(PETSC_INFINITY, limit()) << "without the option it stays";
}

TEST_P(MemoryLimit, is_refused_in_words_if_it_is_no_size)
{
  const Refusal by_call = refused([&] { return PCSyncFreeSetMemoryLimit(pc_, (PetscReal)-64); });
  EXPECT_TRUE(by_call.says("Memory limit -64") && by_call.says("must be a number of megabytes")) << by_call.text;
  for (const std::string value : {"-64", "much"}) {
    const Refusal by_option = refused([&] {
      Options options("-pc_syncfree_memory_limit " + value);
      return PCSetFromOptions(pc_);
    });
    EXPECT_TRUE(by_option.says(value)) << by_option.text;
    EXPECT_EQ(value == "much", by_option.says("memory_limit is 'much', but takes auto, unlimited or a number")) << by_option.text;
  }
  EXPECT_EQ((PetscReal)PETSC_DECIDE, limit());
}

TEST_P(MemoryLimit, has_a_getter_for_our_types_only)
{
  PetscReal megabytes;
  ok(PCSetType(pc_, PCJACOBI));
  ok(PCSyncFreeSetMemoryLimit(pc_, (PetscReal)64));
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetMemoryLimit(pc_, &megabytes); }).code);
}

/* Only a device has a limit, which its view prints; the results are the same. */
TEST_P(MemoryLimit, changes_nothing_on_the_cpu)
{
  const Numbers expected = apply();
  const std::string without = view(pc_);
  EXPECT_FALSE(contains(without, "; limit")) << without;
  EXPECT_FALSE(contains(without, "memory_limit")) << without;
  ok(PCSyncFreeSetMemoryLimit(pc_, (PetscReal)1e-3));
  EXPECT_EQ(expected, apply());
  const std::string with = view(pc_);
  EXPECT_FALSE(contains(with, "; limit")) << with;
  if (std::string(GetParam()) != PCSYNCFREESOR) {
    EXPECT_TRUE(contains(with, "-pc_syncfree_memory_limit 0.001")) << with;
  }
}

/* 6 times PETSc's factor of this small matrix is less than 64 megabytes. */
TEST_P(MemoryLimit, is_printed_for_a_device)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  const bool sweeps = std::string(GetParam()) == PCSYNCFREESOR;
  if (sweeps) GTEST_SKIP() << "sweeps are on the CPU for a matrix in host memory";
  ok(PCSyncFreeSetBackend(pc_, "cuda"));
  const Numbers expected = apply();
  EXPECT_TRUE(contains(view(pc_), "; limit 64 MB\n")) << view(pc_);
  ok(PCSyncFreeSetMemoryLimit(pc_, (PetscReal)1e-3));
  const Numbers found = apply();
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_LE(magnitude(found[i] - expected[i]), 1e4 * PETSC_MACHINE_EPSILON * (1 + magnitude(expected[i])));
  EXPECT_TRUE(contains(view(pc_), "syncfree strategy: level_order")) << view(pc_);
  EXPECT_TRUE(contains(view(pc_), "; limit 0.001 MB\n")) << view(pc_);
  ok(PCSyncFreeSetMemoryLimit(pc_, PETSC_INFINITY));
  ok(PCSetUp(pc_));
  EXPECT_FALSE(contains(view(pc_), "; limit")) << view(pc_);
  EXPECT_TRUE(contains(view(pc_), "-pc_syncfree_memory_limit unlimited")) << view(pc_);
}

INSTANTIATE_TEST_SUITE_P(Petsc, MemoryLimit, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
