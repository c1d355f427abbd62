#!/usr/bin/env bash
# Builds the PETSc releases of PyPI that no distribution has, our plugin for each, and runs its tests with
# PETSc and the harness. Ends with `N passed, N failed[, N skipped]`.
#
#   bash config/petsc-matrix.sh [--no-install] [--build] [NAME...]     --build: the PETScs only, no test; no NAME: all
#
# With --no-install it stops where something is missing, and lists it; --help prints this.
#
# One line a configuration; what was printed is in build/log/petsc-matrix-NAME*.log. A PETSc is made once, in
# build/petsc-matrix/NAME (some 10 minutes on two cores), and kept: a second run builds nothing. It is made
# without optimization, in half the time: it is here to be met, not to be measured.
set -u
cd "$(dirname "$0")/.." || exit 1
unset PETSC_DIR PETSC_ARCH
. config/setup.sh
. config/petsc-source.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}

# name, release, options of its configure
configurations() {
  cat <<'END'
3.20 3.20.5
3.22 3.22.5
3.24 3.24.6
3.25 3.25.6
3.26-single 3.26.1 --with-precision=single
3.26-complex-64 3.26.1 --with-scalar-type=complex --with-64-bit-indices=1
END
}

top=$PWD/build/petsc-matrix
flags="COPTFLAGS=-O0 CXXOPTFLAGS=-O0"

all_that_counts() {  # NAME RELEASE OPTION...: what the build depends on; its last step leaves that in the file `made`
  echo "$top/$1 $2 $petsc_options
  $flags ${*:3}"
}

is_made() { [ "$(cat "$top/$1/made" 2>/dev/null)" = "$(all_that_counts "$@")" ]; }

make_petsc() {  # NAME RELEASE OPTION...
  local folder=$top/$1
  if is_made "$@"; then return; fi
  compile_petsc "$folder" "$2" $flags "${@:3}" && rm -rf "$folder/arch/obj" && all_that_counts "$@" >"$folder/made"
}

releases_to_make() {  # NAME...
  local name
  for name; do
    set -- $(configurations | grep "^$name ")
    is_made "$@" || echo "$2"
  done
}

last_line() { echo "$name $what: $(tail -n 1 "$log")"; }

# phase WHAT COMMAND...: its output goes to a log; on a terminal the last line shows while it runs
phase() {
  local what=$1
  shift
  watched "build/log/petsc-matrix-$name-$what.log" last_line "$@"
}

show_end() {  # WHAT
  printf -- '---- %s, end of build/log/petsc-matrix-%s-%s.log:\n' "$name" "$name" "$1"
  tail -n 60 "build/log/petsc-matrix-$name-$1.log"
  printf -- '----\n'
}

# must WHAT COMMAND...: a phase that counts as one test, without which there are no others
must() {
  phase "$@" && counts[0]=$((counts[0] + 1)) && return
  counts[1]=$((counts[1] + 1))
  show_end "$1"
  return 1
}

# counted WHAT COMMAND...: a phase that ends in `RESULT passed failed skipped`
counted() {
  local what=$1
  phase "$@"
  set -- $(result_of "build/log/petsc-matrix-$name-$what.log" $?)
  if [ "$2" != 0 ]; then show_end "$what"; fi
  counts=($((counts[0] + $1)) $((counts[1] + $2)) $((counts[2] + $3)))
}

# In single precision the number of iterations is another than in the reference outputs: what PETSc's own types do
# there becomes the reference, in a copy of the examples; where it has no such types or orderings, what ours do.
write_references() (  # FOLDER LIBRARY
  outputs=$1/examples/ksp/reference/outputs.sh
  export PETSC_DIR=$top/$name PETSC_ARCH=arch JOBS=$jobs
  rm -rf "$1" && mkdir -p "$1" && cp -r examples "$1" && bash "$outputs" write && LIBRARY=$2 bash "$outputs" write
)

run_tests() {  # NAME RELEASE OPTION...; after make_petsc
  local folder=$top/$name built=$top/plugin-$name examples=examples
  must plugin build "$built" "syncfree_ilu petsc_tests petsc_allocation_tests" --preset host \
    -DPETSC_DIR="$folder" -DPETSC_ARCH=arch -DSYNCFREE_KOKKOS=OFF || return # test.sh tests that backend
  counted tests python3 config/gtest.py --jobs "$jobs" "$built/petsc_tests"
  counted allocation python3 config/gtest.py --jobs "$jobs" "$built/petsc_allocation_tests"
  case " $* " in
    *=single*)
      examples=$built/reference/examples
      must references write_references "$built/reference" "$built/libsyncfree_ilu.so" || return
      ;;
  esac
  counted harness python3 config/harness.py --petsc-dir "$folder" --petsc-arch arch --work "$built/harness" \
    --library "$built/libsyncfree_ilu.so" --jobs "$jobs" --source "$examples"
}

configuration() {  # NAME RELEASE OPTION...
  local begin=$SECONDS
  name=$1 counts=(0 0 0)
  must petsc make_petsc "$@" && [ "$only_build" = no ] && run_tests "$@"
  printf '%-16s PETSc %s %6d passed %4d failed %4d skipped %5d s\n' "$1" "$2" "${counts[@]}" $((SECONDS - begin))
  passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
}

only_build=no
if [ "${1:-}" = --build ]; then only_build=yes && shift; fi
[ $# != 0 ] || set -- $(configurations | cut -d ' ' -f 1)
for name in "$@"; do
  configurations | grep -q "^$name " || die "no configuration $name; there are" $(configurations | cut -d ' ' -f 1)
done

need_packages matrix
need_sources $(releases_to_make "$@" | sort -u)
export OPENBLAS_NUM_THREADS=1 # the library's threads are no part of what is tested
export SYNCFREE_MATRICES="$PWD/../shared/matrices"
passed=0 failed=0 skipped=0
mkdir -p build/log
for name in "$@"; do configuration $(configurations | grep "^$name "); done
print_result $passed $failed $skipped
