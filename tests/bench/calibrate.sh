#!/usr/bin/env bash
# Times level_order, merged and tiled on the GPU of this machine, on generated matrices of many kinds and sizes, and
# fits the constants of the model by which `auto` chooses, src/core/choose/device_model.hpp. Prints how far the model is
# off, before and after, and what the constants would become. A minute or two; leaves calibrate.csv in the folder.
#
#   bash tests/bench/calibrate.sh [--write] [FOLDER]     build/calibrate by default; --write changes the table
#
# With the program of config/gpu-test.sh, which is built where it is not there.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}

write=
if [ "${1:-}" = --write ]; then write=--write && shift; fi
case ${1:-} in -*) no_arguments "$1" ;; esac
no_arguments "${@:2}"
out=${1:-build/calibrate}
[ -n "$(find_device)" ] || die "no NVIDIA GPU here, and what is calibrated is the model of one"
mkdir -p "$out"
[ -x build/gpu/syncfree_bench ] || bash config/gpu-test.sh build
matrices=7pt:32768,7pt:125000,7pt:512000,7pt:2097152,5pt:90000,5pt:360000,5pt:2096704,9pt:90000,9pt:1048576
matrices=$matrices,27pt:46656,27pt:262144,27pt:884736,elasticity:24000,elasticity:90000,elasticity:331776
matrices=$matrices,mesh:50000,mesh:300000,mesh_on_curve:100000,mesh_at_random:100000,banded:50000,banded:200000
matrices=$matrices,narrow_band:20000,narrow_band:60000,chain:30000,powerlaw:100000,road:100000,beam:30000
matrices=$matrices,waves8:30000,waves64:60000,waves512:60000,7pt:1000,7pt:4096,7pt:8000,5pt:900,5pt:2500,5pt:10000
matrices=$matrices,9pt:2500,9pt:10000,27pt:1000,27pt:8000,elasticity:3000,beam:5000,mesh:2000,mesh:10000,banded:10000
matrices=$matrices,narrow_band:5000,chain:3000,road:5000,road:20000,mesh_at_random:5000,mesh_on_curve:10000,waves8:10000
export SYNCFREE_COMMIT=${SYNCFREE_COMMIT:-$(git describe --always --dirty --abbrev=7 2>/dev/null || echo unknown)}
build/gpu/syncfree_bench -use_gpu_aware_mpi 0 -bench_mat_type aijcusparse -bench_kinds ilu -bench_threads "$jobs" \
  -bench_strategies level_order,merged,wavefront,tiled -bench_matrices "$matrices" -bench_time 0.02 \
  -bench_repetitions 3 -bench_slow 1 -bench_tolerance 1e-9 -bench_csv "$out/calibrate.csv" >"$out/calibrate.txt"
$python tests/bench/calibrate.py "$out/calibrate.csv" $write
