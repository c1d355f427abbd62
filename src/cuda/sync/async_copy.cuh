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

/// Starts a copy of a real number. `whole_line`: all 128 bytes of the line come into the L2 cache.
template <bool whole_line, class R> __device__ void fetch_real(R* to, const R* from)
{
  if constexpr (whole_line)
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(address_in_block(to)), "l"(from),
                 "n"(sizeof(R))
                 : "memory");
  else __pipeline_memcpy_async(to, from, sizeof(R));
}

/// Starts an asynchronous copy of a value from global to shared memory. Both are aligned as their real parts.
template <bool whole_line = false, class N> __device__ void fetch_number(N* to, const N* from)
{
  using R = decltype(real_of(*from));
  for (unsigned part = 0; part < sizeof(N) / sizeof(R); ++part)
    fetch_real<whole_line>(reinterpret_cast<R*>(to) + part, reinterpret_cast<const R*>(from) + part);
}
/// Starts the copy of a row of a chunk, one value per column.
template <bool whole_line = false, class N, class I> __device__ void fetch_row(N* to, const Input<N>& b, I row)
{
  if constexpr (columns_of<N> == 1) {
    fetch_number<whole_line>(to, b.at + row);
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
