#include "cuda/factor/factor.hpp"

#include <type_traits>

#include "core/support/instantiate.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

template <class T> struct NumbersToRound {
  DeviceScalar<T>* v[3];
  std::size_t size[3];
};

template <class T> __global__ void round_to_single(NumbersToRound<T> numbers)
{
  std::size_t k = this_thread();
  for (int i = 0; i < 3; ++i) {
    if (k < numbers.size[i]) {
      DeviceScalar<T>& v = numbers.v[i][k];
      v = DeviceScalar<T>(DeviceScalar<single_t<T>>(v));
      return;
    }
    k -= numbers.size[i];
  }
}

}  // namespace

template <class T, class I>
DeviceFactor<T, I>::DeviceFactor(const DeviceFactorPattern<I>& pattern, std::size_t values, bool single)
    : pattern_(pattern), single_(single && !std::is_same_v<T, single_t<T>>),
      lower_(pattern.lower_column.size() * values), upper_(pattern.upper_column.size() * values),
      inverse_pivot_(static_cast<std::size_t>(pattern.n) * values)
{
}

template <class T, class I> void DeviceFactor<T, I>::round_values(bool only_pivots, cudaStream_t stream)
{
  if (!single_) return;
  NumbersToRound<T> numbers = {};
  std::size_t count = 0;
  int i = 0;
  for (const DeviceArray<T>* v : {&inverse_pivot_, &lower_, &upper_}) {
    if (i > 0 && only_pivots) break;
    numbers.v[i] = as_device(v->data());
    numbers.size[i++] = v->size();
    count += v->size();
  }
  launch(round_to_single<T>, {blocks_for(count, 256), 256, 0, stream}, numbers);
}

#define INSTANTIATE(T, I) template class DeviceFactor<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
