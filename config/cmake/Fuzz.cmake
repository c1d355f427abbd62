# Fuzz targets, a program for each tests/fuzz/NAME_fuzz.cpp, and what they need of core and host: only double and 32-bit
# indices, since the sanitizers make the compiler slow. The preset `fuzz` sets the flags; libFuzzer is clang's.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "SYNCFREE_FUZZ needs clang, as in `cmake --preset fuzz`")
endif()
target_compile_definitions(core PUBLIC SYNCFREE_SCALAR=double SYNCFREE_INDEX=std::int32_t)
set(often_included <algorithm> <atomic> <cmath> <complex> <cstdint> <functional> <limits> <memory> <mutex> <numeric>
  <string> <thread> <vector>)
target_precompile_headers(core PRIVATE ${often_included})
target_precompile_headers(host PRIVATE ${often_included})

function(syncfree_fuzz_target name)
  add_executable(${name} EXCLUDE_FROM_ALL tests/fuzz/${name}.cpp ${ARGN})
  target_include_directories(${name} PRIVATE tests)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

foreach(name factor_fuzz relaxation_fuzz)
  syncfree_fuzz_target(${name})
  target_link_libraries(${name} PRIVATE host core)
endforeach()

if(SYNCFREE_PETSC)
  syncfree_fuzz_target(reader_fuzz tests/bench/read_file.cpp)
  # compared numbers tell the fuzzer what a file must hold; in core and host these would cost half of the time
  target_compile_options(reader_fuzz PRIVATE -fsanitize-coverage=trace-cmp)
  target_include_directories(reader_fuzz SYSTEM PRIVATE examples/ksp/tutorials)
  target_link_libraries(reader_fuzz PRIVATE PETSc::PETSc)
endif()

add_custom_target(fuzz)
foreach(name factor_fuzz relaxation_fuzz reader_fuzz)
  if(TARGET ${name})
    add_dependencies(fuzz ${name})
  endif()
endforeach()
