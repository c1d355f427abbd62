#pragma once

/// Kokkos can be initialized once in a process, by the first user.

#include <string>

#include "syncfree/status.hpp"

namespace syncfree::kokkos {

/// Initializes Kokkos unless that has been done. If done here, it is finalized at the end of the process, not with
/// PETSc, because PETSc may be initialized again and Kokkos may not.
///   errors  invalid_argument if Kokkos has already been finalized
Status initialize_kokkos();

/// Returns version and execution space, such as "Kokkos 3.4.1, Serial".
std::string space_name();

/// Returns the number of threads of the execution space. Call initialize_kokkos() first.
int space_threads();

}  // namespace syncfree::kokkos
