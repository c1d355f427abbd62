#!/usr/bin/env bash
# Installs what is missing, builds, and solves two PDEs with PETSc's ilu and with syncfree_ilu side by
# side: iterations, set-up and apply times, true residuals.
#
#   bash config/demo.sh [--no-install] [UNKNOWNS-IN-A-DIRECTION]      64 by default, so 262,144 unknowns; on a GPU 129
#
# With --no-install it stops where something is missing, and lists it; --help prints this.
# Where there is an NVIDIA GPU and nvcc all of it runs on the GPU: with the PETSc of PETSC_DIR, else with one that
# petsc-cuda.sh builds once.
#
# A second run installs and builds nothing. It uses the build of test.sh, which is the one to install, and on a GPU that
# of gpu-test.sh.
set -eu -o pipefail
cd "$(dirname "$0")/.."
. config/setup.sh
read_options "$@"
set -- ${arguments[@]+"${arguments[@]}"}
case ${1:-64} in *[!0-9]*) no_arguments "$@" ;; esac
no_arguments "${@:2}"

log=build/log/demo.log
programs="syncfree_ilu syncfree_ilu_static poisson convection"
mkdir -p build/log

# What keeps the user's PETSc from the device, if anything
petsc_lacks() {
  grep -q 'define PETSC_HAVE_CUDA ' "$(petsc_header conf)" || { echo "has no CUDA"; return; }
  case $(petsc_version) in 3.1[0-9].*) echo "is older than 3.20" ;; esac
}

# Sets `device` to the name of the GPU, or to nothing where the demo runs on the CPU
choose_device() {
  local lacks
  device=
  if [ -n "$(find_nvcc)" ]; then device=$(find_device); fi
  if [ -z "$device" ] || [ "$petsc_from_user" = no ]; then return; fi
  find_petsc
  lacks=$(petsc_lacks)
  if [ -z "$lacks" ]; then return; fi
  say "not on the $device, on the CPU: the PETSc in PETSC_DIR=$PETSC_DIR $lacks
  (without PETSC_DIR the demo builds one that can)"
  device=
}

find_petsc_for_device() {
  local exports
  if [ "$petsc_from_user" = yes ]; then return; fi
  exports=$(bash config/petsc-cuda.sh) ||
    die "no PETSc with CUDA for $device; on the CPU the demo runs with CUDA_VISIBLE_DEVICES= bash config/demo.sh"
  eval "$exports"
}

# run_demo BUILD-FUNCTION FOLDER GRID OPTION...
run_demo() {
  say "building the plugin and two programs for PETSc in $PETSC_DIR${PETSC_ARCH:+/$PETSC_ARCH} (log: $log)"
  $1 "$programs" 2>&1 | tee "$log" | show_steps || { tail -n 30 "$log" >&2; die "the build failed"; }
  python3 config/demo.py --folder "$2/examples" --library "$PWD/$2/libsyncfree_ilu.so" --grid "${@:3}"
  say "
in a program of your own:
  ./program -dll_append $PWD/$2/libsyncfree_ilu.so -pc_type syncfree_ilu${device:+ $on_device}"
}

choose_device
if [ -z "$device" ]; then
  need_packages demo
  find_petsc
  run_demo build_host build/host "${1:-64}"
else
  need_packages cuda
  find_petsc_for_device
  # the linker that loads programs may not know the toolkit
  toolkit=$(dirname "$(dirname "$(find_nvcc)")")
  export LD_LIBRARY_PATH=$toolkit/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  run_demo build_gpu build/gpu "${1:-129}" --device "$device with PETSc $(petsc_version) in $PETSC_DIR" \
    --options="$on_device"
fi
