#pragma once

/* Mat->data of a factored matrix, shared by mat_syncfree.cpp (factorization), mat_solve.cpp (solves) and mat_view.cpp
   (information). */

#include "borrow.hpp"

#include <memory>
#include <optional>

#include "syncfree/ordering_choice.hpp"
#include "syncfree/solver.hpp"

namespace syncfree_plugin {

using Preconditioner = syncfree::Preconditioner<PetscScalar, Index>;
using CudaPreconditioner = syncfree::CudaPreconditioner<PetscScalar, Index>;
using Columns        = syncfree::Columns<Index>;
using Orders         = syncfree::Orders<Index>;

/* What an analysis depends on besides the pattern and given orderings; its preconditioner stores the orderings, if any */
struct AnalysisKey {
  std::string             backend;
  syncfree::Kind          kind          = syncfree::Kind::ilu;
  int                     levels        = -1; /* -1: no symbolic factorization yet */
  bool                    diagonal_fill = false;
  bool                    baij          = false; /* the pattern is that of dense blocks */
  bool                    chose_blocks  = false; /* options.block_size was chosen, for a pattern and a shift type */
  int                     shift         = -1;    /* as in ChosenBlocks */
  bool                    natural       = true; /* no orderings */
  syncfree::SolverOptions options;

  std::optional<syncfree::OrderingOptions> ordering; /* of which the analysis has made the ordering */
  bool                                     automatic = false; /* the ordering was chosen by `syncfree_auto` */

  bool operator==(const AnalysisKey &) const;
};

/* Dense blocks: none; the matrix has them (BAIJ); the entries of an AIJ matrix are copied to them */
enum class Blocks { none, stored, copied };

struct Analysis {
  AnalysisKey                     key;
  std::unique_ptr<Preconditioner> preconditioner;
  CudaPreconditioner             *cuda   = nullptr; /* the same object if the backend is cuda, else NULL */
  bool                            viewed = false;   /* by -pc_syncfree_view */
  Blocks                          blocks = Blocks::none; /* of the preconditioner */

  syncfree::OrderingChoice choice;           /* if automatic; else, once hinted, what would be chosen */
  bool                     hinted   = false; /* FindHint() was called */
  bool                     compared = false; /* the given order needs shifts, as well */
};

struct Factor {
  std::shared_ptr<Analysis>       analysis; /* shared while a PC sets itself up again */
  PatternState                    seen;     /* of the last matrix whose pattern was analysed or compared with the analysed one */
  MatInfo                         info          = {};
  PetscLogDouble                  numeric_flops = 0;
  PetscLogDouble                  solve_flops   = 0;
  bool                            fell_back     = false;       /* the fall-back to one thread was reported */
  PetscBool                       copies        = PETSC_FALSE; /* data were copied from the host to the device */
  std::string                     why_host;                    /* why a matrix on the device is factored on the host; else empty */
  std::string                     why_entries;                 /* why a matrix that may have blocks is factored by entries; else empty */
  Settings                        settings;                    /* of the last analysis */
};

/* Rows that are ordered: block rows if the matrix is of dense blocks. */
inline PetscInt OrderedRows(const Analysis &analysis)
{
  const auto summary = analysis.preconditioner->summarize();
  return (PetscInt)(analysis.key.baij ? summary.rows / summary.block_size : summary.rows);
}

/* What decides about dense blocks besides the matrix */
struct BlockRequest {
  const Settings &settings;
  Orders          orders;      /* given ones; no blocks are chosen that they separate */
  bool            may_reorder; /* the order is made or chosen by this library: another one for blocks than for entries */
};

/* The dense blocks in which a matrix is factored */
struct ChosenBlocks {
  PetscInt    size   = 1;
  Blocks      from   = Blocks::none;
  bool        chosen = false; /* not named by the user nor given by the matrix type */
  int         shift  = -1;    /* the type for which blocks or entries were chosen; -1: any */
  std::string why;            /* why entries are factored although the matrix has a block size or inodes; else empty */
};
PetscErrorCode GetBlocks(Mat F, Mat A, const MatFactorInfo *, const BlockRequest &, ChosenBlocks *);

/* Tests whether what was chosen, blocks or entries, serves the shift type that is asked for by now. */
PetscErrorCode KeepsBlocks(Mat A, const MatFactorInfo *, const AnalysisKey &, bool *keeps);

/* Tests whether chosen blocks have no memory. Then TakeEntries() gives F a preconditioner of entries and changes the key. */
inline bool LackMemory(const AnalysisKey &key, const syncfree::Status &status)
{
  return status.code == syncfree::Code::out_of_memory && key.chose_blocks && key.options.block_size > 1;
}
PetscErrorCode TakeEntries(Mat F, const syncfree::Status &, AnalysisKey *);

/* Gets the shift type: that of the PC, as PETSc's inner type changes it for types derived from AIJ. */
PetscErrorCode GetShift(Mat A, const MatFactorInfo *, MatFactorShiftType *);

inline Factor *Data(Mat F)
{
  return static_cast<Factor *>(F->data);
}

/* Notes a copy to the device unless the arrays were borrowed from there. */
inline void NoteCopies(Factor *factor, PetscBool from_device)
{
  if (factor->analysis->cuda && !from_device) factor->copies = PETSC_TRUE;
}

/* Makes an analysis, or takes over that of the previous factored matrix if nothing it depends on has changed. */
PetscErrorCode MakeOrTake(Mat F, Mat A, BorrowedMatrix *, const AnalysisKey &, Orders, PetscReal fill);

/* Gives F a preconditioner of the backend that these settings, this matrix and these blocks require, unless it has one. */
PetscErrorCode UseBackend(Mat F, Mat A, const MatFactorInfo *, const Settings &, Blocks);
/* Gets that backend's name, and what asked for it, if that is to be told. */
PetscErrorCode GetBackend(Mat A, const MatFactorInfo *, const Settings &, Blocks, std::string *backend, std::string *request);
/* Gives it an empty preconditioner of entries. */
PetscErrorCode UseEntries(Factor *, const std::string &backend);

PetscErrorCode MatSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatSolveTranspose_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatForwardSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatBackwardSolve_SyncFree(Mat, Vec, Vec);
PetscErrorCode MatMatSolve_SyncFree(Mat, Mat, Mat);
PetscErrorCode MatMatSolveTranspose_SyncFree(Mat, Mat, Mat);
PetscErrorCode MatGetInfo_SyncFree(Mat, MatInfoType, MatInfo *);
PetscErrorCode MatGetDiagonal_SyncFree(Mat, Vec);
PetscErrorCode MatView_SyncFree(Mat, PetscViewer);

/* after a numeric factorization: -info, -pc_syncfree_view */
PetscErrorCode ReportShifts(Mat);
PetscErrorCode ViewAnalysis(Mat);

} // namespace syncfree_plugin
