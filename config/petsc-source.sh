# Sourced after setup.sh by the scripts that build a PETSc from its source on PyPI.
#
#   petsc_options                        what configure is told for each of them
#   compile_petsc FOLDER RELEASE OPTION...   unpacks the source to FOLDER, an absolute path, downloads it first if need
#                                        be, configures and compiles for PETSC_ARCH=arch
#   petsc_step FOLDER LOG                prints how far that is, in a line

petsc_options="--with-cc=mpicc --with-cxx=mpicxx --with-fc=0 --with-debugging=0 --with-x=0 --with-shared-libraries=1"
petsc_archives=$PWD/build/petsc-archives

# pip checks the archive's hash; that it also asks petsc's setup.py for its name costs seconds
download_petsc() {  # RELEASE
  if [ -r "$petsc_archives/petsc-$1.tar.gz" ]; then return; fi
  "$python" -m pip download --no-deps --no-binary petsc --no-build-isolation --progress-bar off \
    --dest "$petsc_archives" "petsc==$1" && return
  echo "pip could not download petsc $1 from PyPI: is there a network?"
  return 1
}

compile_petsc() {
  local folder=$1 release=$2
  shift 2
  rm -rf "$folder"
  mkdir -p "$petsc_archives" "$folder" && download_petsc "$release" &&
    tar -C "$folder" --strip-components 1 -xzf "$petsc_archives/petsc-$release.tar.gz" || return 1
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
