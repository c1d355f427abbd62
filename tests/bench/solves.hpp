#pragma once

/// Complete solves as in a program, with PETSc's preconditioners and ours in turn.
///
///   poisson     7-point Laplacian on the interior points of a cube, boundary values zero and eliminated; CG
///   convection  the same with upwind convection along (1, 1, 1), ten times as strong as diffusion on the mesh, so not
///               symmetric; GMRES(30)
///
/// Both with right-hand side 1; what is timed, and how, is in race.hpp.

#include "options.hpp"

namespace bench {

/// Times, prints and writes results; returns the number of failed problems. Throws for a bad option.
int run_solves(const Options& options);

}  // namespace bench
