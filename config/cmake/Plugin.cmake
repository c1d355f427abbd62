# libsyncfree_ilu.so, the static archive of the same objects, the example programs, and what is
# installed.
file(STRINGS ${PETSc_CONFIG} petsc_shared REGEX "define PETSC_USE_SHARED_LIBRARIES")
if(NOT petsc_shared)
  message(WARNING "This PETSc has no shared libraries: -dll_append will not work with it. "
                  "Link libsyncfree_ilu.a into your program and call PCSyncFreeRegister().")
endif()

# PetscCall() returns early, which GCC does not see: it takes what a function hands out for unset
set(petsc_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

file(GLOB plugin_sources CONFIGURE_DEPENDS plugin/*.cpp)
add_library(plugin_objects OBJECT ${plugin_sources})
target_compile_options(plugin_objects PRIVATE ${petsc_warnings})
# the version is that of the project, here and everywhere else
set_source_files_properties(plugin/report.cpp PROPERTIES COMPILE_DEFINITIONS "SYNCFREE_VERSION=\"${PROJECT_VERSION}\"")
target_include_directories(plugin_objects PRIVATE plugin)
target_link_libraries(plugin_objects PRIVATE PETSc::PETSc core)

# Python loads PETSc privately, so the dependency on it must stand in the library, whatever the
# linker thinks is needed; and PETSc keeps pointers into the library until the program ends, so
# dlclose must not unload it.
add_library(syncfree_ilu SHARED $<TARGET_OBJECTS:plugin_objects>)
set(exports ${CMAKE_CURRENT_SOURCE_DIR}/config/cmake/exports.map)
target_link_options(syncfree_ilu PRIVATE -Wl,-z,nodelete -Wl,--no-as-needed -Wl,--version-script=${exports})
set_target_properties(syncfree_ilu PROPERTIES LINK_DEPENDS ${exports})
target_link_libraries(syncfree_ilu PRIVATE host core PUBLIC PETSc::PETSc)
if(SYNCFREE_HAVE_KOKKOS)
  target_compile_definitions(plugin_objects PRIVATE SYNCFREE_HAVE_KOKKOS)
  target_link_libraries(syncfree_ilu PRIVATE kokkos)
  set(kokkos_objects $<TARGET_OBJECTS:kokkos>)
endif()
if(SYNCFREE_HAVE_CUDA)
  # PETSc 3.26's CUDA headers want C++20
  set_source_files_properties(plugin/device_cuda.cpp PROPERTIES COMPILE_OPTIONS -std=c++20)
  target_include_directories(plugin_objects PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(syncfree_ilu PRIVATE cuda_plugin)
  set(cuda_objects $<TARGET_OBJECTS:cuda_plugin>)
  set(cuda_libraries ${CUDA_CUDART} ${CUDA_cusparse_LIBRARY}) # what the static archive needs
endif()
target_include_directories(syncfree_ilu INTERFACE plugin include)
set_target_properties(syncfree_ilu PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)

add_library(syncfree_ilu_static STATIC
  $<TARGET_OBJECTS:plugin_objects> ${kokkos_objects} ${cuda_objects} $<TARGET_OBJECTS:host> $<TARGET_OBJECTS:core>)
set_target_properties(syncfree_ilu_static PROPERTIES OUTPUT_NAME syncfree_ilu)

add_custom_target(examples)
file(GLOB examples CONFIGURE_DEPENDS examples/ksp/tutorials/*.c)
foreach(source ${examples})
  cmake_path(GET source STEM name)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE PETSc::PETSc m)
  target_compile_options(${name} PRIVATE -Wno-unused-parameter) # PETSc's callbacks are given more than each wants
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY examples)
  add_dependencies(examples ${name})
endforeach()

file(GLOB bench_sources CONFIGURE_DEPENDS tests/bench/*.cpp tests/bench/hpcg_like/*.cpp)
add_executable(syncfree_bench EXCLUDE_FROM_ALL ${bench_sources})
target_compile_options(syncfree_bench PRIVATE ${petsc_warnings})
# the tutorials' reader of matrix files and their mesh are C, of which C++ has much to say
target_include_directories(syncfree_bench SYSTEM PRIVATE examples/ksp/tutorials)
target_link_libraries(syncfree_bench PRIVATE syncfree_ilu core)

# the static archive is installed where it was built
install(TARGETS syncfree_ilu DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS syncfree_ilu_static DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
install(DIRECTORY include/syncfree DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES plugin/syncfree_petsc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY examples/first examples/frameworks DESTINATION ${CMAKE_INSTALL_DATADIR}/syncfree/examples)
install(DIRECTORY examples/ksp/tutorials/ DESTINATION ${CMAKE_INSTALL_DATADIR}/syncfree/examples/tutorials
  PATTERN output EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

include(CMakePackageConfigHelpers)
string(REGEX MATCH "^([0-9]+\\.)([0-9]+)" PETSc_SERIES ${PETSc_VERSION})
math(EXPR petsc_next "${CMAKE_MATCH_2} + 1")
set(PETSc_NEXT_SERIES ${CMAKE_MATCH_1}${petsc_next})
configure_package_config_file(config/cmake/syncfreeConfig.cmake.in syncfreeConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/syncfree
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(syncfreeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/syncfreeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/syncfreeConfigVersion.cmake config/cmake/FindPETSc.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/syncfree)
# the prefix may be chosen at `cmake --install --prefix`, so the file finds it from where it lies
file(RELATIVE_PATH SYNCFREE_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REPLACE ";" " " SYNCFREE_PC_LIBRARIES "${kokkos_archives};${cuda_libraries}")
configure_file(config/cmake/syncfree_ilu.pc.in syncfree_ilu.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/syncfree_ilu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The Python module is installed last, because that prints what the user must set.
set(SYNCFREE_PYTHON_DIR "" CACHE STRING
  "Where the Python module is installed, from the prefix; empty: where Python looks, else lib/python3/site-packages")
if(NOT SYNCFREE_PYTHON_FILE)
  set(SYNCFREE_PYTHON_FILE syncfree_ilu.py)
endif()
set(SYNCFREE_PYTHON_FALLBACK ${CMAKE_INSTALL_LIBDIR}/python3/site-packages)
find_package(Python3 QUIET COMPONENTS Interpreter)
configure_file(config/cmake/InstallPython.cmake.in InstallPython.cmake @ONLY)
install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/InstallPython.cmake)

# times the kernels of the block algorithms, each alone
if(SYNCFREE_HAVE_CUDA)
  add_executable(syncfree_sweep EXCLUDE_FROM_ALL tests/bench/sweep/sweep.cu tests/bench/sweep/triangles.cpp
    tests/bench/generate.cpp tests/bench/stand_ins.cpp tests/bench/mesh.cpp tests/bench/delaunay.cpp
    tests/bench/elements.cpp)
  target_include_directories(syncfree_sweep PRIVATE src examples/ksp/tutorials)
  target_compile_options(syncfree_sweep PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  target_link_libraries(syncfree_sweep PRIVATE cuda core)
endif()
