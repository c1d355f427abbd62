#!/usr/bin/env bash
# Tests on a machine with an NVIDIA GPU, without a network. Ends with `N passed, N failed[, N skipped]`.
#
#   bash config/gpu-test.sh [--no-install] [PART...]     build battery mps random sanitizers petsc harness conformance;
#                                         without a PART all of these; on request schedules-build schedules soak
#                                         orders; --no-install stops where PETSc is still to be unpacked, and says so;
#                                         --help prints this
#
# Each part takes less than nine minutes, of the sanitizers each TOOL-GROUP, which can be named, too (tests/README.md
# names those that do not end; all racecheck groups together take hours): memcheck, initcheck, synccheck or racecheck
# with a group of tests: analyses, rows, solves, boxes, rings, pipelines, planes, pairs, block-pairs-0 to -2, factors,
# shifts-ilu, shifts-icc, loops, columns, grids, scalars-0 to -3 (of all types), dense-solves, dense-points,
# dense-blocks; memcheck and initcheck also with contract-0, contract-1, patterns, plans, captures, or alone: all.
# schedules: threads sleep at random before they wait or publish; it needs schedules-build. soak: three programs at
# once, each with other random matrices; soak-1 to -3: each alone, which tells whose memory it is. orders: each memory
# order of the device is weakened in turn (tests/cuda/orders/weaken.py), which needs no other part. All others but build
# need that one.
# PETSc is that of PETSC_DIR, else an archive petsc-cuda-*.tar.xz in one of the folders named in CARRIED (default:
# device-carry ../shared/petsc-cuda), unpacked to /opt. GoogleTest is what CMake finds, else its source in a folder
# googletest of CARRIED. The parts with PETSc's harness put matrices and vectors on the device.
set -u
cd "$(dirname "$0")/.." || exit 1
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}

folder=$PWD/build/gpu
carried=${CARRIED:-device-carry ../shared/petsc-cuda}
passed=0 failed=0 skipped=0
mkdir -p build/log

find_gpu_petsc() {
  local archive
  if [ "$petsc_from_user" = yes ]; then find_petsc; return; fi
  export PETSC_DIR=/opt/petsc-cuda PETSC_ARCH=
  [ -r $PETSC_DIR/include/petscconf.h ] && return
  archive=$(for place in $carried; do ls "$place"/petsc-cuda-*.tar.xz 2>/dev/null; done | head -n 1)
  [ -n "$archive" ] || die "no PETSC_DIR, and no petsc-cuda-*.tar.xz in $carried"
  [ "${SYNCFREE_INSTALL:-}" != no ] || die "no $PETSC_DIR; without --no-install $archive is unpacked there"
  mkdir -p /opt
  archive=$(unpack_petsc_cuda "$archive") || die "$archive"
}

make_googletest() {
  local source place
  if cmake --find-package -DNAME=GTest -DCOMPILER_ID=GNU -DLANGUAGE=CXX -DMODE=EXIST >/dev/null 2>&1; then return; fi
  for place in $carried /usr/src; do [ -d "$place/googletest" ] && source=$place/googletest && break; done
  [ -n "${source:-}" ] || die "no GoogleTest, and no folder googletest in $carried"
  export GTest_ROOT=$PWD/build/googletest/installed
  [ -d "$GTest_ROOT" ] && return
  cmake -S "$source" -B build/googletest -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF \
    -DCMAKE_INSTALL_PREFIX="$GTest_ROOT" &&
    cmake --build build/googletest -j "$jobs" --target install
}

make_all() {
  local targets="cuda_tests cuda_allocation_tests petsc_tests petsc_allocation_tests syncfree_ilu syncfree_takeover"
  targets="$targets syncfree_bench bratu reaction poisson convection"
  make_googletest && build_gpu "$targets" && echo "RESULT 1 0 0"
}

# Battery of small matrices: each tool costs ten to a hundred times as much, synccheck and racecheck most, so their
# tests come in groups. Pending leaks are CUDA's own. What racecheck reports is compared with a list of accesses that
# are meant to meet. DeviceColumns.do_not_disturb_each_other is in no group: each tool ends by SIGSEGV in it, with
# wavefront. Dense blocks: of the tests with all scalars those with double and, with long indices, complex.
dense_blocks='DeviceBlockTest/1.*:DeviceBlockTest/7.*:DeviceBlockDouble*:DeviceBlocks*:DeviceBlockBattery*'
dense_blocks="$dense_blocks:DeviceBlockOrders*:DeviceBlockFailures*"
groups_of_memory=(contract-0 contract-1 patterns plans captures)  # for memcheck and initcheck only
groups=(analyses rows solves boxes rings pipelines planes pairs block-pairs-{0,1,2} factors shifts-{ilu,icc} loops
  columns grids scalars-{0,1,2,3} dense-{solves,points,blocks})
