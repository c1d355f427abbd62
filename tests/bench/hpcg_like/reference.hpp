#pragma once

/// The algorithm of the HPCG-like solve on one thread, without PETSc and without any of this library: the truth.

#include <vector>

#include "problem.hpp"

namespace bench::hpcg_like {

/// Solves A x = b from x = 0 by preconditioned CG. Returns the norms of all residuals, iterations + 1 of them.
std::vector<double> solve_by_reference(const std::vector<Grid>& grids);

}  // namespace bench::hpcg_like
