/*
  Chooses the dense blocks in which a matrix is factored: those of a BAIJ matrix, or blocks to which the entries of an AIJ
  matrix are copied.
*/

#include "factor_impl.hpp"

#include <algorithm>

#include "syncfree/blocks.hpp"

namespace syncfree_plugin {

PetscErrorCode GetShift(Mat A, const MatFactorInfo *info, MatFactorShiftType *shift)
{
  SetupContext *handover;

  PetscFunctionBegin;
  *shift = (MatFactorShiftType)(int)info->shifttype;
  PetscCall(QueryHandover(A, &handover));
  if (handover) *shift = handover->shift;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool IsShiftOfBlocks(MatFactorShiftType shift)
{
  return shift == MAT_SHIFT_NONE || shift == MAT_SHIFT_INBLOCKS;
}

/* Gets the size of the inodes of a sequential AIJ matrix if all have the same, else 1. */
static PetscErrorCode GetInodeSize(Mat block, PetscInt *size)
{
  PetscInt nodes = 0, *sizes = nullptr;
  bool     same  = true;

  PetscFunctionBegin;
  *size = 1;
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  if (!sizes || nodes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const bool     offsets = sizes[0] == 0;
  const PetscInt first   = offsets ? sizes[1] : sizes[0];
  for (PetscInt k = 0; k < nodes; k++) same = same && first == (offsets ? sizes[k + 1] - sizes[k] : sizes[k]);
  if (same) *size = first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds blocks of more than one row which need no padding, so that the factor has the same entries; else gets 1. */
static PetscErrorCode FindFullBlocks(Mat A, PetscInt *size)
{
  PetscInt given;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &given));
  *size = 1;
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    syncfree::BlockPattern<Index> pattern;

    PetscFunctionBegin;
    if (given == 1) PetscCall(GetInodeSize(matrix->block, &given));
    if (given == 1 || matrix->n == 0 || matrix->n % given || !syncfree::check_pattern(matrix->Pattern()).ok()) PetscFunctionReturn(PETSC_SUCCESS);
    const syncfree::Status status = syncfree::make_block_pattern(matrix->Pattern(), (int)given, &pattern);
    if (status.ok() && pattern.padding == 0) *size = given;
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests whether a factorization by blocks would serve everything that is asked for, except for the blocks themselves. */
static PetscErrorCode CanUseBlocks(Mat A, MatFactorShiftType shift, const Settings &settings, bool *can)
{
  const std::string &strategy = settings.solver.strategy;
  PetscBool          parallel, device;
  Mat                block = A;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(IsOnDevice(block, &device));
  *can = !device && IsShiftOfBlocks(shift) && (settings.backend == "auto" || settings.backend == "host") && (strategy == "auto" || strategy == "serial" || strategy == "blocks");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBlocksOfEntries(Mat F, Mat A, MatFactorShiftType shift, const Settings &settings, bool ordered, PetscInt *size)
{
  const bool icc = F->factortype == MAT_FACTOR_ICC;
  bool       can = false;

  PetscFunctionBegin;
  *size = (PetscInt)settings.block_size;
  PetscCheck(*size <= 1 || !icc, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_syncfree_block_size %" PetscInt_FMT ": dense blocks are factored as ILU, not as ICC; use %s", *size, PCSYNCFREEILU);
  if (*size > 0) PetscFunctionReturn(PETSC_SUCCESS);
  *size = 1;
  if (!icc && !ordered) PetscCall(CanUseBlocks(A, shift, settings, &can));
  if (can) PetscCall(FindFullBlocks(A, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetBlocks(Mat F, Mat A, const MatFactorInfo *info, const Settings &settings, bool ordered, PetscInt *size, Blocks *blocks)
{
  MatFactorShiftType shift;
  PetscBool          baij;

  PetscFunctionBegin;
  PetscCall(GetShift(A, info, &shift));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) {
    PetscCall(MatGetBlockSize(A, size));
    PetscCheck(settings.block_size <= 1 || settings.block_size == *size, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Matrix has dense blocks of size %" PetscInt_FMT ", but -pc_syncfree_block_size is %" PetscInt_FMT "; leave the option out, or use -mat_type aij", *size, (PetscInt)settings.block_size);
  } else PetscCall(GetBlocksOfEntries(F, A, shift, settings, ordered, size));
  *blocks = *size == 1 ? Blocks::none : baij ? Blocks::stored : Blocks::copied;
  PetscCheck(*size == 1 || IsShiftOfBlocks(shift), PETSC_COMM_SELF, PETSC_ERR_SUP, "Dense blocks are factored with -pc_factor_shift_type none or inblocks, not %s; use one of these, or factor by entries, an AIJ matrix with -pc_syncfree_block_size 1", MatFactorShiftTypes[(int)shift]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
