#pragma once

/// Substitution with a triangle of dense blocks: row i computes
///   x_i = D_i (b_i - sum_k value_k x_column(k)),  D_i: the inverted diagonal block, or nothing for a unit diagonal,
/// by one thread (`serial`) or in chunks of block rows on several (`blocks`). Sums are in the same order either way.

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree {

/// Makes the solver of a triangle of blocks of options.block_size by the strategy of the options, `serial` or `blocks`.
/// Throws std::bad_alloc.
///   triangle  pattern: of the blocks; value: each block column by column; inverse_diagonal: n inverted blocks, or
///             nullptr for a unit diagonal. The values may still be missing and be set by update_values()
template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_block_solver(const TriangleView<V, I>& triangle,
                                                             const SolverOptions& options);

}  // namespace syncfree
