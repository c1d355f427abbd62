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

/* Larger blocks have no compiled form (src/host/block/dense.hpp, src/cuda/factor/factorize_dense.cu): they are slower than
   entries. On a device those of 3 rows have slower applications than entries by `tiled` or `merged`: EXPERIMENTS.md, "Dense
   blocks". */
constexpr PetscInt least_chosen = 2, most_chosen = 8, least_chosen_there = 4, most_chosen_there = 6;

static bool IsChosenSize(PetscInt size, bool there)
{
  return there ? size >= least_chosen_there && size <= most_chosen_there : size >= least_chosen && size <= most_chosen;
}

/* A matrix of one block is a dense one: it gains nothing, and a zero pivot is reported. */
static PetscErrorCode HasFullBlocks(const BorrowedMatrix &matrix, const Orders &orders, PetscInt size, bool *full)
{
  const auto pattern = matrix.Pattern();
  const bool there   = matrix.there.row_begin;

  PetscFunctionBegin;
  *full = false;
  if (!IsChosenSize(size, there) || matrix.n <= size || matrix.n % size || !syncfree::check_row_offsets(pattern).ok()) PetscFunctionReturn(PETSC_SUCCESS);
  if (!syncfree::keeps_blocks(orders.row, pattern.n, (Index)size) || !syncfree::keeps_blocks(orders.column, pattern.n, (Index)size)) PetscFunctionReturn(PETSC_SUCCESS);
  if (there) PetscCall(HasFullBlocksThere(matrix, size, full));
  else *full = syncfree::find_full_blocks<Index>(pattern, (int)size, 1, nullptr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the pattern on the device if the matrix is there and can be factored there. */
static PetscErrorCode LookThere(const Settings &settings, BorrowedMatrix *matrix)
{
  const std::string &strategy = settings.solver.strategy;
  PetscBool          device;
  std::string        why;

  PetscFunctionBegin;
  PetscCall(IsOnDevice(matrix->block, &device));
  if (!device || settings.backend == "host" || (strategy != "auto" && strategy != "level_order") || matrix->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FindDevice(&device, &why));
  if (device) PetscCall(GetDevicePattern(matrix->block, (Index)matrix->n, &matrix->there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds blocks of more than one row which need no padding, so that the factor has the same entries; else gets 1. */
static PetscErrorCode FindFullBlocks(Mat A, const BlockRequest &request, PetscInt *size)
{
  PetscInt given;

  PetscFunctionBegin;
  *size = 1;
  PetscCall(MatGetBlockSize(A, &given));
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    PetscInt of_inodes;
    bool     full = false;

    PetscFunctionBegin;
    PetscCall(GetInodeSize(matrix->block, &of_inodes));
    if (given > 1 || of_inodes > 1) PetscCall(LookThere(request.settings, matrix));
    for (const PetscInt candidate : {given, of_inodes}) {
      if (!full) PetscCall(HasFullBlocks(*matrix, request.orders, candidate, &full));
      if (full && *size == 1) *size = candidate;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests whether a factorization by blocks would serve everything that is asked for, except for the blocks themselves. */
static bool CanUseBlocks(MatFactorShiftType shift, const Settings &settings)
{
  const std::string &strategy = settings.solver.strategy;
  const bool         serves   = strategy == "auto" || strategy == "serial" || strategy == "blocks" || strategy == "level_order";

  return serves && IsShiftOfBlocks(shift) && settings.backend != "kokkos";
}

static PetscErrorCode GetBlocksOfEntries(Mat F, Mat A, MatFactorShiftType shift, const BlockRequest &request, ChosenBlocks *blocks)
{
  const bool icc = F->factortype == MAT_FACTOR_ICC;

  PetscFunctionBegin;
  blocks->size = (PetscInt)request.settings.block_size;
  PetscCheck(blocks->size <= 1 || !icc, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_syncfree_block_size %" PetscInt_FMT ": dense blocks are factored as ILU, not as ICC; use %s", blocks->size, PCSYNCFREEILU);
  if (blocks->size > 0) PetscFunctionReturn(PETSC_SUCCESS);
  blocks->size   = 1;
  blocks->chosen = true;
  if (!icc && !request.may_reorder && CanUseBlocks(shift, request.settings)) PetscCall(FindFullBlocks(A, request, &blocks->size));
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
