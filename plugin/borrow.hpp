#pragma once

/* The arrays of PETSc's matrices and vectors, where they are: in device memory for an object of the backend cuda, if
   they live there, else in that of the host. */

#include "plugin_impl.hpp"

#include <string>

#include "syncfree/csr.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree_plugin {

using syncfree::UsesDevice; /* NULL stands for the host's objects */

/* The arrays of an AIJ matrix, or of the diagonal block of a parallel one, between Borrow() and Return(). */
struct BorrowedMatrix {
  Mat                block  = nullptr;
  PetscBool          rows   = PETSC_FALSE; /* was the pattern borrowed? */
  PetscBool          device = PETSC_FALSE; /* are the values there? */
  PetscInt           n      = 0;
  const PetscInt    *row    = nullptr;
  const PetscInt    *column = nullptr;
  const PetscScalar *value  = nullptr;

  syncfree::PatternView<Index> there = {}; /* the pattern in device memory, or nothing */

  syncfree::PatternView<Index> Pattern() const { return {(Index)n, reinterpret_cast<const Index *>(row), reinterpret_cast<const Index *>(column)}; }
};

/* The pattern in the host's memory; that of the device, where the matrix lives there; and values, with which the object
   is told where it works. Return() gives back what was borrowed. */
PetscErrorCode Borrow(Mat, BorrowedMatrix *);
PetscErrorCode BorrowThere(const UsesDevice *, BorrowedMatrix *);
PetscErrorCode BorrowValues(UsesDevice *, BorrowedMatrix *);
PetscErrorCode Return(BorrowedMatrix *);

/* use(&matrix) between Borrow() and Return() */
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

/* What tells, without a look at the entries, that a pattern is the one that was seen before. PETSc counts in a matrix how
   often its pattern has changed, but exchanges all of it for another one (MatHeaderReplace(), as in MatTranspose() in
   place and in MatAXPY()), with that one's number and identity; whoever brings arrays of his own may not count. */
struct PatternState {
  PetscObjectId    matrix  = 0; /* 0: nothing was seen */
  PetscObjectState changes = 0;
  const PetscInt  *row = nullptr, *column = nullptr;
  PetscInt         nonzeros = 0;

  bool operator==(const PatternState &) const;
};
PetscErrorCode GetPatternState(const BorrowedMatrix &, PatternState *);

/* The arrays of b and x: on the device if both are there. x is only written unless it is read, too. */
struct BorrowedVectors {
  const PetscScalar *from   = nullptr;
  PetscScalar       *to     = nullptr;
  PetscBool          device = PETSC_FALSE;
};

PetscErrorCode BorrowVectors(UsesDevice *, Vec b, Vec x, PetscBool reads_x, BorrowedVectors *);
PetscErrorCode ReturnVectors(Vec b, Vec x, PetscBool reads_x, BorrowedVectors *);

/* use(vectors) with the arrays of both */
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

/* The same for the columns of dense matrices, of which X is only written. */
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

/* Is there a device and all that it takes to use it? Else why not. */
PetscErrorCode FindDevice(PetscBool *, std::string *why);

/* Has this sequential matrix its values on the device? Then they can be borrowed from there. */
PetscErrorCode IsOnDevice(Mat, PetscBool *);
PetscErrorCode GetDeviceValues(Mat, const PetscScalar **);
PetscErrorCode RestoreDeviceValues(Mat, const PetscScalar **);

/* Its pattern there, of n rows; none where PETSc keeps indices of another size. */
PetscErrorCode GetDevicePattern(Mat, Index, syncfree::PatternView<Index> *);
PetscErrorCode RestoreDevicePattern(Mat, syncfree::PatternView<Index> *);

/* Tells the object where the arrays of the next call are, and PETSc's stream. */
PetscErrorCode UseMemory(UsesDevice *, PetscMemType);

} // namespace syncfree_plugin
