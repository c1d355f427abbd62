"""A petsc4py user's program: the plugin by `import syncfree_ilu`, a solve, its answer checked.

Run it with the folder of syncfree_ilu.py on PYTHONPATH; SYNCFREE_ILU_LIBRARY may name the library.
With the argument `dll_append` the library was loaded by PETSC_OPTIONS and the module is not needed.
Ends with a line `OK` and exit status 0, or with an exception.
"""

import sys

import petsc4py

petsc4py.init([sys.argv[0]])
from petsc4py import PETSc  # noqa: E402  (PETSc starts in init)

if "dll_append" not in sys.argv:
    import syncfree_ilu  # noqa: F401,E402  (importing it registers the types)


def poisson(nx):
    """5-point Laplacian with a little convection on an nx x nx grid."""
    A = PETSc.Mat().createAIJ([nx * nx, nx * nx], nnz=5, comm=PETSc.COMM_SELF)
    for row in range(nx * nx):
        x, y = row % nx, row // nx
        A[row, row] = 4.5
        if x > 0:
            A[row, row - 1] = -1.5
        if x < nx - 1:
            A[row, row + 1] = -1.0
        if y > 0:
            A[row, row - nx] = -1.0
        if y < nx - 1:
            A[row, row + nx] = -1.0
    A.assemble()
    return A


def solve(A, pc_type):
    """Returns (iterations, residual norms, solution) of GMRES with this preconditioner."""
    ksp = PETSc.KSP().create(comm=PETSc.COMM_SELF)
    ksp.setOperators(A)
    ksp.setType("gmres")
    ksp.setConvergenceHistory()
    ksp.getPC().setType(pc_type)
    ksp.setTolerances(rtol=1e-9)
    x, b = A.createVecs()
    b.set(1.0)
    ksp.setFromOptions()
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0, ksp.getConvergedReason()
    assert ksp.getPC().getType() == pc_type
    return ksp.getIterationNumber(), ksp.getConvergenceHistory(), x


def check_pair(A, ours, petsc):
    """The same steps and the same answer with our type and PETSc's."""
    count, history, x = solve(A, ours)
    count_petsc, history_petsc, x_petsc = solve(A, petsc)
    assert count == count_petsc, (ours, count, count_petsc)
    for a, b in zip(history, history_petsc):
        assert abs(a - b) <= 1e-6 * abs(b) + 1e-13 * history_petsc[0], (ours, a, b)
    x.axpy(-1.0, x_petsc)
    assert x.norm() <= 1e-8 * x_petsc.norm(), (ours, x.norm())


def check_report(A, pc_type):
    """The module names what runs and its version."""
    pc = PETSc.PC().create(comm=PETSc.COMM_SELF)
    pc.setOperators(A)
    pc.setType(pc_type)
    pc.setFromOptions()
    assert syncfree_ilu.running_strategy(pc) == (None, None)
    x, b = A.createVecs()
    pc.apply(b, x)
    assert syncfree_ilu.running_strategy(pc) == ("level_set", "host"), syncfree_ilu.running_strategy(pc)
    pc.setType("jacobi")
    try:
        syncfree_ilu.running_strategy(pc)
    except RuntimeError as error:
        assert "jacobi" in str(error), error
    else:
        raise SystemExit("a PC of PETSc has no running strategy")
    assert syncfree_ilu.__version__.count(".") == 2, syncfree_ilu.__version__


def check_failure():
    """A zero pivot is a failed reason, not an exception."""
    A = PETSc.Mat().createAIJ([2, 2], nnz=2, comm=PETSc.COMM_SELF)
    A[0, 0], A[0, 1], A[1, 0], A[1, 1] = 0.0, 1.0, 1.0, 0.0
    A.assemble()
    ksp = PETSc.KSP().create(comm=PETSc.COMM_SELF)
    ksp.setOperators(A)
    ksp.getPC().setType("syncfree_ilu")
    x, b = A.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() == -11, ksp.getConvergedReason()  # DIVERGED_PC_FAILED


def check_factor_package(A):
    """`-pc_type ilu -pc_factor_mat_solver_type syncfree` through petsc4py's own names."""
    ksp = PETSc.KSP().create(comm=PETSc.COMM_SELF)
    ksp.setOperators(A)
    ksp.getPC().setType("ilu")
    ksp.getPC().setFactorSolverType("syncfree")
    x, b = A.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    assert ksp.getPC().getFactorSolverType() == "syncfree"
    assert ksp.getConvergedReason() > 0


A = poisson(15)
check_pair(A, "syncfree_ilu", "ilu")
check_pair(A, "syncfree_icc", "icc")
PETSc.Options()["pc_syncfree_strategy"] = "level_set"
PETSc.Options()["pc_syncfree_threads"] = 2
check_pair(A, "syncfree_ilu", "ilu")
if "dll_append" not in sys.argv:
    for kind in ("syncfree_ilu", "syncfree_icc", "syncfree_sor"):
        check_report(A, kind)
check_failure()
check_factor_package(A)
print("OK")
