/*
  Complete solves: the same Krylov method with PETSc's preconditioner and with ours takes the same
  number of iterations, and the residual norms agree to rounding.

  A Krylov method amplifies rounding errors, so the norms of two correct programs diverge slowly.
  The histories are compared until they have fallen by the square root of the machine epsilon,
  relative to their own size, with a tolerance for such divergence.
*/

#include "factored.hpp"
#include "matrices.hpp"

namespace {

const PetscReal fall = PetscSqrtReal(PETSC_MACHINE_EPSILON);

struct History {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt iterations = 0;
  std::vector<PetscReal> norm;
  Numbers solution;
};

struct Method {
  const char* name;
  KSPType type;
  PCSide side;
};

const std::vector<Method> methods = {
    {"gmres_left", KSPGMRES, PC_LEFT}, {"gmres_right", KSPGMRES, PC_RIGHT}, {"bcgs_left", KSPBCGS, PC_LEFT},
    {"cg_left", KSPCG, PC_LEFT},       {"bicg_left", KSPBICG, PC_LEFT},     {"gmres_symmetric", KSPGMRES, PC_SYMMETRIC},
};

History solve(Mat A, const Method& method, PCType type, const Request& request, const std::string& strategy)
{
  KSPOwner ksp;
  PC pc;
  History history;
  ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
  ok(KSPSetOperators(ksp, A, A));
  ok(KSPSetType(ksp, method.type));
  ok(KSPSetPCSide(ksp, method.side));
  ok(KSPSetTolerances(ksp, fall, 0, 1e8, 60));
  ok(KSPGetPC(ksp, &pc));
  ok(PCSetType(pc, type));
  ok(apply_request(pc, request));
  ok(PCSyncFreeSetStrategy(pc, strategy.c_str()));
  ok(PCSyncFreeSetThreads(pc, 2));
  history.norm.resize(100);
  ok(KSPSetResidualHistory(ksp, history.norm.data(), 100, PETSC_TRUE));
  VecOwner b = make_vector(random_numbers(rows(A), 5)), x = make_vector(rows(A));
  const Refusal refusal = refused([&] { return KSPSolve(ksp, b, x); });
  if (has_no_plan(strategy, refusal)) {
    ok(PCSyncFreeSetStrategy(pc, "auto"));
    ok(KSPSolve(ksp, b, x));
  } else {
    EXPECT_EQ(0, refusal.code) << refusal.text;
  }
  PetscInt length;
  ok(KSPGetResidualHistory(ksp, nullptr, &length));
  history.norm.resize((std::size_t)length);
  /* BiCGStab that is exact in the middle of an iteration logs the norm from before it */
  ok(KSPGetResidualNorm(ksp, &history.norm.back()));
  ok(KSPGetConvergedReason(ksp, &history.reason));
  ok(KSPGetIterationNumber(ksp, &history.iterations));
  history.solution = entries(x);
  return history;
}

void expect_same(const History& petsc, const History& ours)
{
  EXPECT_EQ(petsc.reason, ours.reason) << KSPConvergedReasons[petsc.reason] << " and "
                                       << KSPConvergedReasons[ours.reason];
  EXPECT_EQ(petsc.iterations, ours.iterations);
  ASSERT_EQ(petsc.norm.size(), ours.norm.size());
  for (std::size_t k = 0; k < petsc.norm.size(); ++k)
    ASSERT_NEAR(petsc.norm[k], ours.norm[k], 64 * fall * petsc.norm[k] + 500 * eps * petsc.norm[0]) << "step " << k;
}

/* Returns true if all values are real, and with them all pivots. */
bool is_real(Mat A)
{
  const PetscInt* begin;
  const PetscScalar* value;
  bool real = true;
  ok(MatSeqAIJGetCSRAndMemType(A, &begin, nullptr, nullptr, nullptr));
  ok(MatSeqAIJGetArrayRead(A, &value));
  for (PetscInt k = 0; k < begin[rows(A)]; ++k) real = real && PetscImaginaryPart(value[k]) == 0;
  ok(MatSeqAIJRestoreArrayRead(A, &value));
  return real;
}

/* Returns true if a method suits a sample: CG requires a positive definite matrix, ICC a symmetric one, its halves
   positive pivots. Symmetric complex samples are not Hermitian. */
bool suits(const Method& method, const Sample& s, Mat A, bool icc)
{
  const bool positive = std::string(method.type) == KSPCG || method.side == PC_SYMMETRIC;
  return (!positive || (s.positive_definite && is_real(A))) && (s.symmetric || !icc);
}

struct Case {
  Method method;
  bool icc;
};

/* PETSc's ILU has no symmetric halves to compare ours with. */
std::vector<Case> cases()
{
  std::vector<Case> all;
  for (const auto& method : methods)
    for (bool icc : {false, true})
      if (icc || method.side != PC_SYMMETRIC) all.push_back({method, icc});
  return all;
}

class Krylov : public testing::TestWithParam<Case> {};

TEST_P(Krylov, takes_the_same_steps_with_our_preconditioner)
{
  const auto [method, icc] = GetParam();
  int solved = 0;
  for (const std::string name : {"grid_2d", "grid_3d", "convection", "random_dominant", "random_symmetric",
                                 "elasticity", "mixed_nodes", "arrow_first"}) {
    const Sample& s = sample(name);
    MatOwner A = s.make();
    if (!suits(method, s, A, icc)) continue;
    for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM})
      for (PetscInt levels : {0, 1}) {
        const Request request = {icc, default_shift(icc), ordering, levels};
        const History petsc = solve(A, method, icc ? PCICC : PCILU, request, "auto");
        EXPECT_GT(petsc.reason, 0) << name << ", " << request.text() << ": a solve that fails proves little";
        for (const auto& strategy : strategies()) {
          SCOPED_TRACE(name + ", " + request.text() + ", " + strategy);
          expect_same(petsc, solve(A, method, icc ? PCSYNCFREEICC : PCSYNCFREEILU, request, strategy));
          if (HasFailure()) return;
          ++solved;
        }
      }
  }
  EXPECT_GT(solved, 0);
}

