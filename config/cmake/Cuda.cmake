# The backend `cuda` where a CUDA compiler is found: target `cuda` for all scalars and indices, and `cuda_plugin` for
# those of the PETSc at hand, a quarter of the machine code. As SYNCFREE_CUDA asks:
#
#   AUTO   if PETSc has CUDA and a compiler is found; a message says why not
#   ON     it is an error if PETSc has no CUDA or there is no compiler
#   OFF    no
#
#   SYNCFREE_HAVE_CUDA   the outcome
# Machine code is made for CMAKE_CUDA_ARCHITECTURES; the default serves compute capability 8.0, 9.0, 10.0 and later, the
# last from nvcc 12.8 on.
set(SYNCFREE_CUDA AUTO CACHE STRING "Build the backend cuda: AUTO, ON or OFF")
set_property(CACHE SYNCFREE_CUDA PROPERTY STRINGS AUTO ON OFF)

function(why_no_cuda out)
  if(SYNCFREE_CUDA STREQUAL OFF)
    set(why "SYNCFREE_CUDA is OFF")
  elseif(SYNCFREE_PETSC)
    file(STRINGS ${PETSc_CONFIG} petsc_has_cuda REGEX "define PETSC_HAVE_CUDA ")
    if(NOT petsc_has_cuda)
      set(why "this PETSc has no CUDA")
    elseif(PETSc_VERSION VERSION_LESS 3.20)
      set(why "PETSc ${PETSc_VERSION} is older than 3.20")
    endif()
  elseif(SYNCFREE_CUDA STREQUAL AUTO)
    set(why "it is not built without PETSc unless SYNCFREE_CUDA is ON")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

why_no_cuda(SYNCFREE_CUDA_MISSING)
if(NOT SYNCFREE_CUDA_MISSING)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  endif()
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
      execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
      if(version MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_LESS 12.8)  # does not know 10.0
        set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
      set(SYNCFREE_CUDA_MISSING "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than 12.0")
    endif()
  else()
    unset(CMAKE_CUDA_COMPILER CACHE)
    set(SYNCFREE_CUDA_MISSING "there is no CUDA compiler (nvcc)")
  endif()
endif()
if(SYNCFREE_CUDA_MISSING AND SYNCFREE_CUDA STREQUAL ON)
  set(advice)
  if(SYNCFREE_CUDA_MISSING MATCHES "PETSc has no CUDA")
    set(advice "\n  PETSC_DIR is ${PETSC_DIR}\n  Set PETSC_DIR to a PETSc that was configured with --with-cuda=1 "
      "(config/petsc-cuda.sh builds one), or leave SYNCFREE_CUDA out to build for the CPU only.")
  endif()
  message(FATAL_ERROR "The backend cuda cannot be built: ${SYNCFREE_CUDA_MISSING}" ${advice})
endif()

function(add_cuda_backend target)
  file(GLOB sources CONFIGURE_DEPENDS src/cuda/*/*.cu src/cuda/*/*.cpp src/cuda/solve/*/*.cu)
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PRIVATE src)
  # nvcc leaves machine code for a single architecture uncompressed, which takes four to nine times the room. Another
  # --compress-mode than the default needs nvcc 12.8 and, before 13, a newer driver than its toolkit.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xfatbin=-compress-all>")
  target_link_libraries(${target} PUBLIC core CUDA::cudart CUDA::cusparse)
endfunction()

# As in core/support/instantiate.hpp, from petscconf.h.
function(name_petsc_scalar target)
  file(STRINGS ${PETSc_CONFIG} config REGEX "define PETSC_USE_(REAL_SINGLE|COMPLEX|64BIT_INDICES)( |$)")
  set(scalar double)
  set(index std::int32_t)
  if(config MATCHES REAL_SINGLE)
    set(scalar float)
    target_compile_definitions(${target} PRIVATE SYNCFREE_SCALAR_IS_SINGLE)
  endif()
  if(config MATCHES COMPLEX)
    set(scalar std::complex<${scalar}>)
  endif()
  if(config MATCHES 64BIT_INDICES)
    set(index std::int64_t)
  endif()
  target_compile_definitions(${target} PRIVATE SYNCFREE_SCALAR=${scalar} SYNCFREE_INDEX=${index})
endfunction()

set(SYNCFREE_HAVE_CUDA OFF)
if(SYNCFREE_CUDA_MISSING)
  message(STATUS "Without the backend cuda: ${SYNCFREE_CUDA_MISSING}")
else()
  set(SYNCFREE_HAVE_CUDA ON)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # PETSc's is, and there should be one
  add_cuda_backend(cuda)
  set_target_properties(cuda PROPERTIES EXCLUDE_FROM_ALL ${SYNCFREE_PETSC}) # then only tests need it
  if(SYNCFREE_PETSC)
    target_compile_definitions(cuda PUBLIC SYNCFREE_TEST_HOOKS) # a kernel can leave a publication out: ticket.cuh
    if(SYNCFREE_FEW_TYPES)
      target_compile_definitions(cuda PUBLIC SYNCFREE_FEW_TYPES)
      add_library(cuda_plugin ALIAS cuda) # compiled once, for tests
    else()
      add_cuda_backend(cuda_plugin)
      name_petsc_scalar(cuda_plugin)
    endif()
  endif()
  target_compile_definitions(core PUBLIC SYNCFREE_HAVE_CUDA)
endif()
