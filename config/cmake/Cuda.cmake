# The backend `cuda`: target `cuda` where a CUDA compiler is found, as SYNCFREE_CUDA asks:
#
#   AUTO   if PETSc has CUDA and a compiler is found; a message says why not
#   ON     it is an error if there is no compiler
#   OFF    no
#
#   SYNCFREE_HAVE_CUDA   the outcome
# Machine code is made for CMAKE_CUDA_ARCHITECTURES; the default serves compute capability 8.0, 9.0, 10.0 and later.
set(SYNCFREE_CUDA AUTO CACHE STRING "Build the backend cuda: AUTO, ON or OFF")
set_property(CACHE SYNCFREE_CUDA PROPERTY STRINGS AUTO ON OFF)
option(SYNCFREE_SPIN_LIMIT "Device threads that wait for ever name their row and trap" OFF)

function(why_no_cuda out)
  if(SYNCFREE_CUDA STREQUAL OFF)
    set(why "SYNCFREE_CUDA is OFF")
  elseif(SYNCFREE_CUDA STREQUAL AUTO)
    set(petsc_has_cuda)
    if(SYNCFREE_PETSC)
      file(STRINGS ${PETSc_CONFIG} petsc_has_cuda REGEX "define PETSC_HAVE_CUDA ")
    endif()
    if(NOT petsc_has_cuda)
      set(why "this PETSc has no CUDA")
    endif()
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

why_no_cuda(SYNCFREE_CUDA_MISSING)
if(NOT SYNCFREE_CUDA_MISSING)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  endif()
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
  else()
    unset(CMAKE_CUDA_COMPILER CACHE)
    set(SYNCFREE_CUDA_MISSING "there is no CUDA compiler (nvcc)")
  endif()
endif()
if(SYNCFREE_CUDA_MISSING AND SYNCFREE_CUDA STREQUAL ON)
  message(FATAL_ERROR "The backend cuda cannot be built: ${SYNCFREE_CUDA_MISSING}")
endif()

set(SYNCFREE_HAVE_CUDA OFF)
if(SYNCFREE_CUDA_MISSING)
  message(STATUS "Without the backend cuda: ${SYNCFREE_CUDA_MISSING}")
else()
  set(SYNCFREE_HAVE_CUDA ON)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # PETSc's is, and there should be one
  file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cu src/cuda/*.cpp)
  add_library(cuda STATIC ${cuda_sources})
  target_include_directories(cuda PRIVATE src)
  target_compile_options(cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  if(SYNCFREE_SPIN_LIMIT)
    target_compile_definitions(cuda PRIVATE SYNCFREE_SPIN_LIMIT=100000000)
  endif()
  target_link_libraries(cuda PUBLIC core CUDA::cudart CUDA::cusparse)
  target_compile_definitions(core PUBLIC SYNCFREE_HAVE_CUDA)
endif()
