#!/usr/bin/env bash
# Installs a build and uses it as a stranger would: a C project with CMake and the shared and the
# static library, pkg-config, -dll_append, Python, and C++ with the headers alone. Then looks at the library itself.
#
#   PETSC_DIR=... PETSC_ARCH=... tests/install/run.sh BUILD-FOLDER WORK-FOLDER
set -eu -o pipefail
if [ "${1:-}" = --help ]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; fi
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$2"
mkdir -p "$2"
build=$(cd "$1" && pwd) work=$(cd "$2" && pwd)
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
lib=$(dirname "$(find "$work/prefix" -name libsyncfree_ilu.so)")
petsc_pc=$PETSC_DIR/${PETSC_ARCH:-}/lib/pkgconfig:$PETSC_DIR/lib/pkgconfig
unset PETSC_OPTIONS

check() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; exit 1; fi
}
solves() { "$@" | tee /dev/stderr | grep '^iterations: [1-9]' >/dev/null; }  # not -q: it must read to the end
solves_at_once() { "$@" | tee /dev/stderr | grep -E '^iterations: 1($|,)' >/dev/null; }  # tridiagonal

consumer() {  # FOLDER PREFIX PETSC_DIR PETSC_ARCH: configures a program that uses an installed library
  cmake -S "$here/cmake" -B "$work/$1" -G Ninja -DCMAKE_PREFIX_PATH="$2" -DPETSC_DIR="$3" -DPETSC_ARCH="$4" \
    >"$work/$1.log" 2>&1
}

consumer cmake "$work/prefix" "$PETSC_DIR" "${PETSC_ARCH:-}" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake"
check "CMake, shared library" solves "$work/cmake/with_syncfree_ilu"
check "CMake, static library" solves "$work/cmake/with_syncfree_ilu_static"

flags=$(PKG_CONFIG_PATH="$lib/pkgconfig:$petsc_pc" pkg-config --cflags --libs syncfree_ilu)
petsc_lib=$(PKG_CONFIG_PATH="$petsc_pc" pkg-config --variable=libdir PETSc)
mpicc "$here/program.c" -o "$work/with_pkgconfig" $flags -Wl,-rpath,"$lib" -Wl,-rpath,"$petsc_lib" -lm
check "pkg-config" solves "$work/with_pkgconfig"

converges() { local output; output=$("$@") && echo "$output" && [[ $output == *CONVERGED* ]]; }
for name in poisson flow; do
  mpicc "$work/prefix/share/syncfree/examples/tutorials/$name.c" -o "$work/$name" $flags -Wl,-rpath,"$lib" \
    -Wl,-rpath,"$petsc_lib" -lm
done
check "installed example of the gallery" converges "$work/poisson" -dll_append "$lib/libsyncfree_ilu.so" \
  -pc_type syncfree_icc
check "installed example with time steps" converges "$work/flow" -dll_append "$lib/libsyncfree_ilu.so" \
  -pc_type syncfree_ilu -end 0.1

check "examples for frameworks" test -f "$work/prefix/share/syncfree/examples/frameworks/dolfinx_poisson.py"
check "license" test -f "$work/prefix/share/doc/syncfree/LICENSE"

# the first examples, copied out of the prefix
cp -r "$work/prefix/share/syncfree/examples/first" "$work/first"
check "first example, Makefile" env PKG_CONFIG_PATH="$lib/pkgconfig:$petsc_pc" make -s -C "$work/first"
check "and it solves" solves_at_once "$work/first/first"
on_gpu() {  # PROGRAM: on a GPU, or on the CPU with the reason
  local output host='seqaij seq, strategy: serial, backend: host' cuda='' aware=''
  if grep -qs 'define PETSC_HAVE_CUDA ' "$PETSC_DIR/${PETSC_ARCH:-}/include/petscconf.h" \
    "$PETSC_DIR/include/petscconf.h"; then cuda=yes aware='-use_gpu_aware_mpi 0'; fi  # MPI may not be GPU-aware
  output=$("$1" $aware) || return 1
  echo "$output"
  if [ -z "$cuda" ]; then [[ $output == *'built without CUDA'*"iterations: 1, types: $host" ]]
  elif [ -e /dev/nvidia0 ]; then [[ $output == 'iterations: 1, types: seqaijcusparse seqcuda, '*', backend: cuda' ]]
  else [[ $output == *'finds no GPU'*"iterations: 1, types: $host" ]]; fi
}
check "first example on a GPU" on_gpu "$work/first/gpu"
check "first example, CMake" cmake -S "$work/first" -B "$work/first/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="${PETSC_ARCH:-}"
check "is built" cmake --build "$work/first/build"
check "and solves" solves_at_once "$work/first/build/first" -pc_type syncfree_icc -ksp_type cg
check "and on a GPU" on_gpu "$work/first/build/gpu"
if /usr/bin/python3 -c 'import petsc4py' 2>/dev/null && [ "${PETSC_DIR#/usr/lib}" != "$PETSC_DIR" ]; then
  module=$(dirname "$(find "$work/prefix" -name syncfree_ilu.py)")
  check "first example, Python" solves_at_once env PYTHONPATH="$module" /usr/bin/python3 "$work/first/first.py"
