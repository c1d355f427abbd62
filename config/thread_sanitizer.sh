# Runs a host test program built with clang's thread sanitizer; Archer tells it what OpenMP orders. An optional second
# argument names the tests; stages.sh sets the most seconds. Ends with `RESULT passed failed skipped`.
archer=$(ls /usr/lib/llvm-*/lib/libarcher.so 2>/dev/null | tail -n 1)
[ -n "$archer" ] || { echo "no libarcher.so: install libomp-dev"; echo "RESULT 0 1 0"; exit 1; }
export OMP_TOOL_LIBRARIES="$archer"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66 die_after_fork=0"
# the battery runs on one thread; threads do the same whatever the scalar: one scalar
others=:Battery/*:HostSolver/complex*:HostSolver/double_in_float*
for suite in Relaxations LoopFactor Factorize PreconditionerTest LoopKernels; do others=$others:$suite/1.*; done
exec python3 config/gtest.py --jobs "$(nproc)" --timeout $((${stage_limit:-1800} - 60)) "$1" \
  --gtest_filter="${2:-}-*index64*$others"
