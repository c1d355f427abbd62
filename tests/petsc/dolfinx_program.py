"""A dolfinx user's program: Poisson's equation, and what our PC takes and gives next to PETSc's own.

The library was loaded by PETSC_OPTIONS; the types are named in `petsc_options`, as in dolfinx's demos. FFCx compiles
the forms when it first meets them, into the cache folder under XDG_CACHE_HOME. Ends with a line `OK` and exit
status 0, or with an exception.
"""

import numpy
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py import PETSc

PC_FAILED = -11  # KSP_DIVERGED_PC_FAILED
SIZE = 24


class Poisson:
    """-div(grad u) = -6 on the unit square, u given on its boundary; u = 1 + x^2 + 2 y^2 lies in the space."""

    def __init__(self):
        domain = mesh.create_unit_square(MPI.COMM_WORLD, SIZE, SIZE)
        make_space = getattr(fem, "functionspace", None) or fem.FunctionSpace  # its name until dolfinx 0.8
        self.space = make_space(domain, ("Lagrange", 2))
        self.exact = fem.Function(self.space)
        self.exact.interpolate(lambda x: 1 + x[0] ** 2 + 2 * x[1] ** 2)
        u, v = ufl.TrialFunction(self.space), ufl.TestFunction(self.space)
        self.a = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
        self.L = ufl.inner(fem.Constant(domain, PETSc.ScalarType(-6)), v) * ufl.dx
        self.bc = fem.dirichletbc(self.exact, self.boundary_unknowns(domain))

    def boundary_unknowns(self, domain):
        facets = domain.topology.dim - 1
        everywhere = mesh.locate_entities_boundary(domain, facets, lambda x: numpy.full(x.shape[1], True))
        return fem.locate_dofs_topological(self.space, facets, everywhere)

    def solve(self, **options):
        """(iterations, largest error) with these options."""
        options = dict(options, ksp_rtol=1e-9)
        problem = LinearProblem(self.a, self.L, bcs=[self.bc], petsc_options=options)
        u = problem.solve()
        reason = problem.solver.getConvergedReason()
        assert reason > 0, (options, reason)
        assert problem.solver.getPC().getType() == options["pc_type"], problem.solver.getPC().getType()
        errors = numpy.abs(u.x.array - self.exact.x.array)
        return problem.solver.getIterationNumber(), MPI.COMM_WORLD.allreduce(errors.max(), MPI.MAX)


def theirs(name):
    """PETSc's own type, on each rank's block where there are several."""
    if MPI.COMM_WORLD.size == 1:
        return {"pc_type": name}
    return {"pc_type": "bjacobi", "sub_pc_type": name}


def check_pair(problem, ksp_type, ours, name):
    """The same steps and an answer as good with our type and PETSc's."""
    count, error = problem.solve(ksp_type=ksp_type, pc_type=ours)
    expected, expected_error = problem.solve(ksp_type=ksp_type, **theirs(name))
    assert count == expected, (ours, count, expected)
    assert error <= 1.01 * expected_error and error < 1e-6, (ours, error, expected_error)
    PETSc.Sys.Print(f"{ours}: {count} steps, error {error:.1e}")


def check_failure(problem):
    """Boundary rows assembled with 0 on the diagonal are failed pivots."""
    A = fem.petsc.assemble_matrix(fem.form(problem.a), bcs=[problem.bc], diagonal=0.0)
    A.assemble()
    ksp = PETSc.KSP().create(MPI.COMM_WORLD)
    ksp.setOperators(A)
    ksp.getPC().setType("syncfree_ilu")
    x, b = A.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() == PC_FAILED, ksp.getConvergedReason()


poisson = Poisson()
check_pair(poisson, "gmres", "syncfree_ilu", "ilu")
check_pair(poisson, "cg", "syncfree_icc", "icc")
check_failure(poisson)
PETSc.Sys.Print("OK")
