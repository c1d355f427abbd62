#pragma once

/*
  The matrices of the differential tests, each SEQAIJ, small, and with a reason.

  All of them have every diagonal entry in their pattern. `needs_shift` means that an
  unshifted factorization of some kind meets a pivot that PETSc calls zero.
*/

#include "petsc_test.hpp"

struct Sample {
  const char* name;
  const char* reason;
  bool symmetric;
  bool positive_definite; /* so that CG with ICC makes sense */
  MatOwner (*make)();
};

const std::vector<Sample>& samples();
const Sample& sample(const std::string& name);

/* Entries by (row, column): a later one at the same place adds to it. */
class Entries {
 public:
  explicit Entries(PetscInt n) : n_(n), row_((std::size_t)n) {}
  void add(PetscInt i, PetscInt j, PetscScalar v);
  MatOwner matrix(PetscInt block_size = 1) const;

 private:
  PetscInt n_;
  std::vector<std::vector<std::pair<PetscInt, PetscScalar>>> row_;
};

/* 5-point and 7-point Laplacians with Dirichlet boundaries, diagonal 4 or 6 plus `shift`. */
MatOwner poisson_2d(PetscInt nx, PetscInt ny, PetscScalar shift = 0.0);
MatOwner poisson_3d(PetscInt nx, PetscInt ny, PetscInt nz);

/* n x n, about `per_row` entries in each row; diagonal = dominance * sum of the row's other moduli, or random for 0. */
MatOwner random_matrix(PetscInt n, PetscInt per_row, double dominance, bool symmetric, unsigned long long seed);

/* Symmetric positive definite, dense blocks of `block` rows on a grid: rows of a node share their pattern. */
MatOwner elasticity_like(PetscInt nx, PetscInt ny, PetscInt nz, PetscInt block);

/* The same pattern with other values. */
void new_values(Mat, unsigned long long seed);
