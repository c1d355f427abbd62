#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Ends with `N passed, N failed[, N skipped]`.
#
#   bash config/test.sh [--no-install]      lists what is missing and stops; --help prints this
#
# One line a stage; what a stage printed is in build/log. A second run installs and builds nothing. What takes hours is
# in nightly.sh. The distribution's complex PETSc and the one with 64-bit indices are tested too, unless
# PETSC_DIR is set. The stages with PETSc 3.26 need the folder ../shared/petsc-cuda and CUDA's libraries: where
# these are missing they are skipped and counted; with CI=true such a skip is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
. config/setup.sh
. config/stages.sh
read_options "$@"
no_arguments ${arguments[@]+"${arguments[@]}"}

gtest_kokkos() {  # NAME BUILD: where the build has Kokkos Kernels
  local missing
  missing=$(sed -n 's/^SYNCFREE_KOKKOS_MISSING:INTERNAL=//p' "$2/CMakeCache.txt")
  if [ -z "$missing" ]; then gtest "$1" "$2/kokkos_tests"; else skip "$1" "$missing"; fi
}

# Another PETSc; core and host come from ccache, they do not see PETSc.
more_targets=
build_with_petsc() {  # NAME DIR ARCH BUILD [ARGUMENT...]
  step "$1-build" build "$4" "syncfree_ilu syncfree_takeover petsc_tests petsc_allocation_tests $more_targets" \
    --preset host -DPETSC_DIR="$2" -DPETSC_ARCH="$3" -DSYNCFREE_KOKKOS=OFF "${@:5}"
}

with_petsc() {  # NAME DIR ARCH BUILD: the stages that run once for every PETSc
  local name=$1 folder=$PWD/$4 test
  for test in petsc petsc_allocation; do gtest "$name-$test" "$folder/${test}_tests"; done
  stage "$name-harness" python3 config/harness.py --petsc-dir "$2" --petsc-arch "$3" --jobs $waiting \
    --library "$folder/libsyncfree_ilu.so" --work "$PWD/build/harness-$name"
}

take_over() {  # NAME DIR ARCH BUILD
  stage "$1-conformance" python3 config/conformance.py --petsc-dir "$2" --petsc-arch "$3" --jobs $waiting \
    --library "$PWD/$4/libsyncfree_ilu.so" --work "$PWD/build/conformance-$1"
}

need_packages test
find_petsc
if [ "$petsc_from_user" = no ]; then find_petsc_cuda; else PETSC_CUDA_DIR= PETSC_CUDA_MISSING="PETSC_DIR is set"; fi
waiting=$((jobs + 1)) # at a time of tests that start many processes: some wait
export OPENBLAS_NUM_THREADS=1 # the libraries' threads are no part of what is tested
export OMP_WAIT_POLICY=passive # OpenMP's threads that spin would take the cores from the process beside
export SYNCFREE_MATRICES="$PWD/../shared/matrices"

stage rules python3 config/rules.py
stage scripts python3 tests/config/scripts.py
stage packaging $python tests/config/packaging.py
step build build_host "all syncfree_bench poisson convection elasticity mesh_diffusion mesh_convection \
  bratu reaction flow load"
for test in core core_allocation host_allocation host; do gtest $test build/host/${test}_tests; done
if [ "$(uname -m)" = x86_64 ]; then gtest model build/host/model_tests; else skip model "needs x86_64"; fi
gtest_kokkos kokkos build/host

# one scalar, for the compiler takes longer than the tests
step schedules-build build build/schedules-one schedules_tests --preset schedules \
  "-DCMAKE_CXX_FLAGS=-DSYNCFREE_SCALAR=double -DSYNCFREE_INDEX=std::int32_t"
gtest schedules build/schedules-one/schedules_tests

export SYNCFREE_SHORT=1 # fewer sizes and rounds where each costs ten times as much
step sanitize-build build build/sanitize-few "core_tests core_allocation_tests host_tests host_allocation_tests" \
  --preset sanitize -DSYNCFREE_FEW_TYPES=ON
