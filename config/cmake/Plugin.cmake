# libsyncfree_ilu.so, the static archive of the same objects, the take-over library of the
# conformance tests, and what is installed.
find_package(PETSc 3.18 REQUIRED)
file(STRINGS ${PETSc_CONFIG} petsc_shared REGEX "define PETSC_USE_SHARED_LIBRARIES")
if(NOT petsc_shared)
  message(WARNING "This PETSc has no shared libraries: -dll_append will not work with it. "
                  "Link libsyncfree_ilu.a into your program and call PCSyncFreeILURegister().")
endif()

file(GLOB plugin_sources CONFIGURE_DEPENDS plugin/*.cpp)
add_library(plugin_objects OBJECT ${plugin_sources})
target_include_directories(plugin_objects PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/plugin>)
target_link_libraries(plugin_objects PUBLIC PETSc::PETSc PRIVATE core)

set(library_sources $<TARGET_OBJECTS:plugin_objects>)

# Python loads PETSc privately, so the dependency on it must stand in the library even where
# the linker thinks that nothing needs it; and callbacks may outlive dlclose.
add_library(syncfree_ilu SHARED ${library_sources})
target_link_libraries(syncfree_ilu PRIVATE host core PUBLIC PETSc::PETSc)
target_link_options(syncfree_ilu PRIVATE -Wl,-z,nodelete)
target_include_directories(syncfree_ilu INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/plugin> $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)

add_library(syncfree_ilu_static STATIC ${library_sources} $<TARGET_OBJECTS:host> $<TARGET_OBJECTS:core>)
set_target_properties(syncfree_ilu_static PROPERTIES OUTPUT_NAME syncfree_ilu)

if(SYNCFREE_TESTS AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/takeover.cpp)
  add_library(syncfree_takeover SHARED tests/petsc/takeover.cpp)
  target_link_libraries(syncfree_takeover PRIVATE PETSc::PETSc)
endif()

install(TARGETS syncfree_ilu syncfree_ilu_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/syncfree DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES plugin/syncfree_petsc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES plugin/python/syncfree_ilu.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/python3/site-packages)

include(CMakePackageConfigHelpers)
set(PACKAGE_UNUSED)
set(SYNCFREE_PETSC_DIR "${PETSC_DIR}")
set(SYNCFREE_PETSC_ARCH "${PETSC_ARCH}")
configure_package_config_file(config/cmake/syncfreeConfig.cmake.in syncfreeConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/syncfree
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(syncfreeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/syncfreeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/syncfreeConfigVersion.cmake
  config/cmake/FindPETSc.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/syncfree)
configure_file(config/cmake/syncfree_ilu.pc.in syncfree_ilu.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/syncfree_ilu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
