/*
  ICC of SBAIJ matrices with block size 1 compared with PETSc's own, and the refusal of everything else.
*/

#include "block_matrix.hpp"
#include "matrices.hpp"

namespace {

MatOwner sbaij_of(Mat A, MatType type = MATSEQSBAIJ)
{
  MatOwner B;
  ok(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  ok(MatConvert(A, type, MAT_INITIAL_MATRIX, B.out()));
  return B;
}

Request icc(PetscInt levels = 0, MatFactorShiftType shift = default_shift(true))
{
  Request request;
  request.icc = true;
  request.shift = shift;
  request.levels = levels;
  return request;
}

TEST(Sbaij, applies_are_petscs_and_those_of_aij)
{
  for (const MatOwner& A : {poisson_2d(9, 7), elasticity_like(3, 3, 3, 1)})
    for (MatFactorShiftType shift : {MAT_SHIFT_NONE, MAT_SHIFT_POSITIVE_DEFINITE}) {
      const MatOwner upper = sbaij_of(A);
      const Request request = icc(0, shift);
      SCOPED_TRACE(request.text());
      const Factored petsc = set_up_petsc(upper, request), ours = set_up_ours(upper, request);
      ASSERT_TRUE(ours.usable()) << ours.refusal.text;
      expect_same_applies(petsc, ours, rows(A));
      expect_same_applies(set_up_petsc(A, request), ours, rows(A));
      MatInfo a, b;
      ok(MatGetInfo(set_up_ours(A, request).matrix(), MAT_LOCAL, &a));
      ok(MatGetInfo(ours.matrix(), MAT_LOCAL, &b));
      EXPECT_EQ(a.nz_used, b.nz_used);
      EXPECT_EQ(a.fill_ratio_needed, b.fill_ratio_needed);
    }
}

TEST(Sbaij, fill_is_that_of_aij_and_strategies_agree)
{
  const MatOwner A = poisson_2d(20, 20), upper = sbaij_of(A);
  for (PetscInt levels : {0, 1, 2})
    for (const char* strategy : {"serial", "blocks", "sync_free", "level_set"})
      for (PetscInt threads : {1, 3}) {
        SCOPED_TRACE(strategy);
        expect_same_applies(set_up_ours(A, icc(levels), strategy, threads), set_up_ours(upper, icc(levels), strategy, threads), rows(A));
      }
}

TEST(Sbaij, new_values_and_patterns_are_followed_and_parallel_matrices_are_factored)
{
  const MatOwner A = poisson_2d(6, 6), upper = sbaij_of(A), other = sbaij_of(poisson_2d(4, 9));
  Factored ours = set_up_ours(upper, icc());
  ok(MatScale(upper, 3.0));
  ok(PCSetUp(ours.pc));
  expect_same_applies(set_up_petsc(upper, icc()), ours, 36);
  ok(PCSetOperators(ours.pc, other, other));
  ok(PCSetUp(ours.pc));
  expect_same_applies(set_up_petsc(other, icc()), ours, 36);
  MatOwner parallel;
  const PetscInt n = 36;
  ok(MatCreateSBAIJ(PETSC_COMM_SELF, 1, n, n, n, n, 2, nullptr, 0, nullptr, parallel.out()));
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt j = i; j < PetscMin(i + 2, n); ++j) ok(MatSetValue(parallel, i, j, i == j ? 4.0 : -1.0, INSERT_VALUES));
  ok(MatAssemblyBegin(parallel, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(parallel, MAT_FINAL_ASSEMBLY));
  MatOwner sequential;
  ok(MatConvert(parallel, MATAIJ, MAT_INITIAL_MATRIX, sequential.out()));
  expect_same_applies(set_up_petsc(sequential, icc()), set_up_ours(parallel, icc()), n);
}

TEST(Sbaij, blocks_orderings_and_ilu_are_refused_in_words)
{
  const MatOwner upper = sbaij_of(poisson_2d(6, 6)), blocks = sbaij_of(elasticity_like(3, 2, 2, 3));
  PCOwner of_three;
  ok(PCCreate(PETSC_COMM_SELF, of_three.out()));
  ok(PCSetOperators(of_three, blocks, blocks));
  ok(PCSetType(of_three, PCSYNCFREEICC));
  const Refusal of_blocks = refused([&] { return PCSetFromOptions(of_three); });
  EXPECT_EQ(of_blocks.code, PETSC_ERR_SUP);
  for (const char* ordering : {MATORDERINGRCM, "syncfree_multicolor", "syncfree_auto"}) {
    Request request = icc();
    request.ordering = ordering;
    const Refusal refusal = set_up_ours(upper, request).refusal;
    EXPECT_EQ(refusal.code, PETSC_ERR_SUP) << ordering;
    EXPECT_TRUE(refusal.says("in natural order only")) << ordering << refusal.text;
  }
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, upper, upper));
  ok(PCSetType(pc, PCSYNCFREEILU));
  for (auto call : {PCSetFromOptions, PCSetUp}) {
    const Refusal refusal = refused([&] { return call(pc); });
    EXPECT_EQ(refusal.code, PETSC_ERR_SUP);
    EXPECT_TRUE(refusal.says("use -pc_type syncfree_icc")) << refusal.text;
  }
}

}  // namespace
