#!/usr/bin/env bash
# Builds PETSc with CUDA from its source on PyPI: optimized, real double precision, MPI and BLAS of the system. Prints
# the line that makes it the PETSc of the other scripts and of CMake.
#
#   bash config/petsc-cuda.sh [--no-install] [PREFIX]       to build/petsc-cuda by default; --no-install stops where
#                                                           packages or this PETSc are missing, and lists them; --help
#                                                           prints this
#   eval "$(bash config/petsc-cuda.sh)"      and sets PETSC_DIR and PETSC_ARCH
#
# On two cores ten minutes for one kind of device and up to thirty for three, once: a second run builds nothing. nvcc
# must be there, a device need not: machine code is made for the devices at hand, without one for compute capability
# 8.0, 9.0 and 10.0. What is printed on the way is in build/log/petsc-cuda.log.
set -eu -o pipefail
from=$PWD
cd "$(dirname "$0")/.."
unset PETSC_DIR PETSC_ARCH
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}
case ${1:-} in -*) no_arguments "$1" ;; esac
no_arguments "${@:2}"
prefix=$PWD/build/petsc-cuda
if [ $# != 0 ]; then prefix=$(cd "$from" && realpath -m "$1"); fi
. config/petsc-source.sh

release=3.26.1
source=$PWD/build/petsc-cuda-source
log=build/log/petsc-cuda.log
made=$prefix/lib/petsc/conf/made-by-petsc-cuda # holds the release and for which devices it was made

# 90 for compute capability 9.0, a device a line
devices() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | grep -E '^[0-9]+$' | sort -u
}

# Whether it was made before, and for every device at hand
is_made() {
  local has_release has_devices device
  { read -r has_release has_devices <"$made"; } 2>/dev/null && [ "$has_release" = $release ] || return 1
  for device in $(devices); do
    case ,$has_devices, in *,"$device",*) ;; *) return 1 ;; esac
  done
}

find_compiler() {
  nvcc=$(find_nvcc)
  [ -n "$nvcc" ] || die "no nvcc, neither on PATH nor in /usr/local/cuda/bin: install the CUDA toolkit, 12.0 or later"
}

# PETSc 3.26's CUDA headers are C++20. An old nvcc has no C++20, and each refuses host compilers newer than itself.
check_compilers() {
  local try=build/log/petsc-cuda-try
  echo '#include <string>
    __global__ void kernel() {}' >$try.cu
  "$nvcc" -std=c++20 -ccbin mpicxx -c -o $try.o $try.cu >$try.log 2>&1 && return
  tail -n 15 $try.log >&2
  die "$nvcc and mpicxx together do not compile C++20, which PETSc $release needs: CUDA 12.0 or later is needed, and a
  C++ compiler that it accepts"
}

# What to compile for, a list with commas
architectures() {
  local found
  found=$(devices) || found=$("$nvcc" --list-gpu-arch | sed -n 's/^compute_\(80\|90\|100\)$/\1/p')
  echo $found | tr ' ' ','
}

build_and_install() {  # ARCHITECTURES
  # the driver's library may not be here; to link, the toolkit's stub does
  export LIBRARY_PATH=${nvcc%/bin/nvcc}/lib64/stubs${LIBRARY_PATH:+:$LIBRARY_PATH}
  compile_petsc "$source" $release --prefix="$prefix" --with-cuda=1 --with-cudac="$nvcc" --with-cuda-arch="$1" \
    --with-ssl=0 COPTFLAGS=-O3 CXXOPTFLAGS=-O3 CUDAOPTFLAGS=-O3 &&
    make -C "$source" PETSC_DIR="$source" PETSC_ARCH=arch install && echo "$release $1" >"$made"
}

step() { echo "PETSc $release: $(petsc_step "$source" "$log")"; }

make_petsc_cuda() {
  local wanted begin=$SECONDS
  if [ -e "$prefix/include/petscconf.h" ] && [ ! -e "$made" ]; then
    die "$prefix holds a PETSc that this script did not make: name another folder"
  fi
  need_packages cuda
  need_sources $release
  [ "${SYNCFREE_INSTALL:-}" != no ] || die "without --no-install PETSc $release is built, and installed in $prefix"
  mkdir -p build/log "$(dirname "$made")" || die "cannot write to $prefix"
  check_compilers
  wanted=$(architectures)
  say "building PETSc $release with CUDA for compute capability $wanted, ten to thirty minutes (log: $log)"
  echo unfinished >"$made"
  watched $log step build_and_install "$wanted" || { tail -n 30 $log >&2; die "PETSc could not be built (log: $log)"; }
  rm -rf "$source"
  say "built in $((SECONDS - begin)) s"
}

find_compiler
if ! is_made; then make_petsc_cuda; fi
say "PETSc $release with CUDA is in $prefix"
printf 'export PETSC_DIR=%q PETSC_ARCH=\n' "$prefix"
