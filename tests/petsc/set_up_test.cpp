/*
  The choices of a set-up: a strategy by trials, and no index sets for the natural order.
*/

#include "matrices.hpp"
#include "petsc_test.hpp"

namespace {

class SetUpOf : public testing::TestWithParam<const char*> {
 protected:
  void make(const std::string& text)
  {
    Options options(text);
    pc_ = PCOwner();
    ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
    ok(PCSetOperators(pc_, A_, A_));
    ok(PCSetType(pc_, GetParam()));
    ok(PCSetFromOptions(pc_));
  }
  Numbers apply()
  {
    VecOwner from = make_vector(b_), x = make_vector(rows(A_));
    ok(PCApply(pc_, from, x));
    return entries(x);
  }

  MatOwner A_ = poisson_2d(30, 30);
  Numbers b_ = random_numbers(rows(A_), 3);
  PCOwner pc_;
};

/* With several candidates: on several threads, and on a device. */
TEST_P(SetUpOf, our_types_chooses_by_trials_when_it_is_told_to)
{
  make("-pc_syncfree_threads 2");
  const Numbers expected = apply();
  EXPECT_FALSE(contains(view(pc_), "trials")) << view(pc_);
  make("-pc_syncfree_threads 2 -pc_syncfree_select trials");
  const Numbers got = apply();
  EXPECT_TRUE(contains(view(pc_), "trials: ") && contains(view(pc_), " us, plan ")) << view(pc_);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(magnitude(got[i] - expected[i]), 100 * eps * (1 + magnitude(expected[i]))) << i;
  Options unknown("-pc_syncfree_select dice");
  EXPECT_NE(0, refused([&] { return PCSetFromOptions(pc_); }).code);
}

/* The natural order is PETSc's, although no index sets are made for it. */
TEST_P(SetUpOf, our_types_takes_any_order_and_goes_back_to_the_natural_one)
{
  make("");
  Numbers first;
  for (const std::string order : {"", "rcm", "natural"}) {
    ok(PCReset(pc_));
    ok(PCSetOperators(pc_, A_, A_));
    if (!order.empty()) ok(PCFactorSetMatOrderingType(pc_, order.c_str()));
    const Numbers x = apply();
    EXPECT_TRUE(contains(view(pc_), "matrix ordering: " + (order.empty() ? "natural" : order))) << view(pc_);
    Mat F;
    PetscBool can;
    ok(PCFactorGetMatrix(pc_, &F));
    ok(MatFactorGetCanUseOrdering(F, &can));
    EXPECT_TRUE(can);
    if (order.empty()) first = x;
    EXPECT_EQ(order == "rcm", x != first) << order;
  }
  EXPECT_NE(0, refused([&] { return PCFactorSetMatOrderingType(pc_, "rcm"); }).code) << "after use, as in PETSc";
}

INSTANTIATE_TEST_SUITE_P(Petsc, SetUpOf, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