tests_of() {
  case $1 in
    analyses) echo 'Plans/0.merge*:Plans/0.plan*' ;;
    rows) echo 'Device.solves_rows*' ;;
    solves) echo 'Device.solves_nodes*:Device.solves_with*:Device.a_clean*' ;;
    boxes) echo 'Device.tiled_solves_boxes*:Device.*_solves_grids:Device.wavefront_rounds*:Device.wavefront_takes*' ;;
    rings) echo 'Device.wavefront_*rings*' ;;
    pipelines) echo 'Device.tiled_solves_chains*' ;;
    planes) echo 'Device.tiled_lays*' ;;
    pairs) echo 'DevicePair.is_its*:DevicePair.passes*:DevicePair.can_be*' ;;
    block-pairs-0) echo 'DeviceBlockPairOf/0.*' ;;
    block-pairs-1) echo 'DeviceBlockPairOf/1.*' ;;
    block-pairs-2) echo 'DeviceBlockPair.*' ;;
    factors) echo 'Device.factors_of_grids*:Device.factors_with*' ;;
    shifts-ilu | shifts-icc) echo "Device.factors_and_shifts_of_${1#shifts-}*" ;;
    loops) echo 'Device.factors_of_loops*:DeviceLoop.takes_another*:DeviceLoop.waits_in*' ;;
    columns) echo 'DeviceColumns.are*:DeviceColumns.of_nodes*' ;;
    grids) echo 'DeviceColumns.of_grids*' ;;
    scalars-[0-3]) echo "DeviceColumnsOf/${1#scalars-}.*" ;;
    contract-0) echo 'PreconditionerTest/1.solves_with_every_strategy*' ;;
    contract-1) echo 'PreconditionerTest/1.*-*solves_with_every_strategy*' ;;
    patterns) echo 'Analyses/0.*' ;;
    plans) echo 'Plans/0.*' ;;
    captures) echo 'CapturedSolves.*' ;;
    dense-solves) echo 'Dense*' ;;
    dense-points) echo 'PointTiles*' ;;
    dense-blocks) echo "$dense_blocks" ;;
  esac
}

# tests_passed REPORT: false also if there was no test, as of a type that was not built
tests_passed() { grep -q '^\[  PASSED  \] [1-9]' "$1" && ! grep -q '^\[  FAILED  \]' "$1"; }

# with_tool TESTS REPORT TOOL [ITS OPTION...]
with_tool() {
  local tests=$1 report=$2
  shift 2
  PATH=$PATH:/usr/local/cuda/bin compute-sanitizer --tool "$@" --error-exitcode 9 "$folder/cuda_tests" \
    --gtest_filter="$tests" >"$report" 2>&1 && tests_passed "$report" && return
  tail -n 40 "$report"
  return 1
}

# Launches do not overlap then: racecheck takes a block of the second launch for the one of that number of the first.
# Left out, in tests of all strategies, too: loops that wait in their bodies, where lanes of one warp wait for each
# other, each in a loop of its own (run_awaiting_loop): with the tool 33 iterations did not end in four minutes. In
# shared memory their kernel has the state of a block only, as all that wait. And merged, whose plan is made in
# clusters: with the tool two minutes for 33 rows. The group analyses has its plans. By itself the tool is silent
# after 10,000,000 hazards of a program, and each byte of a lane is one. And each report of an access to another thread
# block's memory has the host's backtrace, of 40 lines, if not told otherwise.
check_races() {
  export CUDA_LAUNCH_BLOCKING=1 SYNCFREE_LEAVE_OUT="loop merged" NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS=100000000
  local report=build/log/racecheck-$1-report.txt
  with_tool "$(tests_of "$1")-DeviceLoop.waits_in*" "$report" racecheck --kernel-name kns=syncfree \
    --print-limit 100000 --show-backtrace device >/dev/null  # what is on the list is an error to the tool
  tests_passed "$report" && python3 config/racecheck.py tests/cuda/racecheck.txt "$report" && return
  tail -n 5 "$report"
  return 1
}

