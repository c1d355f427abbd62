#pragma once

/// What this backend takes from Kokkos Kernels, with the differences between its versions: from 4.6 on spiluk and
/// sptrsv are no longer in the namespace Experimental (3.4 to 4.7 were read, 3.4 is what we build with).
///
/// Everything runs in Kokkos's host space, whose views may be laid over our own arrays. Arrays are
/// std::vectors, so that nothing but a handle has to go before Kokkos ends. Numbers are copied at the border:
/// Kokkos's complex numbers are aligned more strictly than those of the C++ library.

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

/// Kokkos's own type for our scalar T.
template <class T> using Number = typename NumberOf<T>::type;

template <class T> Number<T> to_kokkos(const T& v) { return Number<T>(v); }
template <class T> T from_kokkos(const Number<T>& v) { return static_cast<T>(v); }

template <class V>
using View = Kokkos::View<V*, Kokkos::Device<Space, Memory>, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class V> View<V> view(std::vector<V>& v) { return View<V>(v.data(), v.size()); }

template <class T, class I>
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<I, I, Number<T>, Space, Memory, Memory>;

}  // namespace syncfree::kokkos
