#pragma once

/// Sets of rows, open addressing.

#include "cuda/base/flag.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// Where a row's search begins in a table of `size` places, a power of two.
template <class I> __device__ unsigned home_of(I row, unsigned size)
{
  return static_cast<unsigned>(static_cast<unsigned long long>(row) * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);
}

/// A set for each of several tiles, each row with the least of the places from which it is read, and a number. Rows are
/// put in by one kernel and found by later ones.
template <class I> struct RowTables {
  I* row;           ///< -1: nothing
  unsigned *first, *number;
  unsigned* count;  ///< by tile
  unsigned size;    ///< of each, a power of two
  unsigned most;    ///< rows in each, less than half of it
  unsigned* full;   ///< raised where there are more

  /// By any thread; does nothing from when a table is full.
  __device__ void add(std::size_t tile, I wanted, unsigned place) const
  {
    const std::size_t begin = tile * size;
    unsigned at = home_of(wanted, size);
    for (unsigned turn = 0; turn < size && load_relaxed(full) == 0; ++turn, at = (at + 1) & (size - 1)) {
      const I seen = claim(row + begin + at, wanted);
      if (seen != I(-1) && seen != wanted) continue;
      atomic_min(first + begin + at, place);
      if (seen == I(-1) && atomic_add(count + tile, 1u) >= most) set_flag_once(full);
      return;
    }
  }

  /// Of a row that is there.
  __device__ std::size_t place_of(std::size_t tile, I wanted) const
  {
    unsigned at = home_of(wanted, size);
    while (row[tile * size + at] != wanted) at = (at + 1) & (size - 1);
    return tile * size + at;
  }
};

}  // namespace syncfree::cuda
