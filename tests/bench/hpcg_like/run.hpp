#pragma once

/// An HPCG-like solve: CG with a cycle over four grids whose smoother is a symmetric Gauss-Seidel sweep of
/// `syncfree_sor`, exactly 50 iterations, flops counted as HPCG counts them. It is not HPCG: it has one process, and
/// set-up is timed apart. Rows stay in natural order, so the residuals are those of a serial program; at a small edge
/// they are compared with one.

#include "../options.hpp"

namespace bench {

/// For each edge of -bench_hpcg_like: times, prints and writes results. Returns the number of edges that failed or are
/// not valid. Throws for a bad option.
int run_hpcg_like(const Options& options);

}  // namespace bench
