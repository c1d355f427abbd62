#pragma once

/// Copies of values from global to shared memory that need no registers.

#include <cuda_pipeline_primitives.h>

#include "cuda/base/multivector.cuh"
#include "cuda/base/scalar.cuh"

namespace syncfree::cuda {

/// Two values read by one access.
template <class M> struct alignas(sizeof(M) > 8 ? 16 : 2 * sizeof(M)) Pair {
  M first, second;
};

/// Starts an asynchronous copy of a value from global to shared memory. Both are aligned as their real parts.
template <class N> __device__ void fetch_number(N* to, const N* from)
{
  using R = decltype(real_of(*from));
  for (unsigned part = 0; part < sizeof(N) / sizeof(R); ++part)
    __pipeline_memcpy_async(reinterpret_cast<R*>(to) + part, reinterpret_cast<const R*>(from) + part, sizeof(R));
}
/// Starts the copy of a row of a chunk, one value per column.
template <class N, class I> __device__ void fetch_row(N* to, const Input<N>& b, I row)
{
  if constexpr (columns_of<N> == 1) {
    fetch_number(to, b.at + row);
  } else if (b.interleaved()) {
    __pipeline_memcpy_async(to, b.row_address(row), sizeof(N));
  } else {
#pragma unroll
    for (int c = 0; c < columns_of<N>; ++c) fetch_number(to->part + c, b.at + min(c, b.count - 1) * b.leading + row);
  }
}
/// Waits for the copies that this thread has started.
inline __device__ void await_fetched_numbers()
{
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace syncfree::cuda
