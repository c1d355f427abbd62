/*
  PC type `syncfree_sor` compared with PETSc's `sor`: the same values to rounding, the same
  iterations, the same reports.
*/

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrices.hpp"
#include "petsc_test.hpp"
#include "syncfree/strategy.hpp"

namespace {

PCOwner make_pc(Mat A, PCType type, const std::string& text)
{
  Options options(text);
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  ok(PCSetFromOptions(pc));
  return pc;
}

/* Location of matrix and vectors. */
enum class Place { host, device_matrix, device };

std::vector<Place> places()
{
  const bool device = std::count(strategies().begin(), strategies().end(), "level_order");
  return device ? std::vector<Place>{Place::host, Place::device_matrix, Place::device} : std::vector<Place>{Place::host};
}

const char* name_of(Place place)
{
  return place == Place::host ? "host" : place == Place::device ? "device" : "matrix on the device";
}

void move_to(Place place, MatOwner* A)
{
  if (place != Place::host) ok(MatConvert(*A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A->out()));
}

/* Returns a vector on the device if the place is `device`. */
VecOwner vector_at(Place place, const Numbers& v)
{
  VecOwner made;
  PetscScalar* to;
  if (place != Place::device) return make_vector(v);
  ok(VecCreate(PETSC_COMM_SELF, made.out()));
  ok(VecSetSizes(made, (PetscInt)v.size(), (PetscInt)v.size()));
  ok(VecSetType(made, VECSEQCUDA));
  ok(VecGetArrayWrite(made, &to));
  std::copy(v.begin(), v.end(), to);
  ok(VecRestoreArrayWrite(made, &to));
  return made;
}

Numbers applied(PC pc, const Numbers& b, Place place = Place::host)
{
  VecOwner from = vector_at(place, b), to = vector_at(place, b);
  ok(VecSet(to, 7.0)); /* must not be read */
  ok(PCApply(pc, from, to));
  return entries(to);
}

/* Makes sweeps from a non-zero vector, as a smoother does. */
Numbers smooth(PC pc, const Numbers& b, const Numbers& x, Place place = Place::host)
{
  VecOwner from = vector_at(place, b), to = vector_at(place, x), work = vector_at(place, b);
  PetscInt its;
  PCRichardsonConvergedReason reason;
  ok(PCApplyRichardson(pc, from, to, work, 0, 0, 0, 3, PETSC_FALSE, &its, &reason));
  EXPECT_EQ(3, its);
  return entries(to);
}

bool all_finite(const Numbers& x)
{
  return std::all_of(x.begin(), x.end(), [](const PetscScalar& v) { return std::isfinite(magnitude(v)); });
}

/* A NaN is never close. */
void expect_close(const Numbers& expected, const Numbers& x, const std::string& what)
{
  double largest = 0;
  ASSERT_EQ(expected.size(), x.size()) << what;
  ASSERT_TRUE(all_finite(expected)) << what;
  for (const PetscScalar& v : expected) largest = std::max(largest, magnitude(v));
  for (std::size_t i = 0; i < x.size(); i++) ASSERT_LE(magnitude(x[i] - expected[i]), 1e5 * eps * largest) << what;
}

const std::vector<std::string>& sweeps()
{
  static const std::vector<std::string> all = {
    "",
    "-pc_sor_forward",
    "-pc_sor_backward",
    "-pc_sor_symmetric -pc_sor_its 2 -pc_sor_lits 2",
    "-pc_sor_local_forward -pc_sor_its 3",
    "-pc_sor_local_backward -pc_sor_its 3",
    "-pc_sor_omega 1.4",
    "-pc_sor_omega 0.6 -pc_sor_backward -pc_sor_its 2",
    "-pc_sor_diagonal_shift 0.125",
    "-pc_sor_diagonal_shift 0.125 -pc_sor_omega 1.2 -pc_sor_lits 3",
  };
  return all;
}

/* On the device, host strategies run only if the device has one of the same name. */
std::vector<std::string> strategies_for(Mat A)
{
  PetscBool resident;
  ok(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &resident));
  std::vector<std::string> names = host_strategies();
  if (!resident) return names;
  for (const std::string& strategy : strategies())
    if (!on_host(strategy) && strategy != "kokkos") names.push_back(strategy);
  return names;
}

