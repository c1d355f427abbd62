#include "cuda/sweep/sweep_values.hpp"

#include "core/support/instantiate.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/granularity.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/thread_id.cuh"
#include "cuda/factor/row.cuh"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;

/// As BadRows, with all bits set for none.
struct BadRowsOnDevice {
  unsigned long long *not_finite, *zero;
};

/// inverse_pivot[i] = omega / (a_ii + shift)
template <class N, class I>
__global__ void invert_pivots(std::size_t n, const I* diagonal_source, const N* A, double omega, double shift,
                              double least, N* inverse_pivot, BadRowsOnDevice bad)
{
  using R = decltype(real_of(N(0)));
  const std::size_t i = this_thread();
  if (i >= n) return;
  const N own = entry(A, diagonal_source[i]), diagonal = own + N(static_cast<R>(shift));
  if (!finite(own)) red_min_relaxed(bad.not_finite, i);
  if (abs_value(diagonal) == 0 || abs_value(diagonal) < least) red_min_relaxed(bad.zero, i);
  inverse_pivot[i] = N(static_cast<R>(omega)) / diagonal;
}

/// Returns the row of entry k of a triangle; for failures only.
template <class I> __device__ I row_with_entry(const DevicePattern<I>& pattern, std::size_t k)
{
  I low = 0, high = pattern.n;
  while (high - low > 1) {
    const I middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(pattern.row_begin[middle]) <= k) low = middle;
    else high = middle;
  }
  return low;
}

/// Takes the strict triangle `pattern` of A; columns are divided by their pivots if inverse_pivot is given.
template <class N, class I>
__global__ void take_triangle(DevicePattern<I> pattern, std::size_t count, const I* source, const N* A,
                              const N* inverse_pivot, N* to, BadRowsOnDevice bad)
{
  const std::size_t k = this_thread();
  if (k >= count) return;
  const N own = entry(A, source[k]);
  if (!finite(own)) red_min_relaxed(bad.not_finite, row_with_entry(pattern, k));
  to[k] = inverse_pivot ? product(own, inverse_pivot[pattern.column[k]]) : own;
}

/// Rows of a strict triangle.
template <class N, class I> struct Rows {
  std::size_t n;
  const I *begin, *column;
  const N* value;
};

/// Calls end(i, sum_k value_k x_{column_k}) for each row i.
///
/// owns       `lanes` lanes own a row
/// waits      for nothing
/// publishes  to later launches
/// order      none required
/// progress   no waits
/// result     reproducible
template <class N, class I, class End, int lanes>
__global__ void __launch_bounds__(threads) multiply_rows(Rows<N, I> rows, const N* x, End end)
{
  const std::size_t i = this_thread() / lanes;
  const bool live = i < rows.n;
  N sum(0);
  if (live)
    for (I k = rows.begin[i] + threadIdx.x % lanes; k < rows.begin[i + 1]; k += lanes)
      sum += product(rows.value[k], x[rows.column[k]]);
  for (int offset = lanes / 2; offset; offset /= 2) sum += shfl_xor(sum, offset);
  if (live && threadIdx.x % lanes == 0) end(i, sum);
}

template <class N, class I, class End>
void multiply(const Rows<N, I>& rows, std::size_t nnz, const N* x, const End& end, cudaStream_t stream)
{
  Granularity all;
  all.entries_a_row = static_cast<double>(nnz) / static_cast<double>(rows.n);
  all.rows_a_level = static_cast<double>(rows.n);
  with_lanes(choose_lanes_for_mean(all), [&](auto lanes) {
    launch(multiply_rows<N, I, End, lanes>, {blocks_for(rows.n * lanes, threads), threads, 0, stream}, rows, x, end);
  });
}

/// `old` is 1 - omega.
template <class N> struct EndForward {
  const N *b, *x, *inverse_pivot;
  N old;
  N *f, *g;

  __device__ void operator()(std::size_t i, N sum) const
  {
    if (old != N(0)) sum -= product(old, x[i] / inverse_pivot[i]);
    g[i] = sum;
    f[i] = b[i] - sum;
  }
};

template <class N> struct EndBackward {
  const N *b, *w;
  N old;
  N* c;

  __device__ void operator()(std::size_t i, const N& sum) const { c[i] = b[i] - sum + product(old, w[i]); }
};

template <class N> __global__ void multiply_by_pivots(std::size_t n, const N* inverse_pivot, const N* x, N* w)
{
  const std::size_t i = this_thread();
  if (i < n) w[i] = x[i] / inverse_pivot[i];
}

