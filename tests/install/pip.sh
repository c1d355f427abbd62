#!/usr/bin/env bash
# `pip install ./plugin/python` as README has it, beside the system's petsc4py; then a solve, and what it leaves behind.
#
#   tests/install/pip.sh BUILD-FOLDER WORK-FOLDER
#
# BUILD-FOLDER's example program loads the library that pip installed. Compiles nothing that ccache knows from there.
# Skipped, with the reason, where packages cannot be had from PyPI. Ends with `RESULT passed failed skipped`.
set -eu -o pipefail
if [ "${1:-}" = --help ]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; fi
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
python=/usr/bin/python3 # the one that Debian's petsc4py belongs to
petsc_dir=${PETSC_DIR:-}
unset PETSC_DIR PETSC_ARCH PETSC_OPTIONS PYTHONPATH
cd "$work"

passed=0
check() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; echo "RESULT $passed 1 0"; exit 1; fi
  passed=$((passed + 1))
}
skip() { echo "skipped: $1"; echo "RESULT 0 0 1"; exit; }

[ "${SYNCFREE_INSTALL:-}" != no ] || skip "pip would download scikit-build-core, --no-install"
$python -c 'import pip' 2>/dev/null || skip "$python has no pip"
theirs=$($python -c 'import petsc4py; print(petsc4py.get_config()["PETSC_DIR"])' 2>/dev/null || true)
[ -n "$theirs" ] && [ "$(realpath "$theirs")" = "$(realpath "${petsc_dir:-/}")" ] ||
  skip "petsc4py of $python is not of PETSC_DIR"

# the PETSc is that of petsc4py, which pip hides from builds
$python -m venv --without-pip --system-site-packages venv
here=$work/venv/bin/python
# compiler and flags are those of the build, so that ccache knows all objects
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
export CC CXX SKBUILD_CMAKE_DEFINE
CC=$(cache CMAKE_C_COMPILER) CXX=$(cache CMAKE_CXX_COMPILER)
SKBUILD_CMAKE_DEFINE="SYNCFREE_WERROR=$(cache SYNCFREE_WERROR);SYNCFREE_KOKKOS=$(cache SYNCFREE_KOKKOS)"
if ! $here -m pip install -v --no-input "$root/plugin/python" >pip.log 2>&1 </dev/null; then
  if grep -qE 'No matching distribution found for scikit-build-core|Could not find a version' pip.log; then
    skip "pip cannot download scikit-build-core: is there a network?"
  fi
  tail -n 60 pip.log
  check "pip install" false
fi
check "pip takes the PETSc of petsc4py" grep -qF "PETSC_DIR of Python's package petsc4py: $theirs" pip.log
package=$($here -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/syncfree_ilu
check "everything is in the package" test -f "$package/__init__.py" -a -f "$package/lib/libsyncfree_ilu.so"
check "a solve in Python" $here "$root/tests/petsc/petsc4py_program.py"
library=$($here -c 'import syncfree_ilu; print(syncfree_ilu.library())')
check "the module says where the library is" test "$library" = "$package/lib/libsyncfree_ilu.so"
check "a program without Python" "$build/examples/poisson" -dll_append "$library" -pc_type syncfree_icc
version=$(sed -n 's/^project(syncfree VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
check "pip's version is $version" test "$version" = \
  "$($here -c 'import importlib.metadata as m; print(m.version("petsc-syncfree"))')"
check "pip uninstalls it" $here -m pip uninstall -q -y petsc-syncfree
check "and leaves nothing" test ! -e "$package"

# PyPI's package `petsc` has a PETSc inside itself; where there is no petsc4py it is the one. pip hides it from builds by
# a PYTHONPATH of its own
$python -m venv --without-pip bare
other=$(bare/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/petsc
mkdir "$other" hidden
echo "def get_config(): return {'PETSC_DIR': '$theirs'}" >"$other/__init__.py"
echo "raise ImportError" >hidden/petsc.py
PYTHONPATH=$work/hidden cmake -S "$root" -B configured -DSKBUILD=2 -DPython3_EXECUTABLE="$work/bare/bin/python" \
  -DSYNCFREE_KOKKOS=OFF -DSYNCFREE_CUDA=OFF >configured.log 2>&1 || tail -n 20 configured.log
check "or that of the package petsc" grep -qF "PETSC_DIR of Python's package petsc: $theirs" configured.log
echo "RESULT $passed 0 0"