class Sor : public testing::TestWithParam<std::string> {};

TEST_P(Sor, has_the_numbers_of_petsc)
{
  for (Place place : places()) {
    std::size_t compared = 0;
    for (const Sample& sample : samples()) {
      MatOwner A = sample.make();
      move_to(place, &A);
      const Numbers b = random_numbers(rows(A), 5), x = random_numbers(rows(A), 6);
      const PCOwner theirs = make_pc(A, PCSOR, GetParam());
      VecOwner from = make_vector(b), to = make_vector(rows(A));
      if (refused([&] { return PCApply(theirs, from, to); }).code) continue; /* zero on the diagonal */
      const Numbers expected = entries(to), smoothed = smooth(theirs, b, x);
      if (!all_finite(expected) || !all_finite(smoothed)) continue; /* not every failure is refused */
      for (const std::string& strategy : strategies_for(A))
        for (const char* threads : {"1", "3"}) {
          const PCOwner ours = make_pc(A, PCSYNCFREESOR, GetParam() + " -pc_syncfree_strategy " + strategy + " -pc_syncfree_threads " + threads);
          if (has_no_plan(strategy, refused([&] { return PCApply(ours, from, to); }))) continue;
          const std::string what = std::string(sample.name) + ", " + strategy + ", " + threads + " threads, " + name_of(place);
          expect_close(expected, applied(ours, b, place), what);
          expect_close(smoothed, smooth(ours, b, x, place), what + ", smoother");
          compared++;
        }
    }
    EXPECT_GT(compared, 50u);
  }
}

