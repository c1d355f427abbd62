"""The smallest program: a tridiagonal system, solved with -pc_type syncfree_ilu. Options change everything, as usual:
-mat_type aijcusparse puts matrix and vectors on a GPU, where PETSc and this library have CUDA."""

import sys

import petsc4py

petsc4py.init(sys.argv)
import syncfree_ilu  # after petsc4py.init()
from petsc4py import PETSc

n = 1000
A = PETSc.Mat().create()
A.setSizes([n, n])
A.setFromOptions()
A.setPreallocationNNZ(3)
first, end = A.getOwnershipRange()
for i in range(first, end):
    for j, value in ((i - 1, -1.0), (i, 2.0), (i + 1, -1.0)):
        if 0 <= j < n:
            A.setValue(i, j, value)
A.assemble()
x, b = A.createVecs()
b.set(1.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.getPC().setType("syncfree_ilu")
ksp.setFromOptions()
ksp.solve(b, x)
PETSc.Sys.Print(f"iterations: {ksp.getIterationNumber()}, strategy: {syncfree_ilu.running_strategy(ksp.getPC())}")
