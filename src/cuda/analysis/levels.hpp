#pragma once

/// Levels of a triangle, found on the device. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <memory>

#include "core/pattern/grid.hpp"
#include "cuda/analysis/pattern.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

/// LevelSets in device memory: rows by level, ascending inside a level, and offsets into them.
template <class I> struct DeviceLevels {
  I count = 0;
  DeviceArray<I> row, begin;
};

/// A search for the levels of a triangle. It is in the queue when this has been made, sort() waits for the levels and
/// queues the next part, count() waits for that, and take() for all: so two searches can go on beside each other.
template <class I> class LevelSearch {
public:
  /// As of find_levels().
  LevelSearch(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, cudaStream_t stream,
              std::uint64_t patience = 0);
  LevelSearch(LevelSearch&&) noexcept;
  ~LevelSearch();

  /// False where the device gives up; then that is all.
  bool sort();
  void count();
  DeviceLevels<I> take();

private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// The same levels as make_level_sets() finds. Returns false where the device gives up, because it would take longer
/// than a pass on the host: a hop from row to row takes the better part of a microsecond here.
///   grid      the triangle's, as find_grid() guesses it
///   stream    in which the triangle is ready
///   patience  nanoseconds; 0: by the triangle
template <class I>
bool find_levels(const DevicePattern<I>& T, bool lower, const Grid<I>& grid, DeviceLevels<I>* out,
                 cudaStream_t stream = nullptr, std::uint64_t patience = 0);

template <class I> DeviceLevels<I> upload(const LevelSets<I>& levels);
/// Copies it to the host.
template <class I> LevelSets<I> download(const DeviceLevels<I>& levels);

}  // namespace syncfree::cuda
