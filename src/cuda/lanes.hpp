#pragma once

/// How many threads share a row, and how many rows the device holds at once: by the parallel granularity of a triangle,
/// that is rows a level and entries a row (Su et al. 2020). Thresholds were measured on an H200.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "syncfree/csr.hpp"
#include "syncfree/cuda/device.hpp"

namespace syncfree::cuda {

struct Granularity {
  double rows_a_level = 0, entries_a_row = 0;
  std::int64_t longest = 0;  ///< entries of the longest row
};

template <class I> Granularity granularity_of(I rows, I nnz, I levels, std::int64_t longest)
{
  if (rows == 0) return {};
  const auto n = static_cast<double>(rows);
  return {n / static_cast<double>(levels), static_cast<double>(nnz) / n, longest};
}

/// Levels on the device at once, with so many threads on each multiprocessor.
inline double levels_that_fit(const Granularity& g, int lanes, int threads)
{
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  return static_cast<double>(multiprocessors) * threads / (g.rows_a_level * lanes);
}

inline bool eight_levels_fit(const Granularity& g, int lanes, int threads)
{
  return levels_that_fit(g, lanes, threads) >= 8;
}

/// For rows of about the mean length.
inline int choose_lanes_for_mean(const Granularity& g)
{
  if (g.entries_a_row > 16 && g.rows_a_level < 64) return 32;
  if (g.entries_a_row <= 5 || (g.entries_a_row <= 8 && g.rows_a_level >= 2000)) return 1;
  return g.entries_a_row <= 12 && g.rows_a_level < 256 ? 8 : 4;
}

/// 1, 4, 8 or 32. Few: a warp then holds more rows, and more levels are on the device at once. In narrow levels lanes
/// are left over, and a level takes as long as its longest row.
inline int choose_lanes(const Granularity& g)
{
  const auto longest = static_cast<double>(g.longest);
  int lanes = choose_lanes_for_mean(g);
  for (const int more : {4, 8, 32})
    if (more > lanes && longest > 4 * std::max<double>(lanes, g.entries_a_row) && eight_levels_fit(g, more, 256))
      lanes = more;
  return lanes;
}

/// The same where long rows are not split.
inline int choose_lanes_of_whole_rows(const Granularity& g) { return g.longest > 256 ? 32 : choose_lanes(g); }

/// Entries that one row may keep where long rows are split.
inline int longest_row(int lanes) { return lanes == 1 ? 32 : lanes == 32 ? 512 : 128; }

/// body(an integral constant) for one of the five.
template <class Body> void with_lanes(int lanes, Body body)
{
  switch (lanes) {
    case 1: return body(std::integral_constant<int, 1>());
    case 4: return body(std::integral_constant<int, 4>());
    case 8: return body(std::integral_constant<int, 8>());
    case 16: return body(std::integral_constant<int, 16>());
    default: return body(std::integral_constant<int, 32>());
  }
}

/// Bytes of shared memory for a block, of which a multiprocessor then takes so many and no more.
inline std::size_t memory_for_blocks(int blocks)
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / (blocks + 1);
}

/// Bytes that keep a second block of `threads` off a multiprocessor where eight levels fit without: who waits for a
/// later level only disturbs. 0 where more blocks are of use.
inline std::size_t memory_against_crowding(const Granularity& g, int lanes, int threads)
{
  return eight_levels_fit(g, lanes, threads) ? memory_for_blocks(1) : 0;
}

/// The same for levels that were merged, where a third block is kept off if six fit without. Two did better than one,
/// three and more by 5 to 22 % for six factors of 43 to 180 entries a row, and worse where less than six fitted.
inline std::size_t memory_against_crowding_of_merged(const Granularity& g, int lanes, int threads)
{
  return levels_that_fit(g, lanes, 2 * threads) >= 6 ? memory_for_blocks(2) : 0;
}

/// Lets launches of a kernel ask for so much shared memory. The limit belongs to the kernel, not to a launch: above the
/// 48 KiB that need no leave all who use a kernel must ask for the same.
template <class Kernel> void allow_shared_memory(Kernel kernel, std::size_t bytes)
{
  if (bytes > (48 << 10))
    SYNCFREE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

}  // namespace syncfree::cuda
