/*
  The other front end: `-pc_type ilu -pc_factor_mat_solver_type syncfree`, or MatGetFactor() with
  the package's name. PETSc's PCILU and PCICC control our factored matrix, so this tests
  everything that they require of a factored matrix.
*/

#include <algorithm>

#include "factored.hpp"
#include "matrices.hpp"

namespace {

/* Calls MatGetFactor and both factorizations directly. */
MatOwner factored(Mat A, bool icc, MatOrderingType ordering, PetscReal levels)
{
  MatOwner F;
  ISOwner row, column;
  MatFactorInfo info;
  ok(MatFactorInfoInitialize(&info));
  info.levels = levels;
  info.fill = 1.0;
  info.zeropivot = info.shiftamount = 100 * PETSC_MACHINE_EPSILON;
  ok(MatGetFactor(A, MATSOLVERSYNCFREE, icc ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, F.out()));
  ok(MatGetOrdering(A, ordering, row.out(), column.out()));
  if (icc) {
    ok(MatICCFactorSymbolic(F, A, row, &info));
    ok(MatCholeskyFactorNumeric(F, A, &info));
  } else {
    ok(MatILUFactorSymbolic(F, A, row, column, &info));
    ok(MatLUFactorNumeric(F, A, &info));
  }
  return F;
}

Numbers solved(Mat F, PetscErrorCode (*operation)(Mat, Vec, Vec), const Numbers& b)
{
  VecOwner x = make_vector(b), y = make_vector((PetscInt)b.size());
  ok(operation(F, x, y));
  return entries(y);
}

class FactorPackage : public testing::TestWithParam<bool> {
 protected:
  const bool icc_ = GetParam();
};

TEST_P(FactorPackage, says_what_it_is)
{
  MatOwner A = poisson_2d(6, 6), F = factored(A, icc_, MATORDERINGNATURAL, 0);
  MatSolverType solver;
  MatFactorType factor;
  PetscBool can, assembled;
  MatInfo info;
  ok(MatFactorGetSolverType(F, &solver));
  EXPECT_STREQ(MATSOLVERSYNCFREE, solver);
  ok(MatGetFactorType(F, &factor));
  EXPECT_EQ(icc_ ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, factor);
  ok(MatFactorGetCanUseOrdering(F, &can));
  EXPECT_TRUE(can);
  MatOrderingType preferred;
  ok(MatFactorGetPreferredOrdering(F, factor, &preferred));
  EXPECT_STREQ(MATORDERINGNATURAL, preferred);
  ok(MatAssembled(F, &assembled));
  EXPECT_TRUE(assembled);
  ok(MatGetInfo(F, MAT_LOCAL, &info));
  EXPECT_EQ(icc_ ? 36 + 60 : 36 + 120, info.nz_used);
  EXPECT_DOUBLE_EQ(1.0, info.fill_ratio_needed);
}

TEST_P(FactorPackage, is_found_for_seqaij_and_seqbaij_and_not_for_lu_or_icc_of_blocks)
{
  MatOwner A = poisson_2d(6, 6), B;
  PetscBool available;
  ok(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, B.out()));
  ok(MatGetFactorAvailable(A, MATSOLVERSYNCFREE, icc_ ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, &available));
  EXPECT_TRUE(available);
  ok(MatGetFactorAvailable(A, MATSOLVERSYNCFREE, MAT_FACTOR_LU, &available));
  EXPECT_FALSE(available);
  ok(MatGetFactorAvailable(B, MATSOLVERSYNCFREE, icc_ ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, &available));
  EXPECT_EQ(available, (PetscBool)!icc_);
  ok(MatGetFactorAvailable(A, MATSOLVERPETSC, MAT_FACTOR_LU, &available));
  EXPECT_TRUE(available) << "PETSc's own packages are lost";
}

TEST_P(FactorPackage, solves_like_petscs_factor)
{
  for (const char* name : {"grid_3d", "convection", "elasticity", "mixed_nodes"})
    for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGND})
      for (PetscInt levels : {0, 1}) {
        MatOwner A = sample(name).make();
        const Request request = {icc_, MAT_SHIFT_NONE, ordering, levels};
        SCOPED_TRACE(std::string(name) + ", " + request.text());
        const Factored petsc = set_up_petsc(A, request);
        if (!petsc.usable()) continue;
        MatOwner F = factored(A, icc_, ordering, (PetscReal)levels);
        Factor f = icc_ ? read_petsc_icc(petsc.matrix(), read_ours(F)) : read_petsc_ilu(petsc.matrix());
        const Order order = order_of(A, request);
        const Numbers b = random_numbers(rows(A), 4);
        bound_errors(f);
        EXPECT_TRUE(agrees(f, read_ours(F)));
        EXPECT_TRUE(agrees(expected_apply(f, order, b), solved(F, MatSolve, b)));
        EXPECT_TRUE(agrees(expected_transpose(f, order, b), solved(F, MatSolveTranspose, b)));
        const bool positive = std::all_of(f.pivot.begin(), f.pivot.end(), [](PetscScalar d) {
          return PetscRealPart(d) > 0 && PetscImaginaryPart(d) == 0;
        });
        if (icc_ && !positive) continue; /* no square root of D */
        EXPECT_TRUE(agrees(expected_left(f, order, icc_, b), solved(F, MatForwardSolve, b)));
        EXPECT_TRUE(agrees(expected_right(f, order, icc_, b), solved(F, MatBackwardSolve, b)));
      }
}

