# Test programs, one a folder of tests/ with the rooms in it (core_tests, host_tests, petsc_tests), and a compile test
# of every public header alone. Files that replace an allocator for their whole program end in
# allocation_test.cpp and become a program of their own (core_allocation_tests, ...).
find_package(GTest)
if(NOT GTest_FOUND)
  message(WARNING "GoogleTest was not found: the tests are not built")
  return()
endif()

# Solvers are compiled once, in core and host; what is compiled here is called rarely and may be slow.
function(syncfree_test_flags target)
  # Clang finds GoogleTest's TYPED_TEST_SUITE too pedantic
  # Sanitizers triple the time that the compiler takes with templates, but hardly that of the tests.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-gnu-zero-variadic-macro-arguments>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-O0>)
  target_include_directories(${target} PRIVATE tests src)
endfunction()

# syncfree_tests(FOLDER LIBRARIES...)
function(syncfree_tests folder)
  file(GLOB all CONFIGURE_DEPENDS tests/${folder}/*_test.cpp tests/${folder}/*/*_test.cpp tests/${folder}/*/*_test.cu)
  list(FILTER all EXCLUDE REGEX "/petsc_test\\.cpp$") # helpers of the tests with PETSc
  set(allocation ${all})
  list(FILTER all EXCLUDE REGEX "allocation_test\\.cpp$")
  list(FILTER allocation INCLUDE REGEX "allocation_test\\.cpp$")
  foreach(kind all allocation)
    if(${kind})
      string(REPLACE _all_ _ name ${folder}_${kind}_tests)
      add_executable(${name} ${${kind}})
      syncfree_test_flags(${name})
      # an allocator that a test replaces must be seen by the libraries too
      set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
      target_link_libraries(${name} PRIVATE ${ARGN})
      add_test(NAME ${name} COMMAND ${name})
    endif()
  endforeach()
endfunction()

add_library(test_support OBJECT tests/battery.cpp tests/oracle.cpp)
syncfree_test_flags(test_support)
target_link_libraries(test_support PUBLIC core)

syncfree_tests(core test_support GTest::gtest_main)
# core's tests that start threads, for the thread sanitizer: all of core's would take the compiler five minutes
add_executable(core_parallel_tests EXCLUDE_FROM_ALL tests/core/support/parallel_test.cpp)
syncfree_test_flags(core_parallel_tests)
target_link_libraries(core_parallel_tests PRIVATE core test_support GTest::gtest_main)
syncfree_tests(host host test_support GTest::gtest_main OpenMP::OpenMP_CXX)
if(SYNCFREE_RANDOM_SLEEPS)
  syncfree_tests(schedules host test_support GTest::gtest_main)
endif()
# the sources that wait, compiled with types of a checker that lets coroutines jump (tests/model/checker.hpp)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  syncfree_tests(model GTest::gtest_main)
  target_sources(model_tests PRIVATE tests/model/checker.cpp)
  target_include_directories(model_tests BEFORE PRIVATE tests/model/device include src/cuda)
  target_compile_options(model_tests PRIVATE -U_FORTIFY_SOURCE -Wno-unknown-pragmas)
endif()
if(SYNCFREE_HAVE_KOKKOS)
  syncfree_tests(kokkos kokkos kokkos_kernels test_support GTest::gtest_main)
  set(kokkos_tests kokkos_tests)
endif()

if(SYNCFREE_HAVE_CUDA)
  syncfree_tests(cuda cuda host test_support GTest::gtest_main)
  # numbers of the device are compared with those of the host bit by bit
  set_source_files_properties(tests/cuda/loop/loop_test.cu PROPERTIES COMPILE_OPTIONS --fmad=false)
  set(cuda_tests cuda_tests)
endif()

# what every backend must do, compiled once; a file backend.cpp says whose preconditioner it is
file(GLOB contract CONFIGURE_DEPENDS tests/preconditioner/*_test.cpp)
add_library(preconditioner_contract OBJECT ${contract})
syncfree_test_flags(preconditioner_contract)
target_link_libraries(preconditioner_contract PRIVATE core GTest::gtest)
if(SYNCFREE_FEW_TYPES)
  target_compile_definitions(preconditioner_contract PRIVATE SYNCFREE_FEW_TYPES)
endif()
foreach(program host_tests ${kokkos_tests} ${cuda_tests})
  string(REPLACE _tests "" folder ${program})
  target_sources(${program} PRIVATE tests/${folder}/backend.cpp $<TARGET_OBJECTS:preconditioner_contract>)
endforeach()

file(GLOB headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include CONFIGURE_DEPENDS include/syncfree/*.hpp
  include/syncfree/loop/*.hpp)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} id)
  file(CONFIGURE OUTPUT headers/${id}.cpp CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND header_tests ${CMAKE_CURRENT_BINARY_DIR}/headers/${id}.cpp)
endforeach()
add_library(headers_alone OBJECT ${header_tests})
target_include_directories(headers_alone PRIVATE include)

if(SYNCFREE_PETSC)
  file(GLOB helpers CONFIGURE_DEPENDS tests/petsc/*.cpp)
  list(FILTER helpers EXCLUDE REGEX "_test\\.cpp$|/(takeover|cycles|layouts|one_rank)\\.cpp$")
  add_library(petsc_test_support OBJECT ${helpers} tests/petsc/petsc_test.cpp)
  syncfree_test_flags(petsc_test_support)
  target_include_directories(petsc_test_support PUBLIC tests/petsc)
  target_compile_options(petsc_test_support PUBLIC ${petsc_warnings})
  target_link_libraries(petsc_test_support PUBLIC GTest::gtest syncfree_ilu core)
  syncfree_tests(petsc petsc_test_support)
  # the tutorials' reader of matrix files, as in Plugin.cmake
  target_include_directories(petsc_tests SYSTEM PRIVATE examples/ksp/tutorials)
  syncfree_tests(busy petsc_test_support)

  # registers our types as `ilu` and `icc`, for PETSc's own tests
  add_library(syncfree_takeover SHARED tests/petsc/takeover.cpp)
  target_link_libraries(syncfree_takeover PRIVATE PETSc::PETSc)
endif()
