#pragma once

/// Symbolic factorization alone: the pattern of ILU(k) and IC(k) by PETSc's MatILUFactorSymbolic() and
/// MatICCFactorSymbolic() and by make_factor_pattern(), in turn, in the natural order and on the host.

#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// For each matrix, kind and k of -bench_symbolic: times, prints and writes results. Returns the number of failed
/// matrices, for example because the two factors differ in their number of entries. Throws for a bad option.
int run_symbolic(const Options& options, const std::vector<Job>& jobs);

}  // namespace bench
