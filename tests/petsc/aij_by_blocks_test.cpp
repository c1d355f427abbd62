/*
  Block ILU of AIJ matrices: which blocks are chosen, and what happens to the choice when patterns, shift types, orderings
  and matrix types change. The references are PETSc's block ILU of a BAIJ matrix, and its ILU by entries.
*/

#include "block_matrix.hpp"
#include "matrices.hpp"

namespace {

Factored set_up_with(Mat A, const std::string& block_size, const Request& request = {})
{
  Factored ours = set_up_ours(A, request); /* by entries */
  const Options options("-pc_syncfree_block_size " + block_size);
  ok(PCSetFromOptions(ours.pc));
  ours.refusal = refused([&] { return PCSetUp(ours.pc); });
  return ours;
}

/* AIJ with full blocks: by blocks or by entries, the factor has the same entries. */
TEST(AijByBlocks, applies_are_those_of_baij)
{
  const BlockMatrix values{4, 3, 3, 3};
  const MatOwner blocks = values.make();
  MatOwner A;
  ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
  for (const char* size : {"3", "auto", "0"})
    for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM, "syncfree_multicolor"})
      for (PetscInt levels : {0, 1}) {
        Request request;
        request.ordering = ordering;
        request.levels = levels;
        SCOPED_TRACE(std::string(size) + ", " + request.text());
        const Factored ours = set_up_with(A, size, request);
        const bool colors = request.ordering == std::string("syncfree_multicolor"), named = size == std::string("3");
        EXPECT_EQ(contains(view(ours.pc), "syncfree block size: 3 (dense blocks; "), named || !colors) << view(ours.pc);
        if (request.ordering == std::string(MATORDERINGRCM)) expect_same_applies(set_up_petsc(A, request), ours, rows(A));
        else if (named || !colors) expect_same_applies(set_up_petsc(blocks, request), ours, rows(A));
        else expect_same_applies(set_up_with(A, "1", request), ours, rows(A));
      }
}

TEST(AijByBlocks, are_padded_where_the_user_says_so_and_left_alone_where_none_are_full)
{
  const MatOwner A = poisson_2d(6, 6);
  const Factored chosen = set_up_with(A, "0"), padded = set_up_with(A, "2");
  EXPECT_FALSE(contains(view(chosen.pc), "syncfree block size")) << view(chosen.pc);
  EXPECT_TRUE(contains(view(padded.pc), "syncfree block size: 2 (dense blocks, filled with ")) << view(padded.pc);
  const Numbers b = random_numbers(36, 3);
  const MatOwner blocks = [&] {
    MatOwner B;
    ok(MatSetBlockSize(A, 2));
    ok(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, B.out()));
    return B;
  }();
  EXPECT_TRUE(close(applied(set_up_petsc(blocks, {}), PCApply, b), applied(padded, PCApply, b)));
}

TEST(AijByBlocks, inodes_of_one_size_are_blocks)
{
  const MatOwner blocks = BlockMatrix{4, 3, 1, 4}.make();
  MatOwner A, of_entries;
  ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, of_entries.out()));
  const PetscInt n = rows(blocks);
  const PetscInt *row, *column;
  PetscInt count;
  PetscBool done;
  PetscScalar* value;
  ok(MatGetRowIJ(of_entries, 0, PETSC_FALSE, PETSC_FALSE, &count, &row, &column, &done));
  ok(MatSeqAIJGetArray(of_entries, &value));
  ok(MatCreate(PETSC_COMM_SELF, A.out())); /* without the block size */
  ok(MatSetSizes(A, n, n, n, n));
  ok(MatSetType(A, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(A, row, column, value));
  ok(MatSeqAIJRestoreArray(of_entries, &value));
  ok(MatRestoreRowIJ(of_entries, 0, PETSC_FALSE, PETSC_FALSE, &count, &row, &column, &done));
  const Factored ours = set_up_with(A, "0");
  EXPECT_TRUE(contains(view(ours.pc), "syncfree block size: 4")) << view(ours.pc);
  expect_same_applies(set_up_petsc(blocks, {}), ours, n);
}