/* Sweeps run where the matrix is, unless it is bound to the CPU. */
TEST(SorOf, a_matrix_of_the_device_is_relaxed_there)
{
  if (places().size() == 1) GTEST_SKIP() << "there is no device";
  for (const char* text : {"", "-pc_sor_its 2 -pc_sor_omega 1.2"}) {
    MatOwner A = elasticity_like(4, 3, 3, 3); /* with inodes, which the device does not use */
    const PCOwner ours = make_pc(A, PCSYNCFREESOR, text), theirs = make_pc(A, PCSOR, text);
    const Numbers b = random_numbers(rows(A), 5);
    move_to(Place::device, &A);
    for (int round = 0; round < 3; round++) {
      for (const PetscBool bound : {PETSC_FALSE, PETSC_TRUE}) {
        ok(MatBindToCPU(A, bound));
        ok(MatScale(A, 1.5));
        expect_close(applied(theirs, b), applied(ours, b, Place::device), text);
        EXPECT_EQ(!bound, view(ours).find("backend: cuda, without inodes") != std::string::npos) << view(ours);
      }
      ok(MatSetValue(A, 3, 3, 40.0 + round, INSERT_VALUES));
      ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Petsc, Sor, testing::ValuesIn(sweeps()), [](const auto& info) { return "sweep_" + std::to_string(info.index); });

class SorOfNodes : public testing::TestWithParam<PetscInt> {};

/* Rows of equal columns are relaxed together, unless the user or the matrix disables it. */
TEST_P(SorOfNodes, has_the_numbers_of_petsc)
{
  for (const char* text : {"", "-pc_sor_forward -pc_sor_its 2", "-pc_sor_backward -pc_sor_its 2", "-pc_sor_its 2 -pc_sor_lits 2", "-pc_sor_omega 1.1"}) {
    const MatOwner A = elasticity_like(4, 3, 3, GetParam());
    const Numbers b = random_numbers(rows(A), 5), x = random_numbers(rows(A), 6);
    const PCOwner theirs = make_pc(A, PCSOR, text), ours = make_pc(A, PCSYNCFREESOR, text), single = make_pc(A, PCSYNCFREESOR, std::string(text) + " -pc_syncfree_use_inodes 0");
    const Numbers together = applied(ours, b), apart = applied(single, b);
    expect_close(applied(theirs, b), together, text);
    expect_close(smooth(theirs, b, x), smooth(ours, b, x), text);
    const bool by_nodes = GetParam() > 1 && std::string(text).find("omega") == std::string::npos;
    EXPECT_EQ(by_nodes, view(ours).find(", with inodes") != std::string::npos) << view(ours);
    EXPECT_NE(std::string::npos, view(single).find(", without inodes")) << view(single);
    double most = 0;
    for (std::size_t i = 0; i < apart.size(); i++) most = std::max(most, magnitude(apart[i] - together[i]));
    EXPECT_EQ(by_nodes, most > 1e-4) << "one by one is another iteration";

    MatOwner B = elasticity_like(4, 3, 3, GetParam());
    ok(MatSetOption(B, MAT_USE_INODES, PETSC_FALSE));
    ok(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY)); /* finds the inodes */
    ok(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    const PCOwner without = make_pc(B, PCSYNCFREESOR, text);
    expect_close(apart, applied(without, b), "a matrix without nodes");
  }
}

/* PETSc keeps the inodes of an assembled matrix until the next assembly, but its sweeps obey the option at once. */
TEST_P(SorOfNodes, follows_the_option_of_an_assembled_matrix)
{
  const MatOwner A = elasticity_like(4, 3, 3, GetParam());
  const Numbers b = random_numbers(rows(A), 5), x = random_numbers(rows(A), 6);
  const PCOwner theirs = make_pc(A, PCSOR, ""), ours = make_pc(A, PCSYNCFREESOR, "");
  for (const PetscBool use : {PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}) {
    if (use && GetParam() == 1) continue; /* PETSc's sweeps stop where it is set and there are no inodes */
    ok(MatSetOption(A, MAT_USE_INODES, use));
    expect_close(applied(theirs, b), applied(ours, b), use ? "used" : "not used");
    expect_close(smooth(theirs, b, x), smooth(ours, b, x), use ? "used" : "not used");
    EXPECT_EQ(use && GetParam() > 1, view(ours).find(", with inodes") != std::string::npos) << view(ours);
  }
}

INSTANTIATE_TEST_SUITE_P(Petsc, SorOfNodes, testing::Values(1, 2, 3, 4, 5));

/* Returns the iterations and the residual norm of a solve. */
std::pair<PetscInt, PetscReal> iterations(Mat A, const std::string& text)
{
  Options options("-ksp_rtol 1e-6 -ksp_norm_type unpreconditioned " + text);
  KSPOwner ksp;
  VecOwner b = make_vector(random_numbers(rows(A), 9)), x = make_vector(rows(A));
  PetscInt its;
  PetscReal norm;
  ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
  ok(KSPSetOperators(ksp, A, A));
  ok(KSPSetFromOptions(ksp));
  ok(KSPSolve(ksp, b, x));
  ok(KSPGetIterationNumber(ksp, &its));
  ok(KSPGetResidualNorm(ksp, &norm));
  return {its, norm};
}

KSPConvergedReason reason_of(Mat A, PCType type)
{
  Options options(std::string("-ksp_type gmres -ksp_max_it 3 -pc_type ") + type);
  KSPOwner ksp;
  VecOwner b = make_vector(random_numbers(rows(A), 9)), x = make_vector(rows(A));
  KSPConvergedReason reason;
  ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
  ok(KSPSetOperators(ksp, A, A));
  ok(KSPSetFromOptions(ksp));
  ok(KSPSolve(ksp, b, x));
  ok(KSPGetConvergedReason(ksp, &reason));
  return reason;
}

TEST(SorIn, krylov_methods_and_gamg_takes_as_many_iterations_as_petsc)
{
  const double rounding = sizeof(PetscReal) < sizeof(double) ? 0.05 : 1e-3;  // of the last residual
  MatOwner poisson = poisson_3d(12, 11, 10), elastic = elasticity_like(6, 5, 5, 3);
  for (Mat A : {(Mat)poisson, (Mat)elastic}) {
    ok(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    for (const std::string before : {"-ksp_type cg -pc_type ", "-ksp_type fgmres -pc_type ", "-ksp_type cg -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 2 -mg_levels_pc_type ", "-ksp_type cg -pc_type gamg -mg_levels_ksp_type chebyshev -mg_levels_pc_type "}) {
      const auto expected = iterations(A, before + "sor"), found = iterations(A, before + PCSYNCFREESOR);
      EXPECT_EQ(expected.first, found.first) << before;
      EXPECT_NEAR(1, (double)(found.second / expected.second), rounding) << before;
      EXPECT_GT(found.first, 1) << before;
    }
  }
}

void compare_new_values(Place place)
{
  SCOPED_TRACE(name_of(place));
  MatOwner A = poisson_2d(9, 8);
  move_to(place, &A);
  const PCOwner theirs = make_pc(A, PCSOR, ""), ours = make_pc(A, PCSYNCFREESOR, "");
  const Numbers b = random_numbers(rows(A), 1);
  (void)applied(ours, b);
  ok(MatScale(A, 3.0));
  expect_close(applied(theirs, b), applied(ours, b), "scaled");
  ok(MatShift(A, 0.5));
  expect_close(applied(theirs, b), applied(ours, b), "shifted");
  ok(PCSORSetOmega(theirs, 1.5));
  ok(PCSORSetOmega(ours, 1.5));
  expect_close(applied(theirs, b), applied(ours, b), "omega");
  MatOwner same = poisson_2d(9, 8);
  new_values(same, 4);
  move_to(place, &same);
  ok(PCSetOperators(theirs, same, same));
  ok(PCSetOperators(ours, same, same));
  expect_close(applied(theirs, b), applied(ours, b), "another matrix of the same pattern");
  MatOwner B = random_matrix(72, 5, 2.0, false, 3);
  move_to(place, &B);
  ok(PCSetOperators(theirs, B, B));
  ok(PCSetOperators(ours, B, B));
  expect_close(applied(theirs, b), applied(ours, b), "another matrix");
  ok(PCReset(ours));
  ok(PCSetOperators(ours, B, B));
  expect_close(applied(theirs, b), applied(ours, b), "after a reset");
}

TEST(SorOf, new_values_and_a_new_pattern_is_that_of_petsc)
{
  for (Place place : places()) compare_new_values(place);
}

/* A zero on the diagonal: an error, or with a negative shift a failure that the solver detects, or, with omega != 1, no
   failure. */
void compare_zero_diagonals(Place place)
{
  SCOPED_TRACE(name_of(place));
  MatOwner A = poisson_2d(5, 4);
  const Numbers b = random_numbers(rows(A), 1);
  ok(MatSetValue(A, 7, 7, 0.0, INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  move_to(place, &A);
  VecOwner from = make_vector(b), to = make_vector(rows(A));
  for (PCType type : {PCSOR, PCSYNCFREESOR}) {
    const PCOwner strict = make_pc(A, type, ""), lenient = make_pc(A, type, "-pc_sor_diagonal_shift -1"), relaxed = make_pc(A, type, "-pc_sor_omega 1.1");
    const Refusal refusal = refused([&] { return PCApply(strict, from, to); });
    EXPECT_NE(0, refusal.code) << type;
    EXPECT_TRUE(refusal.says("Zero diagonal on row 7")) << refusal.text;
    EXPECT_EQ(0, refused([&] { return PCApply(relaxed, from, to); }).code) << type;
    ok(PCApply(lenient, from, to));
    PCFailedReason reason;
    ok(PCGetFailedReason(lenient, &reason));
    EXPECT_EQ(PC_FACTOR_NUMERIC_ZEROPIVOT, reason) << type;
    ok(MatFactorClearError(A));
    ok(PCApply(lenient, from, to));
    ok(PCGetFailedReason(lenient, &reason));
    EXPECT_EQ(type == std::string(PCSOR) ? reason : PC_FACTOR_NUMERIC_ZEROPIVOT, reason) << "a failure that was cleared";
    ok(MatFactorClearError(A));
  }
  const PCOwner ours = make_pc(A, PCSYNCFREESOR, "");
  (void)refused([&] { return PCApply(ours, from, to); });
  ok(MatShift(A, 1.0));
  ok(PCApply(ours, from, to)); /* an error is not permanent */
}

TEST(SorOf, zero_diagonals_is_reported_as_by_petsc)
{
  for (Place place : places()) compare_zero_diagonals(place);
}

/* A NaN or an infinity is reported with its row, wherever it is; with PETSc's own sweeps the solver meets a NaN. */
void tell_of_numbers_not_finite(Place place, bool nodes)
{
  SCOPED_TRACE(std::string(name_of(place)) + (nodes ? ", nodes" : ", rows"));
  const PetscReal nan = std::numeric_limits<PetscReal>::quiet_NaN(), infinity = std::numeric_limits<PetscReal>::infinity();
  for (const PetscReal number : {nan, infinity})
    for (const PetscInt column : {3, 6, 7, 8, 16}) { /* row 7: earlier and later nodes, on and next to the diagonal */
      SCOPED_TRACE(std::to_string(number) + " in column " + std::to_string(column));
      MatOwner A = elasticity_like(3, 3, 2, 3);
      ok(MatSetOption(A, MAT_USE_INODES, (PetscBool)nodes));
      ok(MatSetValue(A, 7, column, number, INSERT_VALUES));
      ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      move_to(place, &A);
      /* PETSc 3.26 hides an infinite diagonal entry of a matrix that is on a device */
      if (std::isnan(number) || column != 7 || place == Place::host) {
        EXPECT_EQ(KSP_DIVERGED_NANORINF, reason_of(A, PCSOR));
      }
      EXPECT_EQ(KSP_DIVERGED_PC_FAILED, reason_of(A, PCSYNCFREESOR));

      const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
      VecOwner from = make_vector(random_numbers(rows(A), 1)), to = make_vector(rows(A));
      PCFailedReason failed;
      for (int round = 0; round < 2; round++) { /* the second uses the result of the first check */
        ok(MatFactorClearError(A));
        ok(PCApply(pc, from, to));
        ok(PCGetFailedReason(pc, &failed));
        EXPECT_EQ(PC_FACTOR_OTHER, failed);
        for (const PetscScalar& v : entries(to)) EXPECT_TRUE(std::isnan(magnitude(v)));
      }
      EXPECT_EQ(place == Place::host && nodes, view(pc).find(", with inodes") != std::string::npos) << view(pc);
      ok(MatSetErrorIfFailure(A, PETSC_TRUE));
      const Refusal refusal = refused([&] { return PCApply(pc, from, to); });
      EXPECT_EQ(PETSC_ERR_FP, refusal.code);
      EXPECT_TRUE(refusal.says("NaN or infinity in the matrix in row 7")) << refusal.text;
      ok(MatSetErrorIfFailure(A, PETSC_FALSE));
      ok(MatSetValue(A, 7, column, 50.0, INSERT_VALUES));
      ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      ok(PCApply(pc, from, to)); /* a failure is not permanent */
      ok(PCGetFailedReason(pc, &failed));
      EXPECT_EQ(PC_NOERROR, failed);
      EXPECT_TRUE(all_finite(entries(to)));
    }
}

TEST(SorOf, numbers_that_are_not_finite_is_told_with_the_row)
{
  for (Place place : places())
    for (const bool nodes : {false, true}) tell_of_numbers_not_finite(place, nodes);
}

/* Also with methods that check the preconditioner's failure before they apply it. */
TEST(SorOf, numbers_that_were_mended_solves_again)
{
  for (const char* method : {"gmres", "fgmres"}) {
    SCOPED_TRACE(method);
    Options options(std::string("-ksp_type ") + method);
    MatOwner A = poisson_2d(6, 5);
    VecOwner b = make_vector(random_numbers(30, 1)), x = make_vector(30);
    KSPOwner ksp;
    PC pc;
    KSPConvergedReason reason;
    ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
    ok(KSPSetOperators(ksp, A, A));
    ok(KSPSetFromOptions(ksp));
    ok(KSPGetPC(ksp, &pc));
    ok(PCSetType(pc, PCSYNCFREESOR));
    for (const bool bad : {true, false, true, false}) {
      ok(MatSetValue(A, 7, 7, bad ? std::numeric_limits<PetscReal>::quiet_NaN() : 5, INSERT_VALUES));
      ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      ok(KSPSolve(ksp, b, x));
      ok(KSPGetConvergedReason(ksp, &reason));
      EXPECT_EQ(bad, reason == KSP_DIVERGED_PC_FAILED) << reason;
      EXPECT_EQ(!bad, reason > 0) << reason;
    }
  }
}

TEST(SorOf, a_missing_diagonal_is_refused_with_what_sor_can_do)
{
  Entries entries(6);
  for (PetscInt i = 0; i < 6; ++i) entries.add(i, i == 4 ? 2 : i, 2.0);
  MatOwner A = entries.matrix();
  VecOwner b = make_vector(6), x = make_vector(6);
  const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
  const Refusal refusal = refused([&] { return PCApply(pc, b, x); });
  EXPECT_EQ(PETSC_ERR_ARG_WRONGSTATE, refusal.code);
  EXPECT_TRUE(refusal.says("missing diagonal entry in row 4")) << refusal.text;
  EXPECT_TRUE(refusal.says("-pc_sor_diagonal_shift") && refusal.says("MatPermute")) << refusal.text;
  EXPECT_FALSE(refusal.says("-pc_factor")) << refusal.text;
}

TEST(SorOf, options_out_of_range_is_refused)
{
  MatOwner A = poisson_2d(4, 4);
  const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
  for (const char* text : {"-pc_syncfree_threads 0", "-pc_syncfree_strategy nobody"}) {
    Options options(text);
    EXPECT_NE(0, refused([&] { return PCSetFromOptions(pc); }).code) << text;
  }
}

/* The message names the strategy that was probably meant, what it requires, and the available ones. */
TEST(SorOf, a_strategy_that_this_build_lacks_is_refused_in_words)
{
  MatOwner A = poisson_2d(4, 4);
  const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
  const bool cuda = syncfree::find_strategy("level_order");
  for (const std::string name : {"level_order", "kokkos", "nobody"}) {
    Options options("-pc_syncfree_strategy " + name);
    const Refusal refusal = refused([&] { return PCSetFromOptions(pc); });
    if (name == "level_order" && cuda) {
      EXPECT_EQ(0, refusal.code) << refusal.text;
      continue;
    }
    EXPECT_TRUE(refusal.says(name == "nobody" ? "Unknown strategy nobody" : "Strategy " + name + " is not available: it ")) << refusal.text;
    EXPECT_EQ(name == "level_order", refusal.says("needs CUDA")) << refusal.text;
    EXPECT_EQ(name == "kokkos", refusal.says("does not support SOR")) << refusal.text;
    EXPECT_TRUE(refusal.says("-pc_syncfree_strategy takes one of auto, serial, level_set")) << refusal.text;
    for (const std::string& strategy : host_strategies()) EXPECT_TRUE(refusal.says(strategy)) << refusal.text;
  }
  Options capitals("-pc_syncfree_strategy LEVEL_SET"); /* PETSc's lists ignore case, too */
  ok(PCSetFromOptions(pc));
  EXPECT_NE(std::string::npos, view(pc).find("syncfree requested: strategy level_set")) << view(pc);
}

/* The setters and getters that ILU and ICC have, as far as sweeps have the option. */
TEST(SorOf, our_setters_set_what_sweeps_have)
{
  MatOwner A = poisson_2d(6, 5);
  const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
  VecOwner b = make_vector(rows(A)), x = make_vector(rows(A));
  const char *strategy, *backend;
  PetscInt threads;
  PCSyncFreePrecisionType precision;
  ok(PCSyncFreeSetStrategy(pc, "level_set"));
  ok(PCSyncFreeSetThreads(pc, 2));
  ok(PCApply(pc, b, x));
  EXPECT_NE(std::string::npos, view(pc).find("syncfree sweeps: level_set")) << view(pc);
  ok(PCSyncFreeSetStrategy(pc, "serial"));
  ok(PCApply(pc, b, x));
  EXPECT_NE(std::string::npos, view(pc).find("syncfree sweeps: serial")) << view(pc) << "a new strategy is a new analysis";
  ok(PCSyncFreeGetStrategy(pc, &strategy));
  EXPECT_STREQ("serial", strategy);
  ok(PCSyncFreeGetThreads(pc, &threads));
  EXPECT_EQ(2, threads);
  EXPECT_TRUE(refused([&] { return PCSyncFreeSetStrategy(pc, "kokkos"); }).says("does not support SOR"));
  ok(PCSyncFreeSetBackend(pc, "host"));
  ok(PCSyncFreeSetFactorPrecision(pc, PC_SYNCFREE_PRECISION_SINGLE));
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetBackend(pc, &backend); }).code);
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetFactorPrecision(pc, &precision); }).code);
}

