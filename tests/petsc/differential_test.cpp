/*
  Our ILU(k) and IC(k) compared with PETSc's own, on the same matrices with the same options: the
  factor entry by entry, the result of each operation of the preconditioner, and whether and why
  the factorization failed.

  The tolerance is not chosen: factors.hpp computes, entry by entry, a bound on the difference
  that rounding alone may cause between two correct programs.
*/

#include "factored.hpp"
#include "matrices.hpp"

namespace {

struct Case {
  const Sample* sample;
  bool icc;
  MatFactorShiftType shift;
};

/* ICC of symmetric matrices only: with others PETSc's ICC may never end (see failures_test.cpp). */
std::vector<Case> cases()
{
  std::vector<Case> all;
  for (const auto& s : samples())
    for (bool icc : {false, true})
      for (auto shift : shifts)
        if (s.symmetric || !icc) all.push_back({&s, icc, shift});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info)
{
  return std::string(info.param.sample->name) + (info.param.icc ? "_icc_" : "_ilu_") +
         MatFactorShiftTypes[info.param.shift];
}

void expect_same_outcome(const Factored& petsc, const Factored& ours)
{
  EXPECT_EQ(petsc.refusal.code, ours.refusal.code)
      << "PETSc: " << petsc.refusal.text << "; ours: " << ours.refusal.text;
  EXPECT_EQ(petsc.reason, ours.reason) << PCFailedReasons[petsc.reason] << " and " << PCFailedReasons[ours.reason];
}

void expect_same_info(Mat petsc, Mat ours)
{
  MatInfo a, b;
  ok(MatGetInfo(petsc, MAT_LOCAL, &a));
  ok(MatGetInfo(ours, MAT_LOCAL, &b));
  EXPECT_EQ(a.nz_used, b.nz_used);
  EXPECT_EQ(a.fill_ratio_given, b.fill_ratio_given);
  EXPECT_NEAR(a.fill_ratio_needed, b.fill_ratio_needed, 16 * eps * a.fill_ratio_needed);
  EXPECT_GT(b.memory, 0);
}

class Differential : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override
  {
    A_ = GetParam().sample->make();
    n_ = rows(A_);
  }

  void compare_all(const Request& request)
  {
    const Factored petsc = set_up_petsc(A_, request), ours = set_up_ours(A_, request);
    expect_same_outcome(petsc, ours);
    if (!petsc.usable() || !ours.usable() || n_ == 0) return;
    expect_same_info(petsc.matrix(), ours.matrix());
    const Pair pair = read_factors(petsc, ours, request);
    EXPECT_TRUE(agrees(pair.petsc, pair.ours));
    compare_solves(request, petsc, ours, pair.petsc);
  }

  void compare_solves(const Request& request, const Factored& petsc, const Factored& ours, const Factor& factor)
  {
    const Order order = order_of(A_, request);
    const Numbers b = random_numbers(n_, 42);
    const Bounded x = expected_apply(factor, order, b), xt = expected_transpose(factor, order, b);
    EXPECT_TRUE(agrees(x, applied(petsc, PCApply, b))) << "the test's own reading of PETSc's factor is wrong";
    EXPECT_TRUE(agrees(x, applied(ours, PCApply, b)));
    EXPECT_TRUE(agrees(xt, applied(petsc, PCApplyTranspose, b))) << "the test's own reading of PETSc's factor is wrong";
    EXPECT_TRUE(agrees(xt, applied(ours, PCApplyTranspose, b)));
    compare_halves(request, petsc, ours, factor, order);
  }