TEST(AijByBlocks, what_they_do_not_have_is_refused_or_leaves_the_choice_to_entries)
{
  const MatOwner A = elasticity_like(3, 3, 3, 3), odd = poisson_2d(5, 5);
  const Refusal size = set_up_with(odd, "2").refusal;
  EXPECT_TRUE(size.says("block size 2 does not divide the number of rows of this process, 25")) << size.text;
  Request shifted, icc;
  shifted.shift = MAT_SHIFT_NONZERO;
  icc.icc = true;
  icc.shift = default_shift(true);
  EXPECT_EQ(set_up_with(A, "3", shifted).refusal.code, PETSC_ERR_SUP);
  EXPECT_EQ(set_up_with(A, "3", icc).refusal.code, PETSC_ERR_SUP);
  for (const Request& request : {shifted, icc}) {
    const Factored ours = set_up_with(A, "0", request);
    EXPECT_TRUE(ours.usable()) << ours.refusal.text;
    EXPECT_TRUE(contains(view(ours.pc), "syncfree block size: 1 (")) << view(ours.pc);
  }
  EXPECT_TRUE(contains(view(set_up_with(A, "0").pc), "syncfree block size: 3"));
  const MatOwner blocks = BlockMatrix{4, 3, 1, 3}.make();
  EXPECT_EQ(set_up_with(blocks, "2").refusal.code, PETSC_ERR_ARG_INCOMP);
  EXPECT_TRUE(set_up_with(blocks, "3").usable());
}

MatOwner aij_of(Mat blocks)
{
  MatOwner A;
  ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
  return A;
}

bool by_blocks(const Factored& ours) { return contains(view(ours.pc), "syncfree block size: 3"); }

