# Sourced by the other scripts from the top of the repository: sees to it that what they need is
# there, and holds what several do. Asks nothing, installs only what is missing, after it has said what, and does not
# touch the network when nothing is; with --no-install, or SYNCFREE_INSTALL=no in the environment, it stops instead and
# prints the command. A PETSc that the user names with PETSC_DIR is used and no other is installed.
#
#   read_options ARGUMENT...  does what --help and --no-install ask for; sets `arguments` to the others
#   no_arguments [ARGUMENT...]   ends in an error if there is one
#   need_packages demo|bench|test|matrix|cuda   installs what the demo, the benchmark, all tests, petsc-matrix.sh, or
#                             petsc-cuda.sh and the demo on a GPU need
#   find_petsc                sets PETSC_DIR and PETSC_ARCH
#   petsc_header NAME, petsc_version   print the path of its petscNAME.h, its number
#   petsc_of_kind complex|64  prints the folder of the distribution's PETSc with complex scalars, or 64-bit indices
#   find_petsc_cuda           sets PETSC_CUDA_DIR, or PETSC_CUDA_MISSING to the reason
#   unpack_petsc_cuda ARCHIVE   to /opt/petsc-cuda; prints why if it cannot
#   has_sum FILE SHA256       whether the file has that checksum
#   find_nvcc                 prints the path of CUDA's compiler, or nothing
#   find_device               prints the name of the first NVIDIA GPU, or nothing
#   on_device                 the options that make a PETSc program put matrices and vectors on the GPU
#   result_of LOG STATUS      prints `passed failed skipped` of a log with the line `RESULT passed failed skipped`
#   print_result PASSED FAILED SKIPPED   the last line of a script that tests; fails if a test did
#   build FOLDER TARGETS ARGUMENT...   configures when the arguments are new, builds what changed
#   build_host TARGETS        the same for build/host: PETSC_DIR, optimized
#   build_gpu TARGETS         the same for build/gpu: with the backend cuda, for the device at hand
#   ... | show_steps          of a build's output the steps [n/m]; on a terminal in one line
#   watched LOG LINE COMMAND...   sends the command's output to LOG; on a terminal a line shows what LINE prints

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

read_options() {
  local argument
  arguments=()
  for argument; do
    case $argument in
      --help)
        # the comment that the script begins with
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$(ls config/"${0##*/}" tests/bench/"${0##*/}" 2>/dev/null | head -n 1)"
        exit 0
        ;;
      --no-install) export SYNCFREE_INSTALL=no ;;
      *) arguments+=("$argument") ;;
    esac
  done
}

no_arguments() { [ $# = 0 ] || die "no argument $1 is known; $0 --help lists those that are"; }

has_sum() { echo "$2  $1" | sha256sum -c --status -; }

system_name() {
  [ -r /etc/os-release ] || { echo unknown; return; }
  (. /etc/os-release; echo "${ID:-unknown}-${VERSION_ID:-}")
}

# The PETSc of each distribution; its number is part of the packages' names.
petsc_series() {
  case "$(system_name)" in
    debian-12) echo 3.18 ;;
    debian-13) echo 3.22 ;;
    ubuntu-24.04) echo 3.19 ;;
  esac
}

# The sanitizers of its clang.
clang_runtime() {
  case "$(system_name)" in
    debian-12) echo libclang-rt-14-dev ;;
    debian-13) echo libclang-rt-19-dev ;;
    ubuntu-24.04) echo libclang-rt-18-dev ;;
  esac
}

package_names() {
  local series
  series=$(petsc_series)
  echo build-essential cmake ninja-build pkg-config libgtest-dev python3
  case $1 in
    bench) echo python3-matplotlib ;;
    test) echo clang "$(clang_runtime)" libomp-dev ccache python3-numpy python3-matplotlib python3-pip python3-yaml ;;
    matrix) echo ccache ;;
  esac
  if [ "$petsc_from_user" = yes ]; then return; fi
  case $1 in
    matrix | cuda) echo libopenmpi-dev openmpi-bin liblapack-dev libopenblas0-pthread python3-pip; return ;;
  esac
  echo petsc-dev "libpetsc-real$series-dev" libopenmpi-dev openmpi-bin
  if [ "$1" = test ]; then
    echo "libpetsc$series-dev-examples" python3-petsc4py "python3-petsc4py-real$series" libopenblas0-pthread
    echo "libpetsc-complex$series-dev" "libpetsc64-real$series-dev"
    # programs that use PETSc: SLEPc, whose Python module needs a link that only -dev sets, and dolfinx
    echo python3-slepc4py "python3-slepc4py-real$series" "libslepc-real$series-dev" python3-dolfinx-real
    # for the backend kokkos; elsewhere the package has other names, or stands against other packages
    if [ "$(system_name)" = debian-12 ]; then echo libtrilinos-kokkos-kernels-dev libtrilinos-kokkos-dev; fi
  fi
}