sanitize() {
  local group=${1#*-} barriers=256 report=build/log/$1-report.txt
  case $group in dense*) barriers=4096 ;; esac
  # a wait may last hundreds of times as long, a test longer than its watchdog's time
  export SYNCFREE_SHORT=1 SYNCFREE_WAIT_LIMIT=0 SYNCFREE_PATIENCE=10
  [ -n "$(tests_of "$group")" ] || die "no group $group; there are ${groups[*]} ${groups_of_memory[*]}"
  case $1 in
    racecheck-*) check_races "$group" || return 1 ;;
    # mbarriers of a block, of which tiled has up to 128, and with dense blocks one a step, too; by itself the tool
    # finds too few, and launches fail then
    synccheck-*) with_tool "$(tests_of "$group")" "$report" synccheck --num-cuda-barriers $barriers || return 1 ;;
    *) with_tool "$(tests_of "$group")" "$report" "${1%%-*}" || return 1 ;;
  esac
  echo "RESULT 1 0 0"
}

# With a tenth of the multiprocessors, as far as MPS is there.
solve_under_mps() {
  local status=1
  if ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "skipped: there is no nvidia-cuda-mps-control here"
    echo "RESULT 0 0 1"
    return
  fi
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) CUDA_MPS_LOG_DIRECTORY=$(mktemp -d)
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  nvidia-cuda-mps-control -d || return 1
  local tests="Device.solves_*:Device.a_clean*:Device*Pair*:Device.merged*:DeviceColumns.are*"
  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 "$folder/cuda_tests" \
    --gtest_filter="$tests:$(tests_of boxes):$(tests_of rings):$(tests_of pipelines)" && status=0
  echo quit | nvidia-cuda-mps-control
  [ $status = 0 ] && echo "RESULT 1 0 0"
}

# A library of its own, of two scalars, without PETSc.
build_schedules() {
  make_googletest && build build/gpu-schedules cuda_tests --preset schedules -DSYNCFREE_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES=native && echo "RESULT 1 0 0"
}

# Endurance: the same bits in each solve by strategies that are reproducible. Others are compared with the oracle.
sleep_at_random() {
  local tests="Endurance.many*:RandomMatrices.*:Device.solves_*:Device.a_clean*:Device*Pair*:DeviceColumns*" group
  for group in boxes rings pipelines planes factors; do tests="$tests:$(tests_of $group)"; done
  SYNCFREE_ROUNDS=${SYNCFREE_ROUNDS:-5000} SYNCFREE_SECONDS=${SYNCFREE_SECONDS:-120} python3 config/gtest.py \
    build/gpu-schedules/cuda_tests --gtest_filter="$tests"
}

# soak SEED [OPTION OF gtest.py...]
soak() {
  SYNCFREE_SEED=$1 SYNCFREE_SECONDS=${SYNCFREE_SECONDS:-500} python3 config/gtest.py "${@:2}" "$folder/cuda_tests" \
    --gtest_filter='Soak.*'
}

# 400 s, so that warming up, the last matrices and a minute of waiting for each other end in the time of a part.
soak_together() {
  local place seed
  place=$(mktemp -d)
  for seed in 1 2 3; do
    SYNCFREE_SOAK_TOGETHER=$place:3 SYNCFREE_SECONDS=${SYNCFREE_SECONDS:-400} soak $seed --timeout 520 \
      >"build/log/soak-$seed.txt" 2>&1 &
  done
  wait
  rm -r "$place"
  cat build/log/soak-[123].txt
  awk '/^RESULT/ { for (i = 2; i <= 4; i++) sum[i] += $i } END { print "RESULT", sum[2], sum[3], sum[4] }' \
    build/log/soak-[123].txt
}

# Random matrices for five minutes, by two programs that load the device for each other.
solve_random_matrices() {
  local seed status=0
  for seed in 1 2; do
    SYNCFREE_SECONDS=${SYNCFREE_SECONDS:-300} SYNCFREE_SEED=$seed "$folder/cuda_tests" \
      --gtest_filter='RandomMatrices.*' >"build/log/random-$seed.txt" 2>&1 &
  done
  for seed in 1 2; do wait -n || status=1; done
  cat build/log/random-[12].txt
  [ $status = 0 ] && echo "RESULT 2 0 0"
}

