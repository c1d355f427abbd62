#!/usr/bin/env bash
# Runs a host test program built with clang's thread sanitizer; Archer tells it what OpenMP orders. Ends with
# `RESULT passed failed skipped`.
#
#   bash config/thread_sanitizer.sh PROGRAM [TESTS]      TESTS are names for --gtest_filter; --help prints this
#
# stages.sh sets the most seconds.
set -u
cd "$(dirname "$0")/.." || exit 1
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}
case ${1:-} in -*) no_arguments "$1" ;; esac
[ $# != 0 ] || die "no program is named; $0 --help says how"

archer=$(ls /usr/lib/llvm-*/lib/libarcher.so 2>/dev/null | tail -n 1)
[ -n "$archer" ] || { echo "no libarcher.so: install libomp-dev"; echo "RESULT 0 1 0"; exit 1; }
export OMP_TOOL_LIBRARIES="$archer"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66 die_after_fork=0"
# the battery runs on one thread; threads do the same whatever the scalar: one scalar
others=:Battery/*:HostSolver/complex*:HostSolver/double_in_float*
for suite in Relaxations LoopFactor Factorize PreconditionerTest LoopKernels BlocksOfEntriesOf BlockTest \
  BlockDoubleTest; do
  others=$others:$suite/1.*
done
exec python3 config/gtest.py --jobs "$(nproc)" --timeout $((${stage_limit:-1800} - 60)) "$1" \
  --gtest_filter="${2:-}-*index64*$others"
