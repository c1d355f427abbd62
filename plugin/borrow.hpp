#pragma once

/* Access to the arrays of PETSc's matrices and vectors: in device memory for an object of the backend cuda, if they
   reside there, else in host memory. */

#include "plugin_impl.hpp"

#include <string>

#include "syncfree/csr.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree_plugin {

using syncfree::UsesDevice; /* NULL stands for an object of the host backend */

/* The arrays of an AIJ, BAIJ or SBAIJ matrix, or of the diagonal block of a parallel one, valid from Borrow() to Return() */
struct BorrowedMatrix {
  Mat                block  = nullptr;
  PetscBool          baij   = PETSC_FALSE;
  PetscBool          upper  = PETSC_FALSE; /* SBAIJ with block size 1: the upper triangle with its diagonal */
  PetscInt           block_size = 1; /* of BAIJ: rows, columns and values are those of dense blocks (syncfree/blocks.hpp) */
  PetscBool          rows   = PETSC_FALSE; /* the pattern is borrowed */
  PetscBool          device = PETSC_FALSE; /* the values are in device memory */
  PetscInt           n      = 0;
  const PetscInt    *row    = nullptr;
  const PetscInt    *column = nullptr;
  const PetscScalar *value  = nullptr;

  syncfree::PatternView<Index> there = {}; /* the pattern in device memory, or empty */

  syncfree::PatternView<Index> Pattern() const { return {(Index)n, reinterpret_cast<const Index *>(row), reinterpret_cast<const Index *>(column)}; }
};

/* Get the pattern in host memory, the pattern in device memory if the matrix resides there, and the values; the last
   also sets the memory that the object uses next. Return() restores what was borrowed. */
PetscErrorCode Borrow(Mat, BorrowedMatrix *);
PetscErrorCode BorrowThere(const UsesDevice *, BorrowedMatrix *);
PetscErrorCode BorrowValues(UsesDevice *, BorrowedMatrix *);
PetscErrorCode Return(BorrowedMatrix *);

/* Calls use(&matrix) between Borrow() and Return(). */
template <class Use> PetscErrorCode WithRows(Mat A, Use &&use)
{
  BorrowedMatrix matrix;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Borrow(A, &matrix);
  if (!ierr) ierr = Guard([&] { return use(&matrix); });
  PetscCall(Return(&matrix));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Identifies the pattern seen last without reading its entries. PETSc counts the changes of a matrix's pattern, but
   MatHeaderReplace(), as in MatTranspose() in place and in MatAXPY(), replaces the whole matrix by another one with that
   one's count and id; and a program that supplies its own arrays may not count its changes. */
struct PatternState {
  PetscObjectId    matrix  = 0; /* 0: no pattern was seen */
  PetscObjectState changes = 0;
  const PetscInt  *row = nullptr, *column = nullptr;
  PetscInt         nonzeros = 0;

  bool operator==(const PatternState &) const;
};
PetscErrorCode GetPatternState(const BorrowedMatrix &, PatternState *);

/* The arrays of b and x: in device memory if both are there. x is write-only unless reads_x. */
struct BorrowedVectors {
  const PetscScalar *from   = nullptr;
  PetscScalar       *to     = nullptr;
  PetscBool          device = PETSC_FALSE;
};

PetscErrorCode BorrowVectors(UsesDevice *, Vec b, Vec x, PetscBool reads_x, BorrowedVectors *);
PetscErrorCode ReturnVectors(Vec b, Vec x, PetscBool reads_x, BorrowedVectors *);

/* Calls use(vectors) with the arrays of b and x. */
template <class Use> PetscErrorCode WithVectors(UsesDevice *object, Vec b, Vec x, PetscBool reads_x, Use &&use)
{
  BorrowedVectors borrowed;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(BorrowVectors(object, b, x, reads_x, &borrowed));
  ierr = Guard([&] { return use(borrowed); });
  PetscCall(ReturnVectors(b, x, reads_x, &borrowed));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for dense matrices, each column a vector; X is write-only. */
PetscErrorCode BorrowColumns(UsesDevice *, Mat B, Mat X, BorrowedVectors *);
PetscErrorCode ReturnColumns(Mat B, Mat X, BorrowedVectors *);

template <class Use> PetscErrorCode WithColumns(UsesDevice *object, Mat B, Mat X, Use &&use)
{
  BorrowedVectors borrowed;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(BorrowColumns(object, B, X, &borrowed));
  ierr = Guard([&] { return use(borrowed); });
  PetscCall(ReturnColumns(B, X, &borrowed));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests whether a device can be used; if not, gets the reason. */
PetscErrorCode FindDevice(PetscBool *, std::string *why);

/* Tests whether a sequential matrix keeps its values on the device, from where they can then be borrowed. */
PetscErrorCode IsOnDevice(Mat, PetscBool *);
PetscErrorCode GetDeviceValues(Mat, const PetscScalar **);
PetscErrorCode RestoreDeviceValues(Mat, const PetscScalar **);

/* Gets its pattern of n rows in device memory; empty if PETSc stores indices of another size there. */
PetscErrorCode GetDevicePattern(Mat, Index, syncfree::PatternView<Index> *);
PetscErrorCode RestoreDevicePattern(Mat, syncfree::PatternView<Index> *);

/* Tests whether the matrix, whose pattern was got there, consists of full blocks of that size. */
PetscErrorCode HasFullBlocksThere(const BorrowedMatrix &, PetscInt size, bool *full);

/* Predicts whether ILU(0) by full blocks of that size, in natural order, will be solved on the device by strategy tiled. */
PetscErrorCode PredictTilesThere(const BorrowedMatrix &, PetscInt size, bool *tiled);

/* Sets the memory in which the object finds the arrays of its next call, and PETSc's current stream. */
PetscErrorCode UseMemory(UsesDevice *, PetscMemType);

} // namespace syncfree_plugin