missing_packages() {
  local name
  for name in $(package_names "$1"); do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

# What is not there, be it from a package or from elsewhere.
missing_tools() {
  local tool
  for tool in c++ cmake pkg-config mpicc python3; do command -v "$tool" >/dev/null || echo "$tool"; done
  command -v ninja >/dev/null || command -v make >/dev/null || echo ninja
  if [ "$petsc_from_user" = yes ]; then return; fi
  # a PETSc is to be built
  "$python" -c 'import pip, setuptools, wheel' 2>/dev/null || echo "pip, setuptools and wheel"
  echo 'int main(void) { return 0; }' | mpicc -x c - -llapack -lblas -o /dev/null 2>/dev/null || echo LAPACK
}

# Where no package names are known, the tools must be there already.
need_tools() {
  local missing
  missing=$(echo $(missing_tools))
  [ -z "$missing" ] ||
    die "not found: $missing (package names are known for Debian 12, Debian 13 and Ubuntu 24.04 only)"
}

watched() {
  local log=$1 line=$2 watcher= status=0
  shift 2
  : >"$log"
  # the line is drawn in the background and not the command run there: so the user's ^C ends the command
  if [ -t 2 ]; then
    while kill -0 $$ 2>/dev/null; do
      printf '\r  %-78.78s' "$($line)" >&2
      sleep 1
    done &
    watcher=$!
  fi
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ -n "$watcher" ]; then
    kill "$watcher" && wait "$watcher" 2>/dev/null || true
    printf '\r%-80s\r' '' >&2
  fi
  return $status
}

packages_set_up() {
  local total
  total=$(sed -n 's/.* \([0-9]*\) newly installed.*/\1/p' "$log")
  echo "$(grep -c '^Setting up' "$log") of ${total:-?} packages set up"
}

# With Error-Mode=any a list that could not be fetched is an error and not a warning; the lists at hand may do.
update_lists() {  # [SUDO...]
  local log=build/log/packages-lists.log
  "$@" apt-get update -qq -o APT::Update::Error-Mode=any -o DPkg::Lock::Timeout=300 >$log 2>&1 </dev/null && return
  say "warning: apt-get update failed, going on with the lists at hand; the end of $log:"
  tail -n 5 $log | sed 's/^/  /' >&2
}

need_packages() {
  local missing command root=()
  if [ -z "$(petsc_series)" ] || ! command -v dpkg-query >/dev/null; then
    [ "$petsc_from_user" = yes ] || [ "$1" = cuda ] ||
      die "package names are known for Debian 12, Debian 13 and Ubuntu 24.04, this is
  $(system_name): install a C++ compiler, CMake >= 3.22, Ninja, pkg-config, GoogleTest, Python 3 and PETSc, and set
  PETSC_DIR (and PETSC_ARCH)"
    need_tools
    return 0
  fi
  # the machine of a GPU may have no network, and its tools from elsewhere than packages
  if [ "$1" = cuda ] && [ -z "$(missing_tools)" ]; then return 0; fi
  missing=$(echo $(missing_packages "$1"))
  [ -n "$missing" ] || return 0
  command="apt-get install --no-install-recommends $missing"
  if [ "${SYNCFREE_INSTALL:-}" = no ]; then die "not installed; run as root, after apt-get update:
  $command"; fi
  if [ "$(id -u)" != 0 ]; then
    { command -v sudo && sudo -n true; } >/dev/null 2>&1 || die "what is missing needs root; run, after apt-get update:
  sudo $command"
    root=(sudo -n)
  fi
  say "installing (--no-install would stop here):
  ${root[*]:+${root[*]} }$command"
  mkdir -p build/log
  update_lists ${root[@]+"${root[@]}"}
  watched build/log/packages.log packages_set_up ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 $missing ||
    { tail -n 15 build/log/packages.log >&2; die "apt-get could not install: $missing"; }
  missing=$(echo $(missing_packages "$1"))
  [ -z "$missing" ] || die "still missing after apt-get install: $missing"
}

