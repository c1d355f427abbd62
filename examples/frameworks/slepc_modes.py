"""slepc4py: the six lowest modes of a membrane, by an eigensolver that takes a preconditioner.

    python3 slepc_modes.py -st_pc_type syncfree_icc              # LOBPCG; PYTHONPATH as the installation prints it
    python3 slepc_modes.py -eps_type gd -st_pc_type syncfree_ilu # generalized Davidson; jd: Jacobi-Davidson

5-point Laplacian on 60 x 50 points, whose eigenvalues are known. `-eps_view` shows the preconditioner.
"""

import math
import sys

import slepc4py

slepc4py.init(sys.argv)
import syncfree_ilu  # noqa: E402,F401  (after slepc4py.init())
from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

nx, ny, wanted = 60, 50, 6
A = PETSc.Mat().createAIJ([nx * ny, nx * ny], nnz=5)
first, end = A.getOwnershipRange()
for row in range(first, end):
    x, y = row % nx, row // nx
    A[row, row] = 4.0
    for near, inside in ((row - 1, x > 0), (row + 1, x < nx - 1), (row - nx, y > 0), (row + nx, y < ny - 1)):
        if inside:
            A[row, near] = -1.0
A.assemble()

eps = SLEPc.EPS().create()
eps.setOperators(A)
eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
eps.setType("lobpcg")
eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
eps.setDimensions(wanted)
eps.setTolerances(1e-8, 500)
eps.getST().getKSP().getPC().setType("syncfree_icc")
eps.setFromOptions()
eps.solve()

ones = [[4 * math.sin(k * math.pi / (2 * (n + 1))) ** 2 for k in range(1, wanted + 1)] for n in (nx, ny)]
exact = sorted(a + b for a in ones[0] for b in ones[1])[:wanted]
found = [eps.getEigenvalue(i).real for i in range(min(wanted, eps.getConverged()))]
error = max(abs(value - true) / true for value, true in zip(sorted(found), exact)) if found else math.inf
PETSc.Sys.Print(f"{eps.getType()} with {eps.getST().getKSP().getPC().getType()}, converged: {eps.getConverged()}")
PETSc.Sys.Print(f"iterations: {eps.getIterationNumber()}, largest relative error: {error:.1e}")
