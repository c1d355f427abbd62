/*
  The choices of a set-up: a strategy by trials, and no index sets for the natural order.
*/

#include <set>
#include <string>

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

/* Each option of the table is part of the analysis' key: another value is another factored matrix, the same one is not. */
TEST_P(SetUpOf, our_types_is_analysed_anew_for_another_value_of_each_option)
{
  const char* values[][2] = {{"backend", "host"}, {"strategy", "serial"}, {"threads", "2"}, {"factor_precision", "single"},
                             {"select", "trials"}, {"expected_applies", "7"}, {"merge_fill", "3"}, {"cut_table", "paper"},
                             {"cut_rows", "9"}, {"tile_rows", "9"}, {"block_size", "1"}, {"cyclic_colors", "9"}, {"abmc_rows", "9"}, {"ordering_model", "gpu"},
                             {"wait_limit", "7.5"}, {"memory_limit", "100"},
                             {"view", ":/dev/null"}};
  for (const auto& [name, value] : values) {
    SCOPED_TRACE(name);
    make("");
    Options options("-pc_syncfree_" + std::string(name) + " " + value);
    Mat F;
    PetscObjectId ids[3];
    for (int k = 0; k < 3; ++k) {
      if (k > 0) ok(PCSetFromOptions(pc_));
      ok(PCSetUp(pc_));
      ok(PCFactorGetMatrix(pc_, &F));
      ok(PetscObjectGetId((PetscObject)F, &ids[k]));
    }
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_EQ(ids[1], ids[2]);
    const std::string view_of_table = "-pc_syncfree_" + std::string(name) + " " + value;
    const bool elsewhere = std::set<std::string>{"backend", "strategy", "threads", "factor_precision", "wait_limit", "view"}.count(name);
    EXPECT_EQ(!elsewhere, contains(view(pc_), view_of_table)) << view(pc_);
  }
}

/* With several candidates: on several threads, and on a device. */
TEST_P(SetUpOf, our_types_chooses_by_trials_when_it_is_told_to)
{
  make("-pc_syncfree_threads 2");
  const Numbers expected = apply();
  EXPECT_FALSE(contains(view(pc_), "trials")) << view(pc_);
  make("-pc_syncfree_threads 2 -pc_syncfree_select trials");
  const Numbers got = apply();
  EXPECT_TRUE(contains(view(pc_), "trials: ") && contains(view(pc_), " us, plan ")) << view(pc_);
  EXPECT_TRUE(contains(view(pc_), "syncfree options: -pc_syncfree_select trials\n")) << view(pc_);
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
