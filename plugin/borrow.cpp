/*
  What borrow.hpp declares, but for PETSc's calls of the device (device_cuda.cpp).
*/

#include "borrow.hpp"

#include <new>

#if PETSC_VERSION_LT(3, 19, 0) /* which has no device for us either */
  #define MatDenseGetArrayReadAndMemType(B, a, type)  MatDenseGetArrayRead(B, a)
  #define MatDenseGetArrayWriteAndMemType(B, a, type) MatDenseGetArrayWrite(B, a)
  #define MatDenseRestoreArrayReadAndMemType          MatDenseRestoreArrayRead
  #define MatDenseRestoreArrayWriteAndMemType         MatDenseRestoreArrayWrite
#endif

namespace syncfree_plugin {

PetscErrorCode Borrow(Mat A, BorrowedMatrix *borrowed)
{
  PetscBool done, parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  borrowed->block = A;
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &borrowed->block));
  PetscCall(MatGetRowIJ(borrowed->block, 0, PETSC_FALSE, PETSC_FALSE, &borrowed->n, &borrowed->row, &borrowed->column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Matrix type %s gives no access to its rows; convert it with MatConvert(A,MATAIJ,...)", ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowThere(const UsesDevice *object, BorrowedMatrix *borrowed)
{
  PetscBool device = PETSC_FALSE;

  PetscFunctionBegin;
  if (object) PetscCall(IsOnDevice(borrowed->block, &device));
  if (device && borrowed->n > 0) PetscCall(GetDevicePattern(borrowed->block, (Index)borrowed->n, &borrowed->there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowValues(UsesDevice *object, BorrowedMatrix *borrowed)
{
  PetscFunctionBegin;
  if (object) PetscCall(IsOnDevice(borrowed->block, &borrowed->device));
  if (borrowed->device) PetscCall(GetDeviceValues(borrowed->block, &borrowed->value));
  else PetscCall(MatSeqAIJGetArrayRead(borrowed->block, &borrowed->value));
  PetscCall(UseMemory(object, borrowed->device ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Return(BorrowedMatrix *borrowed)
{
  PetscBool done;

  PetscFunctionBegin;
  if (borrowed->there.row_begin) PetscCall(RestoreDevicePattern(borrowed->block, &borrowed->there));
  if (borrowed->device) PetscCall(RestoreDeviceValues(borrowed->block, &borrowed->value));
  else if (borrowed->value) PetscCall(MatSeqAIJRestoreArrayRead(borrowed->block, &borrowed->value));
  PetscCall(MatRestoreRowIJ(borrowed->block, 0, PETSC_FALSE, PETSC_FALSE, &borrowed->n, &borrowed->row, &borrowed->column, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

syncfree::Status FingerprintOf(const BorrowedMatrix &matrix, int threads, syncfree::Fingerprint *print)
{
  const auto pattern = matrix.Pattern();

  if (matrix.there.row_begin) return FingerprintThere(matrix.there, pattern.nnz(), print);
  *print = syncfree::fingerprint(pattern, threads);
  return {};
}

static PetscErrorCode GetVectors(Vec b, Vec x, PetscBool reads_x, PetscBool any_memory, BorrowedVectors *borrowed, PetscMemType *from, PetscMemType *to)
{
  PetscFunctionBegin;
  if (any_memory) {
    PetscCall(VecGetArrayReadAndMemType(b, &borrowed->from, from));
    if (reads_x) PetscCall(VecGetArrayAndMemType(x, &borrowed->to, to));
    else PetscCall(VecGetArrayWriteAndMemType(x, &borrowed->to, to));
  } else {
    PetscCall(VecGetArrayRead(b, &borrowed->from));
    if (reads_x) PetscCall(VecGetArray(x, &borrowed->to));
    else PetscCall(VecGetArrayWrite(x, &borrowed->to));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreVectors(Vec b, Vec x, PetscBool reads_x, PetscBool any_memory, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  if (any_memory) {
    if (reads_x) PetscCall(VecRestoreArrayAndMemType(x, &borrowed->to));
    else PetscCall(VecRestoreArrayWriteAndMemType(x, &borrowed->to));
    PetscCall(VecRestoreArrayReadAndMemType(b, &borrowed->from));
  } else {
    if (reads_x) PetscCall(VecRestoreArray(x, &borrowed->to));
    else PetscCall(VecRestoreArrayWrite(x, &borrowed->to));
    PetscCall(VecRestoreArrayRead(b, &borrowed->from));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowVectors(UsesDevice *object, Vec b, Vec x, PetscBool reads_x, BorrowedVectors *borrowed)
{
  PetscMemType from = PETSC_MEMTYPE_HOST, to = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (object) {
    PetscCall(GetVectors(b, x, reads_x, PETSC_TRUE, borrowed, &from, &to));
    borrowed->device = (PetscBool)(PetscMemTypeDevice(from) && PetscMemTypeDevice(to));
    if (!borrowed->device) PetscCall(RestoreVectors(b, x, reads_x, PETSC_TRUE, borrowed));
  }
  if (!borrowed->device) PetscCall(GetVectors(b, x, reads_x, PETSC_FALSE, borrowed, &from, &to));
  PetscCall(UseMemory(object, borrowed->device ? from : PETSC_MEMTYPE_HOST));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReturnVectors(Vec b, Vec x, PetscBool reads_x, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  PetscCall(RestoreVectors(b, x, reads_x, borrowed->device, borrowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowColumns(UsesDevice *object, Mat B, Mat X, BorrowedVectors *borrowed)
{
  PetscMemType from = PETSC_MEMTYPE_HOST, to = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (object) {
    PetscCall(MatDenseGetArrayReadAndMemType(B, &borrowed->from, &from));
    PetscCall(MatDenseGetArrayWriteAndMemType(X, &borrowed->to, &to));
    borrowed->device = (PetscBool)(PetscMemTypeDevice(from) && PetscMemTypeDevice(to));
    if (!borrowed->device) {
      PetscCall(MatDenseRestoreArrayWriteAndMemType(X, &borrowed->to));
      PetscCall(MatDenseRestoreArrayReadAndMemType(B, &borrowed->from));
    }
  }
  if (!borrowed->device) {
    PetscCall(MatDenseGetArrayRead(B, &borrowed->from));
    PetscCall(MatDenseGetArrayWrite(X, &borrowed->to));
  }
  PetscCall(UseMemory(object, borrowed->device ? from : PETSC_MEMTYPE_HOST));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReturnColumns(Mat B, Mat X, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  if (borrowed->device) {
    PetscCall(MatDenseRestoreArrayWriteAndMemType(X, &borrowed->to));
    PetscCall(MatDenseRestoreArrayReadAndMemType(B, &borrowed->from));
  } else {
    PetscCall(MatDenseRestoreArrayWrite(X, &borrowed->to));
    PetscCall(MatDenseRestoreArrayRead(B, &borrowed->from));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
