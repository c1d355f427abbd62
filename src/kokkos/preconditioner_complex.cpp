/// The preconditioner for complex scalars: Kokkos's headers are slow to compile, so there are two files of this kind.

#include "preconditioner.hpp"

namespace syncfree {

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_kokkos_preconditioner()
{
  return std::make_unique<kokkos::KokkosPreconditioner<T, I>>();
}

#define INSTANTIATE(T)                                                                                   \
  template std::unique_ptr<Preconditioner<T, std::int32_t>> make_kokkos_preconditioner<T, std::int32_t>(); \
  template std::unique_ptr<Preconditioner<T, std::int64_t>> make_kokkos_preconditioner<T, std::int64_t>();
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace syncfree