# part NAME COMMAND...: as a stage of test.sh
part() {
  local name=$1 log="build/log/gpu-$1.log" begin=$SECONDS status
  shift
  printf '%-26s' "$name"
  timeout -k 10 530 "$@" >"$log" 2>&1 </dev/null
  status=$?
  set -- $(result_of "$log" $status)
  printf '%6d passed %4d failed %4d skipped %5d s\n' "$1" "$2" "$3" $((SECONDS - begin))
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  if [ "$2" != 0 ]; then tail -n 60 "$log"; fi
}

with_petsc=(--petsc-dir "" --petsc-arch "")
run_part() {
  case $1 in
    build) part build bash config/gpu-test.sh --make ;;
    battery)
      part battery python3 config/gtest.py "$folder/cuda_tests"
      part allocation python3 config/gtest.py "$folder/cuda_allocation_tests"
      ;;
    mps) part mps bash config/gpu-test.sh --mps ;;
    random) part random bash config/gpu-test.sh --random ;;
    schedules-build) part schedules-build bash config/gpu-test.sh --schedules-build ;;
    schedules) part schedules bash config/gpu-test.sh --schedules ;;
    soak) part soak bash config/gpu-test.sh --soak-together ;;
    orders) part orders python3 tests/cuda/orders/weaken.py --work build/gpu-orders ;;
    soak-[1-3]) part "$1" bash config/gpu-test.sh --soak "${1#soak-}" ;;
    sanitizers)
      for tool in memcheck initcheck "${groups[@]/#/synccheck-}" "${groups[@]/#/racecheck-}"; do
        run_part "$tool"
      done
      ;;
    memcheck | initcheck)
      for tool in "${groups_of_memory[@]/#/$1-}" "${groups[@]/#/$1-}"; do run_part "$tool"; done
      ;;
    memcheck-* | initcheck-* | synccheck-* | racecheck-*) part "$1" bash config/gpu-test.sh --sanitize "$1" ;;
    petsc)
      # MALLOC_PERTURB_ keeps gamg from waiting for ever: see the FAQ of MANUAL.md
      MALLOC_PERTURB_=192 PETSC_OPTIONS="-use_gpu_aware_mpi 0" part petsc python3 config/gtest.py --jobs 8 \
        "$folder/petsc_tests"
      PETSC_OPTIONS="-use_gpu_aware_mpi 0" part petsc-failing-calls python3 config/gtest.py --jobs 8 \
        "$folder/petsc_allocation_tests" --gtest_filter='*OutOfMemory*:*CudaCalls*'
      ;;
    harness) part harness python3 config/harness.py "${with_petsc[@]}" --work "$PWD/build/gpu-harness" ;;
    conformance)
      part conformance python3 config/conformance.py "${with_petsc[@]}" --work "$PWD/build/gpu-conformance"
      ;;
  esac
}

# check_names PART...
check_names() {
  local on_request="schedules-build schedules soak soak-1 soak-2 soak-3 orders memcheck initcheck" tool name all
  local defaults="build battery mps random sanitizers petsc harness conformance"
  for tool in memcheck initcheck; do on_request="$on_request ${groups_of_memory[*]/#/$tool-}"; done
  for tool in memcheck initcheck synccheck racecheck; do on_request="$on_request ${groups[*]/#/$tool-}"; done
  all=" $defaults $on_request "
  for name in "$@"; do
    case $all in *" $name "*) ;; *) die "no part $name; there are $defaults, on request $on_request" ;; esac
  done
}

find_gpu_petsc
with_petsc=(--petsc-dir "$PETSC_DIR" --petsc-arch "$PETSC_ARCH" --library "$folder/libsyncfree_ilu.so" --jobs "$jobs")
export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OPENBLAS_NUM_THREADS=1
# programs without a DM do not ask for the options of DMs, and so on
export SYNCFREE_TEST_OPTIONS="-options_left 0 $on_device"
case ${1:-} in
  --make) make_all; exit ;;
  --mps) solve_under_mps; exit ;;
  --random) solve_random_matrices; exit ;;
  --schedules-build) build_schedules; exit ;;
  --schedules) sleep_at_random; exit ;;
  --soak) soak "$2"; exit ;;
  --soak-together) soak_together; exit ;;
  --sanitize) sanitize "$2"; exit ;;
esac
[ $# != 0 ] || set -- build battery mps random sanitizers petsc harness conformance
check_names "$@"
for name in "$@"; do run_part "$name"; done
print_result $passed $failed $skipped