INSTANTIATE_TEST_SUITE_P(Petsc, Krylov, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.method.name) + (info.param.icc ? "_icc" : "_ilu");
});

/* The product of the halves of our ILU is the preconditioner, so GMRES may use them. */
TEST(KrylovHalves, of_ilu_multiply_to_the_whole)
{
  MatOwner A = sample("convection").make();
  const Request request = {false, MAT_SHIFT_NONE, MATORDERINGRCM, 1};
  const Factored ours = set_up_ours(A, request);
  const Numbers b = random_numbers(rows(A), 8), whole = applied(ours, PCApply, b);
  const Numbers product = applied(ours, PCApplySymmetricRight, applied(ours, PCApplySymmetricLeft, b));
  for (std::size_t i = 0; i < b.size(); ++i)
    EXPECT_NEAR(0, magnitude(whole[i] - product[i]), 5e3 * eps * (1 + magnitude(whole[i])));
}

/* Adjoint solvers call KSPSolveTranspose(). */
TEST(KrylovTranspose, takes_the_same_steps)
{
  for (const char* name : {"convection", "random_dominant", "mixed_nodes"}) {
    MatOwner A = sample(name).make();
    Numbers solution[2];
    PetscInt iterations[2];
    int k = 0;
    for (PCType type : {PCILU, PCSYNCFREEILU}) {
      KSPOwner ksp;
      PC pc;
      ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
      ok(KSPSetOperators(ksp, A, A));
      ok(KSPGetPC(ksp, &pc));
      ok(PCSetType(pc, type));
      VecOwner b = make_vector(random_numbers(rows(A), 5)), x = make_vector(rows(A));
      ok(KSPSolveTranspose(ksp, b, x));
      ok(KSPGetIterationNumber(ksp, &iterations[k]));
      solution[k++] = entries(x);
    }
    EXPECT_EQ(iterations[0], iterations[1]) << name;
    EXPECT_GT(iterations[0], 1);
    for (std::size_t i = 0; i < solution[0].size(); ++i)
      EXPECT_NEAR(0, magnitude(solution[0][i] - solution[1][i]), 5e4 * eps * (1 + magnitude(solution[0][i]))) << name;
  }
}

}  // namespace
