#pragma once

/// Several right-hand sides together: PCMatApply() on the columns of a dense matrix beside PCApply() on one vector, by
/// the same preconditioners, in turn. Matrices are where -bench_mat_type says. Columns are products of the matrix and
/// random vectors. A contender is timed after each column of what PCMatApply() makes agrees with PCApply().

#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// For each matrix, kind and number of -bench_columns: times, prints and writes them. Returns how many matrices failed,
/// for example because a column differs. Throws where an option is bad.
int run_columns(const Options& options, const std::vector<Job>& jobs);

}  // namespace bench
