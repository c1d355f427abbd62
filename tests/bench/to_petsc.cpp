/// What to_petsc.hpp declares.

#include "to_petsc.hpp"

#include <vector>

namespace bench {

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
}

void set_random(Vec x)
{
  PetscRandom random;
  ok(PetscRandomCreate(PETSC_COMM_SELF, &random));
  ok(PetscRandomSetType(random, PETSCRANDER48));
  ok(PetscRandomSetInterval(random, -1.0, 1.0));
  ok(PetscRandomSetSeed(random, 1));
  ok(PetscRandomSeed(random));
  ok(VecSetRandom(x, random));
  ok(PetscRandomDestroy(&random));
}

}  // namespace bench