  /* PETSc has no halves of an ILU factor, and of an ICC factor only if D is positive. */
  void compare_halves(const Request& request, const Factored& petsc, const Factored& ours, const Factor& factor,
                      const Order& order)
  {
    const Numbers b = random_numbers(n_, 43);
    if (request.icc) {
      VecOwner x = make_vector(b), y = make_vector(n_);
      const auto left = refused([&] { return PCApplySymmetricLeft(petsc.pc, x, y); });
      const auto right = refused([&] { return PCApplySymmetricRight(petsc.pc, x, y); });
      EXPECT_EQ(left.code, refused([&] { return PCApplySymmetricLeft(ours.pc, x, y); }).code);
      EXPECT_EQ(right.code, refused([&] { return PCApplySymmetricRight(ours.pc, x, y); }).code);
      if (left.code || right.code) return;
      EXPECT_TRUE(agrees(expected_left(factor, order, true, b), applied(petsc, PCApplySymmetricLeft, b)));
      EXPECT_TRUE(agrees(expected_right(factor, order, true, b), applied(petsc, PCApplySymmetricRight, b)));
    }
    EXPECT_TRUE(agrees(expected_left(factor, order, request.icc, b), applied(ours, PCApplySymmetricLeft, b)));
    EXPECT_TRUE(agrees(expected_right(factor, order, request.icc, b), applied(ours, PCApplySymmetricRight, b)));
  }

  MatOwner A_;
  PetscInt n_ = 0;
};

TEST_P(Differential, agrees_with_petsc_for_every_ordering_and_level)
{
  for (const char* ordering : orderings)
    for (PetscInt levels = 0; levels <= 3; ++levels) {
      const Request request = {GetParam().icc, GetParam().shift, ordering, levels};
      SCOPED_TRACE(request.text());
      compare_all(request);
      if (HasFailure()) return;
    }
}

TEST_P(Differential, agrees_with_petsc_after_new_values_on_the_same_pattern)
{
  for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM}) {
    const Request request = {GetParam().icc, GetParam().shift, ordering, 1};
    SCOPED_TRACE(request.text());
    MatOwner A;
    ok(MatDuplicate(A_, MAT_COPY_VALUES, A.out()));
    const Factored ours = set_up_ours(A, request);
    if (ours.refusal.code) return;
    new_values(A, 99);
    const Factored petsc = set_up_petsc(A, request);
    PCFailedReason reason;
    ok(PCSetUp(ours.pc));
    ok(PCGetFailedReason(ours.pc, &reason));
    ASSERT_EQ(petsc.reason, reason);
    if (!petsc.usable() || n_ == 0) continue;
    const Pair pair = read_factors(petsc, ours, request);
    EXPECT_TRUE(agrees(pair.petsc, pair.ours));
    compare_solves(request, petsc, ours, pair.petsc);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Petsc, Differential, testing::ValuesIn(cases()), name_of);

/* Every strategy and number of threads on every matrix: one factor, many ways to solve with it. */
class Strategies : public testing::TestWithParam<std::pair<std::string, int>> {
 protected:
  void compare_all(Mat A, const Request& request)
  {
    const auto [strategy, threads] = GetParam();
    const Factored petsc = set_up_petsc(A, request), ours = set_up_ours(A, request, strategy, threads);
    expect_same_outcome(petsc, ours);
    if (!petsc.usable() || !ours.usable() || rows(A) == 0) return;
    const Pair pair = read_factors(petsc, ours, request);
    const Order order = order_of(A, request);
    EXPECT_TRUE(agrees(pair.petsc, pair.ours));
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Numbers b = random_numbers(rows(A), 50 + (unsigned)repeat);
      EXPECT_TRUE(agrees(expected_apply(pair.petsc, order, b), applied(ours, PCApply, b)));
      EXPECT_TRUE(agrees(expected_transpose(pair.petsc, order, b), applied(ours, PCApplyTranspose, b)));
    }
    compare_columns(ours, pair.petsc, order);
  }

  void compare_columns(const Factored& ours, const Factor& factor, const Order& order)
  {
    const PetscInt n = factor.n, columns = 5;
    const Numbers b = random_numbers(n * columns, 60);
    MatOwner X = make_dense(n, columns, b), Y = make_dense(n, columns, b);
    ok(PCMatApply(ours.pc, X, Y));
    const Numbers y = dense_entries(Y);
    for (PetscInt c = 0; c < columns; ++c) {
      const Numbers b_c(b.begin() + c * n, b.begin() + (c + 1) * n), y_c(y.begin() + c * n, y.begin() + (c + 1) * n);
      EXPECT_TRUE(agrees(expected_apply(factor, order, b_c), y_c)) << "column " << c;
    }
  }
};

