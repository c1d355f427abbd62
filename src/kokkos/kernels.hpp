#pragma once

/// The parts of Kokkos Kernels that this backend uses, and the differences between its versions: from 4.6 on spiluk and
/// sptrsv are no longer in the namespace Experimental (the sources of 3.4 to 4.7 were read; 3.4 is the version we build
/// with).
///
/// Everything runs in Kokkos's host space, whose views may alias our own arrays. Arrays are std::vectors, so that only
/// handles must be destroyed before Kokkos is finalized. Values are copied at the interface: Kokkos's complex numbers
/// have a stricter alignment than those of the C++ library.

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_spiluk.hpp>
#include <KokkosSparse_sptrsv.hpp>
#include <Kokkos_Core.hpp>
#include <complex>
#include <vector>

namespace syncfree::kokkos {

#if defined(KOKKOSKERNELS_VERSION) && KOKKOSKERNELS_VERSION >= 40600
namespace kernels = KokkosSparse;
#else
namespace kernels = KokkosSparse::Experimental;
#endif

using Space = Kokkos::DefaultHostExecutionSpace;
using Memory = Space::memory_space;

template <class T> struct NumberOf {
  using type = T;
};
template <class R> struct NumberOf<std::complex<R>> {
  using type = Kokkos::complex<R>;
};

/// Kokkos's type for our scalar T.
template <class T> using Number = typename NumberOf<T>::type;

template <class T> Number<T> to_kokkos(const T& v) { return Number<T>(v); }
template <class T> T from_kokkos(const Number<T>& v) { return static_cast<T>(v); }

template <class V>
using View = Kokkos::View<V*, Kokkos::Device<Space, Memory>, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class V> View<V> unmanaged_view(std::vector<V>& v) { return View<V>(v.data(), v.size()); }

template <class T, class I>
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<I, I, Number<T>, Space, Memory, Memory>;

}  // namespace syncfree::kokkos
