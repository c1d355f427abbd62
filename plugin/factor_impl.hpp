#pragma once

/* What is behind Mat->data of a factored matrix, shared by mat_syncfree.cpp (making it and solving
   with it) and mat_view.cpp (telling what it is). */

#include "plugin_impl.hpp"

#include <memory>
#include <string>

#include "syncfree/solver.hpp"

namespace syncfree_plugin {

using Preconditioner = syncfree::Preconditioner<PetscScalar, Index>;
using Columns        = syncfree::Columns<Index>;

struct Factor {
  std::string                     backend;
  std::unique_ptr<Preconditioner> preconditioner;
  MatInfo                         info          = {};
  PetscLogDouble                  numeric_flops = 0;
  PetscLogDouble                  solve_flops   = 0;
};

inline Factor *Data(Mat F)
{
  return static_cast<Factor *>(F->data);
}

/* Sees to it that the preconditioner is of the backend that serves this strategy, or `auto`. */
PetscErrorCode UseBackend(Factor *, const std::string &strategy);

PetscErrorCode MatGetInfo_SyncFree(Mat, MatInfoType, MatInfo *);
PetscErrorCode MatGetDiagonal_SyncFree(Mat, Vec);
PetscErrorCode MatView_SyncFree(Mat, PetscViewer);

} // namespace syncfree_plugin
