/// Implements tiling.hpp.

#include "tiling.hpp"

#include <algorithm>
#include <cstdint>

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

}  // namespace

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

#define INSTANTIATE(I) template class Tiling<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