/* A device-only strategy for a matrix that is not on the device. */
TEST(SorOf, a_matrix_elsewhere_is_refused)
{
  if (!syncfree::find_strategy("level_order")) GTEST_SKIP() << "this build has no backend cuda";
  MatOwner A = poisson_2d(4, 4), B;
  ok(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, B.out()));
  const PCOwner pc = make_pc(B, PCSYNCFREESOR, "-pc_syncfree_strategy level_order");
  VecOwner b = make_vector(rows(A)), x = make_vector(rows(A));
  const Refusal refusal = refused([&] { return PCApply(pc, b, x); });
  EXPECT_TRUE(refusal.says("level_order") && refusal.says("-mat_type aijcusparse")) << refusal.text;
  for (const std::string& strategy : host_strategies()) EXPECT_TRUE(refusal.says(strategy)) << refusal.text;
}

TEST(SorOf, a_transposed_solve_is_that_of_petsc)
{
  MatOwner A = poisson_3d(4, 5, 3);
  ok(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  const Numbers b = random_numbers(rows(A), 2);
  Numbers x[2];
  for (int k = 0; k < 2; k++) {
    const PCOwner pc = make_pc(A, k ? PCSYNCFREESOR : PCSOR, "-pc_sor_symmetric");
    VecOwner from = make_vector(b), to = make_vector(rows(A));
    ok(PCApplyTranspose(pc, from, to));
    x[k] = entries(to);
  }
  expect_close(x[0], x[1], "transposed");
}

TEST(SorOf, petsc_is_left_as_it_was)
{
  MatOwner A = poisson_2d(6, 6);
  void (*before)(void) = nullptr, (*after)(void) = nullptr;
  ok(MatGetOperation(A, MATOP_SOR, &before));
  const PCOwner pc = make_pc(A, PCSYNCFREESOR, "");
  (void)applied(pc, random_numbers(rows(A), 1));
  ok(MatGetOperation(A, MATOP_SOR, &after));
  EXPECT_EQ(before, after);
  const std::string text = view(pc);
  EXPECT_NE(std::string::npos, text.find("type = local_symmetric")) << text;
  EXPECT_NE(std::string::npos, text.find("syncfree sweeps: serial")) << text;
}

}  // namespace
