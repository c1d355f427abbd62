#pragma once

/// Patterns in device memory, and arrays read back.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/patterns.hpp"
#include "cuda/analysis/pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

using Indices = testing::Types<std::int32_t, std::int64_t>;

template <class V> std::vector<V> host(const DeviceArray<V>& from)
{
  std::vector<V> copy(from.size());
  from.read(copy.data(), 0, copy.size(), nullptr);
  return copy;
}
template <class V> std::vector<V> plain(const Array<V>& from) { return {from.begin(), from.end()}; }

/// A pattern in device memory.
template <class I> struct OnDevice {
  DeviceArray<I> row_begin, column;
  I n;

  explicit OnDevice(const OwnedPattern<I>& A) : row_begin(A.row_begin), column(A.column), n(A.n) {}
  DevicePattern<I> view() const { return {n, static_cast<I>(column.size()), row_begin.data(), column.data()}; }
};

}  // namespace syncfree::cuda