template <class N> __global__ void divide(std::size_t n, const N* inverse_pivot, N* x)
{
  const std::size_t i = this_thread();
  if (i < n) x[i] = product(inverse_pivot[i], x[i]);
}

template <class N> __global__ void turn_around(std::size_t n, N factor, const N* y, const N* g, N* c)
{
  const std::size_t i = this_thread();
  if (i < n) c[i] = product(factor, y[i]) + (g ? g[i] : N(0));
}

template <class T> DeviceScalar<T> real_number(double v)
{
  return DeviceScalar<T>(static_cast<real_t<T>>(v));
}

template <class T, class I>
Rows<DeviceScalar<T>, I> rows_of(const DevicePattern<I>& pattern, const DeviceArray<T>& value)
{
  return {static_cast<std::size_t>(pattern.n), pattern.row_begin, pattern.column, as_device(value.data())};
}

}  // namespace

template <class T, class I>
SweepValues<T, I>::SweepValues(const DeviceFactorPattern<I>& pattern)
    : pattern_(pattern), lower_(pattern.lower_column.size()), upper_(pattern.upper_column.size()),
      inverse_pivot_(pattern.n), bad_(2)
{
}

template <class T, class I>
BadRows<I> SweepValues<T, I>::refresh(const T* value, double omega, double shift, double least, cudaStream_t stream)
{
  omega_ = omega;
  const auto n = static_cast<std::size_t>(pattern_.n);
  bad_.fill(0xff, stream);
  auto* inverse_pivot = as_device(inverse_pivot_.data());
  const BadRowsOnDevice bad_rows{bad_.data(), bad_.data() + 1};
  launch(invert_pivots<DeviceScalar<T>, I>, {blocks_for(n, threads), threads, 0, stream}, n,
         pattern_.diagonal_source.data(), as_device(value), omega, shift, least, inverse_pivot, bad_rows);
  launch(take_triangle<DeviceScalar<T>, I>, {blocks_for(lower_.size(), threads), threads, 0, stream}, pattern_.lower(),
         lower_.size(), pattern_.lower_source.data(), as_device(value), inverse_pivot, as_device(lower_.data()),
         bad_rows);
  launch(take_triangle<DeviceScalar<T>, I>, {blocks_for(upper_.size(), threads), threads, 0, stream}, pattern_.upper(),
         upper_.size(), pattern_.upper_source.data(), as_device(value), nullptr, as_device(upper_.data()), bad_rows);
  unsigned long long bad[2];
  bad_.read(bad, 0, 2, stream);
  const auto row = [](unsigned long long found) { return found == ~0ull ? I(-1) : static_cast<I>(found); };
  return {row(bad[0]), row(bad[1])};
}

template <class T, class I>
void SweepValues<T, I>::begin_forward(const T* b, const T* x, T* f, T* g, cudaStream_t stream) const
{
  const EndForward<DeviceScalar<T>> end{
      as_device(b), as_device(x), as_device(inverse_pivot_.data()), real_number<T>(1 - omega_),
      as_device(f), as_device(g)};
  multiply(rows_of(pattern_.upper(), upper_), upper_.size(), as_device(x), end, stream);
}

template <class T, class I>
void SweepValues<T, I>::begin_backward(const T* b, const T* x, T* c, T* w, cudaStream_t stream) const
{
  const std::size_t n = inverse_pivot_.size();
  launch(multiply_by_pivots<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n,
         as_device(inverse_pivot_.data()), as_device(x), as_device(w));
  const EndBackward<DeviceScalar<T>> end{as_device(b), as_device(w), real_number<T>(1 - omega_), as_device(c)};
  multiply(rows_of(pattern_.lower(), lower_), lower_.size(), as_device(w), end, stream);
}

template <class T, class I>
void SweepValues<T, I>::turn(const T* y, const T* g, T* c, cudaStream_t stream) const
{
  const std::size_t n = inverse_pivot_.size();
  launch(turn_around<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n, real_number<T>(2 - omega_),
         as_device(y), as_device(g), as_device(c));
}

template <class T, class I> void SweepValues<T, I>::divide_by_pivots(T* x, cudaStream_t stream) const
{
  const std::size_t n = inverse_pivot_.size();
  launch(divide<DeviceScalar<T>>, {blocks_for(n, threads), threads, 0, stream}, n, as_device(inverse_pivot_.data()),
         as_device(x));
}

#define INSTANTIATE(T, I) template class SweepValues<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
