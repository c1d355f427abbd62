/*
  Block ILU on a device compared with PETSc's own of BAIJ matrices.
*/

#include "block_matrix.hpp"
#include "life.hpp"

#include <limits>

#if defined(PETSC_HAVE_CUDA)
namespace {

Factored set_up_there(Mat A, const std::string& block_size, const Request& request = {})
{
  Factored ours = set_up_ours(A, request); /* by entries */
  const Options options("-pc_syncfree_block_size " + block_size);
  ok(PCSetFromOptions(ours.pc));
  ours.refusal = refused([&] { return PCSetUp(ours.pc); });
  return ours;
}

/* An AIJ matrix on the device, by blocks that are named or chosen, and a BAIJ matrix that stands for it. */
TEST(BlocksOnTheDevice, applies_are_those_of_baij)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  for (PetscInt size : {2, 3, 4, 5, 6, 7, 8, 11}) {
    const MatOwner blocks = BlockMatrix{4, 3, 3, size}.make();
    MatOwner A;
    ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
    ok(MatConvert(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
    for (const char* ordering : {MATORDERINGNATURAL, "syncfree_multicolor"})
      for (PetscInt levels : {0, 1}) {
        Request request;
        request.ordering = ordering;
        request.levels = levels;
        SCOPED_TRACE("block size " + std::to_string((long long)size) + ", " + request.text());
        const Factored petsc = set_up_petsc(blocks, request), named = set_up_there(A, std::to_string((long long)size), request);
        EXPECT_TRUE(contains(view(named.pc), "syncfree backend: cuda\n")) << view(named.pc);
        EXPECT_TRUE(contains(view(named.pc), "syncfree strategy: level_order") ||
                    contains(view(named.pc), "syncfree strategy: tiled"))
          << view(named.pc);
        expect_same_applies(petsc, named, rows(A));
        Factored stored = set_up_ours(A, request);
        ok(PCSetOperators(stored.pc, A, blocks));
        ok(PCSetUp(stored.pc));
        EXPECT_TRUE(contains(view(stored.pc), "syncfree backend: cuda (data copied from the host)")) << view(stored.pc);
        expect_same_applies(petsc, stored, rows(A));
      }
  }
}

/* The same by entries, in host memory. */
MatOwner entries_of(Mat blocks)
{
  MatOwner A;
  ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
  return A;
}

/* Compares with PETSc's factor of the same kind. */
void expect_factor_by(bool dense_blocks, const Factored& ours, Mat blocks, const Request& request = {})
{
  EXPECT_EQ(contains(view(ours.pc), "(dense blocks; "), dense_blocks) << view(ours.pc);
  expect_same_applies(set_up_petsc(dense_blocks ? blocks : (Mat)entries_of(blocks), request), ours, rows(blocks));
}

/* Sizes are chosen for the backend that factors, wherever the matrix is; on a device 2 and 3 for the points of a grid. */
TEST(BlocksOnTheDevice, are_chosen_by_where_the_matrix_is_factored)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  for (PetscInt size : {2, 3, 4, 6, 7})
    for (const bool grid : {false, true}) {
      const MatOwner blocks = grid ? BlockMatrix{8, 7, 6, size, 1, 0}.make() : BlockMatrix{36, 1, 1, size, 1, 0}.make();
      for (MatType type : {MATSEQAIJ, MATSEQAIJCUSPARSE})
        for (const std::string backend : {"host", "cuda"}) {
          SCOPED_TRACE(std::to_string((long long)size) + (grid ? " grid " : " line ") + type + " " + backend);
          MatOwner A = entries_of(blocks);
          ok(MatConvert(A, type, MAT_INPLACE_MATRIX, A.out()));
          const Options options("-pc_syncfree_backend " + backend);
          const Factored ours = set_up_there(A, "auto");
          const bool is_large = backend == "cuda" && size > 6, is_slower = backend == "cuda" && size < 4 && !grid;
          EXPECT_TRUE(contains(view(ours.pc), "syncfree backend: " + backend)) << view(ours.pc);
          EXPECT_EQ(contains(view(ours.pc), "rows are chosen by name only, on a GPU)"), is_large) << view(ours.pc);
          EXPECT_EQ(contains(view(ours.pc), "rows are slower than entries on a GPU"), is_slower) << view(ours.pc);
          const bool needs_tiles = backend == "cuda" && size < 4 && grid;
          EXPECT_TRUE(!needs_tiles || contains(view(ours.pc), "syncfree strategy: tiled")) << view(ours.pc);
          expect_factor_by(!is_large && !is_slower, ours, blocks);
        }
    }
}

/* Only ILU(0) in natural order has tiles of points, and only `auto` takes them of itself. */
TEST(BlocksOnTheDevice, of_3_rows_are_left_to_entries_where_tiles_do_not_follow)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  const MatOwner blocks = BlockMatrix{8, 7, 6, 3, 1, 0}.make();
  MatOwner A = entries_of(blocks);
  ok(MatConvert(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
  Request filled, ordered;
  filled.levels = 1;
  ordered.ordering = MATORDERINGRCM; /* of points or of entries, as PETSc finds inodes */
  expect_factor_by(true, set_up_there(A, "auto"), blocks);
  expect_factor_by(false, set_up_there(A, "auto", filled), blocks, filled);
  const Factored in_order = set_up_there(A, "auto", ordered);
  EXPECT_TRUE(contains(view(in_order.pc), "syncfree block size: 1 (")) << view(in_order.pc);
  expect_same_applies(set_up_there(A, "1", ordered), in_order, rows(A));
  for (const std::string strategy : {"level_order", "tiled"}) {
    const Options options("-pc_syncfree_strategy " + strategy);
    const Factored ours = set_up_there(A, "auto");
    if (ours.usable()) expect_factor_by(false, ours, blocks);
    else EXPECT_TRUE(has_no_plan(strategy, ours.refusal)) << ours.refusal.text;
  }
}

TEST(BlocksOnTheDevice, follow_new_values_and_name_the_row_of_a_failure)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  BlockMatrix values{4, 3, 3, 4};
  const MatOwner blocks = values.make();
  MatOwner A;
  ok(MatConvert(blocks, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
  ok(MatConvert(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
  Factored ours = set_up_there(A, "auto");
  EXPECT_TRUE(contains(view(ours.pc), "syncfree block size: 4 (dense blocks; ")) << view(ours.pc);
  values.seed = 5;
  for (Mat each : {(Mat)A, (Mat)blocks}) values.fill(each);
  ok(PCSetUp(ours.pc));
  expect_same_applies(set_up_petsc(blocks, {}), ours, rows(A));
  set_value(A, 9, 8, std::numeric_limits<PetscReal>::quiet_NaN());
  ok(PCSetErrorIfFailure(ours.pc, PETSC_TRUE));
  const Refusal refusal = refused([&] { return PCSetUp(ours.pc); });
  EXPECT_TRUE(refusal.says("block row 2")) << refusal.text;
}
}  // namespace
#endif
