#pragma once

/// Orderings: what they cost and what they save. Of each the time to make it, levels, the discarded fill that predicts
/// iterations, and our ILU(0) or IC(0) in that order in whole solves (race.hpp), beside PETSc's own on the matrix as it
/// is stored, Jacobi and GAMG with their defaults.

#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// For each matrix, kind and ordering of -bench_orderings (syncfree_cyclic and syncfree_abmc with their number behind a
/// colon; `random` is the benchmark's own): prints and writes results. ICC is for matrices that are symmetric, in CG;
/// ILU in GMRES(30) from the right; to 1e-8 of a random right-hand side. PETSc's own that ends in an error is reported
/// as such. Returns the number of failed matrices.
int run_orderings(const Options& options, const std::vector<Job>& jobs);

}  // namespace bench
