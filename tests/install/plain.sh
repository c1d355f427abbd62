#!/usr/bin/env bash
# Called by run.sh: a build as README has it, without presets; what it installs for CMake and Python, and what is refused
# when a program or the library itself is configured.
#
#   PETSC_DIR=... PETSC_ARCH=... tests/install/plain.sh BUILD-FOLDER WORK-FOLDER
#
# Nothing is compiled here but a program: the shared library is that of BUILD-FOLDER.
set -eu -o pipefail
if [ "${1:-}" = --help ]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; fi
here=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2
export PETSC_DIR PETSC_ARCH=${PETSC_ARCH:-}

check() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; exit 1; fi
}
fails() { if "$@"; then return 1; fi; }

configure() {  # FOLDER ARGUMENT...
  cmake -S "$here/../.." -B "$work/$1" -DSYNCFREE_KOKKOS=OFF "${@:2}" >"$work/$1.log" 2>&1
}

# an environment of Python's as prefix, and a build in which only the shared library was made, as by the demo
/usr/bin/python3 -m venv --without-pip "$work/venv"
configure plain -DPETSC_DIR="$PETSC_DIR" -DSYNCFREE_CUDA=OFF -DPython3_EXECUTABLE="$work/venv/bin/python" ||
  { cat "$work/plain.log"; exit 1; }
cmake --build "$work/plain" --target help >"$work/targets"
check "tests are not built unless asked for" fails grep -qE '(core|host|petsc)_tests' "$work/targets"
check "there is a target examples" grep -qE '(^|[ .])examples($|:)' "$work/targets"
cp "$build/libsyncfree_ilu.so" "$work/plain"
install_plain() { cmake --install "$work/plain" --prefix "$work/venv" >"$work/venv.log"; }
check "installs without the static archive" install_plain
check "the archive is not there" fails test -e "$(find "$work/venv" -name libsyncfree_ilu.so -printf %h)/libsyncfree_ilu.a"
consumer() {  # FOLDER PREFIX PETSC_DIR
  cmake -S "$here/cmake" -B "$work/$1" -DCMAKE_PREFIX_PATH="$2" -DPETSC_DIR="$3" -DPETSC_ARCH="$PETSC_ARCH" \
    >"$work/$1.log" 2>&1
}
check "CMake finds what is there" consumer without-archive "$work/venv" "$PETSC_DIR"
cmake --build "$work/without-archive" >>"$work/without-archive.log"
check "and links it" grep -q '^iterations: [1-9]' <("$work/without-archive/with_syncfree_ilu")

# the Python module
check "Python finds the module of its prefix" test "$(find "$work/venv" -name syncfree_ilu.py)" = \
  "$("$work/venv/bin/python" -c 'import importlib.util; print(importlib.util.find_spec("syncfree_ilu").origin)')"
check "and nothing is to be added" fails grep -q PYTHONPATH "$work/venv.log"
library=$(find "$work/venv" -name libsyncfree_ilu.so)
from=$(sed -n 's/^_FROM_HERE = "\([^"]*\)".*/\1/p' "$(find "$work/venv" -name syncfree_ilu.py)")
check "the module finds the library" test "$(realpath "$library")" = \
  "$(realpath "$(find "$work/venv" -name syncfree_ilu.py -printf %h)/$from/libsyncfree_ilu.so")"
module=$(dirname "$(find "$work/prefix" -name syncfree_ilu.py)")
check "elsewhere the line to add is printed" grep -qF "export PYTHONPATH=$module\${PYTHONPATH:+:\$PYTHONPATH}" "$work/install.log"

# Other PETScs, as far as CMake looks: other_petsc FOLDER SED-SCRIPT for petscconf.h
other_petsc() {
  local folder=$work/$1 conf pc
  pc=$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig:$PETSC_DIR/lib/pkgconfig
  conf=$(ls "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h" "$PETSC_DIR/include/petscconf.h" 2>/dev/null | head -n 1)
  mkdir -p "$folder/$PETSC_ARCH/lib/pkgconfig" "$folder/include"
  sed "$2" "$conf" >"$folder/include/petscconf.h"
  PKG_CONFIG_PATH=$pc
  export PKG_CONFIG_PATH
  cat >"$folder/$PETSC_ARCH/lib/pkgconfig/PETSc.pc" <<END
prefix=$folder
ccompiler=$(pkg-config --variable=ccompiler PETSc)
cxxcompiler=$(pkg-config --variable=cxxcompiler PETSc)
Name: PETSc
Description: not one
Version: $(pkg-config --modversion PETSc)
Cflags: -I$folder/include $(pkg-config --cflags PETSc)
Libs: $(pkg-config --libs PETSc)
END
  unset PKG_CONFIG_PATH
}

other_petsc same ''
check "the same kind of PETSc elsewhere is accepted" consumer same-kind "$work/prefix" "$work/same"
other() {  # NAME DEFINITION WORDS: the definition is put into petscconf.h, or taken out of it
  other_petsc "petsc-$1" "/define $2 /{h;d};\${p;x;/./!{s/^/#define $2 1/;p};d}"
  check "a PETSc with $1 is refused" fails consumer "refused-$1" "$work/prefix" "$work/petsc-$1"
  check "in words" grep -q "$3" <(tr -s '\n ' ' ' <"$work/refused-$1.log")
}
other "other-indices" PETSC_USE_64BIT_INDICES "was built for a PETSc with .* indices, but the one of PETSC_DIR=.* has .*-bit indices"
other "other-scalars" PETSC_USE_COMPLEX "was built for a PETSc with .* scalars .*, but the one of PETSC_DIR=.* has .* scalars"

other_petsc no-cuda '/define PETSC_HAVE_CUDA /d'
export PETSC_DIR=$work/no-cuda
cuda() { timeout 20 cmake -S "$here/../.." -B "$work/cuda" -DSYNCFREE_CUDA=ON -DSYNCFREE_KOKKOS=OFF >"$work/cuda.log" 2>&1; }
check "the backend cuda is refused for a PETSc without CUDA" fails cuda
check "with what to do" grep -q "this PETSc has no CUDA.*--with-cuda=1" <(tr -s '\n ' ' ' <"$work/cuda.log")
