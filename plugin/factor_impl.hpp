#pragma once

/* What is behind Mat->data of a factored matrix, shared by mat_syncfree.cpp (making it),
   mat_solve.cpp (solving with it) and mat_view.cpp (telling what it is). */

#include "plugin_impl.hpp"

#include <memory>
#include <string>

#include "syncfree/cuda.hpp"
#include "syncfree/fingerprint.hpp"
#include "syncfree/solver.hpp"

namespace syncfree_plugin {

using Preconditioner = syncfree::Preconditioner<PetscScalar, Index>;
using CudaPreconditioner = syncfree::CudaPreconditioner<PetscScalar, Index>;
using Columns        = syncfree::Columns<Index>;

/* What an analysis depends on */
struct AnalysisKey {
  std::string             backend;
  syncfree::Kind          kind          = syncfree::Kind::ilu;
  int                     levels        = -1; /* nothing was analysed */
  bool                    diagonal_fill = false;
  syncfree::SolverOptions options;
  syncfree::Fingerprint   pattern, row_order, column_order;

  bool operator==(const AnalysisKey &) const;
};

struct Analysis {
  AnalysisKey                     key;
  std::unique_ptr<Preconditioner> preconditioner;
  CudaPreconditioner             *cuda = nullptr; /* the same object, where the backend is cuda */
};

struct Factor {
  std::shared_ptr<Analysis>       analysis; /* shared while a PC sets itself up again */
  MatInfo                         info          = {};
  PetscLogDouble                  numeric_flops = 0;
  PetscLogDouble                  solve_flops   = 0;
  PetscBool                       copies        = PETSC_FALSE; /* has the device been given something of the host? */
};

inline Factor *Data(Mat F)
{
  return static_cast<Factor *>(F->data);
}

/* Sees to it that the preconditioner of F is of the backend that serves these settings and this matrix. */
PetscErrorCode UseBackend(Mat F, Mat A, const MatFactorInfo *, const Settings &);
PetscErrorCode UseHost(Factor *);

/* Is there a device and all that it takes to use it? Else why not. */
PetscErrorCode FindDevice(PetscBool *, std::string *why);

/* Has this sequential matrix its values on the device? Then they can be borrowed from there. */
PetscErrorCode IsOnDevice(Mat, PetscBool *);
PetscErrorCode GetDeviceValues(Mat, const PetscScalar **);
PetscErrorCode RestoreDeviceValues(Mat, const PetscScalar **);

/* Its pattern there, of n rows; none where PETSc keeps indices of another size. */
PetscErrorCode GetDevicePattern(Mat, Index, syncfree::PatternView<Index> *);
PetscErrorCode RestoreDevicePattern(Mat, syncfree::PatternView<Index> *);
syncfree::Status FingerprintThere(const syncfree::PatternView<Index> &, Index nnz, syncfree::Fingerprint *);

/* Tells the backend cuda where the arrays of the next call are, and PETSc's stream; nothing elsewhere. */
PetscErrorCode UseMemory(Factor *, PetscMemType);

/* The core's answer as PETSc's: bad numbers are data of F unless A wants an error at once, bad calls are errors. */
PetscErrorCode Translate(Mat F, Mat A, const syncfree::Status &);

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
