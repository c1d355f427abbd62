#!/usr/bin/env bash
# Installs what is missing, builds, and solves two PDEs with PETSc's ilu and with syncfree_ilu side by
# side: iterations, set-up and apply times, true residuals.
#
#   bash config/demo.sh [UNKNOWNS-IN-A-DIRECTION]      64 by default, so 262,144 unknowns
#
# A second run installs and builds nothing. It uses the build of test.sh, which is the one to install.
set -eu -o pipefail
cd "$(dirname "$0")/.."
. config/setup.sh
need_packages demo
find_petsc

log=build/log/demo.log
mkdir -p build/log
say "building the plugin and two programs for PETSc in $PETSC_DIR${PETSC_ARCH:+/$PETSC_ARCH} (log: $log)"
build_host "syncfree_ilu poisson convection" 2>&1 | tee "$log" | show_steps ||
  { tail -n 30 "$log" >&2; die "the build failed"; }
python3 config/demo.py --folder build/host/examples --library "$PWD/build/host/libsyncfree_ilu.so" --grid "${1:-64}"
say "
in a program of your own:
  ./program -dll_append $PWD/build/host/libsyncfree_ilu.so -pc_type syncfree_ilu"
