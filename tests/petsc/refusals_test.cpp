/*
  Calls that cannot be answered are errors whose text says what to do: matrix types that
  have no rows of numbers to factor, a missing diagonal entry, a matrix that is not
  square.
*/

#include "factored.hpp"
#include "matrices.hpp"

namespace {

Refusal set_up_refused(Mat A, PCType type)
{
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  return refused([&] { return PCSetUp(pc); });
}

PetscErrorCode multiply_by_two(Mat, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

class Refusals : public testing::TestWithParam<const char*> {};

TEST_P(Refusals, of_other_matrix_types_name_matconvert_and_the_type)
{
  for (MatType type : {MATSEQSBAIJ, MATSEQBAIJ, MATSEQDENSE}) {
    MatOwner A = elasticity_like(2, 2, 2, 3), B;
    ok(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE)); /* conversion to SBAIJ asks for it */
    ok(MatConvert(A, type, MAT_INITIAL_MATRIX, B.out()));
    const Refusal refusal = set_up_refused(B, GetParam());
    EXPECT_NE(0, refusal.code) << type;
    EXPECT_TRUE(refusal.says("MatConvert")) << refusal.text;
    EXPECT_TRUE(refusal.says(type)) << refusal.text;
    EXPECT_TRUE(refusal.says(GetParam())) << refusal.text;
    EXPECT_TRUE(refusal.says("BAIJ")) << refusal.text;
    EXPECT_TRUE(refusal.says("differs")) << "that point ILU of a converted BAIJ matrix differs: " << refusal.text;
  }
}

TEST_P(Refusals, of_a_shell_matrix_names_matconvert)
{
  MatOwner S;
  ok(MatCreateShell(PETSC_COMM_SELF, 5, 5, 5, 5, nullptr, S.out()));
  ok(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))multiply_by_two));
  const Refusal refusal = set_up_refused(S, GetParam());
  EXPECT_NE(0, refusal.code);
  EXPECT_TRUE(refusal.says("MatConvert")) << refusal.text;
  EXPECT_TRUE(refusal.says("shell")) << refusal.text;
}

/* The conversion that the text recommends must work. */
TEST_P(Refusals, are_cured_by_the_conversion_that_they_name)
{
  MatOwner A = elasticity_like(2, 2, 2, 3), B, C;
  ok(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, B.out()));
  ok(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, C.out()));
  EXPECT_EQ(0, set_up_refused(C, GetParam()).code);
}

TEST_P(Refusals, of_a_missing_diagonal_name_the_row_and_have_petscs_code)
{
  Entries entries(6);
  for (PetscInt i = 0; i < 6; ++i)
    if (i != 4) entries.add(i, i, 2.0);
  entries.add(4, 2, 1.0);
  entries.add(2, 4, 1.0);
  MatOwner A = entries.matrix();
  const Refusal refusal = set_up_refused(A, GetParam());
  const Refusal petsc = set_up_refused(A, std::string(GetParam()) == PCSYNCFREEICC ? PCICC : PCILU);
  EXPECT_EQ(petsc.code, refusal.code) << petsc.text << " / " << refusal.text;
  EXPECT_TRUE(refusal.says("diagonal")) << refusal.text;
  EXPECT_TRUE(refusal.says("4")) << refusal.text;
}

TEST_P(Refusals, of_a_matrix_that_is_not_square)
{
  MatOwner A;
  ok(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 4, 1, nullptr, A.out()));
  for (PetscInt i = 0; i < 3; ++i) ok(MatSetValue(A, i, i, 1.0, INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  EXPECT_NE(0, set_up_refused(A, GetParam()).code);
}

/* PETSc's own arrays are sorted; a user who hands over unsorted ones gets an error that names the row, or a right
 * factor. */
TEST_P(Refusals, of_unsorted_rows_name_the_row)
{
  PetscInt begin[] = {0, 1, 3, 4}, column[] = {0, 2, 1, 2};
  PetscScalar value[] = {2.0, 1.0, 2.0, 2.0};
  MatOwner A;
  ok(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 3, begin, column, value, A.out()));
  const Refusal refusal = set_up_refused(A, GetParam());
  EXPECT_NE(0, refusal.code);
  EXPECT_TRUE(refusal.says("1")) << refusal.text;
  EXPECT_TRUE(refusal.says("sort") || refusal.says("ascend")) << refusal.text;
}

/* After an error the same PC must be usable with a matrix that can be factored. */
TEST_P(Refusals, leave_the_pc_usable)
{
  MatOwner A = poisson_2d(4, 4), B;
  ok(MatConvert(A, MATSEQDENSE, MAT_INITIAL_MATRIX, B.out()));
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, B, B));
  ok(PCSetType(pc, GetParam()));
  EXPECT_NE(0, refused([&] { return PCSetUp(pc); }).code);
  ok(PCReset(pc));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetUp(pc));
  VecOwner b = make_vector(Numbers(16, 1.0)), x = make_vector(16);
  ok(PCApply(pc, b, x));
}

INSTANTIATE_TEST_SUITE_P(Petsc, Refusals, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
