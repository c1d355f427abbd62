#!/usr/bin/env bash
# README's own lines in an emptied Debian: the minimal system, what README's "Install" names, and nothing else.
#
#   bash tests/install/debian.sh FOLDER [SUITE [COMMAND...]]
#
#   FOLDER    made, or used again, for the system: some 3 GB
#   SUITE     bookworm (default) or trixie
#   COMMAND   run in a copy of the tracked files, in place of tests/install/readme.py; for example: bash config/demo.sh.
#             Then only the minimal system is made, for README's two commands install what they need
#
# Needs root and debootstrap. Not part of CI: it downloads a system, and takes ten minutes.
set -eu
cd "$(dirname "$0")/../.."
case ${1:-} in '' | -*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit "$([ "${1:-}" = --help ] && echo 0 || echo 2)" ;; esac
folder=$1 suite=${2:-bookworm}
shift $(($# < 2 ? $# : 2))

if [ ! -e "$folder/etc/debian_version" ]; then
  debootstrap --variant=minbase "$suite" "$folder" http://deb.debian.org/debian
fi
unmount() { umount "$folder/proc" "$folder/sys" "$folder/dev" 2>/dev/null || true; }
trap unmount EXIT
unmount
mount -t proc proc "$folder/proc"
mount -t sysfs -o ro sysfs "$folder/sys" # without it hwloc complains in every program
mount --bind /dev "$folder/dev"

rm -rf "$folder/root/petsc-syncfree"
mkdir -p "$folder/root/petsc-syncfree"
git archive HEAD | tar -x -C "$folder/root/petsc-syncfree"

inside() {
  env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    chroot "$folder" bash -c 'cd /root/petsc-syncfree && "$@"' inside "$@"
}

if [ $# -gt 0 ]; then
  inside "$@"
  exit
fi
inside apt-get install -y -qq --no-install-recommends g++ cmake make pkg-config petsc-dev python3-petsc4py openmpi-bin
inside bash -c 'mpicc examples/ksp/tutorials/poisson.c -o /root/poisson $(pkg-config --cflags --libs PETSc) -lm'
inside bash -c 'petsc=$(pkg-config --variable=prefix PETSc) &&
  python3 tests/install/readme.py --petsc-dir "$petsc" --program /root/poisson --work /root/readme'
