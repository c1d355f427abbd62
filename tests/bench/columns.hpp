#pragma once

/// Several right-hand sides together: PCMatApply() on the columns of a dense matrix and PCApply() on one vector, by the
/// same preconditioners, in turn. -bench_mat_type selects where matrices are. Columns are products of the matrix and
/// random vectors. A contender is timed only after each column of PCMatApply() agrees with PCApply().

#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// For each matrix, kind and number of -bench_columns: times, prints and writes results. Returns the number of failed
/// matrices, for example because a column differs. Throws for a bad option.
int run_columns(const Options& options, const std::vector<Job>& jobs);

}  // namespace bench
