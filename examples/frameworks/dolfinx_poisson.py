"""dolfinx: -div(grad u) = -6 on the unit square with quadratic elements, u = 1 + x^2 + 2 y^2 on its boundary.

    PETSC_OPTIONS="-dll_append $HOME/syncfree/lib/libsyncfree_ilu.so" python3 dolfinx_poisson.py syncfree_icc

The argument is the type of the preconditioner. The exact solution lies in the space, so the error is that of the solver.
"""

import inspect
import sys

import numpy
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py import PETSc

options = {"ksp_type": "cg", "ksp_rtol": 1e-10, "pc_type": (sys.argv[1:] or ["syncfree_icc"])[0], "ksp_view": None}

domain = mesh.create_unit_square(MPI.COMM_WORLD, 64, 64)
make_space = getattr(fem, "functionspace", None) or fem.FunctionSpace  # its name until dolfinx 0.7
space = make_space(domain, ("Lagrange", 2))
exact = fem.Function(space)
exact.interpolate(lambda x: 1 + x[0] ** 2 + 2 * x[1] ** 2)
edges = domain.topology.dim - 1
boundary = mesh.locate_entities_boundary(domain, edges, lambda x: numpy.full(x.shape[1], True))
condition = fem.dirichletbc(exact, fem.locate_dofs_topological(space, edges, boundary))

u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
a = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
L = ufl.inner(fem.Constant(domain, PETSc.ScalarType(-6)), v) * ufl.dx

named = {}
if "petsc_options_prefix" in inspect.signature(LinearProblem).parameters:  # since dolfinx 0.10
    named["petsc_options_prefix"] = "poisson_"
problem = LinearProblem(a, L, bcs=[condition], petsc_options=options, **named)
solution = problem.solve()

error = numpy.abs(solution.x.array - exact.x.array).max()
PETSc.Sys.Print(f"dolfinx, scalars {numpy.dtype(PETSc.ScalarType).name}, PETSc {'.'.join(map(str, PETSc.Sys.getVersion()))}")
PETSc.Sys.Print(f"iterations: {problem.solver.getIterationNumber()}, reason: {problem.solver.getConvergedReason()}")
PETSc.Sys.Print(f"largest error: {MPI.COMM_WORLD.allreduce(error, MPI.MAX):.1e}")
