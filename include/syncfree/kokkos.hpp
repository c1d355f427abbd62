#pragma once

/// The backend `kokkos`: factorization by spiluk and solves by sptrsv of Kokkos Kernels, in Kokkos's host space.
///
/// Its purpose is a second, independent result, not speed. Only builds with the CMake option SYNCFREE_KOKKOS have it;
/// this header needs no Kokkos.

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree {

/// Creates the preconditioner that uses Kokkos Kernels. Never nullptr; throws nothing but std::bad_alloc.
///
/// Contract as Preconditioner, except:
///   - the strategies are `kokkos` and `auto`, which is the same here;
///   - single storage rounds the values but saves no memory, since sptrsv sums in the factor's scalar type;
///   - solves allocate, because Kokkos does (kernel names);
///   - the threads are Kokkos's, whatever the options request;
///   - invalid_argument("Kokkos: ...") if Kokkos cannot run: it was already finalized, or it rejects a call.
///
/// spiluk computes ILU without shifts. The host backend does what it cannot: IC, shifts, single storage and reporting
/// the row that fails. The reason in Summary states which backend computed the values.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_kokkos_preconditioner();

}  // namespace syncfree
