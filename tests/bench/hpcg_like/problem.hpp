#pragma once

/// The problem of the HPCG-like solve: a 27-point operator on a cube, its coarser grids, HPCG's count of flops.

#include <cstdint>
#include <vector>

#include "../generate.hpp"

namespace bench::hpcg_like {

inline constexpr int levels = 4;       ///< grids, each with every second point of the finer one
inline constexpr int iterations = 50;  ///< of CG, whatever the residual

/// A grid of edge^3 points, x fastest.
struct Grid {
  std::int64_t edge = 0;
  Matrix A;                              ///< 26 on the diagonal, -1 for each neighbour of up to 26
  std::vector<std::int64_t> coarse_row;  ///< rows of the next grid's points in its order; empty on the coarsest grid
};

/// Makes all grids, the finest first. Throws std::runtime_error if the edge is not a multiple of 8, at least 16.
std::vector<Grid> make_grids(std::int64_t edge);

/// The right-hand side of the solution 1.
std::vector<double> right_hand_side(const Matrix& A);

/// Counts flops as HPCG 3.1 does, whatever was computed. A product has 2 nnz, a dot product and a vector update 2 n
/// each. A solve begins with a residual and its norm, which is one of each; an iteration has one product, three dot
/// products, three updates and a cycle. On each grid of a cycle but the coarsest there are two symmetric sweeps and a
/// residual, on the coarsest one sweep. A sweep has 4 nnz; injections are not counted.
double count_flops(const std::vector<Grid>& grids);

}  // namespace bench::hpcg_like
