/*
  Chooses the dense blocks in which a matrix is factored: those of a BAIJ matrix, or blocks to which the entries of an AIJ
  matrix are copied.
*/

#include "factor_impl.hpp"

#include <numeric>

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

/* Gets the greatest common divisor of the sizes of a sequential AIJ matrix's inodes, 1 if it has none. */
static PetscErrorCode GetInodeSize(Mat block, PetscInt *size)
{
  PetscInt nodes = 0, *sizes = nullptr;

  PetscFunctionBegin;
  *size = 1;
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  if (!sizes || nodes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  const bool offsets = sizes[0] == 0;
  *size              = 0;
  for (PetscInt k = 0; k < nodes && *size != 1; k++) *size = std::gcd(*size, offsets ? sizes[k + 1] - sizes[k] : sizes[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Larger blocks have no compiled form (src/host/block/dense.hpp): they are slower than entries. */
constexpr PetscInt most_chosen = 8;

/* A matrix of one block is a dense one: it gains nothing, and a zero pivot is reported. */
static bool HasFullBlocks(const BorrowedMatrix &matrix, const Orders &orders, PetscInt size)
{
  const auto pattern = matrix.Pattern();

  if (size <= 1 || size > most_chosen || matrix.n <= size || matrix.n % size || !syncfree::check_row_offsets(pattern).ok()) return false;
  if (!syncfree::keeps_blocks(orders.row, pattern.n, (Index)size) || !syncfree::keeps_blocks(orders.column, pattern.n, (Index)size)) return false;
  return syncfree::find_full_blocks<Index>(pattern, (int)size, 1, nullptr);
}

/* Finds blocks of more than one row which need no padding, so that the factor has the same entries; else gets 1. */
static PetscErrorCode FindFullBlocks(Mat A, const Orders &orders, PetscInt *size)
{
  PetscInt given;

  PetscFunctionBegin;
  *size = 1;
  PetscCall(MatGetBlockSize(A, &given));
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    PetscInt of_inodes;

    PetscFunctionBegin;
    PetscCall(GetInodeSize(matrix->block, &of_inodes));
    for (const PetscInt candidate : {given, of_inodes})
      if (*size == 1 && HasFullBlocks(*matrix, orders, candidate)) *size = candidate;
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

static PetscErrorCode GetBlocksOfEntries(Mat F, Mat A, MatFactorShiftType shift, const BlockRequest &request, ChosenBlocks *blocks)
{
  const bool icc = F->factortype == MAT_FACTOR_ICC;
  bool       can = false;

  PetscFunctionBegin;
  blocks->size = (PetscInt)request.settings.block_size;
  PetscCheck(blocks->size <= 1 || !icc, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_syncfree_block_size %" PetscInt_FMT ": dense blocks are factored as ILU, not as ICC; use %s", blocks->size, PCSYNCFREEILU);
  if (blocks->size > 0) PetscFunctionReturn(PETSC_SUCCESS);
  blocks->size   = 1;
  blocks->chosen = true;
  if (!icc && !request.may_reorder) PetscCall(CanUseBlocks(A, shift, request.settings, &can));
  if (can) PetscCall(FindFullBlocks(A, request.orders, &blocks->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckShift(MatFactorShiftType shift)
{
  PetscFunctionBegin;
  PetscCheck(IsShiftOfBlocks(shift), PETSC_COMM_SELF, PETSC_ERR_SUP, "Dense blocks are factored with -pc_factor_shift_type none or inblocks, not %s; use one of these, or factor by entries: with -pc_syncfree_block_size 1, and -mat_type aij if the matrix is of type baij", MatFactorShiftTypes[(int)shift]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetBlocks(Mat F, Mat A, const MatFactorInfo *info, const BlockRequest &request, ChosenBlocks *blocks)
{
  const PetscInt     named = (PetscInt)request.settings.block_size;
  MatFactorShiftType shift;
  PetscBool          baij;

  PetscFunctionBegin;
  *blocks = ChosenBlocks();
  PetscCall(GetShift(A, info, &shift));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) {
    PetscCall(MatGetBlockSize(A, &blocks->size));
    PetscCheck(named <= 1 || named == blocks->size, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Matrix has dense blocks of size %" PetscInt_FMT ", but -pc_syncfree_block_size is %" PetscInt_FMT "; leave the option out, or use -mat_type aij", blocks->size, named);
  } else PetscCall(GetBlocksOfEntries(F, A, shift, request, blocks));
  if (blocks->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  blocks->from = baij ? Blocks::stored : Blocks::copied;
  PetscCall(CheckShift(shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KeepsBlocks(Mat A, const MatFactorInfo *info, const AnalysisKey &key, bool *keeps)
{
  MatFactorShiftType shift;

  PetscFunctionBegin;
  *keeps = true;
  if (key.options.block_size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetShift(A, info, &shift));
  if (key.chose_blocks) *keeps = IsShiftOfBlocks(shift);
  else PetscCall(CheckShift(shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
