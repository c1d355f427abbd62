#pragma once

/// Copies of numbers from memory to shared memory that need no register.

#include <cuda_pipeline_primitives.h>

#include "cuda/base/multivector.cuh"
#include "cuda/base/scalar.cuh"

namespace syncfree::cuda {

/// Two numbers that are read at once.
template <class M> struct alignas(sizeof(M) > 8 ? 16 : 2 * sizeof(M)) Pair {
  M first, second;
};

/// Starts the copy of a number from memory to shared memory; there is no need of a register. Both stand where their
/// real parts may stand.
template <class N> __device__ void fetch_number(N* to, const N* from)
{
  using R = decltype(real_of(*from));
  for (unsigned part = 0; part < sizeof(N) / sizeof(R); ++part)
    __pipeline_memcpy_async(reinterpret_cast<R*>(to) + part, reinterpret_cast<const R*>(from) + part, sizeof(R));
}
/// A row's number in each column of a chunk.
template <class N, class I> __device__ void fetch_row(N* to, const Input<N>& b, I row)
{
  if constexpr (columns_of<N> == 1) {
    fetch_number(to, b.at + row);
  } else if (b.interleaved()) {
    __pipeline_memcpy_async(to, b.row(row), sizeof(N));
  } else {
#pragma unroll
    for (int c = 0; c < columns_of<N>; ++c) fetch_number(to->part + c, b.at + min(c, b.count - 1) * b.leading + row);
  }
}
/// Those that this thread has started.
inline __device__ void await_fetched_numbers()
{
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace syncfree::cuda
