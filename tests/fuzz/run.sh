#!/usr/bin/env bash
# Runs the fuzz targets of a build, beginning with the inputs of tests/fuzz/corpus; ends with
# `RESULT passed failed skipped`, a target each. An input that a target fails with is kept in BUILD/crashes, and the
# command that replays it is printed. New inputs that reach new code are kept in BUILD/corpus, for later runs.
#
#   bash tests/fuzz/run.sh BUILD SECONDS      of all targets together, a third each
set -u
if [ "${1:-}" = --help ]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; fi
cd "$(dirname "$0")/../.." || exit 1
build=$1 passed=0 failed=0
targets=(reader factor relaxation)
seconds=$(($2 / ${#targets[@]}))
seed=${SYNCFREE_SEED:-$RANDOM}
mkdir -p "$build/crashes"
export OMP_WAIT_POLICY=passive
for target in "${targets[@]}"; do
  program=$build/${target}_fuzz log=$build/$target.log
  mkdir -p "$build/corpus/$target"
  echo "$target: $seconds s, SYNCFREE_SEED=$seed"
  before=$(ls "$build/crashes")
  if "$program" "$build/corpus/$target" "tests/fuzz/corpus/$target" -seed="$seed" -max_total_time="$seconds" \
    -max_len=600 -len_control=0 -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/crashes/$target-" >"$log" 2>&1; then
    passed=$((passed + 1))
    grep -aE '^stat::(number|average)' "$log"
  else
    failed=$((failed + 1))
    grep -aE 'required, but|ERROR|runtime error|PETSc.s error|^ +#[0-9]+ ' "$log" | head -n 20
    for input in $(comm -13 <(echo "$before") <(ls "$build/crashes")); do
      echo "replay: $program $build/crashes/$input"
    done
  fi
done
echo "RESULT $passed $failed 0"
[ $failed = 0 ]
