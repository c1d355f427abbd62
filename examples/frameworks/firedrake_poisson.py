"""Firedrake: -div(grad u) = -6 on the unit square with quadratic elements, u = 1 + x^2 + 2 y^2 on its boundary.

    PETSC_OPTIONS="-dll_append $HOME/syncfree/lib/libsyncfree_ilu.so" python3 firedrake_poisson.py syncfree_icc

The argument is the type of the preconditioner. The exact solution lies in the space, so the error is that of the solver.
"""

import sys

from firedrake import *  # noqa: F403  (as in Firedrake's own programs)
from firedrake.petsc import PETSc

parameters = {
    "mat_type": "aij",
    "ksp_type": "cg",
    "ksp_rtol": 1e-10,
    "pc_type": (sys.argv[1:] or ["syncfree_icc"])[0],
    "ksp_view": None,
}

mesh = UnitSquareMesh(64, 64)
space = FunctionSpace(mesh, "Lagrange", 2)
x, y = SpatialCoordinate(mesh)
exact = Function(space).interpolate(1 + x**2 + 2 * y**2)
u, v = TrialFunction(space), TestFunction(space)
solution = Function(space)
problem = LinearVariationalProblem(
    inner(grad(u), grad(v)) * dx, inner(Constant(-6.0), v) * dx, solution, bcs=DirichletBC(space, exact, "on_boundary")
)
solver = LinearVariationalSolver(problem, solver_parameters=parameters)
solver.solve()

ksp = solver.snes.ksp
PETSc.Sys.Print(f"Firedrake, PETSc {'.'.join(map(str, PETSc.Sys.getVersion()))}")
PETSc.Sys.Print(f"iterations: {ksp.getIterationNumber()}, reason: {ksp.getConvergedReason()}")
PETSc.Sys.Print(f"error: {errornorm(exact, solution):.1e}")
