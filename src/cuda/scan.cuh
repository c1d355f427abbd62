#pragma once

/// Lengths become offsets.

#include <cub/device/device_scan.cuh>

#include "syncfree/cuda/device.hpp"

namespace syncfree::cuda {

/// Each number becomes the sum of those in front of it. Throws Failure.
template <class N> void add_up(const DeviceArray<N>& lengths, cudaStream_t stream = nullptr)
{
  N* const all = lengths.data();
  std::size_t size = 0;
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, size, all, all, lengths.size(), stream));
  const DeviceArray<char> scratch(size);
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(scratch.data(), size, all, all, lengths.size(), stream));
}

/// The last of them, which is the sum of all lengths if that was 0; waits.
template <class N> N add_up_and_read(const DeviceArray<N>& lengths, cudaStream_t stream = nullptr)
{
  N sum = 0;
  add_up(lengths, stream);
  lengths.read(&sum, lengths.size() - 1, 1, stream);
  return sum;
}

}  // namespace syncfree::cuda
