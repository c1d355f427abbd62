#pragma once

/// Levels of a triangle, computed on the device. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <memory>

#include "core/pattern/grid.hpp"
#include "cuda/analysis/pattern.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

/// LevelSets in device memory: rows in level order, ascending inside a level, and offsets of the levels.
template <class I> struct DeviceLevels {
  I count = 0;
  DeviceArray<I> row, begin;
};

/// A number of levels, or, if there are more, one that they exceed.
struct LevelBound {
  std::int64_t levels = 0;
  bool has_more = false;
};

constexpr unsigned no_bound = ~0u;

/// A search for the levels of a triangle. The constructor queues it, sort() waits for the levels and queues what is
/// left, and take_levels() waits for everything: so two searches can run concurrently.
template <class I> class LevelSearch {
public:
  /// Parameters as for find_levels().
  ///   most  at more levels than that the search pauses until lift_bound() or sort(), unless they are those of the grid
  LevelSearch(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, cudaStream_t stream,
              std::uint64_t patience = 0, unsigned most = no_bound);
  LevelSearch(LevelSearch&&) noexcept;
  ~LevelSearch();

  /// Counts the levels up to `most`, which takes half a microsecond a level, and waits. Rows are not sorted.
  LevelBound bound();
  /// Continues a search that has paused, with a larger `most`.
  void lift_bound(unsigned most = no_bound);

  /// Returns false if the device gives up; the search then ends.
  bool sort();
  DeviceLevels<I> take_levels();

  class Work;

private:
  std::unique_ptr<Work> work_;
};

/// Computes the levels of make_level_sets(). Returns false if the device gives up because it would take longer than a
/// pass on the host: a dependency between two rows takes almost a microsecond here.
///   grid      the triangle's, as guessed by find_grid()
///   stream    in which the triangle is ready
///   patience  nanoseconds; 0: from the triangle's size
template <class I>
bool find_levels(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, DeviceLevels<I>* out,
                 cudaStream_t stream = nullptr, std::uint64_t patience = 0);

/// True if L, below the diagonal of A, has at most the levels of the grid: each row comes after those that it reads.
/// Works on the null stream and waits.
///   A     row offsets ascend from 0 to nnz; the columns are unchecked
///   grid  has several lines
template <class I> bool follows_grid(const DevicePattern<I>& A, const Grid<I>& grid);

template <class I> DeviceLevels<I> upload_levels(const LevelSets<I>& levels);
/// Copies the levels to the host.
template <class I> LevelSets<I> download(const DeviceLevels<I>& levels);

}  // namespace syncfree::cuda
