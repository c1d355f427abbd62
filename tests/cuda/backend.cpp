#include "../preconditioner/backend.hpp"

#include "../watchdog.hpp"
#include "core/support/instantiate.hpp"
#include "device_support.hpp"

namespace syncfree {
namespace {

/// Under a sanitizer every array comes from CUDA.
[[maybe_unused]] const testing::Environment* const followed =
  short_run() ? testing::AddGlobalTestEnvironment(new FollowedMemory) : nullptr;

}  // namespace

const TestedBackend& tested()
{
  static const TestedBackend backend = {"cuda", "level_order", "no other strategy", false};
  return backend;
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested()
{
  return make_cuda_preconditioner<T, I>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_tested<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
