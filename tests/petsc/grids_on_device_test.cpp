/*
  Grids in RCM order on a device, which are solved in their natural order: to PETSc's users the factor is that of the
  order that they asked for.
*/

#include "factored.hpp"
#include "life.hpp"
#include "matrices.hpp"

#if defined(PETSC_HAVE_CUDA)
namespace {

/* A matrix in host memory for PETSc's own PC, and the same on the device. */
struct Stored {
  MatOwner host, device;

  explicit Stored(Mat A)
  {
    ok(MatDuplicate(A, MAT_COPY_VALUES, host.out()));
    put();
  }
  void put()
  {
    device = MatOwner();
    ok(MatConvert(host, MATSEQAIJCUSPARSE, MAT_INITIAL_MATRIX, device.out()));
  }
};

MatOwner in_rcm_order(Mat A)
{
  ISOwner row, column;
  MatOwner B;
  ok(MatGetOrdering(A, MATORDERINGRCM, row.out(), column.out()));
  ok(MatPermute(A, row, column, B.out()));
  return B;
}

/* A cube and a square, as they are and in RCM order. */
std::vector<Stored> grids(bool in_rcm)
{
  std::vector<Stored> all;
  const MatOwner cube = poisson_3d(12, 13, 14), square = poisson_2d(40, 31);
  for (Mat A : {(Mat)cube, (Mat)square}) {
    if (in_rcm) all.emplace_back(in_rcm_order(A));
    else all.emplace_back(A);
  }
  return all;
}

TEST(GridsOnTheDevice, in_rcm_order_have_petscs_factor)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  for (const bool in_rcm : {false, true})
    for (const Stored& grid : grids(in_rcm))
      for (const bool icc : {false, true}) {
        const Request request = {icc, default_shift(icc), in_rcm ? MATORDERINGNATURAL : MATORDERINGRCM};
        SCOPED_TRACE(request.text());
        const Factored petsc = set_up_petsc(grid.host, request), ours = set_up_ours(grid.device, request, "tiled");
        ASSERT_TRUE(petsc.usable() && ours.usable()) << ours.refusal.text;
        EXPECT_TRUE(contains(view(ours.pc), "; rows solved in the natural order of a ")) << view(ours.pc);
        const Pair pair = read_factors(petsc, ours, request);
        EXPECT_TRUE(agrees(pair.petsc, pair.ours));
        const Order order = order_of(grid.host, request);
        const PetscInt n = rows(grid.host), columns = 3;
        const Numbers b = random_numbers(n * columns, 44), one(b.begin(), b.begin() + n);
        EXPECT_TRUE(agrees(expected_apply(pair.petsc, order, one), applied(ours, PCApply, one)));
        EXPECT_TRUE(agrees(expected_transpose(pair.petsc, order, one), applied(ours, PCApplyTranspose, one)));
        EXPECT_TRUE(agrees(expected_left(pair.petsc, order, icc, one), applied(ours, PCApplySymmetricLeft, one)));
        EXPECT_TRUE(agrees(expected_right(pair.petsc, order, icc, one), applied(ours, PCApplySymmetricRight, one)));
        MatOwner X = make_dense(n, columns, b), Y = make_dense(n, columns, b);
        ok(PCMatApply(ours.pc, X, Y));
        const Numbers y = dense_entries(Y);
        for (PetscInt c = 0; c < columns; ++c)
          EXPECT_TRUE(agrees(expected_apply(pair.petsc, order, Numbers(b.begin() + c * n, b.begin() + (c + 1) * n)),
                             Numbers(y.begin() + c * n, y.begin() + (c + 1) * n)))
            << "column " << c;
      }
}

/* New values, another matrix of the same size, and the first again, with orders that are kept or made anew. */
TEST(GridsOnTheDevice, in_rcm_order_are_set_up_again_as_petscs_are)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  for (const bool reuse : {false, true}) {
    Stored grid(poisson_3d(12, 13, 14)), other(poisson_2d(56, 39));
    PCOwner pcs[2];
    for (const int k : {0, 1}) {
      ok(PCCreate(PETSC_COMM_SELF, pcs[k].out()));
      ok(PCSetType(pcs[k], k ? PCSYNCFREEILU : PCILU));
      ok(PCFactorSetMatOrderingType(pcs[k], MATORDERINGRCM));
      ok(PCFactorSetReuseOrdering(pcs[k], (PetscBool)reuse));
    }
    ok(PCSyncFreeSetStrategy(pcs[1], "tiled"));
    const auto expect_equal = [&](Stored& matrix, const char* when) {
      const PetscInt n = rows(matrix.host);
      const Numbers b = random_numbers(n, 7);
      Numbers x[2];
      for (const int k : {0, 1}) {
        Mat A = k ? matrix.device : matrix.host;
        VecOwner from = make_vector(b), to = make_vector(n);
        ok(PCSetOperators(pcs[k], A, A));
        ok(PCSetUp(pcs[k]));
        ok(PCApply(pcs[k], from, to));
        x[k] = entries(to);
      }
      for (std::size_t i = 0; i < b.size(); ++i)
        ASSERT_LE(magnitude(x[0][i] - x[1][i]), 1000 * eps * (1 + magnitude(x[0][i]))) << when << ", row " << i;
    };
    expect_equal(grid, "first");
    EXPECT_TRUE(contains(view(pcs[1]), "; rows solved in the natural order of a ")) << view(pcs[1]);
    new_values(grid.host, 4);
    grid.put();
    expect_equal(grid, "new values");
    expect_equal(other, "another pattern");
    expect_equal(grid, "the first again");
  }
}

/* The row that is named is the first that fails in the order that was asked for; PETSc names the last. */
TEST(GridsOnTheDevice, in_rcm_order_name_the_row_of_a_zero_pivot)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  for (const bool in_rcm : {false, true}) {
    const MatOwner natural = poisson_3d(12, 13, 14);
    MatOwner A;
    if (in_rcm) A = in_rcm_order(natural);
    else ok(MatDuplicate(natural, MAT_COPY_VALUES, A.out()));
    ok(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    for (const PetscInt row : {400, 900, 1700}) ok(MatZeroRows(A, 1, &row, 0.0, nullptr, nullptr));
    const Stored stored(A);
    Request request;
    request.ordering = in_rcm ? MATORDERINGNATURAL : MATORDERINGRCM;
    const Factored petsc = set_up_petsc(stored.host, request), ours = set_up_ours(stored.device, request, "tiled");
    MatFactorError of_petsc, of_ours;
    PetscReal pivot;
    PetscInt last, row;
    ok(MatFactorGetError(petsc.matrix(), &of_petsc));
    ok(MatFactorGetError(ours.matrix(), &of_ours));
    EXPECT_EQ(of_petsc, of_ours);
    ok(MatFactorGetErrorZeroPivot(petsc.matrix(), &pivot, &last));
    ok(MatFactorGetErrorZeroPivot(ours.matrix(), &pivot, &row));
    const Order order = order_of(stored.host, request);
    std::vector<PetscInt> failing;
    for (PetscInt i = 0; i < rows(stored.host); ++i)
      if (order.row[i] == 400 || order.row[i] == 900 || order.row[i] == 1700) failing.push_back(i);
    ASSERT_EQ(failing.size(), 3u);
    EXPECT_EQ(row, failing.front());
    EXPECT_EQ(last, failing.back());
  }
}

} // namespace
#endif
