#pragma once

/// Orderings: levels and colours, the time to make them, the discarded fill that predicts iterations, and the
/// iterations of PETSc's own ILU(0) or ICC(0) in that order.

#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// For each matrix, kind and ordering of -bench_orderings (syncfree_cyclic and syncfree_abmc with their number behind a
/// colon), and for Jacobi: prints and writes results. ICC is for matrices that are symmetric, in CG; ILU in GMRES(30)
/// from the right; to 1e-8 of a random right-hand side. Returns the number of failed matrices.
int run_orderings(const Options& options, const std::vector<Job>& jobs);

}  // namespace bench
