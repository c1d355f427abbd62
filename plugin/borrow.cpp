/*
  Implements borrow.hpp, except for PETSc's device functions (device_cuda.cpp).
*/

#include "borrow.hpp"

#include <cstring>
#include <new>

#if PETSC_VERSION_LT(3, 19, 0) /* with which this plugin does not use a device */
  #define MatDenseGetArrayReadAndMemType(B, a, type)  MatDenseGetArrayRead(B, a)
  #define MatDenseGetArrayWriteAndMemType(B, a, type) MatDenseGetArrayWrite(B, a)
  #define MatDenseRestoreArrayReadAndMemType          MatDenseRestoreArrayRead
  #define MatDenseRestoreArrayWriteAndMemType         MatDenseRestoreArrayWrite
#endif

namespace syncfree_plugin {

#define PASS_AIJ "pass an assembled AIJ matrix as Pmat to KSPSetOperators()"
#define CONVERT "run with -mat_type aij if the program calls MatSetFromOptions(), else call MatConvert(A,MATAIJ,MAT_INITIAL_MATRIX,&B)"
#define ASSEMBLE PASS_AIJ ", or, for small problems, assemble one with MatComputeOperator(A,MATAIJ,&B)"

/* Refused matrix types, by the beginning of their names: description, advice for factorizations and for sweeps */
static const struct {
  const char *types[3], *what, *factors, *sweeps;
} other_types[] = {
  {{MATSEQDENSE, MATMPIDENSE}, "a dense matrix, which stores its zeros", "its incomplete factorization is a complete one, so use -pc_type lu; if most entries are zero, " CONVERT, "its sweeps are sequential, so use -pc_type sor; if most entries are zero, " CONVERT},
  {{MATSHELL, MATPYTHON}, "a matrix-free operator without entries", ASSEMBLE, ASSEMBLE},
  {{MATSEQSBAIJ, MATMPISBAIJ}, "the upper triangle of a symmetric matrix, stored in blocks", "with block size 1 use -pc_type " PCSYNCFREEICC ", else " CONVERT "; the factor then differs from PETSc's block factorization of SBAIJ", CONVERT},
  {{MATSEQBAIJ, MATMPIBAIJ}, "a matrix stored in dense blocks", CONVERT "; the factor then differs from PETSc's block factorization of BAIJ", CONVERT},
  {{MATNEST}, "a nested matrix", CONVERT "; or use -pc_type fieldsplit, and this PC type for its blocks", CONVERT "; or use -pc_type fieldsplit, and this PC type for its blocks"},
  {{"diagonal", MATCONSTANTDIAGONAL}, "a diagonal matrix", "use -pc_type jacobi", "use -pc_type jacobi"},
  {{""}, "which PETSc may be able to convert", CONVERT "; if PETSc cannot convert it, " PASS_AIJ, CONVERT "; if PETSc cannot convert it, " PASS_AIJ}, /* all others */
};

PetscErrorCode CheckMatrixType(PC pc, Work work)
{
  const char *name = ((PetscObject)pc)->type_name, *type = ((PetscObject)pc->pmat)->type_name ? ((PetscObject)pc->pmat)->type_name : "a matrix whose type is not set";
  PetscBool   is, of_blocks, upper;
  PetscInt    size;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &is, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &of_blocks, MATSEQBAIJ, MATMPIBAIJ, ""));
  const bool sweeps = work == Work::sor, factors_blocks = work == Work::ilu;
  if (is || (of_blocks && factors_blocks)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCall(MatGetBlockSize(pc->pmat, &size));
  if (upper && size == 1 && work == Work::icc) PetscFunctionReturn(PETSC_SUCCESS);
  for (const auto &other : other_types)
    for (const char *begin : other.types) PetscCheck(!begin || std::strncmp(type, begin, std::strlen(begin)), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PC type %s %s matrices, not %s (%s): %s", name, sweeps ? "relaxes AIJ" : factors_blocks ? "factors AIJ and BAIJ" : "factors AIJ", type, other.what, sweeps ? other.sweeps : other.factors);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc then passes the pattern of blocks, which it stores. */
static PetscBool StoresBlocks(const BorrowedMatrix &matrix)
{
  return (PetscBool)(matrix.baij || matrix.upper);
}

PetscErrorCode Borrow(Mat A, BorrowedMatrix *borrowed)
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &parallel, MATMPIAIJ, MATMPIBAIJ, MATMPISBAIJ, ""));
  borrowed->block = A;
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &borrowed->block));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)borrowed->block, MATSEQBAIJ, &borrowed->baij));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)borrowed->block, MATSEQSBAIJ, &borrowed->upper));
  if (borrowed->baij) PetscCall(MatGetBlockSize(borrowed->block, &borrowed->block_size));
  PetscCall(MatGetRowIJ(borrowed->block, 0, PETSC_FALSE, StoresBlocks(*borrowed), &borrowed->n, &borrowed->row, &borrowed->column, &borrowed->rows));
  PetscCheck(borrowed->rows, PETSC_COMM_SELF, PETSC_ERR_SUP, "Matrix type %s does not support MatGetRowIJ(); convert it with MatConvert(A,MATAIJ,...)", ((PetscObject)A)->type_name);
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

