#pragma once

/// Converts lengths to offsets.

#include <cub/device/device_scan.cuh>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Replaces each entry by the sum of the entries before it. Throws Failure.
template <class N> void exclusive_sum_in_place(const DeviceArray<N>& lengths, cudaStream_t stream = nullptr)
{
  N* const all = lengths.data();
  std::size_t size = 0;
  (void)cudaGetLastError();  // CUB would report an old error as its own
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, size, all, all, lengths.size(), stream));
  const DeviceArray<char> scratch(size);
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(scratch.data(), size, all, all, lengths.size(), stream));
}

/// Returns the sum of lengths converted to offsets, the last of which was 0. Waits.
template <class N> N read_total(const DeviceArray<N>& offsets, cudaStream_t stream = nullptr)
{
  N sum = 0;
  offsets.read(&sum, offsets.size() - 1, 1, stream);
  return sum;
}

template <class N> N add_up_and_read(const DeviceArray<N>& lengths, cudaStream_t stream = nullptr)
{
  exclusive_sum_in_place(lengths, stream);
  return read_total(lengths, stream);
}

}  // namespace syncfree::cuda