/* Four threads on fewer cores wait long for each other; a few samples show that they end with the right result. */
bool suits(const Sample& s, PetscInt threads)
{
  const std::string name = s.name;
  return threads <= 2 || name == "empty" || name == "one" || name == "mixed_nodes" || name == "arrow_last";
}

TEST_P(Strategies, agree_with_petsc_on_every_sample)
{
  for (const auto& s : samples())
    for (bool icc : {false, true})
      for (PetscInt levels : {0, 2}) {
        if ((icc && !s.symmetric) || !suits(s, std::get<1>(GetParam()))) continue;
        const Request request = {icc, default_shift(icc), levels ? MATORDERINGRCM : MATORDERINGNATURAL, levels};
        SCOPED_TRACE(std::string(s.name) + ", " + request.text());
        compare_all(s.make(), request);
        if (HasFailure()) return;
      }
}

TEST_P(Strategies, in_single_storage_stay_within_single_rounding)
{
  const auto [strategy, threads] = GetParam();
  for (const char* name : {"grid_3d", "convection", "elasticity", "arrow_last"})
    for (bool icc : {false, true}) {
      const Request request = {icc, default_shift(icc)};
      MatOwner A = sample(name).make();
      SCOPED_TRACE(std::string(name) + ", " + request.text());
      if (icc && !sample(name).symmetric) continue;
      const Factored petsc = set_up_petsc(A, request);
      const Factored ours = set_up_ours(A, request, strategy, threads, PC_SYNCFREE_PRECISION_SINGLE);
      ASSERT_TRUE(ours.usable());
      Pair pair = read_factors(petsc, ours, request);
      const Order order = order_of(A, request);
      bound_errors(pair.petsc, 0x1p-23);
      EXPECT_TRUE(agrees(pair.petsc, pair.ours));
      const Numbers b = random_numbers(rows(A), 70);
      EXPECT_TRUE(agrees(expected_apply(pair.petsc, order, b), applied(ours, PCApply, b)));
      EXPECT_TRUE(agrees(expected_transpose(pair.petsc, order, b), applied(ours, PCApplyTranspose, b)));
#if defined(PETSC_USE_REAL_DOUBLE)
      EXPECT_NE(applied(petsc, PCApply, b), applied(ours, PCApply, b)) << "the storage option had no effect";
#endif
    }
}

INSTANTIATE_TEST_SUITE_P(Petsc, Strategies, testing::ValuesIn(with_threads(strategies(), {1, 2, 4})),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::to_string((int)std::get<1>(info.param));
                         });

TEST(StrategyList, has_the_host_strategies)
{
  EXPECT_EQ((std::vector<std::string>{"serial", "level_set", "sync_free", "blocks", "recursive_block", "merged",
                                      "tiled", "loop"}),
            host_strategies());
}

/* The bounds must be tight enough: a relative error of thousands of epsilons in one entry has to be detected. */
TEST(Bounds, notice_a_small_mistake)
{
  for (const auto& s : samples()) {
    MatOwner A = s.make();
    const Request request = {};
    const Factored petsc = set_up_petsc(A, request);
    if (!petsc.usable() || rows(A) == 0) continue;
    Factor f = read_petsc_ilu(petsc.matrix());
    bound_errors(f);
    Factor g = f;
    g.pivot.back() *= PetscReal(1 + 8192 * eps);
    const bool wild = std::string(s.name) == "random_wild" || std::string(s.name) == "neumann";
    if (!wild) {
      EXPECT_GT(compare(f, g).worst, 1) << s.name;
    }
    EXPECT_LT(compare(f, f).worst, 1e-300) << s.name;
  }
}

}  // namespace
