#include "cuda/factor/factor.hpp"

#include <type_traits>

#include "core/support/instantiate.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

template <class T> __global__ void round_to_single(std::size_t count, DeviceScalar<T>* v)
{
  const std::size_t k = this_thread();
  if (k < count) v[k] = DeviceScalar<T>(DeviceScalar<single_t<T>>(v[k]));
}

}  // namespace

template <class T, class I>
DeviceFactor<T, I>::DeviceFactor(const DeviceFactorPattern<I>& pattern, std::size_t values, bool single)
    : pattern_(pattern), single_(single && !std::is_same_v<T, single_t<T>>),
      lower_(pattern.lower_column.size() * values), upper_(pattern.upper_column.size() * values),
      inverse_pivot_(static_cast<std::size_t>(pattern.n) * values)
{
}

template <class T, class I> void DeviceFactor<T, I>::round_values(cudaStream_t stream)
{
  for (const DeviceArray<T>* v : {&lower_, &upper_, &inverse_pivot_})
    launch(round_to_single<T>, {blocks_for(v->size(), 256), 256, 0, stream}, v->size(), as_device(v->data()));
}

#define INSTANTIATE(T, I) template class DeviceFactor<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
