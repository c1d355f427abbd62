/*
  Implements guard.hpp, and translates a Status of the core into PETSc's error handling.
*/

#include "factor_impl.hpp"

namespace syncfree_plugin {

PetscErrorCode OutOfMemory(const StackFrames &frames)
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of host memory");
}

PetscErrorCode Unexpected(const StackFrames &frames, const char what[])
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "C++ exception: %s", what);
}

PetscErrorCode Agree(MPI_Comm comm, PetscErrorCode mine, int *number)
{
  PetscMPIInt size;
  int         local[] = {(int)mine, number ? *number : 0}, worst[] = {local[0], local[1]};
  const char *text    = nullptr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) PetscCallMPI(MPI_Allreduce(local, worst, 2, MPI_INT, MPI_MAX, comm));
  PetscCall(mine);
  if (worst[0]) PetscCall(PetscErrorMessage((PetscErrorCode)worst[0], &text, nullptr));
  PetscCheck(!worst[0], PETSC_COMM_SELF, (PetscErrorCode)worst[0], "Error on another process: %s", text ? text : "see its message");
  if (number) *number = worst[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the matrix row of a status: failures in values count rows in the order of the factorization, others do not. */
static PetscErrorCode GetRow(Mat F, const syncfree::Status &status, PetscInt *row, bool *ordered)
{
  using syncfree::Code;
  std::shared_ptr<Analysis> analysis;

  PetscFunctionBegin;
  *row     = (PetscInt)status.row;
  *ordered = false;
  if (status.code != Code::zero_pivot && status.code != Code::not_finite && status.code != Code::negative_pivot && status.code != Code::wait_expired) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetAnalysis(F, &analysis));
  if (!analysis) PetscFunctionReturn(PETSC_SUCCESS);
  const auto orders = analysis->preconditioner->orders();
  const PetscInt size = status.block_row && !analysis->key.baij ? analysis->key.options.block_size : 1; /* rows are then ordered, not blocks */
  *ordered            = orders.row && status.row * size < OrderedRows(*analysis);
  if (*ordered) *row = (PetscInt)orders.row[status.row * size] / size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBlockSizeOfFactor(Mat F, PetscInt *size)
{
  std::shared_ptr<Analysis> analysis;

  PetscFunctionBegin;
  PetscCall(GetAnalysis(F, &analysis));
  *size = analysis ? analysis->key.options.block_size : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetPlace(Mat F, Mat whole, const syncfree::Status &status, std::string *place)
{
  PetscMPIInt world, size, rank;
  PetscInt    row;
  bool        ordered;

  PetscFunctionBegin;
  place->clear();
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &world));
  if (world == 1 || status.row < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)whole), &size));
  PetscCallMPI(MPI_Comm_rank(size > 1 ? PetscObjectComm((PetscObject)whole) : PETSC_COMM_WORLD, &rank));
  if (size == 1) *place = " (in a sequential matrix on process " + std::to_string(rank) + ", such as a block of -pc_type bjacobi)";
  else {
    const char *const rows = status.block_row ? "block row " : "row ";
    PetscInt          size = 1;
    if (status.block_row) PetscCall(GetBlockSizeOfFactor(F, &size));
    PetscCall(GetRow(F, status, &row, &ordered));
    *place = std::string(" (global ") + rows + std::to_string(whole->rmap->rstart / size + row);
    if (status.column >= 0 && !status.block_row) *place += ", column " + std::to_string(whole->cmap->rstart + (PetscInt)status.column);
    *place += std::string("; ") + rows + std::to_string(status.row) + " is local to process " + std::to_string(rank) + (ordered ? ", in the order of the factorization)" : ")");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets which rows of the matrix a block row has; nothing of a row, or before an analysis. */
static PetscErrorCode GetRowsOfBlock(Mat F, Mat whole, const syncfree::Status &status, std::string *rows)
{
  PetscInt row, size;
  bool     ordered;

  PetscFunctionBegin;
  rows->clear();
  if (!status.block_row || status.row < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetBlockSizeOfFactor(F, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetRow(F, status, &row, &ordered));
  row   = whole->rmap->rstart + row * size;
  *rows = " (rows " + std::to_string(row) + " to " + std::to_string(row + size - 1) + " of the matrix)";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the core's message, advice that needs PETSc's functions, and the location of the row. */
static PetscErrorCode GetMessage(Mat F, Mat whole, const syncfree::Status &status, std::string *text)
{
  std::string place, rows;

  PetscFunctionBegin;
  PetscCall(GetPlace(F, whole, status, &place));
  PetscCall(GetRowsOfBlock(F, whole, status, &rows));
  *text = status.message() + rows;
  if (status.code == syncfree::Code::another_pattern) *text += ": call KSPReset() or PCReset(), then KSPSetOperators() or PCSetOperators()";
  *text += place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the factor's error flag for bad values, or raises an error if the user requested that. */
static PetscErrorCode FlagNumbers(Mat F, Mat A, const syncfree::Status &status, const std::string &text, MatFactorError flag, int error)
{
  PetscFunctionBegin;
  PetscCheck(!A->erroriffailure, PETSC_COMM_SELF, (PetscErrorCode)error, "%s", text.c_str());
  PetscCall(PetscInfo(F, "%s\n", text.c_str()));
  F->factorerrortype             = flag;
  F->factorerror_zeropivot_value = (PetscReal)status.value;
  F->factorerror_zeropivot_row   = (PetscInt)status.row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The only translation of the core's Status: bad values are data, bad calls are errors. */
PetscErrorCode Translate(Mat F, Mat A, const syncfree::Status &status, Mat whole)
{
  using syncfree::Code;
  std::string text;

  PetscFunctionBegin;
  if (status.ok()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetMessage(F, whole ? whole : A, status, &text));
  switch (status.code) {
  case Code::zero_pivot:
    PetscCall(FlagNumbers(F, A, status, text, MAT_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT));
    break;
  case Code::not_finite:
    PetscCall(FlagNumbers(F, A, status, text, MAT_FACTOR_OTHER, PETSC_ERR_FP));
    break;
  case Code::missing_diagonal:
  case Code::busy:
  case Code::stale_capture:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "%s", text.c_str());
  case Code::out_of_memory:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "%s", text.c_str());
  case Code::device_failure:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", text.c_str());
  case Code::wait_expired:
    F->factorerrortype = MAT_FACTOR_OTHER;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", text.c_str());
  case Code::negative_pivot:
  case Code::no_plan:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s", text.c_str());
  case Code::unknown_strategy:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "%s", text.c_str());
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s", text.c_str());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
