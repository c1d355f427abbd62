#!/usr/bin/env bash
# Measures what four papers on triangular solves measured (Liu 2016, Su 2020, Lu 2020, Somo 2025) with our strategies,
# and prints the counterparts of their tables and figures beside the papers' numbers. Leaves papers.txt, CSV files and
# PNGs in build/papers. Two and a half minutes on an H200; not yet timed on the host, where its strategies stand in for
# the GPU's.
#
#   bash tests/bench/papers.sh [--no-install] [--device] [--small] [--program FILE] [--out FOLDER]
#                              [--strategies A,B,...] [--files A,B,...]
#
#   --no-install  stops where something is missing, and lists it; --help prints this
#   --device      matrices on the GPU, with the program of config/gpu-test.sh, which is built where it is not there
#   --small       matrices of some hundred rows, no files: to see whether it runs
#   --program     syncfree_bench, built already: then nothing is installed or built
#   --strategies  default: all that the program has for where the matrices are
#   --files       matrices in PETSc's binary or Matrix Market format, also packed by gzip; default: all of the folder
#                 that SYNCFREE_MATRICES names, if it is set
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}

device=no small=no program= out=build/papers strategies= files=
while [ $# != 0 ]; do
  case $1 in
    --device) device=yes ;;
    --small) small=yes ;;
    --program) program=$2; shift ;;
    --out) out=$2; shift ;;
    --strategies) strategies=$2; shift ;;
    --files) files=$2; shift ;;
    *) no_arguments "$1" ;;
  esac
  shift
done
mkdir -p "$out" build/log

build_host_program() {
  need_packages bench
  find_petsc
  build_host syncfree_bench >build/log/papers.log 2>&1 ||
    { tail -n 30 build/log/papers.log >&2; die "the build failed"; }
  program=build/host/syncfree_bench
}

find_device_program() {
  program=build/gpu/syncfree_bench
  [ -x $program ] || bash config/gpu-test.sh build
  export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

if [ -z "$program" ]; then
  if [ $device = yes ]; then find_device_program; else build_host_program; fi
fi
export OPENBLAS_NUM_THREADS=1
export SYNCFREE_COMMIT=${SYNCFREE_COMMIT:-$(git describe --always --dirty --abbrev=7 2>/dev/null || echo unknown)}

place="-bench_threads 2" backend=host
if [ $small = yes ]; then place="-bench_threads 1"; fi # threads that wait for each other take long on busy cores
if [ $device = yes ]; then place="-bench_mat_type aijcusparse -use_gpu_aware_mpi 0" backend=cuda; fi
# of the names behind the matrices, those for this place
[ -n "$strategies" ] || strategies=$("$program" -help 2>/dev/null | awk -v backend=$backend \
  '/^Strategies:/ { found = 1 } found && $2 == backend { printf "%s%s", comma, $1; comma = "," }')

if [ $small = yes ]; then files=; fi
if [ $small = no ] && [ -z "$files" ] && [ -n "${SYNCFREE_MATRICES:-}" ]; then
  for file in "$SYNCFREE_MATRICES"/*.petsc "$SYNCFREE_MATRICES"/*.mtx "$SYNCFREE_MATRICES"/*.gz; do
    if [ -r "$file" ]; then files=$files,$file; fi
  done
fi

# all matrices with their rows; few for single precision; rows of those cut into parts; the most rows of wavefronts;
# seconds for a contender
if [ $small = yes ]; then
  matrices=kkt:432,road:400,hubs:400,powerlaw:400,dense:40,beam:486,two_rows:300,chain:200,7pt:512,5pt:400
  few=kkt:432,chain:200,7pt:512 cut=400 parts="4 16" most=512 time=0.002 slow=0
elif [ $device = yes ]; then
  matrices=kkt:500000,road:600000,hubs:500000,powerlaw:200000,dense:2000,beam:62000,two_rows:50000,chain:100000
  matrices=$matrices,elasticity:60000,7pt:500000,27pt:200000,5pt:500000,mesh:100000
  few=kkt:200000,powerlaw:100000,beam:62000,7pt:200000,5pt:200000
  cut=65536 parts="4 16 64 256" most=32768 time=0.02 slow=0.15
else
  matrices=kkt:500000,road:1000000,hubs:500000,powerlaw:200000,dense:2000,beam:62000,two_rows:20000,chain:100000
  matrices=$matrices,7pt:500000,5pt:500000
  few=kkt:200000,powerlaw:100000,beam:62000,7pt:200000,5pt:200000
  cut=20000 parts="4 16 64" most=32768 time=0.2 slow=1
fi

# run NAME OPTION...: errors of single matrices are told and do not stop the others
run() {
  local name=$1
  shift
  "$program" $place -bench_kinds ilu -bench_repetitions 3 -bench_time $time -bench_slow $slow \
    -bench_csv "$out/$name.csv" "$@" >"$out/$name.txt" || failed="$failed $name"
  grep -E '^(warning|skipped)' "$out/$name.txt" | grep -v ' disturbed' >&2 || true
}

# those_of NAME...: the ones among the strategies, with commas
those_of() {
  local name list=
  for name in "$@"; do
    case ",$strategies," in *,"$name",*) list=$list,$name ;; esac
  done
  echo "${list#,}"
}

# without NAME: the strategies but for one, with commas
without() {
  local list=,$strategies,
  list=${list/,$1,/,} list=${list#,}
  echo "${list%,}"
}

# waves_up_to ROWS: wavefronts of each length, eight, 64, 512, ... of them as long as a matrix has at most so many rows
waves_up_to() {
  local length rows list=
  for length in 1 8 64 512 4096; do
    for ((rows = 8 * length; rows <= $1; rows *= 8)); do list=$list,waves$length:$rows; done
  done
  echo "${list#,}"
}

failed=
# factors of real matrices grow: two orders of operations differ by more than those of the generated ones
# the loop made parallel is compared by wavefronts below; on two full rows it takes minutes
run solves -bench_matrices $matrices -bench_strategies "$(without loop)" -bench_tolerance 1e-4 \
  ${files:+-bench_files "${files#,}"}
those=$(those_of cusparse csc_sync_free sync_free recursive_block level_order)
run double -bench_matrices $few -bench_strategies "$those" -bench_tolerance 1e-4
run single -bench_matrices $few -bench_strategies "$those" -bench_tolerance 1e-2 -bench_note single \
  -bench_pc_syncfree_factor_precision single
made=
for count in $parts; do
  run parts_$count -bench_matrices powerlaw,two_rows -bench_sizes $cut -bench_note parts=$count -bench_tolerance 1e-4 \
    -bench_strategies "$(those_of column_block row_block recursive_block)" \
    -bench_pc_syncfree_cut_rows $((cut / count))
  made="$made $out/parts_$count.csv"
done
# the sequential loop is the host's, also where its rivals run on a GPU
waves=$(waves_up_to $most)
run waves -bench_matrices "$waves" -bench_strategies "$(those_of loop csr_writing_first sync_free cusparse)"
run sequential -bench_matrices "$waves" -bench_strategies serial,loop -bench_mat_type aij -bench_threads 1

$python tests/bench/rates.py "$out/solves.csv" >"$out/rates.txt"
$python tests/bench/papers.py --solves "$out/solves.csv" --precision "$out/double.csv" "$out/single.csv" \
  --parts $made --waves "$out/waves.csv" --sequential "$out/sequential.csv" --out "$out" | tee "$out/papers.txt"
[ -z "$failed" ] || { echo "error: some matrices failed in:$failed" >&2; exit 1; }
