#pragma once

/// Launches the factorization if rows fit into shared memory.

#include <algorithm>
#include <cstddef>

#include "cuda/base/granularity.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/factor/row_per_warp.cuh"
#include "cuda/factor/rows_per_warp.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {

/// Launches one attempt. The launch before it is start_attempt(), which sets U and inverse pivots to the sentinel.
///   overlaps  the attempt may overlap that
///   occupancy_limit_bytes  least bytes of shared memory of a thread block, to limit occupancy (base/granularity.hpp)
template <class T, class I>
void factorize_staged(const FactorView<T, I>& F, const SlotsView<I>& S, std::size_t occupancy_limit_bytes,
                      const DeviceScalar<T>* A, const DevicePivotRule& rule, TicketCounter* counter, Outcome* outcome,
                      cudaStream_t stream, bool overlaps)
{
  const auto kernel = S.lanes == 4    ? factorize_several_rows<T, I, 4>
                      : S.lanes == 8  ? factorize_several_rows<T, I, 8>
                      : S.lanes == 16 ? factorize_several_rows<T, I, 16>
                      : F.lu          ? factorize_row_by_warp<T, I, true>
                                      : factorize_row_by_warp<T, I, false>;
  const std::size_t rows = static_cast<std::size_t>(staged_threads / S.lanes);
  const std::size_t row_memory = static_cast<std::size_t>(S.entries) * sizeof(DeviceScalar<T>) +
                                 3 * static_cast<std::size_t>(S.lowers) * sizeof(I);
  const std::size_t memory = std::max(rows * row_memory, occupancy_limit_bytes);
  allow_shared_memory(kernel, memory);
  launch(kernel,
         {blocks_for(static_cast<std::size_t>(F.n), static_cast<unsigned>(rows)), staged_threads, memory, stream,
          overlaps},
         F, S, A, rule, counter, outcome);
}

}  // namespace syncfree::cuda