gtest sanitize-core build/sanitize-few/core_tests --gtest_filter="-Symbolic/1.*" # long indices run the same code
for test in core_allocation host_allocation; do gtest sanitize-$test build/sanitize-few/${test}_tests; done
# each scalar and each storage once
gtest sanitize-host build/sanitize-few/host_tests \
  --gtest_filter="-HostSolver/double_in_double_index32.*:HostSolver/complex_double_in_complex_float_index64.*"
step sanitize-thread-build build build/sanitize-thread "core_parallel_tests host_tests" --preset sanitize-thread
stage sanitize-thread bash config/thread_sanitizer.sh build/sanitize-thread/host_tests
stage sanitize-thread-core bash config/thread_sanitizer.sh build/sanitize-thread/core_parallel_tests "ForParts.*"
unset SYNCFREE_SHORT
# not optimized, for the compiler takes more time than the targets
step fuzz-build build build/fuzz-few fuzz --preset fuzz -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH" \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1"
stage fuzz bash tests/fuzz/run.sh build/fuzz-few 24

with_petsc petsc "$PETSC_DIR" "$PETSC_ARCH" build/host
take_over petsc "$PETSC_DIR" "$PETSC_ARCH" build/host
stage gallery python3 examples/gallery.py
stage bench python3 tests/bench/smoke.py --program build/host/syncfree_bench --work build/bench-smoke
step install bash tests/install/run.sh build/host build/install
stage pip bash tests/install/pip.sh build/host build/pip
stage readme python3 tests/install/readme.py --petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" \
  --program build/host/examples/poisson --work build/readme

kinds=()
if [ "$petsc_from_user" = no ]; then
  for kind in complex 64; do
    for part in build_with_petsc with_petsc; do
      $part petsc-$kind "$(petsc_of_kind $kind)" "" build/petsc-$kind
    done
    kinds+=("build/petsc-$kind/libsyncfree_ilu.so")
  done
fi

other=()
if [ -n "$PETSC_CUDA_DIR" ]; then
  export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # with the backend cuda, where there is a compiler for it; without a device it is only compiled: some types, quickly
  fast=
  if [ -x /usr/local/cuda/bin/nvcc ]; then
    more_targets="cuda_tests cuda_allocation_tests syncfree_sweep syncfree_bench syncfree_ilu_static"
    if /usr/local/cuda/bin/nvcc --help | grep -q -e --Ofast-compile; then fast=--Ofast-compile=mid; fi
  fi
  build_with_petsc petsc-3.26 "$PETSC_CUDA_DIR" "" build/petsc-3.26 -DSYNCFREE_FEW_TYPES=CUDA \
    -DCMAKE_CUDA_ARCHITECTURES=90-real -DCMAKE_CUDA_FLAGS=$fast -DCMAKE_CUDA_FLAGS_RELEASE="-O0 -DNDEBUG"
  for part in with_petsc take_over; do $part petsc-3.26 "$PETSC_CUDA_DIR" "" build/petsc-3.26; done
  if [ -n "$more_targets" ]; then
    step petsc-3.26-install env PETSC_DIR="$PETSC_CUDA_DIR" PETSC_ARCH= \
      bash tests/install/run.sh build/petsc-3.26 build/install-petsc-3.26
  fi
  other=(--other-petsc-dir "$PETSC_CUDA_DIR" --other-library "$PWD/build/petsc-3.26/libsyncfree_ilu.so")
else
  skip petsc-3.26 "$PETSC_CUDA_MISSING"
fi
stage processes python3 tests/petsc/processes.py --petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" \
  --library "$PWD/build/host/libsyncfree_ilu.so" --work "$PWD/build/processes" ${other[@]+"${other[@]}"} \
  ${kinds[@]+--other-kinds "${kinds[@]}"}
stage reports python3 tests/petsc/reports.py --petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" \
  --library "$PWD/build/host/libsyncfree_ilu.so" --work "$PWD/build/reports"
stage programs python3 tests/petsc/programs.py --petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" \
  --library "$PWD/build/host/libsyncfree_ilu.so" --work "$PWD/build/programs"

end_stages
