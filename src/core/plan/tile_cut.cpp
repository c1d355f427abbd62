/// Implements tile_cut.hpp.

#include "tile_cut.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// Rows of one level that keep a tile busy: measured on an H200 for rows of few and of many entries, and for inodes.
constexpr double rows_a_step = 16, long_rows_a_step = 1.5, long_row = 16;
constexpr double nodes_a_step = 4;

/// Chooses as many tiles as levels can keep busy, with borders at neighbours in the grid: a tile holds a whole number
/// of bandwidths, or a bandwidth a whole number of tiles.
template <class I> std::int64_t choose_rows(const CutInput<I>& T, std::int64_t most, const TileRule& rule)
{
  const double n = static_cast<double>(T.rows), width = n / static_cast<double>(T.levels);
  const bool is_long = static_cast<double>(T.entries) > long_row * n;
  const double busy = width / (is_long ? long_rows_a_step : rule.of_nodes() ? nodes_a_step : rows_a_step);
  const auto wanted = std::max<std::int64_t>(1, static_cast<std::int64_t>(n / std::max(1.0, busy)));
  const std::int64_t rows = std::min(most, wanted), row_bandwidth = T.row_bandwidth;
  if (row_bandwidth == 0) return rows;
  if (2 * row_bandwidth <= rows) return rows / row_bandwidth * row_bandwidth;
  std::int64_t best = 0;
  const auto off = [&](std::int64_t r) {
    return std::abs(std::log(static_cast<double>(r) / static_cast<double>(wanted)));
  };
  for (std::int64_t parts = 1; parts <= 64 && parts <= row_bandwidth; ++parts)
    if (row_bandwidth % parts == 0 && row_bandwidth / parts <= most &&
        (best == 0 || off(row_bandwidth / parts) < off(best)))
      best = row_bandwidth / parts;
  return best ? best : rows;
}

/// Slots for a run's own rows, next to what it reads before its first row.
std::int64_t room_of_run(std::int64_t row_bandwidth, int size, const TileRule& rule)
{
  return rule.ghost_slots[size] - 1 - row_bandwidth - row_bandwidth / 32 - 64;
}

/// Leaves slots for ghosts, unless they would take half of all slots.
std::int64_t most_rows_of_run(std::int64_t row_bandwidth, int size, const TileRule& rule)
{
  const std::int64_t most = std::min(rule.most_slots, rule.ghost_slots[size]);
  const std::int64_t room = room_of_run(row_bandwidth, size, rule);
  return 2 * room < most ? most : std::min(most, room);
}

template <class I> Tiling<I> cut_into_runs(const CutInput<I>& T, int size, const TileRule& rule)
{
  const std::int64_t most = most_rows_of_run(T.row_bandwidth, size, rule);
  const std::int64_t rows = std::min(most, rule.rows > 0 ? rule.rows : choose_rows(T, most, rule));
  Grid<I> grid = T.grid;
  grid.lines *= grid.planes, grid.planes = 1;
  const std::int64_t lines = rows / grid.line;
  if (lines == 0 || rows % grid.line != 0 || lines * (grid.line + 1) > most) {
    grid.line = static_cast<I>(std::min<std::int64_t>(rows, T.rows));
    grid.lines = static_cast<I>((static_cast<std::int64_t>(T.rows) + rows - 1) / rows);
    return {T.rows, T.lower, grid, {rows}};
  }
  return {T.rows, T.lower, grid, {grid.line, lines}};
}

/// Whole planes that alias the ghosts of the plane before, if two planes do not fit or leave little for streamed data.
/// Otherwise returns no tiles.
template <class I> TileCut<I> cut_overlaid(const CutInput<I>& T, int size, const TileRule& rule)
{
  const Grid<I>& grid = T.grid;
  const std::int64_t plane = static_cast<std::int64_t>(grid.line) * grid.lines;
  if (!may_be_aliased(row_capacities[size])) return {};
  if (grid.planes < 2 || rule.rows > 0 || rule.of_nodes()) return {};
  if (2 * plane <= std::min(rule.plane_slots, rule.ghost_slots[size]) || plane >= rule.alias_slots) return {};
  return {{T.rows, T.lower, grid, {grid.line, grid.lines, 1}}, false, true, true};
}

