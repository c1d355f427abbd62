# Sourced after setup.sh by the scripts that build a PETSc from its source on PyPI.
#
#   petsc_options                        what configure is told for each of them
#   compile_petsc FOLDER RELEASE OPTION...   unpacks the source to FOLDER, an absolute path, downloads it first if need
#                                        be, configures and compiles for PETSC_ARCH=arch
#   need_sources RELEASE...              with --no-install stops where one is still to be downloaded, and lists it
#   petsc_step FOLDER LOG                prints how far that is, in a line

petsc_options="--with-cc=mpicc --with-cxx=mpicxx --with-fc=0 --with-debugging=0 --with-x=0 --with-shared-libraries=1"
petsc_archives=$PWD/build/petsc-archives

# Checksums of the releases, as PyPI had them on 2026-11-26
petsc_sums() {
  cat <<'END'
3.20.5 fb4e637758737af910b05f30a785245633916cd0a929b7b6447ad1028da4ea5a
3.22.5 984dba48bd26e7b17d42c078fc4f74d59e9cbc437ee25a8635865eeca9f5dd28
3.24.6 d6ad14652996b0e0d3da51068eec902118057f275de867e8cf258ffd64d90a7d
3.25.6 00ac91c7ae96eae6a39d7380c7e869c1c7ddbc0c64a23a0b5fd3442227c7cdb9
3.26.1 a4dc46c1b4403545ac2274741ce10801366c4a9a7b2683b678d18f6663b93496
END
}

need_sources() {
  local release missing=
  if [ "${SYNCFREE_INSTALL:-}" != no ]; then return 0; fi
  for release; do [ -r "$petsc_archives/petsc-$release.tar.gz" ] || missing="$missing petsc==$release"; done
  [ -z "$missing" ] || die "not here; without --no-install it is downloaded from PyPI to $petsc_archives:
 $missing"
}

# pip asks the archive's setup.py for its name, which it runs only after it has seen the checksum. An archive that is
# here already is looked at, too.
download_petsc() {  # RELEASE
  local sum archive=$petsc_archives/petsc-$1.tar.gz wanted=$petsc_archives/petsc-$1.txt
  sum=$(petsc_sums | sed -n "s/^$1 //p")
  [ -n "$sum" ] || { echo "petsc $1 has no checksum in config/petsc-source.sh"; return 1; }
  if [ ! -r "$archive" ]; then
    echo "petsc==$1 --hash=sha256:$sum" >"$wanted"
    "$python" -m pip download --no-deps --no-binary petsc --no-build-isolation --progress-bar off --require-hashes \
      --dest "$petsc_archives" -r "$wanted" ||
      { echo "pip could not download petsc $1 from PyPI: is there a network?"; return 1; }
  fi
  has_sum "$archive" "$sum" || { echo "$archive has not the checksum $sum: remove it"; return 1; }
}

compile_petsc() {
  local folder=$1 release=$2
  shift 2
  rm -rf "$folder"
  mkdir -p "$petsc_archives" "$folder" && download_petsc "$release" &&
    tar -C "$folder" --no-same-owner --strip-components 1 -xzf "$petsc_archives/petsc-$release.tar.gz" || return 1
  (
    cd "$folder" &&
      "$python" configure PETSC_DIR="$folder" PETSC_ARCH=arch --with-make-np="$jobs" $petsc_options "$@" &&
      make PETSC_DIR="$folder" PETSC_ARCH=arch all
  )
}

# configure and make say what they do, but not how much there is; of make its list of files tells
petsc_step() {
  local objects all files=$1/arch/lib/petsc/conf/files
  objects=$(find "$1/arch/obj" -name '*.o' 2>/dev/null | wc -l)
  if [ "$objects" -gt 0 ] && [ -r "$files" ]; then
    all=$(tr ' ' '\n' <"$files" | grep -cE '^src/.*\.(c|cxx|cu)$')
    echo "compile: $((100 * objects / all)) %, $objects of $all files"
  elif [ -r "$1/configure.log" ]; then
    echo "configure: $(grep -c '^ *TESTING: ' "$1/configure.log") of some 600 questions"
  else
    echo "download: $(tail -n 1 "$2")"
  fi
}
