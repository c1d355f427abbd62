# Unit tests (core, host), tests with PETSc, and a compile test of every public header alone.
# config/test.sh runs the programs; ctest does as well.
find_package(GTest REQUIRED)

function(syncfree_test name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE tests src)
  target_link_libraries(${name} PRIVATE GTest::gtest)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

file(GLOB core_tests CONFIGURE_DEPENDS tests/core/*_test.cpp)
syncfree_test(core_tests ${core_tests} tests/battery.cpp tests/oracle.cpp)
target_link_libraries(core_tests PRIVATE core GTest::gtest_main)

file(GLOB host_tests CONFIGURE_DEPENDS tests/host/*_test.cpp)
list(FILTER host_tests EXCLUDE REGEX "allocation_test")
syncfree_test(host_tests ${host_tests} tests/battery.cpp tests/oracle.cpp)
target_link_libraries(host_tests PRIVATE host GTest::gtest_main OpenMP::OpenMP_CXX)

# replaces operator new for the whole program
file(GLOB host_allocation_tests CONFIGURE_DEPENDS tests/host/allocation_test.cpp)
syncfree_test(host_allocation_tests ${host_allocation_tests} tests/battery.cpp tests/oracle.cpp)
target_link_libraries(host_allocation_tests PRIVATE host GTest::gtest_main OpenMP::OpenMP_CXX)

file(GLOB headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include CONFIGURE_DEPENDS include/syncfree/*.hpp)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} id)
  file(CONFIGURE OUTPUT headers/${id}.cpp CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND header_tests ${CMAKE_CURRENT_BINARY_DIR}/headers/${id}.cpp)
endforeach()
add_library(headers_alone OBJECT ${header_tests})
target_include_directories(headers_alone PRIVATE include)

if(SYNCFREE_PETSC)
  file(GLOB petsc_helpers CONFIGURE_DEPENDS tests/petsc/*.cpp)
  list(FILTER petsc_helpers EXCLUDE REGEX "_test\\.cpp|takeover\\.cpp|cycles\\.cpp")
  add_library(petsc_test_helpers OBJECT ${petsc_helpers} tests/petsc/petsc_test.cpp)
  target_include_directories(petsc_test_helpers PUBLIC tests/petsc)
  target_link_libraries(petsc_test_helpers PUBLIC GTest::gtest syncfree_ilu PETSc::PETSc)

  file(GLOB petsc_tests CONFIGURE_DEPENDS tests/petsc/*_test.cpp)
  list(FILTER petsc_tests EXCLUDE REGEX "/(allocation|petsc)_test\\.cpp")
  syncfree_test(petsc_tests ${petsc_tests})
  target_link_libraries(petsc_tests PRIVATE petsc_test_helpers)

  # counts malloc in the whole program
  syncfree_test(petsc_allocation_tests tests/petsc/allocation_test.cpp)
  target_link_libraries(petsc_allocation_tests PRIVATE petsc_test_helpers)
endif()
