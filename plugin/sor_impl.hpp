#pragma once

/* Data of a PCSYNCFREESOR, shared by pc_sor.cpp (sweeps), inodes.cpp and sor_view.cpp (information). */

#include "borrow.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "syncfree/relaxation.hpp"

namespace syncfree_plugin {

using Relaxation     = syncfree::Relaxation<PetscScalar, Index>;
using CudaRelaxation = syncfree::CudaRelaxation<PetscScalar, Index>;

/* The input that an analysis and its values were made for */
struct SorState {
  PatternState     pattern;
  PetscObjectState values = 0;
  PetscReal        omega = 0, shift = 0;
  Index            bad = -1; /* first row that is reported: a zero diagonal if `finite`, */
  bool             finite = true; /* else a NaN or an infinity */
  bool             nodes = false, device = false; /* relaxes inodes; on the device */
};

/* Values of Sor::inode_flag: not searched for; not found */
inline constexpr std::ptrdiff_t unknown_flag = -2, no_flag = -1;

/* Data of a PC in addition to PCSOR's */
struct Sor {
  Settings                    settings;
  std::unique_ptr<Relaxation> relaxation;
  CudaRelaxation             *cuda = nullptr; /* the same object if it is on the device, else NULL */
  SorState                    state;
  PetscLogDouble              flops = 0; /* of one sweep */
  SorState                    agreed;    /* what all processes of the PC have prepared; the same on each */
  Mat                         whole    = nullptr; /* during an application: the operator */
  bool                        parallel = false;   /* during an application: is the operator parallel? */
  PetscErrorCode              failure  = PETSC_SUCCESS; /* of a sweep of the current application, see MatSOR_SyncFree() */
  bool                        fell_back = false; /* the fall-back to one thread was reported */
  bool                        viewed    = true;  /* the analysis, by -pc_syncfree_view */
  std::ptrdiff_t              inode_flag = unknown_flag; /* position of MAT_USE_INODES in the data of a matrix, see inodes.cpp */
  std::string                 why_host;          /* why the sweeps of a matrix on the device run on the host; else empty */
  PetscErrorCode (*destroy)(PC)           = nullptr; /* operations of PCSOR */
  PetscErrorCode (*view)(PC, PetscViewer) = nullptr;
  PetscErrorCode (*setfromoptions)(PC, OptionItems) = nullptr;
  PetscErrorCode (*apply)(PC, Vec, Vec)             = nullptr;
  PetscErrorCode (*applytranspose)(PC, Vec, Vec)    = nullptr;
  PetscErrorCode (*applyrichardson)(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *) = nullptr;
  PetscErrorCode (*sor)(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec) = nullptr; /* the matrix's own operation while it is replaced */
};

inline constexpr char sor_name[] = "PCSyncFree_Sweeps";

inline PetscErrorCode GetSor(PetscObject object, Sor **sor)
{
  PetscFunctionBegin;
  PetscCall(QueryPointer(object, sor_name, sor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests whether MatSOR() of the matrix itself uses inodes. A device matrix does so only if it is bound to the CPU. */
PetscErrorCode UsesNodes(Mat, Sor *, bool *);

/* Gets the first row of each inode of the matrix, followed by the number of rows. Newer PETSc versions return offsets,
   older ones sizes. */
PetscErrorCode GetNodes(Mat, std::vector<Index> *);

/* Prints the settings and what runs. Collective. */
PetscErrorCode ViewSweeps(PC, const Sor *, PetscViewer);

/* -pc_syncfree_view: prints what runs if an analysis was made. Collective. */
PetscErrorCode ViewSweepAnalysis(PC, Sor *);

} // namespace syncfree_plugin
