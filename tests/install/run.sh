#!/usr/bin/env bash
# Installs a build and uses it as a stranger would: a CMake project with the shared and with the
# static library, pkg-config, and Python.
#
#   tests/install/run.sh BUILD-FOLDER WORK-FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2
rm -rf "$work"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
lib=$(dirname "$(find "$work/prefix" -name libsyncfree_ilu.so)")

expect() { grep -q "^iterations: [1-9]" || { echo "$1: no iterations printed"; exit 1; }; echo "$1: ok"; }

cmake -S "$here/cmake" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/cmake" >/dev/null
"$work/cmake/shared" | expect "CMake, shared"
"$work/cmake/static" | expect "CMake, static"

export PKG_CONFIG_PATH="$lib/pkgconfig:$PETSC_DIR/${PETSC_ARCH:-}/lib/pkgconfig:$PETSC_DIR/lib/pkgconfig"
mpicc "$here/program.c" -o "$work/pkgconfig" $(pkg-config --cflags --libs syncfree_ilu PETSc) -Wl,-rpath,"$lib" -lm
"$work/pkgconfig" | expect pkg-config

python=$(dirname "$(find "$work/prefix" -name syncfree_ilu.py)")
if /usr/bin/python3 -c 'import petsc4py' 2>/dev/null; then
  PYTHONPATH="$python" /usr/bin/python3 -c '
import petsc4py
petsc4py.init([])
import syncfree_ilu
from petsc4py import PETSc
A = PETSc.Mat().createAIJ(30, nnz=3, comm=PETSc.COMM_SELF)
for i in range(30):
    for j in range(max(i - 1, 0), min(i + 2, 30)):
        A[i, j] = 2.5 if i == j else -1
A.assemble()
ksp = PETSc.KSP().create(PETSc.COMM_SELF)
ksp.setOperators(A)
ksp.pc.setType("syncfree_ilu")
x, b = A.createVecs()
b.set(1)
ksp.solve(b, x)
print("iterations:", ksp.getIterationNumber())' | expect Python
fi
