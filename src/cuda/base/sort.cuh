#pragma once

/// Sorts pairs by their keys.

#include <cub/device/device_radix_sort.cuh>

#include <cstdint>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Returns the number of bits of values up to `most`, at least one.
inline int bits_of(std::uint64_t most)
{
  int bits = 1;
  while (bits < 64 && most >> bits) ++bits;
  return bits;
}

/// Sorts by the low `bits` of the keys; stable. Throws Failure.
///   key  as many as `value` has entries
template <class K, class V>
void sort_pairs(const K* key, const DeviceArray<K>& sorted_key, const DeviceArray<V>& value,
                const DeviceArray<V>& sorted_value, int bits, cudaStream_t stream = nullptr)
{
  const auto sort = [&](void* scratch, std::size_t& size) {
    return cub::DeviceRadixSort::SortPairs(scratch, size, key, sorted_key.data(), value.data(), sorted_value.data(),
                                           value.size(), 0, bits, stream);
  };
  std::size_t size = 0;
  (void)cudaGetLastError();  // CUB would report an old error as its own
  SYNCFREE_CUDA(sort(nullptr, size));
  const DeviceArray<char> scratch(size);
  SYNCFREE_CUDA(sort(scratch.data(), size));
}

}  // namespace syncfree::cuda