/* Entries of the same rows without full blocks. */
MatOwner chain(PetscInt n)
{
  MatOwner A;
  ok(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, nullptr, A.out()));
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); ++j)
      ok(MatSetValue(A, i, j, i == j ? 4.0 : -1.0 - 0.1 * (double)(i % 5), INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

bool says_why(const Factored& ours, const std::string& why)
{
  return contains(view(ours.pc), "syncfree block size: 1 (" + why + ")");
}

TEST(AijByBlocks, the_view_says_why_entries_were_taken_where_blocks_were_possible)
{
  const MatOwner A = elasticity_like(3, 3, 3, 3), one = elasticity_like(1, 1, 1, 3), wide = elasticity_like(2, 2, 2, 9);
  Request shifted, icc, ordered;
  shifted.shift = MAT_SHIFT_NONZERO;
  icc.icc = true;
  icc.shift = default_shift(true);
  ordered.ordering = "syncfree_multicolor";
  const auto expect = [](const Factored& ours, const std::string& why) {
    EXPECT_TRUE(ours.usable()) << ours.refusal.text;
    EXPECT_TRUE(says_why(ours, why)) << why << "\n" << view(ours.pc);
  };
  expect(set_up_with(A, "1"), "-pc_syncfree_block_size is 1");
  expect(set_up_with(A, "auto", icc), "ICC has no form by blocks");
  expect(set_up_with(A, "auto", shifted), "-pc_factor_shift_type is NONZERO");
  expect(set_up_with(A, "auto", ordered), "the ordering is one of this library");
  expect(set_up_with(one, "auto"), "there is one block");
  expect(set_up_with(wide, "auto"), "blocks of 9 rows are chosen by name only, on the CPU");
  {
    const Options options("-pc_syncfree_strategy level_set");
    expect(set_up_with(A, "auto"), "strategy level_set has no form by blocks");
  }
  const MatOwner holes = chain(36), plain = poisson_2d(5, 5);
  ok(MatSetBlockSize(holes, 4));
  expect(set_up_with(holes, "auto"), "blocks of 4 rows are not full");
  EXPECT_FALSE(contains(view(set_up_with(plain, "auto").pc), "syncfree block size"));
  EXPECT_FALSE(contains(view(set_up_with(plain, "1").pc), "syncfree block size"));
  EXPECT_FALSE(contains(view(set_up_with(A, "auto").pc), "syncfree block size: 1"));
}

TEST(AijByBlocks, blocks_of_variable_sizes_are_refused_by_name_and_otherwise_left_to_entries)
{
  const MatOwner A = elasticity_like(3, 3, 3, 3);
  std::vector<PetscInt> sizes((std::size_t)rows(A) / 9, 9);
  ok(MatSetVariableBlockSizes(A, (PetscInt)sizes.size(), sizes.data()));
  const Refusal refusal = set_up_with(A, "3").refusal;
  EXPECT_EQ(refusal.code, PETSC_ERR_SUP);
  EXPECT_TRUE(refusal.says("blocks of variable sizes (MatSetVariableBlockSizes())")) << refusal.text;
  EXPECT_TRUE(refusal.says("use -pc_syncfree_block_size 1")) << refusal.text;
  for (const char* size : {"auto", "1"}) {
    const Factored ours = set_up_with(A, size);
    EXPECT_TRUE(ours.usable()) << ours.refusal.text;
    EXPECT_TRUE(says_why(ours, size == std::string("1") ? "-pc_syncfree_block_size is 1"
                                                        : "the matrix has blocks of variable sizes"))
        << view(ours.pc);
    expect_same_applies(set_up_petsc(A, {}), ours, rows(A));
  }
}

/* What a user gets who names no size: PETSc's factor by entries, up to rounding, wherever the PC is. */
TEST(AijByBlocks, are_the_default_and_take_petscs_iterations)
{
  const MatOwner A = elasticity_like(4, 4, 4, 3);
  for (const char* where : {"-pc_type %", "-pc_type % -pc_factor_levels 1", "-pc_type % -pc_factor_mat_ordering_type rcm",
                            "-pc_type bjacobi -pc_bjacobi_blocks 2 -sub_pc_type %"}) {
    std::vector<PetscReal> norm[2];
    for (bool ours : {false, true}) {
      std::string text = std::string("-ksp_type gmres ") + where;
      text.replace(text.find('%'), 1, ours ? PCSYNCFREEILU : PCILU);
      SCOPED_TRACE(text);
      const Options options(text);
      KSPOwner ksp;
      ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
      ok(KSPSetOperators(ksp, A, A));
      ok(KSPSetFromOptions(ksp));
      norm[ours].resize(200);
      ok(KSPSetResidualHistory(ksp, norm[ours].data(), 200, PETSC_TRUE));
      const VecOwner b = make_vector(random_numbers(rows(A), 5)), x = make_vector(rows(A));
      ok(KSPSolve(ksp, b, x));
      PetscInt length;
      PC pc;
      ok(KSPGetResidualHistory(ksp, nullptr, &length));
      norm[ours].resize((std::size_t)length);
      ok(KSPGetPC(ksp, &pc));
      EXPECT_EQ(contains(view(pc), "syncfree block size: 3"), ours) << view(pc);
    }
    ASSERT_EQ(norm[0].size(), norm[1].size());
    for (std::size_t k = 0; k < norm[0].size(); ++k) EXPECT_NEAR(norm[0][k], norm[1][k], 1e4 * eps * norm[0][0]) << k;
  }
}

/* The symbolic factorization has chosen blocks, or entries, for another shift type. */
TEST(AijByBlocks, a_shift_that_blocks_do_not_have_returns_to_entries_or_is_refused_if_the_size_was_named)
{
  const MatOwner A = elasticity_like(3, 3, 3, 3);
  for (MatFactorShiftType shift : {MAT_SHIFT_NONZERO, MAT_SHIFT_POSITIVE_DEFINITE}) {
    Factored chosen = set_up_with(A, "auto"), named = set_up_with(A, "3");
    ASSERT_TRUE(by_blocks(chosen) && by_blocks(named));
    Request request;
    request.shift = shift;
    SCOPED_TRACE(request.text());
    ok(MatScale(A, 2.0)); /* else there is nothing to set up */
    ok(PCFactorSetShiftType(chosen.pc, shift));
    ok(PCSetUp(chosen.pc));
    EXPECT_FALSE(by_blocks(chosen)) << view(chosen.pc);
    expect_same_applies(set_up_petsc(A, request), chosen, rows(A));
    ok(MatScale(A, 2.0));
    ok(PCFactorSetShiftType(chosen.pc, MAT_SHIFT_NONE));
    ok(PCSetUp(chosen.pc));
    EXPECT_TRUE(by_blocks(chosen)) << view(chosen.pc);
    expect_same_applies(set_up_petsc(A, {}), chosen, rows(A));
    ok(PCFactorSetShiftType(named.pc, shift));
    const Refusal refusal = refused([&] { return PCSetUp(named.pc); });
    EXPECT_EQ(refusal.code, PETSC_ERR_SUP);
    EXPECT_TRUE(refusal.says("-pc_factor_shift_type none or inblocks")) << refusal.text;
  }
}

/* Without a symbolic factorization of the second matrix. */
TEST(AijByBlocks, chosen_sizes_are_chosen_again_for_another_pattern)
{
  const MatOwner A = aij_of(BlockMatrix{4, 3, 1, 3}.make()), B = chain(36);
  const Factored ours = set_up_with(A, "auto"), named = set_up_with(A, "3");
  ASSERT_TRUE(by_blocks(ours));
  MatFactorInfo info;
  ok(MatFactorInfoInitialize(&info));
  for (Mat next : {(Mat)B, (Mat)A, (Mat)B}) {
    ok(MatLUFactorNumeric(ours.matrix(), next, &info));
    EXPECT_EQ(by_blocks(ours), next == (Mat)A) << view(ours.pc);
    expect_same_applies(set_up_petsc(next, {}), ours, 36);
  }
  ok(MatLUFactorNumeric(named.matrix(), B, &info));
  EXPECT_TRUE(contains(view(named.pc), "filled with")) << view(named.pc);
}

/* The orders of the first matrix separate the rows of the second one's blocks. */
TEST(AijByBlocks, an_ordering_that_is_reused_and_separates_the_rows_of_blocks_leaves_entries)
{
  const MatOwner A = poisson_2d(6, 6), B = aij_of(BlockMatrix{4, 3, 1, 3}.make());
  for (const char* ordering : {"syncfree_multicolor", MATORDERINGQMD, MATORDERINGRCM}) {
    Request request;
    request.ordering = ordering;
    SCOPED_TRACE(request.text());
    Factored ours = set_up_with(A, "auto", request);
    ok(PCFactorSetReuseOrdering(ours.pc, PETSC_TRUE));
    ok(PCSetOperators(ours.pc, B, B));
    ours.refusal = refused([&] { return PCSetUp(ours.pc); });
    EXPECT_TRUE(ours.usable()) << ours.refusal.text;
    EXPECT_FALSE(by_blocks(ours)) << view(ours.pc);
  }
}

TEST(AijByBlocks, a_matrix_that_changes_its_type_in_place_is_another_operator)
{
  for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM, "syncfree_auto"}) {
    const MatOwner A = aij_of(BlockMatrix{4, 3, 1, 3, 1, 0}.make());
    Mat same = A;
    Request request;
    request.ordering = ordering;
    SCOPED_TRACE(request.text());
    const Factored ours = set_up_with(A, "1", request);
    EXPECT_FALSE(by_blocks(ours));
    for (MatType type : {MATSEQBAIJ, MATSEQAIJ}) {
      ok(MatConvert(A, type, MAT_INPLACE_MATRIX, &same));
      ok(PCSetOperators(ours.pc, A, A));
      ok(PCSetUp(ours.pc));
      EXPECT_EQ(by_blocks(ours), type == std::string(MATSEQBAIJ)) << view(ours.pc);
      if (ordering != std::string("syncfree_auto")) expect_same_applies(set_up_petsc(A, request), ours, rows(A));
    }
  }
}

}  // namespace