TEST_P(FactorPackage, solves_many_right_hand_sides_with_any_leading_dimension)
{
  MatOwner A = sample("convection").make(), F = factored(A, icc_, MATORDERINGRCM, 1);
  const PetscInt n = rows(A), columns = 7, leading = n + 5;
  const Numbers b = random_numbers(n * columns, 3);
  MatOwner B = make_dense(n, columns, b), X, T = make_dense(n, columns, b);
  Numbers storage((std::size_t)(leading * columns), 9.0);
  ok(MatCreate(PETSC_COMM_SELF, X.out()));
  ok(MatSetSizes(X, n, columns, n, columns));
  ok(MatSetType(X, MATSEQDENSE));
  ok(MatDenseSetLDA(X, leading));
  ok(MatSeqDenseSetPreallocation(X, storage.data()));
  ok(MatMatSolve(F, B, X));
  ok(MatMatSolveTranspose(F, B, T));
  const Numbers t = dense_entries(T);
  for (PetscInt c = 0; c < columns; ++c) {
    const Numbers b_c(b.begin() + c * n, b.begin() + (c + 1) * n);
    const Numbers x = solved(F, MatSolve, b_c), xt = solved(F, MatSolveTranspose, b_c);
    for (PetscInt i = 0; i < n; ++i) {
      ASSERT_NEAR(0, magnitude(x[(std::size_t)i] - storage[(std::size_t)(c * leading + i)]),
                  5e4 * eps * (1 + magnitude(x[(std::size_t)i])));
      ASSERT_NEAR(0, magnitude(xt[(std::size_t)i] - t[(std::size_t)(c * n + i)]),
                  5e4 * eps * (1 + magnitude(xt[(std::size_t)i])));
    }
    for (PetscInt i = n; i < leading; ++i)
      ASSERT_EQ(PetscScalar(9.0), storage[(std::size_t)(c * leading + i)]) << "wrote behind a column";
  }
}

TEST_P(FactorPackage, flags_a_failed_factorization_and_gives_infinity)
{
  MatOwner A = sample("lonely_zero").make(), F = factored(A, icc_, MATORDERINGNATURAL, 0);
  MatFactorError error;
  PetscReal value;
  PetscInt row;
  ok(MatFactorGetError(F, &error));
  ok(MatFactorGetErrorZeroPivot(F, &value, &row));
  EXPECT_EQ(MAT_FACTOR_NUMERIC_ZEROPIVOT, error);
  EXPECT_EQ(4, row);
  EXPECT_EQ(0, value);
  for (PetscScalar x : solved(F, MatSolve, Numbers(8, 1.0))) EXPECT_TRUE(std::isinf(magnitude(x)));
  for (PetscScalar x : solved(F, MatSolveTranspose, Numbers(8, 1.0))) EXPECT_TRUE(std::isinf(magnitude(x)));
}

/* From the options, with PETSc's PC types and all shifts: same failed reason, same solution. */
TEST_P(FactorPackage, under_petscs_own_pc_types_gives_their_answer)
{
  for (const auto& s : samples())
    for (auto shift : shifts)
      for (PetscInt levels : {0, 1}) {
        if (icc_ && !s.symmetric) continue; /* PETSc's ICC may never end */
        MatOwner A = s.make();
        const Request request = {icc_, shift, MATORDERINGRCM, levels};
        const Factored petsc = set_up_petsc(A, request);
        SCOPED_TRACE(std::string(s.name) + ", " + request.text());
        Options options(
            "-pc_factor_mat_solver_type syncfree -pc_syncfree_strategy blocks -pc_syncfree_threads 2");
        Factored ours;
        ok(PCCreate(PETSC_COMM_SELF, ours.pc.out()));
        ok(PCSetOperators(ours.pc, A, A));
        ok(PCSetType(ours.pc, icc_ ? PCICC : PCILU));
        ok(apply_request(ours.pc, request));
        ok(PCSetFromOptions(ours.pc));
        ours.refusal = refused([&] { return PCSetUp(ours.pc); });
        ASSERT_EQ(petsc.refusal.code, ours.refusal.code) << petsc.refusal.text << ours.refusal.text;
        if (petsc.refusal.code) continue;
        ok(PCGetFailedReason(ours.pc, &ours.reason));
        ASSERT_EQ(petsc.reason, ours.reason);
        if (!petsc.usable() || rows(A) == 0) continue;
        const Pair pair = read_factors(petsc, ours, request);
        const Numbers b = random_numbers(rows(A), 6);
        EXPECT_TRUE(agrees(pair.petsc, pair.ours));
        EXPECT_TRUE(agrees(expected_apply(pair.petsc, order_of(A, request), b), applied(ours, PCApply, b)));
        EXPECT_NE(std::string::npos, view(ours.pc).find("syncfree"));
        if (HasFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Petsc, FactorPackage, testing::Bool(),
                         [](const auto& info) { return info.param ? "icc" : "ilu"; });

TEST(GetFactors, is_refused_for_what_is_not_our_factor)
{
  MatOwner A = poisson_2d(4, 4);
  const Factored petsc = set_up_petsc(A, {}), failed = set_up_ours(sample("lonely_zero").make(), {});
  Mat L = nullptr, U = nullptr;
  EXPECT_NE(0, refused([&] { return MatSyncFreeGetFactors(A, &L, &U); }).code) << "an unfactored matrix";
  EXPECT_NE(0, refused([&] { return MatSyncFreeGetFactors(petsc.matrix(), &L, &U); }).code) << "PETSc's own factor";
  EXPECT_NE(0, refused([&] { return MatSyncFreeGetFactors(failed.matrix(), &L, &U); }).code) << "a failed factor";
  EXPECT_EQ(nullptr, L);
  EXPECT_EQ(nullptr, U);
}

}  // namespace
