#include "../preconditioner/backend.hpp"

#include <gtest/gtest.h>

#include "../watchdog.hpp"
#include "core/instantiate.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/cuda/memory_pool.hpp"

namespace syncfree {
namespace {

/// Under a sanitizer, which then sees where each array ends.
class FollowedMemory : public testing::Environment {
  void SetUp() override
  {
    cuda::MemoryPool* pool = short_run() ? cuda::MemoryPool::of_device() : nullptr;
    if (pool) pool->keep_at_most(0);
  }
};
[[maybe_unused]] const testing::Environment* const followed = testing::AddGlobalTestEnvironment(new FollowedMemory);

}  // namespace

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
