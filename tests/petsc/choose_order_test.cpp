/*
  `syncfree_auto`: the order that it takes with the times of a GPU, how long it keeps it, and what it says.
*/

#include "factored.hpp"
#include "matrices.hpp"

namespace {

constexpr PetscInt usual_side = 300;

/* A lattice in an order that winds through it, so that levels are many. `flow`: unsymmetric part. */
MatOwner winding_mesh(PetscReal flow = 0, PetscInt side = usual_side)
{
  Entries entries(side * side);
  const auto number = [side](PetscInt x, PetscInt y) { return y * side + (y % 2 ? side - 1 - x : x); };
  for (PetscInt y = 0; y < side; ++y)
    for (PetscInt x = 0; x < side; ++x) {
      entries.add(number(x, y), number(x, y), 6.1);
      for (const auto& [dx, dy] : {std::pair<PetscInt, PetscInt>(1, 0), {0, 1}}) {
        if (x + dx >= side || y + dy >= side) continue;
        const PetscInt i = number(x, y), j = number(x + dx, y + dy);
        entries.add(std::max(i, j), std::min(i, j), -1 - flow);
        entries.add(std::min(i, j), std::max(i, j), -1 + flow);
      }
    }
  return entries.matrix();
}

class ChoosesOrder : public testing::TestWithParam<const char*> {
 protected:
  PCOwner make(Mat A, MatOrderingType order)
  {
    PCOwner pc;
    ok(PCCreate(PETSC_COMM_SELF, pc.out()));
    ok(PCSetOperators(pc, A, A));
    ok(PCSetType(pc, GetParam()));
    ok(PCFactorSetMatOrderingType(pc, order));
    ok(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    ok(PCSetFromOptions(pc));
    ok(PCSetUp(pc));
    return pc;
  }

  static Numbers apply(PC pc)
  {
    VecOwner from = make_vector(random_numbers(usual_side * usual_side, 5)), to = make_vector(usual_side * usual_side);
    ok(PCApply(pc, from, to));
    return entries(to);
  }

  /* The name between "syncfree ordering: " and a blank. */
  static std::string taken(PC pc)
  {
    const std::string text = view(pc), before = "syncfree ordering: ";
    const auto at = text.find(before);
    if (at == std::string::npos) return "none";
    const auto begin = at + before.size();
    return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
  }
};

TEST_P(ChoosesOrder, of_a_mesh_with_many_levels_and_tells_what_from)
{
  Options options("-pc_syncfree_ordering_model gpu");
  MatOwner A = winding_mesh();
  PCOwner pc = make(A, MATORDERINGSYNCFREEAUTO);
  const std::string name = taken(pc), text = view(pc);
  ASSERT_TRUE(contains(name, "syncfree_")) << text;
  EXPECT_TRUE(contains(text, "(predicted at least ")) << text;
  EXPECT_TRUE(contains(text, "syncfree ordering given: predicted at least 800 levels")) << text;
  EXPECT_TRUE(contains(text, "syncfree ordering " + name)) << text;
  EXPECT_TRUE(contains(text, "unsymmetry 0")) << text;
  EXPECT_EQ(apply(make(A, name.c_str())), apply(pc)) << "the factor is that of the order it names";
}

TEST_P(ChoosesOrder, as_given_on_the_cpu)
{
  MatOwner A = winding_mesh();
  PCOwner pc = make(A, MATORDERINGSYNCFREEAUTO);
  EXPECT_EQ("given", taken(pc));
  EXPECT_TRUE(contains(view(pc), "on CPU threads")) << view(pc);
  EXPECT_EQ(apply(make(A, MATORDERINGNATURAL)), apply(pc));
}

TEST_P(ChoosesOrder, once_until_a_reset)
{
  Options options("-pc_syncfree_ordering_model gpu");
  MatOwner A = winding_mesh(), B = winding_mesh(0.9);
  PCOwner pc = make(A, MATORDERINGSYNCFREEAUTO);
  const std::string name = taken(pc);
  ASSERT_NE("given", name);
  ok(MatCopy(B, A, SAME_NONZERO_PATTERN));
  ok(PCSetUp(pc));
  EXPECT_EQ(name, taken(pc)) << "new values";
  ok(PCSetOperators(pc, B, B));
  ok(PCSetUp(pc));
  EXPECT_EQ(name, taken(pc)) << "another matrix";
  ok(PCReset(pc));
  ok(PCSetOperators(pc, B, B));
  ok(PCSetUp(pc));
  EXPECT_EQ("given", taken(pc)) << "convection keeps its order";
  PCOwner fresh = make(B, MATORDERINGSYNCFREEAUTO);
  EXPECT_EQ(taken(fresh), taken(pc));
}

/* A row of the order's first colour has a pivot of its own diagonal entry; in the given order rows before it have filled
   it. */
TEST_P(ChoosesOrder, but_falls_back_where_that_order_breaks_down)
{
  Options options("-pc_syncfree_ordering_model gpu");
  MatOwner A = winding_mesh();
  const std::string name = taken(make(A, MATORDERINGSYNCFREEAUTO));
  ASSERT_NE("given", name);
  ISOwner row, column;
  const PetscInt* order;
  ok(MatGetOrdering(A, name.c_str(), row.out(), column.out()));
  ok(ISGetIndices(row, &order));
  const PetscInt first = order[0] > 0 ? order[0] : order[1];
  ok(ISRestoreIndices(row, &order));
  ASSERT_GT(first, 0);
  ok(MatSetValue(A, first, first, 0, INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  const auto reason = [](PC pc) {
    PCFailedReason failed;
    ok(PCGetFailedReason(pc, &failed));
    return failed;
  };
  PCOwner in_that_order = make(A, name.c_str()), pc = make(A, MATORDERINGSYNCFREEAUTO);
  EXPECT_EQ(PC_FACTOR_NUMERIC_ZEROPIVOT, reason(in_that_order));
  ASSERT_EQ(PC_NOERROR, reason(pc));
  EXPECT_TRUE(contains(view(pc), "in " + name)) << view(pc);
  EXPECT_TRUE(contains(view(pc), "the factorization broke down")) << view(pc);
  EXPECT_EQ(apply(make(A, MATORDERINGNATURAL)), apply(pc));
}

TEST_P(ChoosesOrder, not_by_default_but_gives_a_hint)
{
  Options options("-pc_syncfree_ordering_model gpu");
  MatOwner A = winding_mesh(0, 600), small = poisson_2d(20, 20);
  EXPECT_TRUE(contains(view(make(A, MATORDERINGNATURAL)), "syncfree hint: Ordering syncfree_"));
  EXPECT_FALSE(contains(view(make(small, MATORDERINGNATURAL)), "hint"));
}

INSTANTIATE_TEST_SUITE_P(Petsc, ChoosesOrder, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                         [](const auto& info) { return std::string(info.param); });

TEST(OrderingAuto, is_chosen_for_the_hardware_that_the_option_of_any_caller_names)
{
  MatOwner A = winding_mesh();
  for (const char* model : {"auto", "cpu", "gpu"}) {
    Options options(std::string("-of_pc_syncfree_ordering_model ") + model);
    ISOwner row, column;
    PetscBool natural;
    ok(MatSetOptionsPrefix(A, "of_"));
    ok(MatGetOrdering(A, MATORDERINGSYNCFREEAUTO, row.out(), column.out()));
    ok(ISIdentity(row, &natural));
    EXPECT_EQ(std::string(model) != "gpu", natural) << model;
  }
}

TEST(OrderingAuto, is_natural_for_any_caller_with_a_matrix_on_the_cpu)
{
  for (const MatType type : {MATSEQAIJ, MATSEQBAIJ}) {
    MatOwner A = elasticity_like(4, 4, 3, 3), B;
    ok(MatConvert(A, type, MAT_INITIAL_MATRIX, B.out()));
    ISOwner row, column;
    PetscBool natural;
    ok(MatGetOrdering(B, MATORDERINGSYNCFREEAUTO, row.out(), column.out()));
    ok(ISIdentity(row, &natural));
    EXPECT_TRUE(natural) << type;
    PetscInt n;
    ok(ISGetLocalSize(row, &n));
    EXPECT_EQ(n, std::string(type) == MATSEQAIJ ? 144 : 48);
  }
}

} // namespace