fi

# one version, everywhere
version=$(sed -n 's/^project(syncfree VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
check "the version is $version" test -n "$version"
check "the library's version" grep -cx "version: $version" <("$work/with_pkgconfig")
check "CMake's version" grep -qx -e "-- version: $version" "$work/cmake.log"
check "pkg-config's version" test "$version" = \
  "$(PKG_CONFIG_PATH="$lib/pkgconfig:$petsc_pc" pkg-config --modversion syncfree_ilu)"
check "the version to cite" grep -qx "version: $version" "$here/../../CITATION.cff"

bash "$here/plain.sh" "$build" "$work"

# headers that need no library: a loop on threads of OpenMP, and on those of C++
loop="c++ -std=c++17 -O1 -Wall -Werror -I$work/prefix/include $here/../../examples/loop/smoother.cpp"
check "sync-free loop with OpenMP" eval "$loop -fopenmp -o $work/loop_openmp && $work/loop_openmp"
check "sync-free loop without" eval "$loop -pthread -o $work/loop_threads && $work/loop_threads"

check "-ffast-math is refused in words" grep -q 'error.*-ffast-math' <($loop -ffast-math -fsyntax-only 2>&1)

# the entry point and the C interface, nothing of the C++ inside
interface='^(PC|Mat|PCCreate_)SyncFree|^PetscDLLibraryRegister_(petsc)?syncfree_ilu$|^(__bss_start|_edata|_end)$'
exported=$(nm -D --defined-only "$lib/libsyncfree_ilu.so" | awk '{print $3}' | grep -vE "$interface" || true)
check "exports only its interface${exported:+, but has $exported}" test -z "$exported"
check "depends on PETSc by name" grep -q 'NEEDED.*libpetsc' <(readelf -d "$lib/libsyncfree_ilu.so")
check "is never unloaded" grep -q NODELETE <(readelf -d "$lib/libsyncfree_ilu.so")

# Debian's petsc4py belongs to Debian's PETSc
python=/usr/bin/python3
theirs=$($python -c 'import petsc4py, os; print(os.path.realpath(petsc4py.get_config()["PETSC_DIR"]))' 2>/dev/null || true)
if [ "$theirs" = "$(realpath "$PETSC_DIR")" ]; then
  module=$(dirname "$(find "$work/prefix" -name syncfree_ilu.py)")
  check "Python finds the installed library" env PYTHONPATH="$module" $python "$here/../petsc/petsc4py_program.py"
  check "Python's version" env PYTHONPATH="$module" $python -c "
import petsc4py
petsc4py.init([])
import syncfree_ilu
assert syncfree_ilu.__version__ == '$version', syncfree_ilu.__version__"
  # one that was put into a folder above the module is not taken
  mkdir -p "$work/above/a/b"
  cp "$lib/libsyncfree_ilu.so" "$work/above"
  cp "$here/../../plugin/python/syncfree_ilu.py" "$work/above/a/b"
  check "Python looks no further" env PYTHONPATH="$work/above/a/b" $python -c '
import petsc4py
petsc4py.init([])
try:
    import syncfree_ilu
except FileNotFoundError as error:
    assert "above/a/b/libsyncfree_ilu.so" in str(error) and "above/libsyncfree_ilu.so" not in str(error), error
else:
    raise SystemExit("no error")'
  check "Python says what is missing" env PYTHONPATH="$module" SYNCFREE_ILU_LIBRARY=/nowhere.so $python -c '
import petsc4py
petsc4py.init([])
try:
    import syncfree_ilu
except FileNotFoundError as error:
    assert "/nowhere.so" in str(error) and "SYNCFREE_ILU_LIBRARY" in str(error), error
else:
    raise SystemExit("no error")'
fi
