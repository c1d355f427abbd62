#!/usr/bin/env bash
# Times every kernel of the block algorithms on blocks of many shapes, on the GPU of this machine: the record behind the
# table "h200" of src/core/plan/block_plan.cpp. Leaves sweep.csv and heat maps as PNG in the folder. Two minutes on an
# H200.
#
#   bash tests/bench/sweep.sh [FOLDER]         tests/bench/results by default
#
# Builds with the preset cuda if build/gpu has no syncfree_sweep.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}
case ${1:-} in -*) no_arguments "$1" ;; esac
no_arguments "${@:2}"

out=${1:-tests/bench/results}
mkdir -p "$out" build/log
if [ ! -x build/gpu/syncfree_sweep ]; then
  find_petsc
  build_gpu syncfree_sweep >build/log/sweep.log 2>&1 || { tail -n 30 build/log/sweep.log >&2; die "the build failed"; }
fi
commit=${SYNCFREE_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
build/gpu/syncfree_sweep "$out/sweep.csv" "$commit"
$python tests/bench/sweep/report.py "$out/sweep.csv" --out "$out"
