#include "runtime.hpp"

#include <Kokkos_Core.hpp>
#include <cstdlib>

namespace syncfree::kokkos {
namespace {

/// Suppresses Kokkos's advice on OMP_PROC_BIND and the like, which users of a preconditioner do not need.
void initialize_quietly()
{
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
}

bool finalized(bool started_here)
{
#if KOKKOS_VERSION >= 30700
  return Kokkos::is_finalized() || started_here;
#else
  return started_here;
#endif
}

}  // namespace

Status initialize_kokkos()
{
  static bool started_here = false;
  if (Kokkos::is_initialized()) return {};
  if (finalized(started_here))
    return failed(Code::invalid_argument, "Kokkos: it has been finalized and cannot start again");
  initialize_quietly();
  started_here = true;
  std::atexit([] {
    if (Kokkos::is_initialized()) Kokkos::finalize();
  });
  return {};
}

std::string space_name()
{
  const int version = KOKKOS_VERSION;
  return "Kokkos " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100) + ", " + Kokkos::DefaultHostExecutionSpace::name();
}

int space_threads() { return Kokkos::DefaultHostExecutionSpace().concurrency(); }

}  // namespace syncfree::kokkos
