#pragma once

/// Converts lengths to offsets.

#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstddef>

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {

/// Arrays of up to so many entries are summed up by a thread block each, in one launch: CUB takes two for one array.
constexpr std::size_t most_summed_by_block = 1 << 14;
constexpr int summing_threads = 1024;

template <class N> struct ArraysToSum {
  static constexpr int most = 2;
  N* array[most];
  std::size_t size[most];
};

/// A thread block for each array.
template <class N> __global__ void __launch_bounds__(summing_threads) sum_exclusively_by_block(ArraysToSum<N> all)
{
  constexpr int items = 8;
  using Scan = cub::BlockScan<N, summing_threads>;
  __shared__ typename Scan::TempStorage scratch;
  N* const array = all.array[blockIdx.x];
  const std::size_t size = all.size[blockIdx.x];
  N before = 0;
  for (std::size_t begin = 0; begin < size; begin += items * summing_threads) {
    const std::size_t first = begin + threadIdx.x * std::size_t(items);
    N own[items], sum;
    for (int k = 0; k < items; ++k) own[k] = first + k < size ? array[first + k] : N(0);
    Scan(scratch).ExclusiveSum(own, own, sum);
    for (int k = 0; k < items; ++k)
      if (first + k < size) array[first + k] = before + own[k];
    before += sum;
    __syncthreads();  // the scratch is used again
  }
}

/// Replaces each entry by the sum of the entries before it. Throws Failure.
template <class N> void exclusive_sum_in_place(const DeviceArray<N>& lengths, cudaStream_t stream = nullptr)
{
  N* const all = lengths.data();
  if (lengths.size() <= most_summed_by_block) {
    const ArraysToSum<N> one = {{all, nullptr}, {lengths.size(), 0}};
    return launch(sum_exclusively_by_block<N>, {1, summing_threads, 0, stream}, one);
  }
  std::size_t size = 0;
  (void)cudaGetLastError();  // CUB would report an old error as its own
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, size, all, all, lengths.size(), stream));
  const DeviceArray<char> scratch(size);
  SYNCFREE_CUDA(cub::DeviceScan::ExclusiveSum(scratch.data(), size, all, all, lengths.size(), stream));
}

/// The same for two arrays.
template <class N>
void exclusive_sums_in_place(const DeviceArray<N>& first, const DeviceArray<N>& second, cudaStream_t stream = nullptr)
{
  if (std::max(first.size(), second.size()) > most_summed_by_block) {
    exclusive_sum_in_place(first, stream);
    return exclusive_sum_in_place(second, stream);
  }
  const ArraysToSum<N> both = {{first.data(), second.data()}, {first.size(), second.size()}};
  launch(sum_exclusively_by_block<N>, {2, summing_threads, 0, stream}, both);
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
