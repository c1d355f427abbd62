/// Implements grid_times.hpp.

#include "grid_times.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "core/support/instantiate.hpp"
#include "device_model.hpp"

namespace syncfree {
namespace {

constexpr std::int64_t most_rows_of_level = 128;
constexpr const DeviceModel& model = device_model;
double step_time(std::int64_t rows)
{
  if (rows <= 64) return rows <= 32 ? model.tiles_step_32 : model.tiles_step_64;
  return rows <= 96 ? model.tiles_step_96 : model.tiles_step_128;
}

/// Model of a solve with tiles of one shape.
struct TileTimes {
  std::int64_t parts, rows, planes;  ///< tiles along the axes
  double step, length, busy;         ///< of one tile alone, and until its multiprocessor is free
  double next[3];                    ///< time after which the next tile along an axis can start, or end

  template <class I> TileTimes(const Grid<I>& grid, const TileShape& shape)
      : parts(AxisParts(grid.line, shape.cells).count), rows(AxisParts(grid.lines, shape.lines).count),
        planes(AxisParts(grid.planes, shape.planes).count)
  {
    step = step_time(std::min({shape.lines * shape.planes, shape.cells * shape.planes, shape.cells * shape.lines}));
    const std::int64_t levels = shape.cells + (shape.lines - 1) * grid.next_line + (shape.planes - 1) * grid.next_plane;
    length = model.tiles_begin + step * static_cast<double>(levels);
    busy = model.tiles_end + model.tiles_row * static_cast<double>(shape.cells * shape.lines * shape.planes);
    next[0] = model.tiles_hop + step * static_cast<double>(shape.cells);
    next[1] = model.tiles_hop + step * static_cast<double>(shape.lines * grid.next_line);
    next[2] = model.tiles_hop + step * static_cast<double>(shape.planes * grid.next_plane);
  }

  double tiles() const { return static_cast<double>(parts) * static_cast<double>(rows) * static_cast<double>(planes); }
  double least(int multiprocessors) const
  {
    const double chain = static_cast<double>(parts - 1) * next[0] + static_cast<double>(rows - 1) * next[1] +
                         static_cast<double>(planes - 1) * next[2];
    return std::max(chain + length + busy, tiles() * (length + busy) / multiprocessors);
  }

