#pragma once

/// Hash sets of rows with open addressing.

#include "cuda/base/flag.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {

/// Returns the first index of a row's search in a table of `size` slots, a power of two.
template <class I> __device__ unsigned home_of(I row, unsigned size)
{
  return static_cast<unsigned>(static_cast<unsigned long long>(row) * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);
}

/// One set per tile, which stores for each row the least position from which it is read, and a number. One kernel
/// inserts rows and later ones look them up.
template <class I> struct RowTables {
  I* row;           ///< -1: empty slot
  unsigned *first, *number;
  unsigned* count;  ///< by tile
  unsigned size;    ///< slots per tile, a power of two
  unsigned most;    ///< most rows per tile, less than half of `size`
  unsigned* full;   ///< set if there are more

  /// Inserts a row; called by any thread. Does nothing once a table is full.
  __device__ void insert_row(std::size_t tile, I wanted, unsigned position) const
  {
    const std::size_t begin = tile * size;
    unsigned at = home_of(wanted, size);
    for (unsigned turn = 0; turn < size && load_relaxed(full) == 0; ++turn, at = (at + 1) & (size - 1)) {
      const I seen = claim(row + begin + at, wanted);
      if (seen != I(-1) && seen != wanted) continue;
      atomic_min(first + begin + at, position);
      if (seen == I(-1) && atomic_add(count + tile, 1u) >= most) set_flag_once(full);
      return;
    }
  }

  /// Returns the slot of a row in the table, which must be present.
  __device__ std::size_t find_slot(std::size_t tile, I wanted) const
  {
    unsigned at = home_of(wanted, size);
    while (row[tile * size + at] != wanted) at = (at + 1) & (size - 1);
    return tile * size + at;
  }
};

}  // namespace syncfree::cuda