find_petsc() {
  PETSC_ARCH=${PETSC_ARCH:-}
  if [ "$petsc_from_user" = yes ]; then
    [ -r "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h" ] || [ -r "$PETSC_DIR/include/petscconf.h" ] ||
      die "no petscconf.h in PETSC_DIR=$PETSC_DIR PETSC_ARCH=$PETSC_ARCH: is this an installed PETSc?"
  else
    PETSC_DIR=$(ls -d /usr/lib/petscdir/petsc"$(petsc_series)"/*-real 2>/dev/null | head -n 1)
    [ -n "$PETSC_DIR" ] || die "no PETSc in /usr/lib/petscdir: install petsc-dev or set PETSC_DIR"
  fi
  export PETSC_DIR PETSC_ARCH
}

petsc_header() {
  ls "$PETSC_DIR/${PETSC_ARCH:-}/include/petsc$1.h" "$PETSC_DIR/include/petsc$1.h" 2>/dev/null | head -n 1
}

petsc_version() {
  sed -n 's/^#define PETSC_VERSION_\(MAJOR\|MINOR\|SUBMINOR\) *//p' "$(petsc_header version)" | paste -s -d .
}

petsc_of_kind() {
  local folder
  case $1 in
    complex) folder=/usr/lib/petscdir/petsc$(petsc_series)/*-complex ;;
    64) folder=/usr/lib/petscdir/petsc64-$(petsc_series)/*-real ;;
  esac
  ls -d $folder 2>/dev/null | head -n 1
}

# Its prefix, in its files, is /opt/petsc-cuda. What is outside the repository others may be able to change: a copy is
# looked at, unpacked in a folder of ours, and moved when it is whole.
unpack_petsc_cuda() {
  local folder why=
  folder=$(mktemp -d /opt/unpack-XXXXXX 2>/dev/null) || { echo "/opt cannot be written"; return 1; }
  if ! cp "$1" "$folder/archive"; then why="$1 cannot be read"
  elif ! has_sum "$folder/archive" "$petsc_cuda_sum"; then
    why="$1 has not the checksum $petsc_cuda_sum (PETSC_CUDA_SHA256 names that of another archive)"
  elif ! tar -C "$folder" --no-same-owner -xJf "$folder/archive" || ! mv "$folder/petsc-cuda" /opt/; then
    why="$1 does not unpack to /opt"
  fi
  rm -rf "$folder"
  [ -z "$why" ] || { echo "$why"; return 1; }
}

# Libraries that FILE needs and neither FOLDER nor the linker's cache has. ldd would run the file's own code.
missing_libraries() {  # FILE FOLDER
  local name
  for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [ -e "$2/$name" ] || /sbin/ldconfig -p | grep -qF "	$name (" || echo "$name"
  done
}

# PETSc 3.26 with CUDA, prebuilt, where the folder beside the repository has it. It runs without a
# GPU but needs CUDA's libraries, and its headers CUDA's.
find_petsc_cuda() {
  local archive=../shared/petsc-cuda/petsc-cuda-3.26.1.tar.xz cuda=/usr/local/cuda name
  PETSC_CUDA_DIR= PETSC_CUDA_MISSING=
  for name in cudart cublas cusparse cusolver curand; do
    ls $cuda/lib64/lib$name.so.* >/dev/null 2>&1 || PETSC_CUDA_MISSING="$PETSC_CUDA_MISSING lib$name"
  done
  [ -r $cuda/include/cuda_runtime.h ] || PETSC_CUDA_MISSING="$PETSC_CUDA_MISSING cuda_runtime.h"
  if [ -n "$PETSC_CUDA_MISSING" ]; then PETSC_CUDA_MISSING="not in $cuda:$PETSC_CUDA_MISSING"; return; fi
  if [ ! -r /opt/petsc-cuda/include/petscconf.h ]; then
    [ -r $archive ] || { PETSC_CUDA_MISSING="there is no $archive"; return; }
    if [ "${SYNCFREE_INSTALL:-}" = no ]; then PETSC_CUDA_MISSING="not unpacked to /opt, for --no-install"; return; fi
    say "unpacking $archive to /opt/petsc-cuda"
    PETSC_CUDA_MISSING=$(unpack_petsc_cuda $archive) || return 0
  fi
  name=$(missing_libraries /opt/petsc-cuda/lib/libpetsc.so $cuda/lib64)
  if [ -n "$name" ]; then PETSC_CUDA_MISSING="its libpetsc.so needs $(echo $name)"; return; fi
  PETSC_CUDA_DIR=/opt/petsc-cuda
}

find_nvcc() { command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true; }

# CUDA_VISIBLE_DEVICES hides devices from programs, though not from nvidia-smi. A container may lack nvidia-smi.
find_device() {
  local name
  if [ "${CUDA_VISIBLE_DEVICES-all}" = "" ]; then return; fi
  name=$(nvidia-smi -L 2>/dev/null | sed -n '1s/^GPU 0: \(.*\) (UUID.*/\1/p') || name=
  if [ -z "$name" ] && [ -e /dev/nvidia0 ]; then name="NVIDIA GPU"; fi
  echo "$name"
}