  /// Tiles in the order in which they can start.
  std::vector<std::uint32_t> by_begin() const
  {
    constexpr double resolution = 0.1;
    std::int64_t after[3], most = 1;
    const std::int64_t count[3] = {parts, rows, planes};
    for (int a = 0; a < 3; ++a) {
      after[a] = static_cast<std::int64_t>(next[a] / resolution);
      most += (count[a] - 1) * after[a];
    }
    std::vector<std::uint32_t> first(static_cast<std::size_t>(most) + 1);
    std::vector<std::uint32_t> order(static_cast<std::size_t>(parts * rows * planes));
    const auto for_all = [&](auto body) {
      std::uint32_t tile = 0;
      for (std::int64_t k = 0; k < planes; ++k)
        for (std::int64_t j = 0; j < rows; ++j)
          for (std::int64_t i = 0; i < parts; ++i) body(i * after[0] + j * after[1] + k * after[2], tile++);
    };
    for_all([&](std::int64_t begin, std::uint32_t) { ++first[static_cast<std::size_t>(begin) + 1]; });
    for (std::size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
    for_all([&](std::int64_t begin, std::uint32_t tile) { order[first[static_cast<std::size_t>(begin)]++] = tile; });
    return order;
  }

  /// Simulates a solve: tiles start in that order, each when a multiprocessor is free. Stops early, with a time of at
  /// least `limit`, if the result cannot be smaller than that.
  double simulate(int multiprocessors, double limit) const
  {
    std::priority_queue<double, std::vector<double>, std::greater<double>> free(
      {}, std::vector<double>(static_cast<std::size_t>(multiprocessors), 0.0));
    struct Span {
      double begin = 0, end = 0;
    };
    std::vector<Span> span(static_cast<std::size_t>(parts * rows * planes));
    double last = 0;
    for (const std::uint32_t tile : by_begin()) {
      const std::int64_t i = tile % parts, j = tile / parts % rows, k = tile / (parts * rows);
      Span s = {free.top(), 0};
      free.pop();
      const auto follow = [&](std::int64_t before, double after) {
        const Span& other = span[static_cast<std::size_t>(tile - before)];
        s.begin = std::max(s.begin, other.begin + after);
        s.end = std::max(s.end, other.end + after);
      };
      if (k > 0) follow(parts * rows, next[2]);
      if (j > 0) follow(parts, next[1]);
      if (i > 0) follow(1, next[0]);
      s.end = std::max(s.end, s.begin + length);
      const double chain = static_cast<double>(parts - 1 - i) * next[0] + static_cast<double>(rows - 1 - j) * next[1] +
                           static_cast<double>(planes - 1 - k) * next[2];
      const double least = s.begin + chain + length + busy;
      if (least >= limit) return least;
      span[tile] = s;
      free.push(s.end + busy);
      last = std::max(last, s.end + busy);
    }
    return last;
  }
};

/// Candidate sizes of a tile along an axis.
std::vector<std::int64_t> sizes_up_to(std::int64_t most)
{
  std::vector<std::int64_t> size;
  for (const std::int64_t s : {1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32})
    if (s < most) size.push_back(s);
  size.push_back(most);
  return size;
}

}  // namespace

template <class I> TileChoice choose_tile(const Grid<I>& grid, std::int64_t most_slots, int multiprocessors)
{
  constexpr std::int64_t most_parts = 6;
  constexpr double most_tiles = 4e4;  // most tiles that are simulated
  std::vector<std::pair<double, TileShape>> candidates;
  for (std::int64_t parts = 1; parts <= most_parts && parts <= grid.line; ++parts)
    for (const std::int64_t lines : sizes_up_to(grid.lines))
      for (const std::int64_t planes : sizes_up_to(grid.planes)) {
        const TileShape shape = {(grid.line + parts - 1) / parts, lines, planes};
        const std::int64_t slots = (shape.cells + 1) * lines * planes + 31 * (planes - 1);
        const std::int64_t ghosts = shape.cells * (lines + planes) + lines * planes;
        if (slots + ghosts > most_slots || lines * planes > most_rows_of_level) continue;
        candidates.push_back({TileTimes(grid, shape).least(multiprocessors), shape});
      }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, b.second.cells, a.second.lines, a.second.planes) <
           std::tie(b.first, a.second.cells, b.second.lines, b.second.planes);  // whole lines first
  });
  TileChoice best;
  double tiles = 0;
  for (const auto& [least, shape] : candidates) {
    const TileTimes times(grid, shape);
    tiles += times.tiles();
    const bool first = best.shape.cells == 0;
    if (!first && (least >= best.time || tiles > most_tiles)) break;
    const double time = times.simulate(multiprocessors, first ? std::numeric_limits<double>::max() : best.time);
    if (first || time < best.time) best = {shape, time};
  }
  if (best.shape.cells > 0) best.time += model.tiles_launch;
  return best;
}

template <class I> std::vector<std::uint32_t> tiles_by_begin(const Grid<I>& grid, const TileShape& shape)
{
  return TileTimes(grid, shape).by_begin();
}

double time_of_pencil_work(const PencilWork& work)
{
  if (!work.in_space) return model.plane_begin + model.plane_step * work.steps + model.plane_hop * work.hops_x;
  return model.space_begin + model.space_step * work.steps + model.space_hop * (work.hops_x + work.hops_z) +
         model.space_row * work.cells;
}

#define INSTANTIATE(I)                                                   \
  template TileChoice choose_tile<I>(const Grid<I>&, std::int64_t, int); \
  template std::vector<std::uint32_t> tiles_by_begin<I>(const Grid<I>&, const TileShape&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
