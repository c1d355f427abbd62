#include "cuda/base/vectors.hpp"

#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;

template <class N, class I> __global__ void gather_kernel(std::size_t n, const I* order, const N* b, N* y)
{
  const std::size_t i = this_thread();
  if (i < n) y[i] = b[order[i]];
}

template <class N, class I> __global__ void scatter_kernel(std::size_t n, const I* order, const N* z, N* x)
{
  const std::size_t i = this_thread();
  if (i < n) x[order[i]] = z[i];
}

template <class N, class I>
__global__ void gather_blocks_kernel(std::size_t values, unsigned size, const I* order, const N* b, N* y)
{
  const std::size_t k = this_thread();
  if (k < values) y[k] = b[static_cast<std::size_t>(order[k / size]) * size + k % size];
}

template <class N, class I>
__global__ void scatter_blocks_kernel(std::size_t values, unsigned size, const I* order, const N* z, N* x)
{
  const std::size_t k = this_thread();
  if (k < values) x[static_cast<std::size_t>(order[k / size]) * size + k % size] = z[k];
}

template <class N> __global__ void scale_kernel(std::size_t n, const N* inverse_pivot, bool up, const N* b, N* x)
{
  const std::size_t i = this_thread();
  if (i >= n) return;
  const auto root = sqrt(real_of(inverse_pivot[i]));
  x[i] = up ? b[i] / N(root) : b[i] * N(root);
}

template <class N> __global__ void conjugate_kernel(std::size_t n, const N* b, N* y)
{
  const std::size_t i = this_thread();
  if (i < n) y[i] = conjugate_of(b[i]);
}

template <class N> __global__ void check_kernel(std::size_t n, const N* inverse_pivot, unsigned long long* first)
{
  const std::size_t i = this_thread();
  if (i >= n) return;
  const N v = inverse_pivot[i];
  if (!(imaginary_of(v) == 0 && real_of(v) >= 0)) red_min_relaxed(first, i);
}

}  // namespace

template <class T, class I>
void gather(I n, const I* order, const T* b, T* y, cudaStream_t stream, int block_size)
{
  const std::size_t values = static_cast<std::size_t>(n) * static_cast<std::size_t>(block_size);
  const LaunchParameters parameters = {blocks_for(values, threads), threads, 0, stream};
  if (block_size == 1)
    launch(gather_kernel<DeviceScalar<T>, I>, parameters, values, order, as_device(b), as_device(y));
  else
    launch(gather_blocks_kernel<DeviceScalar<T>, I>, parameters, values, static_cast<unsigned>(block_size), order,
           as_device(b), as_device(y));
}

template <class T, class I>
void scatter(I n, const I* order, const T* z, T* x, cudaStream_t stream, int block_size)
{
  const std::size_t values = static_cast<std::size_t>(n) * static_cast<std::size_t>(block_size);
  const LaunchParameters parameters = {blocks_for(values, threads), threads, 0, stream};
  if (block_size == 1)
    launch(scatter_kernel<DeviceScalar<T>, I>, parameters, values, order, as_device(z), as_device(x));
  else
    launch(scatter_blocks_kernel<DeviceScalar<T>, I>, parameters, values, static_cast<unsigned>(block_size), order,
           as_device(z), as_device(x));
}

template <class T, class I>
void copy_to_places(std::size_t count, const I* place, const T* from, T* to, cudaStream_t stream)
{
  launch(scatter_kernel<DeviceScalar<T>, I>, {blocks_for(count, threads), threads, 0, stream}, count, place,
         as_device(from), as_device(to));
}

template <class T, class I>
void scale_by_root(I n, const T* inverse_pivot, bool up, const T* b, T* x, cudaStream_t stream)
{
  launch(scale_kernel<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n, as_device(inverse_pivot), up,
         as_device(b), as_device(x));
}

template <class T, class I> void conjugate_vector(I n, const T* b, T* y, cudaStream_t stream)
{
  launch(conjugate_kernel<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n, as_device(b),
         as_device(y));
}

template <class T, class I> I find_bad_root(I n, const T* inverse_pivot, cudaStream_t stream)
{
  const unsigned long long none = ~0ull;
  DeviceArray<unsigned long long> first(&none, 1);
  launch(check_kernel<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n, as_device(inverse_pivot),
         first.data());
  unsigned long long found;
  first.read(&found, 0, 1, stream);
  return found == none ? I(-1) : static_cast<I>(found);
}

#define INSTANTIATE(T, I)                                                           \
  template void gather<T, I>(I, const I*, const T*, T*, cudaStream_t, int);         \
  template void scatter<T, I>(I, const I*, const T*, T*, cudaStream_t, int);        \
  template void copy_to_places<T, I>(std::size_t, const I*, const T*, T*, cudaStream_t); \
  template void scale_by_root<T, I>(I, const T*, bool, const T*, T*, cudaStream_t); \
  template void conjugate_vector<T, I>(I, const T*, T*, cudaStream_t);              \
  template I find_bad_root<T, I>(I, const T*, cudaStream_t);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
