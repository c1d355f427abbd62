#!/usr/bin/env bash
# Writes the reference outputs of the examples from PETSc's own ILU, ICC and SOR (petsc_own.inc, C that is no example), or
# compares with them.
#
#   bash examples/ksp/reference/outputs.sh [check|write] [test name pattern]
#
# Tests whose name contains `own_` show what only our types do, and others use our orderings; their outputs come from
# runs with libsyncfree_ilu.so: LIBRARY=/path/libsyncfree_ilu.so outputs.sh write, and are to be read by a person.
# Without a pattern, LIBRARY selects these tests, and no LIBRARY all others. PETSC_DIR chooses the PETSc; the outputs in
# git come from 3.18.5.
set -eu -o pipefail
if [ "${1:-}" = --help ]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; fi
mode=${1:-check}
pattern=${2:-}
examples=$(cd "$(dirname "$0")/../.." && pwd)
: "${PETSC_DIR:=/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real}" "${PETSC_ARCH:=}" "${LIBRARY:=}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests"
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

of_ours="^label='.*own_|syncfree_(multicolor|cyclic|abmc|auto)" # in a test's script
those=-LE
if [ -n "$LIBRARY" ]; then
  those=-lE
else
  LIBRARY=$work/libpetsc_own.so
  export PKG_CONFIG_PATH=$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig
  # shellcheck disable=SC2046
  mpicc -shared -fPIC -x c "$examples/ksp/reference/petsc_own.inc" -x none -o "$LIBRARY" $(pkg-config --cflags --libs PETSc)
fi
# PETSc's own types do not know our options; newer PETSc prints such
export PETSC_OPTIONS="-dll_append $LIBRARY -options_left 0" OMPI_MCA_rmaps_base_oversubscribe=1

export PETSCMPIEXEC=$examples/ksp/reference/mpiexec

harness=$PETSC_DIR/share/petsc/examples
[ -d "$harness" ] || harness=$PETSC_DIR # built and not installed
touch "$work/tests/.DIR"
python3 "$harness/config/gmakegentest.py" --petsc-dir="$PETSC_DIR" --petsc-arch="$PETSC_ARCH" \
  --testdir="$work/tests" --srcdir="$examples" | grep -v 'output.*not found' || true
run() {
  make -j "${JOBS:-2}" -f "$harness/gmakefile.test" PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" \
    TESTDIR="$work/tests" TESTSRCDIR="$examples" PYTHON=python3 TIMEOUT=100 "$@"
}
if [ -z "$pattern" ]; then
  pattern=$(find "$work/tests" -name '*.sh' -exec grep $those "$of_ours" {} + | xargs grep -ho "^label='[^']*'" |
    cut -d"'" -f2 | tr '\n' ' ')
fi
replace=() expected='^$'
if [ "$mode" = write ]; then replace=(REPLACE=1) expected='^not ok diff-'; fi # what is replaced is told as different
run test gmakesearch="$pattern" "${replace[@]}" | tee "$work/log"
if grep '^not ok' "$work/log" | grep -qv "$expected"; then
  echo "error: the tests that are not ok did not run, or have another output" >&2
  exit 1
fi
