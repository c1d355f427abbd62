/*
  Solves with a factored matrix of MATSOLVERSYNCFREE: passes the arrays of PETSc's vectors and dense matrices, on the
  host or on the device, to the backend. After a failed factorization the solution is infinity.
*/

#include "factor_impl.hpp"

#include <limits>

namespace syncfree_plugin {

/* Logs flops for the GPU or the CPU, wherever they were done. */
static PetscErrorCode LogFlops(Factor *factor, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (factor->analysis->cuda) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reports once that one thread is used from now on, as several were slower. */
static PetscErrorCode NoteFallback(Mat F)
{
  Factor *factor = Data(F);

  PetscFunctionBegin;
  if (!factor->fell_back && factor->analysis->preconditioner->fell_back()) {
    factor->fell_back = true;
    PetscCall(PetscInfo(F, "Several threads were slower than predicted for one thread: continuing with one thread\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls solve(), which returns a Status, within the log event, to which its flops belong. */
template <class Solve> static PetscErrorCode Timed(Mat F, PetscObject x, PetscLogDouble flops, Solve solve)
{
  syncfree::Status status;

  PetscFunctionBegin;
  PetscCall(WithEvent(events.solve, (PetscObject)F, x, [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(WithGpuTime(Data(F)->analysis->cuda, [&]() -> PetscErrorCode {
      status = solve();
      return PETSC_SUCCESS;
    }));
    if (status.ok()) PetscCall(LogFlops(Data(F), flops));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  if (!status.ok()) PetscCall(Translate(F, F, status));
  PetscCall(NoteFallback(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls solve(b, x), which returns a Status, with the arrays of both vectors. `part`: of the flops of a whole solve */
template <class Solve> static PetscErrorCode WithArrays(Mat F, Vec b, Vec x, double part, Solve solve)
{
  PetscFunctionBegin;
  if (F->factorerrortype) {
    /* PETSc's norms and dot products detect infinity as a failed solve */
    PetscCall(VecSet(x, std::numeric_limits<PetscReal>::infinity()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(WithVectors(Data(F)->analysis->cuda, b, x, PETSC_FALSE, [&](const BorrowedVectors &v) {
    NoteCopies(Data(F), v.device);
    return Timed(F, (PetscObject)x, part * Data(F)->solve_flops, [&] { return solve(v.from, v.to); });
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat F, syncfree::Operation operation, Vec b, Vec x)
{
  Factor       *factor = Data(F);
  const Columns one    = {1, (Index)F->rmap->n, (Index)F->rmap->n};

  PetscFunctionBegin;
  PetscCall(WithArrays(F, b, x, 1.0, [&](const PetscScalar *from, PetscScalar *to) { return factor->analysis->preconditioner->solve(operation, from, to, one); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSolve_SyncFree(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(Solve(F, syncfree::Operation::none, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSolveTranspose_SyncFree(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(Solve(F, syncfree::Operation::transpose, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatForwardSolve_SyncFree(Mat F, Vec b, Vec x)
{
  Factor *factor = Data(F);

  PetscFunctionBegin;
  PetscCall(WithArrays(F, b, x, 0.5, [&](const PetscScalar *from, PetscScalar *to) { return factor->analysis->preconditioner->solve_forward_half(from, to); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBackwardSolve_SyncFree(Mat F, Vec b, Vec x)
{
  Factor *factor = Data(F);

  PetscFunctionBegin;
  PetscCall(WithArrays(F, b, x, 0.5, [&](const PetscScalar *from, PetscScalar *to) { return factor->analysis->preconditioner->solve_backward_half(from, to); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckDense(Mat B, const char name[])
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(dense, PetscObjectComm((PetscObject)B), PETSC_ERR_ARG_WRONG, "Matrix %s must be MATDENSE, not %s", name, ((PetscObject)B)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills X with infinity, which PETSc's norms and dot products detect as a failed solve. */
static PetscErrorCode FillWithInfinity(Mat X)
{
  PetscScalar   *x;
  PetscInt       leading;
  const PetscInt n = X->rmap->n, columns = X->cmap->N;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &leading));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt k = 0; k < columns; k++)
    for (PetscInt i = 0; i < n; i++) x[k * leading + i] = std::numeric_limits<PetscReal>::infinity();
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveColumns(Mat F, syncfree::Operation operation, Mat B, Mat X)
{
  Factor        *factor = Data(F);
  PetscInt       b_leading, x_leading;
  const PetscInt columns = B->cmap->N;

  PetscFunctionBegin;
  PetscCall(CheckDense(B, "B"));
  PetscCall(CheckDense(X, "X"));
  if (F->factorerrortype) {
    PetscCall(FillWithInfinity(X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLDA(B, &b_leading));
  PetscCall(MatDenseGetLDA(X, &x_leading));
  PetscCall(WithColumns(factor->analysis->cuda, B, X, [&](const BorrowedVectors &v) {
    NoteCopies(factor, v.device);
    return Timed(F, (PetscObject)X, (PetscLogDouble)columns * factor->solve_flops, [&] { return factor->analysis->preconditioner->solve(operation, v.from, v.to, {(Index)columns, (Index)b_leading, (Index)x_leading}); });
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMatSolve_SyncFree(Mat F, Mat B, Mat X)
{
  PetscFunctionBegin;
  PetscCall(SolveColumns(F, syncfree::Operation::none, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMatSolveTranspose_SyncFree(Mat F, Mat B, Mat X)
{
  PetscFunctionBegin;
  PetscCall(SolveColumns(F, syncfree::Operation::transpose, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
