#!/usr/bin/env bash
# Sets up what is needed, builds, and solves two PDEs with PETSc's ilu and with syncfree_ilu side by side.
#
#   bash config/demo.sh [UNKNOWNS-IN-A-DIRECTION]      64 by default, so 262,144 unknowns
set -eu
cd "$(dirname "$0")/.."
. config/setup.sh
need_packages build
find_petsc

mkdir -p build/log build/demo
if [ ! -f build/host/build.ninja ]; then
  say "configuring (log: build/log/demo.log)"
  cmake -S . -B build/host -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYNCFREE_TESTS=OFF >build/log/demo.log 2>&1 ||
    { tail -n 30 build/log/demo.log >&2; die "cmake failed"; }
fi
say "building the plugin and the two programs"
cmake --build build/host -j "$jobs" --target syncfree_ilu >>build/log/demo.log 2>&1 ||
  { tail -n 30 build/log/demo.log >&2; die "the build failed"; }
for program in poisson convection; do
  [ "build/demo/$program" -nt "examples/ksp/tutorials/$program.c" ] && continue
  PKG_CONFIG_PATH="$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig:$PETSC_DIR/lib/pkgconfig" \
    cmake -E env bash -c 'mpicc -O2 "$0" -o "$1" $(pkg-config --cflags --libs PETSc) -lm \
      $(pkg-config --libs-only-L PETSc | sed "s/-L/-Wl,-rpath,/g")' "examples/ksp/tutorials/$program.c" "build/demo/$program" ||
    die "cannot compile examples/ksp/tutorials/$program.c"
done
python3 config/demo.py --folder build/demo --library "$PWD/build/host/libsyncfree_ilu.so" --grid "${1:-64}"
