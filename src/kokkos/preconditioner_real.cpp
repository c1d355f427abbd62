/// The preconditioner for real scalars: Kokkos's headers are slow to compile, so there are two files of this kind.

#include "core/support/instantiate.hpp"
#include "preconditioner.hpp"

namespace syncfree {

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_kokkos_preconditioner()
{
  return std::make_unique<kokkos::KokkosPreconditioner<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_kokkos_preconditioner<T, I>();
SYNCFREE_FOR_EACH_REAL(INSTANTIATE)

}  // namespace syncfree
