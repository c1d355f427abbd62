# Finds the PETSc of PETSC_DIR and PETSC_ARCH (variables or environment) through its own pkg-config
# file; without PETSC_DIR Debian's, or the one that pkg-config knows.
#
#   PETSc::PETSc          headers (as system headers), library and its MPI
#   PETSc_VERSION         for example 3.18.5
#   PETSc_CONFIG          its petscconf.h
#   PETSc_KIND            its scalars and indices: "real scalars in double precision and 32-bit indices"
#   PETSC_DIR, PETSC_ARCH what was used
find_package(PkgConfig REQUIRED)

if(NOT PETSC_DIR AND DEFINED ENV{PETSC_DIR})
  set(PETSC_DIR $ENV{PETSC_DIR})
  set(PETSC_ARCH $ENV{PETSC_ARCH})
endif()

# An imported target by pkg-config, searched in the given folders first.
macro(petsc_ask_pkgconfig)
  set(petsc_saved_path "$ENV{PKG_CONFIG_PATH}")
  string(REPLACE ";" ":" petsc_path "${ARGN};${petsc_saved_path}")
  set(ENV{PKG_CONFIG_PATH} "${petsc_path}")
  pkg_search_module(PETSC_PC QUIET IMPORTED_TARGET PETSc petsc)
  pkg_get_variable(petsc_C_compiler ${PETSC_PC_MODULE_NAME} ccompiler)
  pkg_get_variable(petsc_CXX_compiler ${PETSC_PC_MODULE_NAME} cxxcompiler)
  set(ENV{PKG_CONFIG_PATH} "${petsc_saved_path}")
endmacro()

if(PETSC_DIR)
  petsc_ask_pkgconfig(${PETSC_DIR}/${PETSC_ARCH}/lib/pkgconfig ${PETSC_DIR}/lib/pkgconfig)
  if(PETSC_PC_FOUND AND NOT PETSC_PC_PREFIX MATCHES "^${PETSC_DIR}")
    file(REAL_PATH ${PETSC_DIR} petsc_wanted)
    file(REAL_PATH ${PETSC_PC_PREFIX} petsc_found)
    if(NOT petsc_found MATCHES "^${petsc_wanted}")
      set(PETSC_PC_FOUND FALSE)
    endif()
  endif()
else()
  file(GLOB petsc_debian /usr/lib/petscdir/petsc*/*-real/lib/pkgconfig)
  petsc_ask_pkgconfig(${petsc_debian})
  set(PETSC_DIR ${PETSC_PC_PREFIX})
endif()

set(PETSc_VERSION ${PETSC_PC_VERSION})
find_file(PETSc_CONFIG petscconf.h PATHS ${PETSC_PC_INCLUDE_DIRS} NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
set(petsc_advice "no lib/pkgconfig/PETSc.pc for PETSC_DIR=${PETSC_DIR} PETSC_ARCH=${PETSC_ARCH}: "
  "set both to an installed PETSc, or install petsc-dev")
string(CONCAT petsc_advice ${petsc_advice})
find_package_handle_standard_args(PETSc
  REQUIRED_VARS PETSc_CONFIG PETSC_PC_FOUND VERSION_VAR PETSc_VERSION
  REASON_FAILURE_MESSAGE "${petsc_advice}")

if(PETSc_FOUND)
  file(STRINGS ${PETSc_CONFIG} petsc_config REGEX "define PETSC_USE_")
  set(petsc_scalar real)
  set(petsc_precision double)
  set(petsc_index 32)
  if(petsc_config MATCHES "PETSC_USE_COMPLEX( |;|$)")
    set(petsc_scalar complex)
  endif()
  if(petsc_config MATCHES "PETSC_USE_REAL_(SINGLE|___FLOAT128|___FP16)( |;|$)")
    string(TOLOWER "${CMAKE_MATCH_1}" petsc_precision)
  endif()
  if(petsc_config MATCHES "PETSC_USE_64BIT_INDICES( |;|$)")
    set(petsc_index 64)
  endif()
  set(PETSc_KIND "${petsc_scalar} scalars in ${petsc_precision} precision and ${petsc_index}-bit indices")
endif()

if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  add_library(PETSc::PETSc INTERFACE IMPORTED)
  target_include_directories(PETSc::PETSc SYSTEM INTERFACE ${PETSC_PC_INCLUDE_DIRS})
  target_link_libraries(PETSc::PETSc INTERFACE ${PETSC_PC_LINK_LIBRARIES})
  file(STRINGS ${PETSc_CONFIG} petsc_config REGEX "define PETSC_HAVE_(CUDA|MPIUNI)( |$)")

  # the MPI that PETSc was built with: its own compiler wrapper knows; nobody needs MPI's C++ interface
  if(NOT petsc_config MATCHES MPIUNI)
    set(petsc_language C)
    if(NOT CMAKE_C_COMPILER_LOADED)
      set(petsc_language CXX)
    endif()
    if(petsc_${petsc_language}_compiler)
      find_program(MPI_${petsc_language}_COMPILER ${petsc_${petsc_language}_compiler})
    endif()
    find_package(MPI REQUIRED COMPONENTS ${petsc_language})
    target_link_libraries(PETSc::PETSc INTERFACE MPI::MPI_${petsc_language})
  endif()

  # PETSc's CUDA headers ask for the toolkit's headers and, from 3.26 on, for C++20
  if(petsc_config MATCHES CUDA)
    find_path(PETSc_CUDA_INCLUDE cuda_runtime.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include REQUIRED)
    target_include_directories(PETSc::PETSc SYSTEM INTERFACE ${PETSc_CUDA_INCLUDE})
    if(CMAKE_CXX_COMPILER_LOADED)
      target_compile_features(PETSc::PETSc INTERFACE cxx_std_20)
    endif()
  endif()
endif()
