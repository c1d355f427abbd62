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
   entries. On a device smaller ones than always_faster_there have faster applications than entries by strategy tiled only:
   EXPERIMENTS.md, "Dense blocks". */
constexpr PetscInt most_chosen = 8, most_chosen_there = 6, always_faster_there = 4;

/* Predicts whether small blocks are faster than entries on a device. */
static PetscErrorCode AreFasterThere(const BorrowedMatrix &matrix, const MatFactorInfo *info, const BlockRequest &request, PetscInt size, bool *faster)
{
  const bool in_natural_order = !request.orders.row && !request.orders.column;

  PetscFunctionBegin;
  *faster = size >= always_faster_there;
  if (*faster || !in_natural_order || info->levels > 0 || request.settings.solver.strategy != "auto") PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PredictTilesThere(matrix, size, faster));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets why blocks of this size are not chosen, or nothing if they are. They must need no padding, so that the factor has
   the same entries. A matrix of one block is a dense one: it gains nothing, and a zero pivot is reported.
     device   where it is factored */
static PetscErrorCode TryBlocks(const BorrowedMatrix &matrix, const MatFactorInfo *info, const BlockRequest &request, PetscInt size, bool device, std::string *why)
{
  const auto        pattern = matrix.Pattern();
  const auto        keeps   = [&](const Index *order) { return syncfree::keeps_blocks(order, pattern.n, (Index)size); };
  const std::string blocks  = "blocks of " + std::to_string(size) + " rows ";
  bool              full = false, faster = true;

  PetscFunctionBegin;
  why->clear();
  if (size > (device ? most_chosen_there : most_chosen)) *why = blocks + "are chosen by name only, on " + (device ? "a GPU" : "the CPU");
  else if (matrix.n <= size) *why = "there is one block";
  else if (matrix.n % size) *why = blocks + "do not divide the rows";
  else if (!keeps(request.orders.row) || !keeps(request.orders.column)) *why = "the ordering separates the rows of blocks";
  else if (device) PetscCall(AreFasterThere(matrix, info, request, size, &faster));
  if (!faster) *why = blocks + "are slower than entries on a GPU where strategy tiled does not suit them";
  if (!why->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  if (matrix.there.row_begin) PetscCall(HasFullBlocksThere(matrix, size, &full));
  else full = syncfree::check_row_offsets(pattern).ok() && syncfree::find_full_blocks<Index>(pattern, (int)size, 1, nullptr);
  if (!full) *why = blocks + "are not full";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the pattern on the device if the matrix is there. */
static PetscErrorCode LookThere(BorrowedMatrix *matrix)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(IsOnDevice(matrix->block, &device));
  if (device && matrix->n > 0) PetscCall(GetDevicePattern(matrix->block, (Index)matrix->n, &matrix->there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets why the request leaves no choice of blocks, or nothing. */
static PetscErrorCode GetObstacle(Mat F, Mat A, MatFactorShiftType shift, const BlockRequest &request, std::string *why)
{
  const std::string &strategy = request.settings.solver.strategy;
  SetupContext      *handover;
  PetscInt           sizes;
  const PetscInt    *each;

  PetscFunctionBegin;
  PetscCall(QueryHandover(A, &handover));
  PetscCall(MatGetVariableBlockSizes(A, &sizes, &each));
  if (request.settings.block_size == 1) *why = handover ? "-pc_syncfree_block_size is 1" : "solver type syncfree takes blocks by name only";
  else if (F->factortype == MAT_FACTOR_ICC) *why = "ICC has no form by blocks";
  else if (sizes > 0) *why = "the matrix has blocks of variable sizes";
  else if (request.may_reorder) *why = "the ordering is one of this library";
  else if (!IsShiftOfBlocks(shift)) *why = std::string("-pc_factor_shift_type is ") + MatFactorShiftTypes[(int)shift];
  else if (request.settings.backend == "kokkos") *why = "backend kokkos has no form by blocks";
  else if (strategy == "tiled") *why = "strategy tiled takes blocks by name only";
  else if (strategy != "auto" && strategy != "serial" && strategy != "blocks" && strategy != "level_order") *why = "strategy " + strategy + " has no form by blocks";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses blocks of the matrix's block size or of its inodes; gets why not, if it has one of them. */
static PetscErrorCode ChooseBlocks(Mat F, Mat A, const MatFactorInfo *info, MatFactorShiftType shift, const BlockRequest &request, ChosenBlocks *blocks)
{
  PetscInt given;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &given));
  PetscCall(WithRows(A, [&](BorrowedMatrix *matrix) -> PetscErrorCode {
    PetscInt    of_inodes;
    std::string backend, unused, why;

    PetscFunctionBegin;
    PetscCall(GetInodeSize(matrix->block, &of_inodes));
    if (given <= 1 && of_inodes <= 1) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(GetObstacle(F, A, shift, request, &blocks->why));
    if (blocks->chosen && F->factortype != MAT_FACTOR_ICC) blocks->shift = (int)shift;
    if (!blocks->why.empty()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(GetBackend(A, info, request.settings, Blocks::copied, &backend, &unused));
    if (backend == "cuda") PetscCall(LookThere(matrix));
    for (const PetscInt candidate : {given, of_inodes}) {
      if (candidate <= 1 || blocks->size > 1) continue;
      PetscCall(TryBlocks(*matrix, info, request, candidate, backend == "cuda", &why));
      if (why.empty()) blocks->size = candidate;
      else if (blocks->why.empty()) blocks->why = why;
    }
    if (blocks->size > 1) blocks->why.clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBlocksOfEntries(Mat F, Mat A, const MatFactorInfo *info, MatFactorShiftType shift, const BlockRequest &request, ChosenBlocks *blocks)
{
  const PetscInt  named = (PetscInt)request.settings.block_size;
  PetscInt        sizes;
  const PetscInt *each;

  PetscFunctionBegin;
  PetscCheck(named <= 1 || F->factortype != MAT_FACTOR_ICC, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_syncfree_block_size %" PetscInt_FMT ": dense blocks are factored as ILU, not as ICC; use %s", named, PCSYNCFREEILU);
  PetscCall(MatGetVariableBlockSizes(A, &sizes, &each));
  PetscCheck(named <= 1 || sizes <= 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_syncfree_block_size %" PetscInt_FMT ": the matrix has blocks of variable sizes (MatSetVariableBlockSizes()), dense blocks have one size; use -pc_syncfree_block_size 1, or -pc_type vpbjacobi", named);
  blocks->size   = PetscMax(named, 1);
  blocks->chosen = named < 1;
  if (named <= 1) PetscCall(ChooseBlocks(F, A, info, shift, request, blocks));
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
  } else PetscCall(GetBlocksOfEntries(F, A, info, shift, request, blocks));
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
  if (key.options.block_size == 1 && key.shift < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetShift(A, info, &shift));
  const auto last = (MatFactorShiftType)key.shift;
  if (key.shift >= 0) *keeps = shift == last || (IsShiftOfBlocks(shift) && IsShiftOfBlocks(last));
  else PetscCall(CheckShift(shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TakeEntries(Mat F, const syncfree::Status &status, AnalysisKey *key)
{
  Factor *factor = Data(F);

  PetscFunctionBegin;
  factor->why_entries = "blocks of " + std::to_string(key->options.block_size) + " rows: " + status.message();
  PetscCall(PetscInfo(F, "Factoring by entries: %s\n", factor->why_entries.c_str()));
  key->options.block_size = 1;
  PetscCall(UseEntries(factor, key->backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
