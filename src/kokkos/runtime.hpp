#pragma once

/// Kokkos may be started once in a process, by whoever needs it first.

#include <string>

#include "syncfree/status.hpp"

namespace syncfree::kokkos {

/// Starts Kokkos unless somebody has. What is started here ends with the process, not with PETSc, because
/// PETSc may be started again and Kokkos may not.
///   errors  invalid_argument if Kokkos has already been finalized
Status start();

/// "Kokkos 3.4.1, Serial": version and space that run.
std::string name();

/// Threads of the space. Call start() first.
int threads();

}  // namespace syncfree::kokkos
