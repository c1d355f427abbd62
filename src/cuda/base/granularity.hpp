#pragma once

/// How many threads share a row, and how many rows are on the device at once, from the parallel granularity of a
/// triangle: rows per level and entries per row (Su et al. 2020). Thresholds were measured on an H200.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/choose/device_model.hpp"
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

/// Returns the number of levels on the device at once, with `threads` threads on each multiprocessor.
inline double levels_that_fit(const Granularity& g, int lanes, int threads)
{
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  return static_cast<double>(multiprocessors) * threads / (g.rows_a_level * lanes);
}

inline bool eight_levels_fit(const Granularity& g, int lanes, int threads)
{
  return levels_that_fit(g, lanes, threads) >= 8;
}

/// True if levels are so wide, and rows so long, that polling all missing values saturates the L2 cache.
inline bool polling_saturates_l2(const Granularity& g)
{
  return g.entries_a_row > device_model.long_row && g.rows_a_level >= 256;
}

inline bool has_wide_levels(const Granularity& g) { return g.rows_a_level >= device_model.wide_level_rows; }

constexpr int level_order_batch = 4;  ///< entries that a lane has in flight

/// Chooses the lanes for rows of about the mean length.
inline int choose_lanes_for_mean(const Granularity& g)
{
  constexpr int batch = 8 * level_order_batch;
  const bool eight_suffice = g.longest <= batch || (g.longest <= 4 * batch && g.entries_a_row <= 0.875 * batch);
  if (polling_saturates_l2(g)) return eight_suffice ? 8 : 16;
  if (g.entries_a_row > 16 && g.rows_a_level < 64) return 32;
  if (g.entries_a_row <= 5 || (g.entries_a_row <= 8 && g.rows_a_level >= 2000)) return 1;
  return g.entries_a_row <= 12 && g.rows_a_level < 256 ? 8 : 4;
}

/// Chooses 1, 4, 8, 16 or 32 lanes per row. Few lanes: a warp holds more rows, and more levels are on the device at
/// once. In narrow levels lanes are idle, and a level takes as long as its longest row.
inline int choose_lanes(const Granularity& g)
{
  const auto longest = static_cast<double>(g.longest);
  int lanes = choose_lanes_for_mean(g);
  for (const int more : {4, 8, 32})
    if (more > lanes && longest > 4 * std::max<double>(lanes, g.entries_a_row) && eight_levels_fit(g, more, 256))
      lanes = more;
  return lanes;
}

/// Chooses the lanes if long rows are not split.
inline int choose_lanes_of_whole_rows(const Granularity& g) { return g.longest > 256 ? 32 : choose_lanes(g); }

/// Returns the entries that one row may keep if long rows are split.
inline int longest_row(int lanes) { return lanes == 1 ? 32 : lanes == 32 ? 512 : 128; }
inline bool splits_rows(const Granularity& g, int lanes) { return g.longest > 2 * longest_row(lanes); }

/// Calls body(integral constant) for one of the five values.
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

/// Returns the shared memory per thread block that limits a multiprocessor to `blocks` thread blocks.
inline std::size_t memory_of_blocks(unsigned blocks)
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / (blocks + 1);
}

/// Returns the shared memory that limits a multiprocessor to one thread block of `threads` if eight levels fit on the
/// device with it, otherwise 0 (no limit): threads that wait for later levels only add polling traffic.
inline std::size_t occupancy_limit_bytes(const Granularity& g, int lanes, int threads)
{
  return eight_levels_fit(g, lanes, threads) ? memory_of_blocks(1) : 0;
}

constexpr int level_order_threads = 256;  ///< of a thread block, at most

/// Thread blocks of a kernel whose rows are sorted by level.
struct LevelOrderBlocks {
  unsigned threads = level_order_threads;
  unsigned most = 0;  ///< on a multiprocessor; 0: as many as fit

  std::size_t shared_bytes() const { return most > 0 ? memory_of_blocks(most) : 0; }
  std::string describe_blocks() const
  {
    if (most == 0) return "";
    const std::string count = most == 1 ? "one block" : std::to_string(most) + " blocks";
    return ", " + count + " of " + std::to_string(threads) + " threads a multiprocessor";
  }
};

/// Those of one launch for two triangles: limited only if both are.
inline LevelOrderBlocks blocks_of_both(const LevelOrderBlocks& a, const LevelOrderBlocks& b)
{
  return {std::max(a.threads, b.threads), a.most > 0 && b.most > 0 ? std::max(a.most, b.most) : 0};
}

/// Levels that must be on the device at once.
constexpr double enough_levels = 8;
/// Groups of merged levels that must be on the device; fewer if a row has more entries than its lanes poll at once.
inline double enough_groups(const Granularity& g, int lanes) { return g.entries_a_row > 4 * lanes ? 2.6 : 3; }

/// Returns one thread block of 128 or 256 threads per multiprocessor, the smaller one if it puts `enough` levels on
/// the device; otherwise no limit. For thirteen factors, timed with 64 to 512 threads and without a limit, one thread
/// block was mostly the fastest.
inline LevelOrderBlocks choose_blocks(const Granularity& g, int lanes, double enough)
{
  for (const int threads : {128, level_order_threads})
    if (levels_that_fit(g, lanes, threads) >= enough) return {static_cast<unsigned>(threads), 1};
  return {};
}

/// Chooses the thread blocks for rows sorted by level. If polling saturates the L2 cache, two levels are enough, and
/// one if two need more than a thread block of 128 threads per multiprocessor: then four thread blocks, which make
/// room for the next level sooner than one. Without a limit if a level needs more than these.
inline LevelOrderBlocks choose_blocks_of_levels(const Granularity& g, int lanes)
{
  if (!polling_saturates_l2(g)) return choose_blocks(g, lanes, enough_levels);
  if (levels_that_fit(g, lanes, 128) >= 2) return {128, 1};
  const auto threads = 32 * std::llround(1 / levels_that_fit(g, lanes, 4 * 32));  // of each thread block
  if (threads > level_order_threads) return {};
  return {static_cast<unsigned>(threads), 4};
}

}  // namespace syncfree::cuda
