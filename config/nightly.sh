#!/usr/bin/env bash
# Runs what test.sh leaves out because it takes long: all sizes, rounds, scalars and indices under the sanitizers, the
# tests with PETSc under them, many more damaged files and sequences of calls, fuzz targets for SYNCFREE_SECONDS (600),
# 100,000 solves by threads that sleep at random, every failing allocation on every process alone, times where all
# cores are busy with other processes, threads of OpenMP that spin while they wait, and the whole backend cuda, which is
# only compiled. Ends with `N passed, N failed[, N skipped]`.
#
#   bash config/nightly.sh [--no-install]      lists what is missing and stops; --help prints this
#
# As test.sh, with which it shares packages and builds: one line a stage, logs in build/log/nightly-*.log. Some hours on
# two cores.
set -u
cd "$(dirname "$0")/.." || exit 1
. config/setup.sh
. config/stages.sh
read_options "$@"
no_arguments ${arguments[@]+"${arguments[@]}"}

need_packages test
find_petsc
stage_prefix=nightly- stage_limit=14400
export OPENBLAS_NUM_THREADS=1 # the libraries' threads are no part of what is tested
export SYNCFREE_MATRICES="$PWD/../shared/matrices"
seed=$RANDOM
echo "random tests have SYNCFREE_SEED=$seed"
unset SYNCFREE_SHORT OMP_WAIT_POLICY # all sizes, four teams of threads; as users have it

step busy-build build_host "busy_tests host_tests"
for test in busy host; do gtest_alone $test build/host/${test}_tests; done
step petsc-build build_host petsc_tests
OMP_WAIT_POLICY=passive SYNCFREE_SECONDS=600 SYNCFREE_SEED=$seed \
  gtest sequences build/host/petsc_tests "--gtest_filter=*Sequences.*"
step plugin-build build_host syncfree_ilu
stage processes env SYNCFREE_ALL_FAILURES=1 python3 tests/petsc/processes.py --petsc-dir "$PETSC_DIR" \
  --petsc-arch "$PETSC_ARCH" --library "$PWD/build/host/libsyncfree_ilu.so" --work "$PWD/build/processes-all" \
  --only one_rank_alone
step schedules-build build build/schedules schedules_tests --preset schedules
OMP_WAIT_POLICY=passive SYNCFREE_SOLVES=100000 gtest_alone schedules build/schedules/schedules_tests
step schedules-thread-build build build/schedules-thread schedules_tests --preset sanitize-thread \
  -DSYNCFREE_RANDOM_SLEEPS=ON
stage schedules-thread env SYNCFREE_SECONDS=300 bash config/thread_sanitizer.sh \
  build/schedules-thread/schedules_tests "Schedules*"
step sanitize-build build build/sanitize all --preset sanitize
gtest sanitize-core build/sanitize/core_tests
for test in core_allocation host_allocation; do gtest sanitize-$test build/sanitize/${test}_tests; done
gtest_alone sanitize-host build/sanitize/host_tests
step sanitize-thread-build build build/sanitize-thread "core_parallel_tests host_tests" --preset sanitize-thread
stage sanitize-thread bash config/thread_sanitizer.sh build/sanitize-thread/host_tests
stage sanitize-thread-core bash config/thread_sanitizer.sh build/sanitize-thread/core_parallel_tests "ForParts.*"

# PETSc's own library is not built so; what it leaves behind at its end are no leaks of ours
export ASAN_OPTIONS=detect_leaks=0 SYNCFREE_MUTANTS=200000 SYNCFREE_SEED=$seed
step sanitize-petsc-build build build/sanitize-petsc petsc_tests --preset sanitize -DSYNCFREE_PETSC=ON \
  -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH"
gtest_alone sanitize-petsc build/sanitize-petsc/petsc_tests

step fuzz-build build build/fuzz fuzz --preset fuzz -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH"
stage fuzz bash tests/fuzz/run.sh build/fuzz "${SYNCFREE_SECONDS:-600}"

find_petsc_cuda
if [ -n "$PETSC_CUDA_MISSING" ]; then
  skip cuda-build "$PETSC_CUDA_MISSING"
elif [ ! -x /usr/local/cuda/bin/nvcc ]; then
  skip cuda-build "there is no /usr/local/cuda/bin/nvcc"
else
  step cuda-build build build/cuda "syncfree_ilu cuda_tests cuda_allocation_tests syncfree_sweep" --preset cuda \
    -DPETSC_DIR="$PETSC_CUDA_DIR" -DPETSC_ARCH= -DSYNCFREE_KOKKOS=OFF -DCMAKE_CUDA_ARCHITECTURES=90-real
fi

end_stages
