/*
  Calls that cannot be served are errors with a text that recommends a remedy: matrix types
  without rows of values to factor, a missing diagonal entry, a matrix that is not square.
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

MatOwner make_shell()
{
  MatOwner S;
  ok(MatCreateShell(PETSC_COMM_SELF, 24, 24, 24, 24, nullptr, S.out()));
  ok(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))multiply_by_two));
  return S;
}

MatOwner make_of_type(const std::string& type)
{
  MatOwner A = elasticity_like(2, 2, 2, 3), B;
  if (type == MATSHELL) return make_shell();
  if (type == MATPYTHON) { /* PETSc may have been built without Python, so only the name is used */
    ok(PetscObjectChangeTypeName((PetscObject)(Mat)A, MATPYTHON));
    return A;
  }
  if (type == MATNEST) {
    Mat parts[] = {A};
    ok(MatCreateNest(PETSC_COMM_SELF, 1, nullptr, 1, nullptr, parts, B.out()));
    return B;
  }
  if (type == MATCONSTANTDIAGONAL) {
    ok(MatCreateConstantDiagonal(PETSC_COMM_SELF, 24, 24, 24, 24, 2.0, B.out()));
    return B;
  }
  ok(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE)); /* required by the conversion to SBAIJ */
  ok(MatConvert(A, type.c_str(), MAT_INITIAL_MATRIX, B.out()));
  return B;
}

/* Sweeps are refused when they are applied, factors at set-up. */
Refusal use_refused(Mat A, PCType type)
{
  PCOwner pc;
  VecOwner b = make_vector(Numbers(24, 1.0)), x = make_vector(24);
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  return refused([&] { return PCApply(pc, b, x); });
}

class RefusedTypes : public testing::TestWithParam<const char*> {
protected:
  bool sweeps() const { return GetParam() == std::string(PCSYNCFREESOR); }
};

TEST_P(RefusedTypes, are_told_what_they_are_and_what_to_do)
{
  const std::string option = "-mat_type aij", call = "MatConvert(A,MATAIJ", assemble = "MatComputeOperator(A,MATAIJ";
  const struct {
    MatType type;
    std::vector<std::string> words;
  } cases[] = {
    {MATSEQDENSE, {"dense matrix", sweeps() ? "-pc_type sor" : "-pc_type lu", option, call}},
    {MATSEQBAIJ, {"dense blocks", sweeps() ? "relaxes" : "differs from PETSc's block factorization of BAIJ", option, call}},
    {MATSEQSBAIJ, {"upper triangle", sweeps() ? "relaxes" : "differs from PETSc's block factorization of SBAIJ", option, call}},
    {MATSHELL, {"matrix-free", "KSPSetOperators", assemble}},
    {MATPYTHON, {"matrix-free", "KSPSetOperators", assemble}},
    {MATNEST, {"nested matrix", "-pc_type fieldsplit", option, call}},
    {MATCONSTANTDIAGONAL, {"diagonal", "-pc_type jacobi"}},
    {MATSEQSELL, {"may be able to convert", option, call, "KSPSetOperators"}},
  };
  for (const auto& [type, words] : cases) {
    if (type == std::string(MATSEQBAIJ) && GetParam() == std::string(PCSYNCFREEILU)) continue; /* baij_test.cpp */
    if (type == std::string(MATSEQSBAIJ) && GetParam() == std::string(PCSYNCFREEICC)) continue; /* sbaij_test.cpp */
    const MatOwner A = make_of_type(type);
    const Refusal refusal = use_refused(A, GetParam());
    EXPECT_EQ(PETSC_ERR_SUP, refusal.code) << type;
    EXPECT_TRUE(refusal.says(GetParam()) && refusal.says(std::string("AIJ matrices, not ") + type)) << refusal.text;
    for (const std::string& word : words) EXPECT_TRUE(refusal.says(word)) << word << " is not in: " << refusal.text;
    const bool blocks = type == std::string(MATSEQBAIJ) || type == std::string(MATSEQSBAIJ);
    EXPECT_EQ(blocks && !sweeps(), refusal.says("block factorization of ")) << refusal.text;
    EXPECT_EQ(type == std::string(MATNEST), refusal.says("fieldsplit")) << refusal.text;
  }
}

/* The recommended conversions must work. */
TEST_P(RefusedTypes, can_be_converted_as_their_texts_say)
{
  for (MatType type : {MATSEQDENSE, MATSEQBAIJ, MATSEQSBAIJ, MATNEST, MATSEQSELL, MATSHELL}) {
    const MatOwner A = make_of_type(type);
    MatOwner B;
    if (type == std::string(MATSHELL)) ok(MatComputeOperator(A, MATAIJ, B.out()));
    else ok(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, B.out()));
    const Refusal refusal = use_refused(B, GetParam());
    EXPECT_EQ(0, refusal.code) << type << ": " << refusal.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Petsc, RefusedTypes, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR),
                         [](const auto& info) { return std::string(info.param); });

class Refusals : public testing::TestWithParam<const char*> {};

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

/* PETSc's own arrays are sorted; unsorted ones of a user give an error that names the row, or a right factor. */
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