# Without such a line, and where the command failed without a failed test, one test has failed.
result_of() {
  local status=$2 last
  last=$(grep -aE '^RESULT [0-9]+ [0-9]+ [0-9]+$' "$1" | tail -n 1)
  set -- ${last#RESULT }
  if [ $# != 3 ]; then set -- 0 1 0; fi
  if [ "$status" != 0 ] && [ "$2" = 0 ]; then set -- "$1" 1 "$3"; fi
  echo "$@"
}

print_result() {
  local skipped=
  if [ "$3" != 0 ]; then skipped=", $3 skipped"; fi
  echo "$1 passed, $2 failed$skipped"
  [ "$2" = 0 ]
}

# What a folder was configured with is kept in it, so that another PETSc or option, or a Kokkos Kernels or GoogleTest
# that was installed since, is noticed and nothing is done twice.
build() {
  local folder=$1 targets=$2 wanted
  shift 2
  if [ "${CI:-}" = true ]; then set -- "$@" -DSYNCFREE_WERROR=ON; fi
  command -v ninja >/dev/null || set -- "$@" -G "Unix Makefiles" # the presets name Ninja
  wanted="$PWD $*${GTest_ROOT:+ $GTest_ROOT} $(ls -d /usr/lib/*/cmake/KokkosKernels 2>/dev/null)"
  if { [ ! -f "$folder/build.ninja" ] && [ ! -f "$folder/Makefile" ]; } ||
    [ "$(cat "$folder/configured" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
    cmake -S . -B "$folder" "$@" || return 1
    echo "$wanted" >"$folder/configured"
  fi
  cmake --build "$folder" -j "$jobs" --target $targets
}

build_host() {
  build build/host "$1" --preset host -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH"
}

# gpu-test.sh tests what is built here
build_gpu() {
  build build/gpu "$1" --preset cuda -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH" -DSYNCFREE_KOKKOS=OFF \
    -DCMAKE_CUDA_ARCHITECTURES=native -DCMAKE_CUDA_FLAGS=-lineinfo
}

show_steps() {
  local line end='\n'
  if [ -t 2 ]; then end='\r'; fi
  while IFS= read -r line; do
    case "$line" in "["[0-9]*/* | "["*%]*) printf "  %-76.76s$end" "$line" >&2 ;; esac
  done
  if [ -t 2 ]; then printf '%-78s\r' '' >&2; fi
}

# programs with a DM ask for the last two, others for the first two; an MPI need not know of devices
on_device="-use_gpu_aware_mpi 0 -mat_type aijcusparse -vec_type cuda -dm_mat_type aijcusparse -dm_vec_type cuda"
# packages belong to the system's Python, which need not be the first of the path
python=/usr/bin/python3
[ -x $python ] || python=python3
petsc_cuda_sum=${PETSC_CUDA_SHA256:-bf300b1b4ded85c7e6211932ac65141bd75b8d24f69a788a490513bf8829f682} # 3.26.1
petsc_from_user=no
[ -n "${PETSC_DIR:-}" ] && petsc_from_user=yes
jobs=$(nproc)
# in containers all is root's
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# Open MPI (4, then 5) refuses more ranks than cores unless told otherwise, ties a program
# that runs alone to core 0 with all its threads, and spins while it waits; it starts in a tenth of
# the time if a program that runs alone needs no daemon and no folder in /tmp, for which such programs
# would compete, and nobody looks for networks. mpiexec cannot do without the folder: who calls it sets
# OMPI_MCA_orte_create_session_dirs=1
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_orte_create_session_dirs=0
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=^tcp,openib,ofi,uct,usnic
