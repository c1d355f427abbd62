#pragma once

/// Products with the rectangles of a block plan: four kernels, with a thread or a warp per row, for all rows or the
/// filled ones.

#include "core/plan/block_plan.hpp"
#include "cuda/base/scalar.cuh"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {

constexpr int rectangle_threads = 256;

/// The rows of a rectangle, as a kernel reads them.
///   stored_row  row of the range that the r-th stored one is; nullptr: r
template <class V, class I> struct RectangleView {
  I stored;
  const I *begin, *column, *stored_row;
  const DeviceScalar<V>* value;
};

/// rows_i -= sum_k value_k from_{column_k}
///
/// owns       `lanes` lanes, 1 or 32, own one stored row
/// waits      for nothing: `from` was solved by earlier launches
/// publishes  the new right-hand sides to later launches
/// order      that of the stream
/// progress   no waits
/// result     reproducible: the order of additions depends on the row only
/// source     Lu et al. 2020, section 3.4: scalar and vector CSR and DCSR
template <class T, class V, class I, int lanes>
__global__ void __launch_bounds__(rectangle_threads)
subtract_product(RectangleView<V, I> S, const DeviceScalar<T>* from, DeviceScalar<T>* rows, bool conjugate)
{
  using N = DeviceScalar<T>;
  const std::size_t r = (blockIdx.x * static_cast<std::size_t>(rectangle_threads) + threadIdx.x) / lanes;
  const bool live = r < static_cast<std::size_t>(S.stored);
  N sum(0);
  if (live)
    for (I k = S.begin[r] + threadIdx.x % lanes; k < S.begin[r + 1]; k += lanes) {
      const N value(S.value[k]);
      sum += product(conjugate ? conjugate_of(value) : value, from[S.column[k]]);
    }
  for (int offset = lanes / 2; offset; offset /= 2) sum += shfl_xor(sum, offset);
  if (live && threadIdx.x % lanes == 0) rows[S.stored_row ? static_cast<std::size_t>(S.stored_row[r]) : r] -= sum;
}

/// Computes rows -= S from with one of the four kernels, which must match S.stored_row.
template <class T, class V, class I>
void subtract(BlockKernel kernel, const RectangleView<V, I>& S, const T* from, T* rows, bool conjugate,
              cudaStream_t stream)
{
  const bool warp = kernel == BlockKernel::vector_csr || kernel == BlockKernel::vector_dcsr;
  const auto run = warp ? subtract_product<T, V, I, 32> : subtract_product<T, V, I, 1>;
  const unsigned blocks = blocks_for(static_cast<std::size_t>(S.stored) * (warp ? 32 : 1), rectangle_threads);
  launch(run, {blocks, rectangle_threads, 0, stream}, S, as_device(from), as_device(rows), conjugate);
}

}  // namespace syncfree::cuda
