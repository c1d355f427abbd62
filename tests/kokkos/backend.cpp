#include "../preconditioner/backend.hpp"

#include "core/support/instantiate.hpp"
#include "syncfree/kokkos.hpp"

namespace syncfree {

const TestedBackend& tested()
{
  static const TestedBackend backend = {"kokkos", "kokkos", "the only one of its backend", false};
  return backend;
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested()
{
  return make_kokkos_preconditioner<T, I>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_tested<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
