#!/usr/bin/env bash
# Installs what is missing, builds, and times set-up, refresh and application of every strategy beside PETSc's own
# ILU and ICC, on generated matrices of 100,000 rows and more and on four matrices of growing size, then whole solves
# beside PETSc's preconditioners. About ten minutes on a machine that should do nothing else. Leaves bench.txt,
# solves.txt, CSV files and PNGs in build/bench.
#
#   bash tests/bench/bench.sh [--no-install] [OPTION...]      options of syncfree_bench (-help lists them), and then no
#                                                        growing sizes; --help prints this
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}
for argument; do
  case $argument in --*) no_arguments "$argument" ;; esac
done
need_packages bench
find_petsc

log=build/log/bench.log out=build/bench
mkdir -p build/log $out
say "building the benchmark for PETSc in $PETSC_DIR${PETSC_ARCH:+/$PETSC_ARCH} (log: $log)"
build_host syncfree_bench 2>&1 | tee "$log" | show_steps || { tail -n 30 "$log" >&2; die "the build failed"; }

threads=1
for count in 2 16; do
  if [ "$count" -le "$jobs" ]; then threads=$threads,$count; fi
done
export SYNCFREE_COMMIT=${SYNCFREE_COMMIT:-$(git describe --always --dirty --abbrev=7 2>/dev/null || echo unknown)}
export OPENBLAS_NUM_THREADS=1 # and OMP_PROC_BIND as the user has it: what is timed is what users get
build/host/syncfree_bench -bench_threads $threads -bench_csv $out/bench.csv "$@" | tee $out/bench.txt
$python tests/bench/plot.py --out $out --draw speed $out/bench.csv
$python tests/bench/rates.py $out/bench.csv >$out/rates.txt
if [ $# = 0 ]; then
  build/host/syncfree_bench -bench_threads $threads -bench_csv $out/sizes.csv -bench_matrices 7pt,5pt,mesh,elasticity \
    -bench_sizes 3000,10000,30000,100000,300000 -bench_strategies auto -bench_time 0.5 >$out/sizes.txt
  $python tests/bench/plot.py --out $out --draw size $out/sizes.csv
  build/host/syncfree_bench -bench_solves -bench_threads $threads -bench_csv $out/solves.csv -bench_sizes 262144 \
    -bench_repetitions 3 -bench_time 1 | tee $out/solves.txt
fi
