# Sourced after setup.sh by test.sh and nightly.sh: runs their stages and counts what passed. One line a stage; what a
# stage printed is in build/log, and the end of it on screen when the stage fails. A failing stage does not keep the
# others from running. Sets passed, failed and skipped; `stage_prefix` begins the names of the logs, `stage_limit` is
# the most seconds of a stage.
#
#   stage NAME COMMAND...     the command's last line is `RESULT passed failed skipped`
#   step NAME COMMAND...      a stage that counts as one test and passes if the command succeeds; it may be `build`
#   skip NAME REASON          with CI=true such a skip is a failure, unless SYNCFREE_SKIPS=allowed
#   gtest NAME PROGRAM [ARGUMENT...]         the tests of a GoogleTest program, dealt out to a process for each core
#   gtest_alone NAME PROGRAM [ARGUMENT...]   the same by one process, where its threads wait for each other: two on two
#                             cores took three times as long
#   end_stages                prints the time and the last line; fails if a test did

passed=0 failed=0 skipped=0
stage_prefix=''
export stage_limit=1800
mkdir -p build/log

stage() {
  local name=$1 log="build/log/$stage_prefix$1.log" begin=$SECONDS status
  shift
  printf '%-26s' "$name"
  timeout -k 10 "$stage_limit" "$@" >"$log" 2>&1 </dev/null
  status=$?
  set -- $(result_of "$log" $status)
  printf '%6d passed %4d failed %4d skipped %5d s\n' "$1" "$2" "$3" $((SECONDS - begin))
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  if [ "$2" != 0 ]; then
    printf -- '---- exit status %d, end of %s:\n' $status "$log"
    tail -n 60 "$log"
    printf -- '----\n'
  elif [ "$3" != 0 ]; then
    grep -aiE '^ *skipped' "$log" | cut -c 1-150 | head -n 8
  fi
}

step() {
  local name=$1
  shift
  stage "$name" bash -c '. config/setup.sh; "$@" && echo "RESULT 1 0 0"' step "$@"
}

skip() {
  printf '%-26s skipped: %s\n' "$1" "$2"
  if [ "${CI:-}" = true ] && [ "${SYNCFREE_SKIPS:-}" != allowed ]; then
    failed=$((failed + 1))
  else
    skipped=$((skipped + 1))
  fi
}

gtest() { stage "$1" python3 config/gtest.py --jobs "$jobs" --timeout $((stage_limit - 60)) "${@:2}"; }
gtest_alone() { jobs=1 gtest "$@"; }

end_stages() {
  printf 'all stages took %d s\n' $SECONDS
  print_result $passed $failed $skipped
}
