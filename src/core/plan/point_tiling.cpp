/// Implements point_tiling.hpp.

#include "point_tiling.hpp"

#include <algorithm>
#include <cmath>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

// Of an H200, in microseconds and bytes per microsecond.
constexpr double step_of_none = 0.25, step_of_group = 0.05;  ///< from a result to the next in shared memory
constexpr double hop = 1.0;                                  ///< to another tile, through the L2 cache
constexpr double level_by_level = 0.9;                       ///< a level of level_order
constexpr double bytes_of_tile = 53e3;                       ///< that one multiprocessor loads
constexpr double bytes_of_device = 4.0e6;
constexpr double bytes_of_step = 8, bytes_of_group = 16;  ///< in shared memory
constexpr double for_a_later_tile = 0.06;  ///< more time for each tile of a multiprocessor after its first

std::int64_t parts(std::int64_t of, std::int64_t size) { return (of + size - 1) / size; }

/// Levels by which the last line of a tile comes after its first one.
template <class I> double spread_of(const PointTiling& t, const Grid<I>& grid)
{
  return static_cast<double>((t.tile_lines - 1) * grid.next_line +
                             (t.tile_planes - 1) * (grid.next_plane - t.shift * grid.next_line));
}

/// Points of a level of a tile, where all its lines have one.
template <class I> double width_of(const PointTiling& t, const Grid<I>& grid)
{
  const auto line = static_cast<double>(t.line);
  return line * static_cast<double>(t.tile_lines * t.tile_planes) / std::max(line, spread_of(t, grid));
}

/// Bytes in shared memory: results of a tile's own points and, of the lines that it reads, all points; its groups and
/// steps.
template <class I> double bytes_of(const PointTiling& t, const Grid<I>& grid, const PointCosts& costs)
{
  const std::int64_t own = t.tile_lines * t.tile_planes;
  const std::int64_t before = t.planes > 1 ? t.tile_lines + 2 * t.shift : 0;
  const std::int64_t points = t.line * (own + before + (1 + t.shift) * t.tile_planes) + 1;
  const double steps = static_cast<double>(t.line) + spread_of(t, grid);
  const double groups = std::ceil(width_of(t, grid) / costs.points_a_warp);
  return static_cast<double>(points) * static_cast<double>(costs.result_bytes) +
         steps * (bytes_of_step + groups * bytes_of_group);
}

template <class I> double predict(const PointTiling& t, const Grid<I>& grid, I levels, const PointCosts& costs)
{
  const double own_levels = static_cast<double>(t.line) + spread_of(t, grid), width = width_of(t, grid);
  const double bytes = (costs.entries + 1) * static_cast<double>(costs.value_bytes);
  const double step = std::max(step_of_none + step_of_group * std::ceil(width / costs.points_a_warp),
                               width * bytes / bytes_of_tile);
  const double hops = hop * static_cast<double>(parts(t.lines, t.tile_lines) + parts(t.planes, t.tile_planes));
  const double tiles = static_cast<double>(t.tiles()) / costs.multiprocessors;
  const double time = std::max(static_cast<double>(levels), tiles * own_levels) * step + hops;
  return std::max(time * (1 + for_a_later_tile * std::max(0.0, tiles - 1)),
                  static_cast<double>(t.rows) * bytes / bytes_of_device);
}

}  // namespace

template <class I>
PointTilingChoice choose_point_tiling(const Grid<I>& grid, I rows, bool lower, I levels, const PointCosts& costs)
{
  PointTilingChoice best;
  if (grid.lines <= 1 || static_cast<std::int64_t>(grid.line) * grid.lines * grid.planes != rows) return best;
  PointTiling t;
  t.rows = rows, t.line = grid.line, t.lines = grid.lines, t.planes = grid.planes, t.lower = lower;
  t.shift = grid.star || grid.planes == 1 ? 0 : 1;
  bool has_room = true;
  for (t.tile_planes = 1; has_room && t.tile_planes <= t.planes; ++t.tile_planes)
    for (t.tile_lines = 1; t.tile_lines <= t.lines; ++t.tile_lines) {
      if (bytes_of(t, grid, costs) > static_cast<double>(costs.memory)) {
        has_room = t.tile_lines > 1;
        break;
      }
      const double time = predict(t, grid, levels, costs);
      if (best.tiling.tile_lines == 0 || time < best.time) best = {t, time};
    }
  return best;
}

double time_of_point_levels(std::int64_t rows, std::int64_t blocks, std::int64_t levels, const PointCosts& costs)
{
  const double bytes = static_cast<double>(rows + blocks) * static_cast<double>(costs.value_bytes);
  return static_cast<double>(levels) * level_by_level + bytes / bytes_of_device;
}

#define INSTANTIATE(I) \
  template PointTilingChoice choose_point_tiling<I>(const Grid<I>&, I, bool, I, const PointCosts&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
