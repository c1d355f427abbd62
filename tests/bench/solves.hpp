#pragma once

/// Whole solves as a program meets them, with PETSc's preconditioners and ours in turn.
///
///   poisson     7-point Laplacian on the interior points of a cube, boundary values zero and eliminated; CG
///   convection  the same with upwind convection along (1, 1, 1), ten times as strong as diffusion on the mesh, so not
///               symmetric; GMRES(30)
///
/// Both to a relative residual of 1e-8, from zero, right-hand side 1. Set-up is KSPSetUp() on a new KSP, refresh
/// KSPSetUp() after other numbers on the same pattern, solve KSPSolve() after that. All are the second of their kind in
/// the process or later, but a solve that does not converge, which is not done again. Clocks are read when the device
/// has nothing to do, and nothing is logged.

#include "options.hpp"

namespace bench {

/// Times, prints and writes them; returns how many problems failed. Throws where an option is bad.
int run_solves(const Options& options);

}  // namespace bench
