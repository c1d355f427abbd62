#pragma once

/// Generated matrices as PETSc's.

#include "contender.hpp"
#include "generate.hpp"

namespace bench {

/// A seqaij matrix on the host that knows whether it is symmetric.
MatOwner to_petsc(const Matrix& A);

/// Moves A to the device if that is where matrices are.
void place(MatOwner* A);

/// Random numbers in [-1, 1], in every run the same.
void set_random(Vec x);

/// A dense matrix without numbers, on the device if that is where matrices are.
MatOwner make_dense(PetscInt rows, PetscInt columns);

/// The products of A and so many vectors of random numbers, no two alike.
MatOwner products_with_random(Mat A, PetscInt columns);

}  // namespace bench