/* MATBAIJ and MATSBAIJ have no access to their values for reading only. */
static PetscErrorCode BorrowBlocks(BorrowedMatrix *borrowed)
{
  PetscScalar *value;

  PetscFunctionBegin;
  if (borrowed->upper) PetscCall(MatSeqSBAIJGetArray(borrowed->block, &value));
  else PetscCall(MatSeqBAIJGetArray(borrowed->block, &value));
  borrowed->value = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the state of the matrix, which newer versions of PETSc increase here: every application would factor again. */
static PetscErrorCode ReturnBlocks(BorrowedMatrix *borrowed)
{
  PetscScalar     *value = const_cast<PetscScalar *>(borrowed->value);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)borrowed->block, &state));
  if (borrowed->upper) PetscCall(MatSeqSBAIJRestoreArray(borrowed->block, &value));
  else PetscCall(MatSeqBAIJRestoreArray(borrowed->block, &value));
  PetscCall(PetscObjectStateSet((PetscObject)borrowed->block, state));
  borrowed->value = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowValues(UsesDevice *object, BorrowedMatrix *borrowed)
{
  PetscFunctionBegin;
  if (object) PetscCall(IsOnDevice(borrowed->block, &borrowed->device));
  if (borrowed->device) PetscCall(GetDeviceValues(borrowed->block, &borrowed->value));
  else if (StoresBlocks(*borrowed)) PetscCall(BorrowBlocks(borrowed));
  else PetscCall(MatSeqAIJGetArrayRead(borrowed->block, &borrowed->value));
  PetscCall(UseMemory(object, borrowed->device ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Return(BorrowedMatrix *borrowed)
{
  PetscBool done;

  PetscFunctionBegin;
  if (borrowed->there.row_begin) PetscCall(RestoreDevicePattern(borrowed->block, &borrowed->there));
  if (borrowed->value && borrowed->device) PetscCall(RestoreDeviceValues(borrowed->block, &borrowed->value));
  else if (borrowed->value && StoresBlocks(*borrowed)) PetscCall(ReturnBlocks(borrowed));
  else if (borrowed->value) PetscCall(MatSeqAIJRestoreArrayRead(borrowed->block, &borrowed->value));
  if (borrowed->rows) PetscCall(MatRestoreRowIJ(borrowed->block, 0, PETSC_FALSE, StoresBlocks(*borrowed), &borrowed->n, &borrowed->row, &borrowed->column, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool PatternState::operator==(const PatternState &other) const
{
  return matrix == other.matrix && changes == other.changes && row == other.row && column == other.column && nonzeros == other.nonzeros;
}

PetscErrorCode GetPatternState(const BorrowedMatrix &matrix, PatternState *state)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)matrix.block, &state->matrix));
  state->changes  = matrix.block->nonzerostate;
  state->row      = matrix.row;
  state->column   = matrix.column;
  state->nonzeros = (PetscInt)matrix.Pattern().nnz();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets both arrays, or none if one fails. */
static PetscErrorCode GetVectors(Vec b, Vec x, PetscBool reads_x, PetscBool any_memory, BorrowedVectors *borrowed, PetscMemType *from, PetscMemType *to)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (any_memory) {
    PetscCall(VecGetArrayReadAndMemType(b, &borrowed->from, from));
    ierr = reads_x ? VecGetArrayAndMemType(x, &borrowed->to, to) : VecGetArrayWriteAndMemType(x, &borrowed->to, to);
    if (ierr) PetscCall(VecRestoreArrayReadAndMemType(b, &borrowed->from));
  } else {
    PetscCall(VecGetArrayRead(b, &borrowed->from));
    ierr = reads_x ? VecGetArray(x, &borrowed->to) : VecGetArrayWrite(x, &borrowed->to);
    if (ierr) PetscCall(VecRestoreArrayRead(b, &borrowed->from));
  }
  PetscCall(ierr);
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
  PetscMemType   from = PETSC_MEMTYPE_HOST, to = PETSC_MEMTYPE_HOST;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (object) {
    PetscCall(GetVectors(b, x, reads_x, PETSC_TRUE, borrowed, &from, &to));
    borrowed->device = (PetscBool)(PetscMemTypeDevice(from) && PetscMemTypeDevice(to));
    if (!borrowed->device) PetscCall(RestoreVectors(b, x, reads_x, PETSC_TRUE, borrowed));
  }
  if (!borrowed->device) PetscCall(GetVectors(b, x, reads_x, PETSC_FALSE, borrowed, &from, &to));
  ierr = UseMemory(object, borrowed->device ? from : PETSC_MEMTYPE_HOST);
  if (ierr) PetscCall(RestoreVectors(b, x, reads_x, borrowed->device, borrowed));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReturnVectors(Vec b, Vec x, PetscBool reads_x, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  PetscCall(RestoreVectors(b, x, reads_x, borrowed->device, borrowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetColumns(Mat B, Mat X, PetscBool any_memory, BorrowedVectors *borrowed, PetscMemType *from, PetscMemType *to)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)from, (void)to; /* unused with old PETSc versions */
  if (any_memory) {
    PetscCall(MatDenseGetArrayReadAndMemType(B, &borrowed->from, from));
    ierr = MatDenseGetArrayWriteAndMemType(X, &borrowed->to, to);
    if (ierr) PetscCall(MatDenseRestoreArrayReadAndMemType(B, &borrowed->from));
  } else {
    PetscCall(MatDenseGetArrayRead(B, &borrowed->from));
    ierr = MatDenseGetArrayWrite(X, &borrowed->to);
    if (ierr) PetscCall(MatDenseRestoreArrayRead(B, &borrowed->from));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreColumns(Mat B, Mat X, PetscBool any_memory, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  if (any_memory) {
    PetscCall(MatDenseRestoreArrayWriteAndMemType(X, &borrowed->to));
    PetscCall(MatDenseRestoreArrayReadAndMemType(B, &borrowed->from));
  } else {
    PetscCall(MatDenseRestoreArrayWrite(X, &borrowed->to));
    PetscCall(MatDenseRestoreArrayRead(B, &borrowed->from));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BorrowColumns(UsesDevice *object, Mat B, Mat X, BorrowedVectors *borrowed)
{
  PetscMemType   from = PETSC_MEMTYPE_HOST, to = PETSC_MEMTYPE_HOST;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (object) {
    PetscCall(GetColumns(B, X, PETSC_TRUE, borrowed, &from, &to));
    borrowed->device = (PetscBool)(PetscMemTypeDevice(from) && PetscMemTypeDevice(to));
    if (!borrowed->device) PetscCall(RestoreColumns(B, X, PETSC_TRUE, borrowed));
  }
  if (!borrowed->device) PetscCall(GetColumns(B, X, PETSC_FALSE, borrowed, &from, &to));
  ierr = UseMemory(object, borrowed->device ? from : PETSC_MEMTYPE_HOST);
  if (ierr) PetscCall(RestoreColumns(B, X, borrowed->device, borrowed));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReturnColumns(Mat B, Mat X, BorrowedVectors *borrowed)
{
  PetscFunctionBegin;
  PetscCall(RestoreColumns(B, X, borrowed->device, borrowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
