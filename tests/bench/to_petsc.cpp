/// Implements to_petsc.hpp.

#include "to_petsc.hpp"

#include <vector>

namespace bench {
namespace {

using RandomOwner = Owned<PetscRandom, PetscRandomDestroy>;

RandomOwner make_random()
{
  RandomOwner random;
  ok(PetscRandomCreate(PETSC_COMM_SELF, random.out()));
  ok(PetscRandomSetType(random, PETSCRANDER48));
  ok(PetscRandomSetInterval(random, -1.0, 1.0));
  ok(PetscRandomSetSeed(random, 1));
  ok(PetscRandomSeed(random));
  return random;
}

}  // namespace

MatOwner to_petsc(const Matrix& A)
{
  const std::vector<PetscInt> row_begin(A.row_begin.begin(), A.row_begin.end());
  const std::vector<PetscInt> column(A.column.begin(), A.column.end());
  const std::vector<PetscScalar> value(A.value.begin(), A.value.end());
  const auto n = static_cast<PetscInt>(A.n());
  MatOwner B;
  ok(MatCreate(PETSC_COMM_SELF, B.out()));
  ok(MatSetSizes(B, n, n, n, n));
  ok(MatSetBlockSize(B, A.block));
  ok(MatSetType(B, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(B, row_begin.data(), column.data(), value.data()));
  ok(MatSetOption(B, MAT_SYMMETRIC, A.symmetric ? PETSC_TRUE : PETSC_FALSE));
  return B;
}

void place(MatOwner* A)
{
  if (on_device) ok(MatConvert(*A, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, A->out()));
  if (in_blocks) ok(MatConvert(*A, MATSEQBAIJ, MAT_INPLACE_MATRIX, A->out()));
}

void set_random(Vec x) { ok(VecSetRandom(x, make_random())); }

MatOwner make_dense(PetscInt rows, PetscInt columns)
{
  MatOwner B;
  ok(MatCreate(PETSC_COMM_SELF, B.out()));
  ok(MatSetSizes(B, rows, columns, rows, columns));
  ok(MatSetType(B, on_device ? MATSEQDENSECUDA : MATSEQDENSE));
  ok(MatSetUp(B));
  return B;
}

MatOwner products_with_random(Mat A, PetscInt columns)
{
  const RandomOwner random = make_random();
  VecOwner y;
  Vec b;
  PetscInt rows;
  ok(MatGetSize(A, &rows, nullptr));
  ok(MatCreateVecs(A, y.out(), nullptr));
  MatOwner B = make_dense(rows, columns);
  for (PetscInt c = 0; c < columns; ++c) {
    ok(VecSetRandom(y, random));
    ok(MatDenseGetColumnVecWrite(B, c, &b));
    ok(MatMult(A, y, b));
    ok(MatDenseRestoreColumnVecWrite(B, c, &b));
  }
  return B;
}

}  // namespace bench
