# Sourced by demo.sh and test.sh: makes sure that what they need is installed, and sets
# PETSC_DIR and PETSC_ARCH. Asks nothing; installs only what is missing; a PETSc that the
# user names with PETSC_DIR is used and no other is installed.
#
#   need_packages build|test   what is wanted: enough for the demo, or for all tests
#   find_petsc                 sets PETSC_DIR, PETSC_ARCH
#   find_petsc_cuda            sets PETSC_CUDA_DIR, or PETSC_CUDA_MISSING to the reason

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

system_name() {
  [ -r /etc/os-release ] || { echo unknown; return; }
  . /etc/os-release
  echo "${ID:-unknown}-${VERSION_ID:-}"
}

# Names of Debian's packages by what they are for; PETSc's carry its version.
petsc_series() {
  case "$(system_name)" in
    debian-12) echo 3.18 ;;
    debian-13) echo 3.22 ;;
    ubuntu-24.04) echo 3.19 ;;
    *) echo "" ;;
  esac
}

package_names() {
  echo build-essential cmake ninja-build pkg-config
  [ "$1" = test ] && echo libgtest-dev clang libomp-dev python3 python3-numpy gzip
  [ "${petsc_from_user:-no}" = yes ] && return
  local series
  series=$(petsc_series)
  echo petsc-dev "libpetsc-real$series-dev" libopenmpi-dev openmpi-bin
  [ "$1" = test ] && echo "libpetsc$series-dev-examples" python3-petsc4py "python3-petsc4py-real$series" libopenblas0-pthread
}

missing_packages() {
  local name
  for name in $(package_names "$1"); do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

need_packages() {
  local missing root=
  if [ -z "$(petsc_series)" ] || ! command -v dpkg-query >/dev/null; then
    [ "${petsc_from_user:-no}" = yes ] || die "package names are known for Debian 12, Debian 13 and Ubuntu 24.04, not for
  $(system_name); install a compiler, CMake >= 3.22, Ninja, pkg-config, MPI and GoogleTest and set PETSC_DIR (and PETSC_ARCH)"
    return 0
  fi
  missing=$(missing_packages "$1")
  [ -z "$missing" ] && return 0
  say "installing:" $missing
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || die "these packages are missing and installing them needs root: "$missing
    root=sudo
  fi
  $root apt-get update -qq || die "apt-get update failed; is there a network? missing: "$missing
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 ||
    die "apt-get could not install: "$missing
}

find_petsc() {
  PETSC_ARCH=${PETSC_ARCH:-}
  if [ "$petsc_from_user" = yes ]; then
    [ -r "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h" ] || [ -r "$PETSC_DIR/include/petscconf.h" ] ||
      die "PETSC_DIR=$PETSC_DIR PETSC_ARCH=$PETSC_ARCH holds no PETSc (no petscconf.h)"
  else
    PETSC_DIR=$(ls -d /usr/lib/petscdir/petsc"$(petsc_series)"/*-real 2>/dev/null | head -n 1)
    [ -n "$PETSC_DIR" ] || die "no PETSc under /usr/lib/petscdir; install petsc-dev or set PETSC_DIR"
  fi
  export PETSC_DIR PETSC_ARCH
}

# PETSc 3.26 with CUDA, prebuilt, where the project's shared folder has it. It runs without a
# GPU but needs the CUDA runtime libraries.
find_petsc_cuda() {
  local archive=../shared/petsc-cuda/petsc-cuda-3.26.1.tar.xz library
  PETSC_CUDA_DIR=
  PETSC_CUDA_MISSING=
  for library in cudart cublas cusparse cusolver curand; do
    ls /usr/local/cuda/lib64/lib$library.so.* >/dev/null 2>&1 || PETSC_CUDA_MISSING="no lib$library in /usr/local/cuda/lib64"
  done
  [ -n "$PETSC_CUDA_MISSING" ] && return
  if [ ! -r /opt/petsc-cuda/include/petscconf.h ]; then
    [ -r "$archive" ] || { PETSC_CUDA_MISSING="no $archive"; return; }
    say "unpacking $archive to /opt"
    tar -C /opt -xJf "$archive" || { PETSC_CUDA_MISSING="cannot unpack $archive to /opt"; return; }
  fi
  PETSC_CUDA_DIR=/opt/petsc-cuda
}

petsc_from_user=no
[ -n "${PETSC_DIR:-}" ] && petsc_from_user=yes
# Open MPI refuses root and more ranks than cores unless told otherwise
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
jobs=$(nproc)
