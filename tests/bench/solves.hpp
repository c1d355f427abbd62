#pragma once

/// Complete solves as in a program, with PETSc's preconditioners and ours in turn.
///
///   poisson     7-point Laplacian on the interior points of a cube, boundary values zero and eliminated; CG
///   convection  the same with upwind convection along (1, 1, 1), ten times as strong as diffusion on the mesh, so not
///               symmetric; GMRES(30)
///
/// Both to a relative residual of 1e-8, from zero, right-hand side 1. Set-up is KSPSetUp() on a new KSP, refresh
/// KSPSetUp() after new values on the same pattern, solve KSPSolve() after that. Each is at least the second of its
/// kind in the process, except a solve that does not converge, which is not repeated. Clocks are read when the device
/// is idle, and logging is off.

#include "options.hpp"

namespace bench {

/// Times, prints and writes results; returns the number of failed problems. Throws for a bad option.
int run_solves(const Options& options);

}  // namespace bench
