#pragma once

/// Conversion of generated matrices to PETSc's.

#include "contender.hpp"
#include "generate.hpp"

namespace bench {

/// Makes a seqaij matrix on the host, with its symmetry set.
MatOwner to_petsc(const Matrix& A);

/// Moves A to the device if matrices are there.
void place(MatOwner* A);

/// Sets random values in [-1, 1], the same in every run.
void set_random(Vec x);

/// Makes a dense matrix without values, on the device if matrices are there.
MatOwner make_dense(PetscInt rows, PetscInt columns);

/// Returns the products of A and `columns` different random vectors.
MatOwner products_with_random(Mat A, PetscInt columns);

}  // namespace bench
