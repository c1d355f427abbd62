#pragma once

/// Blocks of consecutive rows, as the order `abmc` makes them (syncfree/ordering.hpp), in device memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

///   begin   blocks + 1 offsets into the rows, which ascend from 0; empty: rows are not in blocks
///   most    rows of the largest block
///   colors  runs of blocks that entries of A do not couple
template <class I> struct RowBlocks {
  DeviceArray<I> begin;
  I most = 0;
  std::int64_t colors = 0;

  I count() const { return begin.empty() ? 0 : static_cast<I>(begin.size() - 1); }
};

/// Copies blocks from host memory.
///   begin  as above
template <class I, class Offsets> RowBlocks<I> upload_blocks(const Offsets& begin, std::size_t colors)
{
  RowBlocks<I> blocks;
  if (begin.empty()) return blocks;
  blocks.begin = DeviceArray<I>(begin);
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) blocks.most = std::max<I>(blocks.most, begin[b + 1] - begin[b]);
  blocks.colors = static_cast<std::int64_t>(colors);
  return blocks;
}

}  // namespace syncfree::cuda
