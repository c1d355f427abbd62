#include "../preconditioner/backend.hpp"

#include "core/instantiate.hpp"
#include "syncfree/cuda.hpp"

namespace syncfree {

const TestedBackend& tested()
{
  static const TestedBackend backend = {"cuda", "level_order", "no plan pays", false};
  return backend;
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested()
{
  return make_cuda_preconditioner<T, I>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_tested<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
