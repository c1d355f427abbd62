# Finds the PETSc of PETSC_DIR and PETSC_ARCH (variables or environment) through its own
# pkg-config file; without PETSC_DIR, Debian's or whatever pkg-config knows.
#
#   PETSc::PETSc          headers (as system headers), library and MPI
#   PETSc_VERSION         for example 3.18.5
#   PETSc_CONFIG          its petscconf.h
#   PETSC_DIR, PETSC_ARCH what was used
find_package(PkgConfig REQUIRED)

foreach(name PETSC_DIR PETSC_ARCH)
  if(NOT DEFINED ${name} AND DEFINED ENV{${name}})
    set(${name} $ENV{${name}})
  endif()
endforeach()

set(petsc_saved_path "$ENV{PKG_CONFIG_PATH}")
if(PETSC_DIR)
  set(ENV{PKG_CONFIG_PATH} "${PETSC_DIR}/${PETSC_ARCH}/lib/pkgconfig:${PETSC_DIR}/lib/pkgconfig")
endif()
pkg_search_module(PETSC_PC QUIET IMPORTED_TARGET PETSc petsc)
set(ENV{PKG_CONFIG_PATH} "${petsc_saved_path}")

set(PETSc_VERSION ${PETSC_PC_VERSION})
find_file(PETSc_CONFIG petscconf.h PATHS ${PETSC_PC_INCLUDE_DIRS} NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSc
  REQUIRED_VARS PETSC_PC_FOUND PETSc_CONFIG VERSION_VAR PETSc_VERSION
  REASON_FAILURE_MESSAGE "set PETSC_DIR (and PETSC_ARCH) to a PETSc with shared libraries, or install petsc-dev")

if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  find_package(MPI REQUIRED COMPONENTS CXX C)
  add_library(PETSc::PETSc INTERFACE IMPORTED)
  target_include_directories(PETSc::PETSc SYSTEM INTERFACE ${PETSC_PC_INCLUDE_DIRS})
  target_link_libraries(PETSc::PETSc INTERFACE ${PETSC_PC_LINK_LIBRARIES} MPI::MPI_CXX MPI::MPI_C)
  target_link_directories(PETSc::PETSc INTERFACE ${PETSC_PC_LIBRARY_DIRS})

  # PETSc's CUDA headers ask for C++20 and the toolkit's headers
  file(STRINGS ${PETSc_CONFIG} petsc_cuda REGEX "define PETSC_HAVE_CUDA( |$)")
  if(petsc_cuda)
    find_path(PETSc_CUDA_INCLUDE cuda_runtime.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include REQUIRED)
    target_include_directories(PETSc::PETSc SYSTEM INTERFACE ${PETSc_CUDA_INCLUDE})
    target_compile_features(PETSc::PETSc INTERFACE cxx_std_20)
  endif()
endif()
