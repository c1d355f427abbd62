#pragma once

/// The backend `kokkos`: a factor of spiluk and solves of sptrsv, both of Kokkos Kernels, on Kokkos's host space.
///
/// It is there to be a second, independent answer, not to be fast. Only builds with the CMake option
/// SYNCFREE_KOKKOS have it; this header needs no Kokkos.

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree {

/// The preconditioner through Kokkos Kernels. Never nullptr; throws nothing but std::bad_alloc.
///
/// It keeps the contract of Preconditioner with these differences:
///   - strategies are `kokkos` and `auto`, which is the same here;
///   - single storage rounds the numbers but saves no memory, since sptrsv sums in the scalar of the factor;
///   - solves allocate, because Kokkos does (names of its kernels);
///   - threads are Kokkos's, whatever the options say;
///   - invalid_argument("Kokkos: ...") where Kokkos cannot run: it was finalized before, or refuses a call.
///
/// spiluk factors ILU without a shift. Everything that it cannot do, which is IC, shifts, single storage and
/// naming the row that fails, is done by the host backend; the reason in Summary says whose numbers they are.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_kokkos_preconditioner();

}  // namespace syncfree
