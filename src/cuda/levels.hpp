#pragma once

/// Levels of a triangle, found on the device. Has happened on return. Throws Failure and std::bad_alloc.

#include <cstdint>

#include "core/tiling.hpp"
#include "pattern.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

/// LevelSets in device memory: rows by level, ascending inside a level, and offsets into them.
template <class I> struct DeviceLevels {
  I count = 0;
  DeviceArray<I> row, begin;
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
