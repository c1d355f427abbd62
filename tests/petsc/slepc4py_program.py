"""A slepc4py user's program: eigenvalues inside a spectrum by shift-and-invert, our PC in the linear solves.

Run it with the folder of syncfree_ilu.py on PYTHONPATH; SYNCFREE_ILU_LIBRARY may name the library.
With the argument `dll_append` the library was loaded by PETSC_OPTIONS and the module is not needed.
Ends with a line `OK` and exit status 0, or with an exception.
"""

import math
import sys

import slepc4py

slepc4py.init([sys.argv[0]])
from petsc4py import PETSc  # noqa: E402  (PETSc starts in init)
from slepc4py import SLEPc  # noqa: E402

if "dll_append" not in sys.argv:
    import syncfree_ilu  # noqa: F401,E402  (importing it registers the types)

NX = 15
CENTRE, WEST, OTHER = 4.5, -1.5, -1.0
WANTED = 4
ZERO_PIVOT = 71  # PETSC_ERR_MAT_LU_ZRPVT


def convection():
    """5-point Laplacian with a little convection on an NX x NX grid."""
    A = PETSc.Mat().createAIJ([NX * NX, NX * NX], nnz=5, comm=PETSc.COMM_WORLD)
    first, end = A.getOwnershipRange()
    for row in range(first, end):
        x, y = row % NX, row // NX
        A[row, row] = CENTRE
        if x > 0:
            A[row, row - 1] = WEST
        if x < NX - 1:
            A[row, row + 1] = OTHER
        if y > 0:
            A[row, row - NX] = OTHER
        if y < NX - 1:
            A[row, row + NX] = OTHER
    A.assemble()
    return A


def exact(target):
    """The eigenvalues next to the target; the matrix is a sum of two tridiagonal Toeplitz matrices."""
    cosines = [math.cos(i * math.pi / (NX + 1)) for i in range(1, NX + 1)]
    values = [CENTRE + 2 * math.sqrt(WEST * OTHER) * a + 2 * OTHER * b for a in cosines for b in cosines]
    return sorted(values, key=lambda value: abs(value - target))[:WANTED]


def eigenvalues(A, target, configure_pc):
    """(outer iterations, linear iterations, values next to the target) of Krylov-Schur."""
    steps = []
    eps = SLEPc.EPS().create(A.comm)
    eps.setOperators(A)
    eps.setProblemType(SLEPc.EPS.ProblemType.NHEP)
    eps.setDimensions(WANTED)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    eps.setTarget(target)
    eps.getST().setType("sinvert")
    ksp = eps.getST().getKSP()
    ksp.setType("gmres")
    ksp.setTolerances(rtol=1e-10)
    ksp.setGMRESRestart(NX * NX)  # restarts would let rounding errors decide about the number of steps
    ksp.setMonitor(lambda *_: steps.append(1))
    configure_pc(ksp.getPC())
    eps.setFromOptions()
    eps.solve()
    assert eps.getConverged() >= WANTED, eps.getConvergedReason()
    found = [eps.getEigenvalue(i) for i in range(eps.getConverged())]
    return eps.getIterationNumber(), len(steps), sorted(found, key=lambda value: abs(value - target))[:WANTED]


def of_type(name):
    return lambda pc: pc.setType(name)


def package(pc):
    pc.setType("ilu")
    pc.setFactorSolverType("syncfree")


def blocks(pc):
    """What `-pc_type syncfree_ilu` is in parallel, with PETSc's factor."""
    pc.setType("bjacobi" if pc.comm.size > 1 else "ilu")


def check(A, target):
    """The same steps with our PC and with PETSc's, and the eigenvalues that are known."""
    expected = eigenvalues(A, target, blocks)
    ours = [of_type("syncfree_ilu")] + ([package] if A.comm.size == 1 else [])
    for configure in ours:
        found = eigenvalues(A, target, configure)
        assert found[:2] == expected[:2], (target, found, expected)
        for value, theirs, true in zip(found[2], expected[2], exact(target)):
            assert abs(value - theirs) <= 1e-9 * abs(theirs), (target, value, theirs)
            assert abs(value - true) <= 1e-7 * abs(true), (target, value, true)
    PETSc.Sys.Print(f"target {target}: {expected[0]} outer, {expected[1]} linear iterations")


def check_failure(A):
    """A target equal to the diagonal leaves a zero there: SLEPc makes an error of the failed pivot."""
    for name in ("ilu", "syncfree_ilu"):
        try:
            eigenvalues(A, CENTRE, of_type(name))
        except PETSc.Error as error:
            assert error.ierr == ZERO_PIVOT, (name, error)
        else:
            raise AssertionError(f"{name} found eigenvalues with a zero pivot")


A = convection()
for target in (0.0, 0.3):
    check(A, target)
if A.comm.size == 1:
    check_failure(A)
PETSc.Sys.Print("OK")
