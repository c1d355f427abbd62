#pragma once

/* What is behind Mat->data of a factored matrix, shared by mat_syncfree.cpp (making it),
   mat_solve.cpp (solving with it) and mat_view.cpp (telling what it is). */

#include "borrow.hpp"

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree_plugin {

using Preconditioner = syncfree::Preconditioner<PetscScalar, Index>;
using CudaPreconditioner = syncfree::CudaPreconditioner<PetscScalar, Index>;
using Columns        = syncfree::Columns<Index>;

/* What an analysis depends on beside the pattern, and the orders if there are some: these its preconditioner has */
struct AnalysisKey {
  std::string             backend;
  syncfree::Kind          kind          = syncfree::Kind::ilu;
  int                     levels        = -1; /* nothing was asked for */
  bool                    diagonal_fill = false;
  bool                    natural       = true; /* no orders */
  syncfree::SolverOptions options;

  bool operator==(const AnalysisKey &) const;
};

struct Analysis {
  AnalysisKey                     key;
  std::unique_ptr<Preconditioner> preconditioner;
  CudaPreconditioner             *cuda = nullptr; /* the same object, where the backend is cuda */
};

struct Factor {
  std::shared_ptr<Analysis>       analysis; /* shared while a PC sets itself up again */
  PatternState                    seen;     /* of the matrix whose pattern was analysed, or compared with that, last */
  MatInfo                         info          = {};
  PetscLogDouble                  numeric_flops = 0;
  PetscLogDouble                  solve_flops   = 0;
  bool                            fell_back     = false;       /* has it been said that one thread solves alone? */
  PetscBool                       copies        = PETSC_FALSE; /* has the device been given something of the host? */
};

inline Factor *Data(Mat F)
{
  return static_cast<Factor *>(F->data);
}

/* Of arrays that were borrowed from the device, or not */
inline void NoteCopies(Factor *factor, PetscBool from_device)
{
  if (factor->analysis->cuda && !from_device) factor->copies = PETSC_TRUE;
}

/* Sees to it that the preconditioner of F is of the backend that serves these settings and this matrix. */
PetscErrorCode UseBackend(Mat F, Mat A, const MatFactorInfo *, const Settings &);
PetscErrorCode UseHost(Factor *);

PetscErrorCode MatSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatSolveTranspose_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatForwardSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatBackwardSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatMatSolve_SyncFree(Mat, Mat, Mat);
PetscErrorCode MatMatSolveTranspose_SyncFree(Mat, Mat, Mat);
PetscErrorCode MatGetInfo_SyncFree(Mat, MatInfoType, MatInfo *);
PetscErrorCode MatGetDiagonal_SyncFree(Mat, Vec);
PetscErrorCode MatView_SyncFree(Mat, PetscViewer);

} // namespace syncfree_plugin
