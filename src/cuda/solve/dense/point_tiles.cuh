#pragma once

/// How `tiled` stores a triangle of dense blocks: a tile of a grid's points (core/plan/point_tiling.hpp) per thread
/// block, in groups of points that one warp solves together.
///
/// Positions number block rows by tile, and inside a tile by level. A group has some consecutive positions of one level
/// and tile, at most as many as a warp has room for: `size` lanes a point. Each group has its values side by side:
/// first, if the diagonal is not 1, the columns of inverse_i, then those of the blocks that its points read, zero where
/// a point reads fewer than `near`; lane by lane in each column. Blocks of the latest levels come last.
///
/// A point's results are in shared memory, in a slot of its tile: its own points in the order of positions, then
/// ghosts, which are those of other tiles that it reads, in the order of levels.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/plan/point_tiling.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/scalar.cuh"

namespace syncfree::cuda {

constexpr int points_a_warp(int size) { return 32 / size; }
constexpr int largest_point = 6;  ///< unknowns

/// Most blocks that a block row reads, in three sizes.
constexpr int point_entries[] = {3, 4, 13};

/// Calls body(an integral constant) for one of the three.
template <class Body> void with_near(int near, Body body)
{
  if (near == point_entries[0]) return body(std::integral_constant<int, point_entries[0]>());
  if (near == point_entries[1]) return body(std::integral_constant<int, point_entries[1]>());
  body(std::integral_constant<int, point_entries[2]>());
}

constexpr std::uint32_t first_slot = 1;  ///< of a tile's own results; slot 0 has zeros, for a block that is not there

/// `steps`: levels of its own points, each of which has one or more groups.
struct PointTile {
  std::uint32_t first_position, points, first_group, groups, first_ghost, ghosts, steps;
};

///   first_unit  where its values begin, in units of 16 bytes
///   exported    bit k: other tiles read point k
///   step        of its tile
///   of_step     groups of that step if this is the first one, else 0
struct alignas(16) PointGroup {
  std::uint32_t first_position, first_unit;
  std::uint16_t points, exported, step, of_step;
};
constexpr std::size_t value_unit = 16;

/// Number of units of the values of a group.
SYNCFREE_HD inline std::uint32_t units_of_group(unsigned points, std::size_t bytes_a_point)
{
  return static_cast<std::uint32_t>((points * bytes_a_point + value_unit - 1) / value_unit);
}

/// Slots of the points that a point reads, times `size`.
template <int near> struct alignas(near > 4 ? 16 : 8) PointSlots {
  std::uint16_t slot[near > 4 ? 16 : 4];
};

///   near           blocks that each point has, at least the triangle's longest row
///   bytes_a_point  of values
///   memory         bytes for results, groups and steps of a tile
///   result_bytes   of a point
struct PointFormat {
  int near;
  std::size_t bytes_a_point;
  std::size_t memory, result_bytes;
};

/// The plan of one triangle.
///   slots    by position: PointSlots
///   name     by position: the block row
///   source   by position, `near` of them: index of a block, or -1
///   ghost    position of a ghost
template <class I> struct PointPlan {
  PointTiling tiling;
  int near = 0;                  ///< one of point_entries
  std::uint32_t most_slots = 0;  ///< of a tile
  std::uint32_t most_ghosts = 0, most_groups = 0, most_steps = 0;
  std::uint32_t units = 0;       ///< of all values
  DeviceArray<PointTile> tile;
  DeviceArray<PointGroup> group;
  DeviceArray<unsigned char> slots;
  DeviceArray<std::uint32_t> name, ghost;
  DeviceArray<I> source;

  /// Bytes of a tile's groups and steps.
  std::size_t bytes_of_steps() const
  {
    return most_groups * sizeof(PointGroup) + most_steps * sizeof(unsigned long long);
  }
  std::size_t bytes() const
  {
    return tile.bytes() + group.bytes() + slots.bytes() + name.bytes() + ghost.bytes() + source.bytes();
  }
};

/// Makes the plan, on the null stream; complete on return. Returns false if a point reads points of a later tile or of
/// its own or a later step, or tiles have no room.
///   triangle  in device memory with its levels
///   tiling    has tiles
///   format    of the values
///   errors    throws Failure and std::bad_alloc
template <class I>
bool make_point_plan(const DeviceTriangle<I>& triangle, const PointTiling& tiling, const PointFormat& format,
                     PointPlan<I>* out);

}  // namespace syncfree::cuda
