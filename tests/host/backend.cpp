#include "../preconditioner/backend.hpp"

#include "core/support/instantiate.hpp"

namespace syncfree {

const TestedBackend& tested()
{
  static const TestedBackend backend = {"host", "serial", "one thread", true};
  return backend;
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested()
{
  return make_host_preconditioner<T, I>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_tested<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
