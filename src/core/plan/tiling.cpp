/// Implements tiling.hpp.

#include "tiling.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "core/choose/device_model.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

constexpr std::int64_t longest_run = 512;       ///< rows

/// Slots from line to line: the rows of a level, `next` cells back on the next line, are in different banks if the
/// difference is odd.
std::int64_t slots_of_line(std::int64_t cells, std::int64_t next) { return cells + ((cells - next) % 2 == 0); }

/// Padding between planes such that the next plane's rows of a level continue in the banks after this plane's; 32
/// banks.
std::int64_t gap_of_planes(std::int64_t lines, std::int64_t next_line, std::int64_t next_plane, bool lower)
{
  const std::int64_t gap = lower ? next_plane - lines * next_line : lines * next_line - next_plane;
  return (gap % 32 + 32) % 32;
}

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

template <class I> Tiling<I>::Tiling(I rows, bool lower, const Grid<I>& grid, const TileShape& shape)
    : rows_(rows), lower_(lower), grid_(grid)
{
  if (rows == 0) return;
  const AxisParts cells(grid.line, shape.cells);
  longest_ = static_cast<std::uint32_t>(cells.largest());
  stride_ = slots_of_line(cells.largest(), grid.next_line);
  cell_tile_.resize(grid.line);
  for (std::int64_t p = 0; p < cells.count; ++p) {
    cell_begin_.push_back(static_cast<I>(cells.begin_of_part(p)));
    std::fill(cell_tile_.begin() + cells.begin_of_part(p), cell_tile_.begin() + cells.begin_of_part(p + 1),
              static_cast<std::uint32_t>(p));
  }
  cell_begin_.push_back(grid.line);
  line_tile_.resize(static_cast<std::size_t>(grid.lines) * grid.planes), line_slot_.resize(line_tile_.size());
  runs_begin_.push_back(0);
  const AxisParts lines(grid.lines, shape.lines), planes(grid.planes, shape.planes);
  for (std::int64_t b = 0; b < planes.count; ++b)
    for (std::int64_t a = 0; a < lines.count; ++a)
      add_tiles({lines.begin_of_part(a), lines.begin_of_part(a + 1)},
                {planes.begin_of_part(b), planes.begin_of_part(b + 1)});
}

template <class I> void Tiling<I>::add_tiles(Range lines, Range planes)
{
  const std::int64_t height = lines.end - lines.begin;
  const std::int64_t plane = height * stride_ + gap_of_planes(height, grid_.next_line, grid_.next_plane, lower_);
  const auto first = static_cast<std::uint32_t>(count_tiles());
  std::vector<std::int64_t> all;
  for (std::int64_t k = planes.begin; k < planes.end; ++k)
    for (std::int64_t j = lines.begin; j < lines.end; ++j) {
      all.push_back(k * grid_.lines + j);
      line_tile_[all.back()] = first;
      line_slot_[all.back()] = static_cast<std::uint32_t>((k - planes.begin) * plane + (j - lines.begin) * stride_);
    }
  most_slots_ = std::max(most_slots_, line_slot_[all.back()] + longest_);
  for (std::size_t part = 0; part + 1 < cell_begin_.size(); ++part) {
    for (const std::int64_t line : all) add_runs(line, part);
    runs_begin_.push_back(static_cast<std::int64_t>(runs_.size()));
  }
}

template <class I> void Tiling<I>::add_runs(std::int64_t line, std::size_t part)
{
  const std::int64_t begin = line * grid_.line + cell_begin_[part];
  const std::int64_t end = std::min<std::int64_t>(line * grid_.line + cell_begin_[part + 1], rows_);
  const std::int64_t first_row = lower_ ? begin : rows_ - end;
  for (std::int64_t k = 0; k < end - begin; k += longest_run) {
    const auto row = static_cast<I>(first_row + k);
    runs_.push_back({row, static_cast<std::uint32_t>(std::min(longest_run, end - begin - k)), locate_row(row).slot});
  }
}

#define INSTANTIATE(I)                                                            \
  template TileChoice choose_tile<I>(const Grid<I>&, std::int64_t, int);           \
  template std::vector<std::uint32_t> tiles_by_begin<I>(const Grid<I>&, const TileShape&); \
  template class Tiling<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
