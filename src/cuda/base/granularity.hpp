#pragma once

/// How many threads share a row, and how many rows the device holds at once: by the parallel granularity of a triangle,
/// that is rows a level and entries a row (Su et al. 2020). Thresholds were measured on an H200.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "syncfree/csr.hpp"
#include "syncfree/cuda/detail/launch.hpp"

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

/// Are the levels so wide, of rows so long, that a look for all that is missing keeps the cache of the device busy?
inline bool polling_saturates_l2(const Granularity& g) { return g.entries_a_row > 16 && g.rows_a_level >= 256; }

constexpr int level_order_batch = 4;  ///< entries that a lane has in flight

/// For rows of about the mean length.
inline int choose_lanes_for_mean(const Granularity& g)
{
  if (polling_saturates_l2(g)) return g.longest <= 8 * level_order_batch ? 8 : 16;
  if (g.entries_a_row > 16 && g.rows_a_level < 64) return 32;
  if (g.entries_a_row <= 5 || (g.entries_a_row <= 8 && g.rows_a_level >= 2000)) return 1;
  return g.entries_a_row <= 12 && g.rows_a_level < 256 ? 8 : 4;
}

/// 1, 4, 8, 16 or 32. Few: a warp then holds more rows, and more levels are on the device at once. In narrow levels
/// lanes are left over, and a level takes as long as its longest row.
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
inline bool splits_rows(const Granularity& g, int lanes) { return g.longest > 2 * longest_row(lanes); }

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

/// Bytes of shared memory of each block that keep one more than `blocks` off a multiprocessor.
inline std::size_t memory_of_blocks(unsigned blocks)
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / (blocks + 1);
}

/// The same for blocks of `threads` where eight levels fit without a second one, else 0: who waits for a later level
/// only disturbs.
inline std::size_t occupancy_limit_bytes(const Granularity& g, int lanes, int threads)
{
  return eight_levels_fit(g, lanes, threads) ? memory_of_blocks(1) : 0;
}

constexpr int level_order_threads = 256;  ///< of a block, at most

/// Blocks of a kernel whose rows are sorted by level.
struct LevelOrderBlocks {
  unsigned threads = level_order_threads;
  unsigned most = 0;  ///< on a multiprocessor; 0: as many as there is room for

  std::size_t shared_bytes() const { return most > 0 ? memory_of_blocks(most) : 0; }
  std::string describe() const
  {
    if (most == 0) return "";
    const std::string count = most == 1 ? "one block" : std::to_string(most) + " blocks";
    return ", " + count + " of " + std::to_string(threads) + " threads a multiprocessor";
  }
};

/// Levels that have to be on the device at once.
constexpr double enough_levels = 8;
/// The same of groups of merged levels; fewer where a row is more than its lanes look at at once.
inline double enough_groups(const Granularity& g, int lanes) { return g.entries_a_row > 4 * lanes ? 2.6 : 3; }

/// One block of 128 or 256 threads on each multiprocessor, the fewest with which so many levels are on the device, else
/// as many as there is room for: for thirteen factors, timed with 64 to 512 and all, one block was mostly the fastest.
inline LevelOrderBlocks choose_blocks(const Granularity& g, int lanes, double enough)
{
  for (const int threads : {128, level_order_threads})
    if (levels_that_fit(g, lanes, threads) >= enough) return {static_cast<unsigned>(threads), 1};
  return {};
}

/// For rows by level. Of levels that crowd two are enough, and one where two are more than a block of 128 threads: four
/// blocks then, which make room for the next level sooner than one. A level that is more than they hold is not waited
/// for by others.
inline LevelOrderBlocks choose_blocks_of_levels(const Granularity& g, int lanes)
{
  if (!polling_saturates_l2(g)) return choose_blocks(g, lanes, enough_levels);
  if (levels_that_fit(g, lanes, 128) >= 2) return {128, 1};
  const auto threads = 32 * std::llround(1 / levels_that_fit(g, lanes, 4 * 32));  // of each block
  if (threads > level_order_threads) return {};
  return {static_cast<unsigned>(threads), 4};
}

}  // namespace syncfree::cuda
