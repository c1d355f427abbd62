#pragma once

/*
  The matrices of the differential tests, each SEQAIJ, small, and with a reason.

  All of them have every diagonal entry in their pattern.
*/

#include "petsc_test.hpp"

struct Sample {
  const char* name;
  const char* reason;
  bool symmetric;
  bool positive_definite; /* required for CG with ICC */
  MatOwner (*make)();
};

const std::vector<Sample>& samples();
const Sample& sample(const std::string& name);

/* Entries by (row, column); further values at the same position are added. */
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

/* Makes an n x n matrix, about `per_row` entries in each row; diagonal = dominance * sum of the row's other moduli, or
   random for 0. */
MatOwner random_matrix(PetscInt n, PetscInt per_row, double dominance, bool symmetric, unsigned long long seed);

/* Makes a symmetric positive definite matrix of dense blocks of `block` rows on a grid: rows of a node share their
   pattern. */
MatOwner elasticity_like(PetscInt nx, PetscInt ny, PetscInt nz, PetscInt block);

/* Sets other values on the same pattern. */
void new_values(Mat, unsigned long long seed);
