#!/usr/bin/env bash
# Sets up everything and runs every test. Ends with `N passed, N failed[, N skipped]`.
#
#   bash config/test.sh
#
# One line a stage; the full output of a stage is in build/log. Nothing is asked, a second run
# installs and builds nothing, a failing stage does not keep the others from running.
set -u
cd "$(dirname "$0")/.." || exit 1
. config/setup.sh

passed=0 failed=0 skipped=0
mkdir -p build/log

# stage NAME COMMAND...: the command's last line is `RESULT passed failed skipped`
stage() {
  local name=$1 log="build/log/$1.log" begin=$SECONDS result
  shift
  printf '%-28s ' "$name"
  "$@" >"$log" 2>&1 </dev/null
  result=$(grep -E '^RESULT [0-9]+ [0-9]+ [0-9]+$' "$log" | tail -n 1)
  set -- ${result#RESULT }
  [ $# = 3 ] || set -- 0 1 0
  printf '%5d passed %3d failed %3d skipped  %4d s\n' "$1" "$2" "$3" $((SECONDS - begin))
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  if [ "$2" != 0 ]; then
    printf -- '---- end of %s\n' "$log"
    tail -n 60 "$log"
    printf -- '----\n'
  elif [ "$3" != 0 ]; then
    grep -iE '^ *(skip|not )' "$log" | sort | uniq -c | sort -rn | head -n 8
  fi
}

# step NAME COMMAND...: a stage that counts as one test, passed if the command succeeds
step() {
  local name=$1
  shift
  stage "$name" bash -c '"$@" && echo "RESULT 1 0 0"' step "$@"
}

# skip NAME REASON: in CI a skip of this kind is a failure
skip() {
  printf '%-28s skipped: %s\n' "$1" "$2"
  if [ "${CI:-}" = true ]; then failed=$((failed + 1)); else skipped=$((skipped + 1)); fi
}

build() {  # FOLDER CMAKE-ARGUMENTS...: configures once, then builds what changed
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || cmake -S . -B "$folder" -G Ninja "$@" || return 1
  cmake --build "$folder" -j "$jobs"
}

with_petsc() {  # NAME DIR ARCH BUILD: all stages that need a PETSc
  local name=$1 dir=$2 arch=$3 folder=$4
  local common=(--petsc-dir "$dir" --petsc-arch "$arch" --library "$PWD/$folder/libsyncfree_ilu.so")
  stage "petsc-$name" env SYNCFREE_MATRICES="$PWD/../shared/matrices" python3 config/gtest.py "$folder/petsc_tests"
  stage "allocation-$name" python3 config/gtest.py "$folder/petsc_allocation_tests"
  stage "harness-$name" python3 config/harness.py "${common[@]}" --work "$PWD/build/harness-$name" --jobs "$jobs"
  stage "conformance-$name" python3 config/conformance.py "${common[@]}" --work "$PWD/build/conformance-$name" --jobs "$jobs"
}

need_packages test
find_petsc
find_petsc_cuda
python=/usr/bin/python3
export OPENBLAS_NUM_THREADS=1

step build-host build build/host -DCMAKE_BUILD_TYPE=Release -DSYNCFREE_WERROR=ON
step rules python3 config/rules.py
stage core python3 config/gtest.py build/host/core_tests
stage host python3 config/gtest.py build/host/host_tests
stage host-allocation python3 config/gtest.py build/host/host_allocation_tests
with_petsc host "$PETSC_DIR" "$PETSC_ARCH" build/host
step install bash tests/install/run.sh "$PWD/build/host" "$PWD/build/install"

other=()
if [ -n "$PETSC_CUDA_DIR" ] && [ "$petsc_from_user" = no ]; then
  export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  step build-petsc-3.26 build build/petsc-3.26 -DCMAKE_BUILD_TYPE=Release -DPETSC_DIR="$PETSC_CUDA_DIR" -DPETSC_ARCH=
  with_petsc 3.26 "$PETSC_CUDA_DIR" "" build/petsc-3.26
  other=(--other-petsc-dir "$PETSC_CUDA_DIR" --other-library "$PWD/build/petsc-3.26/libsyncfree_ilu.so")
else
  skip petsc-3.26 "${PETSC_CUDA_MISSING:-PETSC_DIR is set}"
fi
stage processes $python tests/petsc/processes.py --petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" \
  --library "$PWD/build/host/libsyncfree_ilu.so" --work "$PWD/build/processes" "${other[@]}"

step build-sanitize build build/sanitize --preset sanitize
stage sanitize-core python3 config/gtest.py build/sanitize/core_tests
stage sanitize-host env SYNCFREE_SHORT=1 python3 config/gtest.py build/sanitize/host_tests
step build-thread-sanitizer build build/sanitize-thread --preset sanitize-thread
stage thread-sanitizer bash config/thread_sanitizer.sh build/sanitize-thread/host_tests

if [ "$skipped" = 0 ]; then echo "$passed passed, $failed failed"; else echo "$passed passed, $failed failed, $skipped skipped"; fi
[ "$failed" = 0 ]