/// If a plane and what it reads of the plane before do not fit: parts of planes, whose ghosts are little more than
/// their own rows. Returns no tiles otherwise, or if no such part fits. For inodes, which are few and keep more lanes
/// busy, also whole planes.
template <class I> Tiling<I> cut_planes(const CutInput<I>& T, int size, const TileRule& rule)
{
  constexpr std::int64_t most_parts = 8;
  const Grid<I>& grid = T.grid;
  if (rule.rows > 0 || grid.planes < 2) return {};
  for (std::int64_t parts = 1; parts <= most_parts && parts <= grid.lines; ++parts) {
    const std::int64_t lines = (grid.lines + parts - 1) / parts, ghosts = (lines + 3) * grid.line + 8;
    Tiling<I> tiling(T.rows, T.lower, grid, {grid.line, lines, 1});
    const std::int64_t slots = tiling.most_slots();
    if (slots > rule.most_slots || slots + 1 + ghosts > rule.ghost_slots[size]) continue;
    return parts > 1 || rule.of_nodes() ? std::move(tiling) : Tiling<I>();
  }
  return {};
}

}  // namespace

int size_of_ghosts(std::int64_t longest, const TileRule& rule)
{
  int size = 0;
  while (size < ghost_sizes && row_capacities[size] < longest) ++size;
  return size == ghost_sizes || rule.ghost_slots[size] == 0 ? -1 : size;
}

Status no_tiles_for_rows(std::int64_t longest, const TileRule& rule)
{
  constexpr int most = row_capacities[ghost_sizes - 1];
  const std::string rows = rule.of_nodes() ? "a node" : "a row", number = std::to_string(longest);
  if (longest <= most) return failed(Code::no_plan, "shared memory has no room for rows of " + number + " entries");
  return failed(Code::no_plan, rows + " of a triangle has " + number + " entries, but a tile allows at most " +
                                  std::to_string(most));
}

Status no_tiles_for_ghosts(std::int64_t rows, std::int64_t slots, const TileRule& rule)
{
  const std::string beside = std::to_string(std::max<std::int64_t>(0, slots - 1 - rows));
  return failed(Code::no_plan, "tiles of " + std::to_string(rows) + (rule.of_nodes() ? " nodes" : " rows") +
                                  " need more than the " + beside +
                                  " values of other tiles that fit in shared memory");
}

template <class I> TileCut<I> cut(CutInput<I> triangle, int size, const TileRule& rule)
{
  Grid<I>& grid = triangle.grid;
  if (grid.line == 0) grid.line = triangle.rows;
  if (grid.star) {
    TileShape shape = rule.shape;
    if (shape.cells == 0) shape = choose_tile(grid, rule.ghost_slots[size] - 1, rule.multiprocessors).shape;
    if (shape.cells > 0) return {{triangle.rows, triangle.lower, grid, shape}, true};
  }
  TileCut<I> planes = cut_overlaid(triangle, size, rule);
  if (planes.aliased) return planes;
  Tiling<I> parts = cut_planes(triangle, size, rule);
  if (parts.count_tiles() > 0) return {std::move(parts), false};
  Tiling<I> runs = cut_into_runs(triangle, size, rule);
  const bool has_room = runs.most_slots() <= room_of_run(triangle.row_bandwidth, size, rule);
  return {std::move(runs), false, has_room};
}

template <class I> std::int64_t cut_into_tiles(const Tiling<I>& tiling, TilePlan<I>* plan)
{
  plan->run = tiling.runs();
  plan->slots = tiling.most_slots();
  std::int64_t panels = 0;
  for (std::size_t t = 0; t < tiling.count_tiles(); ++t) {
    Tile tile;
    tile.first_run = tiling.runs_begin()[t];
    tile.runs = static_cast<std::uint32_t>(tiling.runs_begin()[t + 1] - tile.first_run);
    tile.first_row = plan->run[tile.first_run].first_row;
    for (std::uint32_t r = 0; r < tile.runs; ++r) {
      const RowSegment& run = plan->run[tile.first_run + r];
      tile.first_row = std::min(tile.first_row, run.first_row);
      tile.rows += run.rows;
    }
    tile.first_panel = panels;
    tile.panels = (tile.rows + panel_rows - 1) / panel_rows;
    panels += tile.panels;
    plan->tiles.push_back(tile);
  }
  return panels;
}

int warps_for(const std::vector<Tile>& tiles, const std::vector<std::uint32_t>& levels, std::uint32_t widest,
              int most, int rows_a_warp)
{
  double sum = 0;
  for (std::size_t t = 0; t < tiles.size(); ++t) sum += static_cast<double>(tiles[t].rows) / levels[t];
  const double mean = sum / std::max<double>(1, static_cast<double>(tiles.size()));
  const double rows = std::min(2 * mean, static_cast<double>(widest));
  return std::clamp(static_cast<int>((rows + rows_a_warp - 1) / rows_a_warp), 1, most);
}

#define INSTANTIATE(I)                                                                  \
  template TileCut<I> cut<I>(CutInput<I>, int, const TileRule&);                  \
  template std::int64_t cut_into_tiles<I>(const Tiling<I>&, TilePlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
