#pragma once

/// Strategy `tiled` with ghosts: the plan's arrays of positions and ghosts, uploaded to the device or made on it.

#include "core/plan/star_plan.hpp"
#include "cuda/analysis/pattern.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/solve/tiled/roles.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {

/// Size of a panel on the device, which may be part of one of the plan's.
struct PanelShape {
  std::size_t bytes;
  int positions;

  template <class Panel> static PanelShape shape_of() { return {sizeof(Panel), Panel::positions}; }
  std::size_t parts() const { return static_cast<std::size_t>(panel_rows / positions); }
};

/// The arrays of TilePlan on the device. Panels have their fields; update_panels() fills in the values.
template <class I> struct TileArrays {
  DeviceArray<Tile> tile;
  DeviceArray<unsigned char> panel;
  DeviceArray<I> source, row;
  DeviceArray<std::uint32_t> ghost_sources;
  DeviceArray<std::uint16_t> position;

  TileArrays() = default;
  ///   panels  number of the plan's panels
  TileArrays(std::size_t panels, const PanelShape& shape, int pairs, std::size_t ghosts)
      : panel(panels * shape.parts() * shape.bytes), source(panels * panel_rows * 2 * static_cast<std::size_t>(pairs)),
        row(panels * panel_rows), ghost_sources(ghosts)
  {
  }

  template <class Panel> static TileArrays upload_tiles(const TilePlan<I>& plan)
  {
    const std::size_t panels = plan.row.size() / panel_rows, parts = PanelShape::shape_of<Panel>().parts();
    TileArrays arrays;
    arrays.tile = DeviceArray<Tile>(plan.tiles);
    arrays.panel = DeviceArray<unsigned char>(panels * parts * sizeof(Panel));
    constexpr std::size_t width = sizeof(uint4) * Panel::positions, all = sizeof(uint4) * panel_rows * Panel::units;
    const auto* field = reinterpret_cast<const unsigned char*>(plan.index.data());
    for (int u = 0; u < Panel::units; ++u)
      for (std::size_t part = 0; part < parts; ++part, field += width)
        SYNCFREE_CUDA(cudaMemcpy2D(arrays.panel.data() + part * sizeof(Panel) + static_cast<std::size_t>(u) * width,
                                   parts * sizeof(Panel), field, all, width, panels, cudaMemcpyHostToDevice));
    arrays.source = DeviceArray<I>(plan.source), arrays.row = DeviceArray<I>(plan.row);
    arrays.ghost_sources = DeviceArray<std::uint32_t>(plan.ghost_place);
    arrays.position = DeviceArray<std::uint16_t>(plan.position);
    return arrays;
  }
};

constexpr int star_threads = 512;

/// Fills one tile per thread block. Raises `other` if a row reads other rows than its grid neighbours.
template <class I, class Panel>
__global__ void __launch_bounds__(star_threads)
fill_star(const __grid_constant__ StarView<I> S, DevicePattern<I> T, Panel* panel, I* source, I* row,
          std::uint32_t* ghost_sources, unsigned* other)
{
  const Tile tile = S.tiles[blockIdx.x];
  const StarTile<I> star_tile(S, blockIdx.x);
  const PatternView<I> rows{T.n, T.row_begin, T.column};
  for (std::uint32_t g = threadIdx.x; g < tile.ghosts; g += star_threads)
    ghost_sources[tile.first_ghost + g] = star_tile.place_of_ghost(g);
  for (std::uint32_t p = threadIdx.x; p < tile.panels * panel_rows; p += star_threads) {
    StarPosition<I> made;
    if (p >= tile.rows) star_tile.fill_nothing(&made);
    else if (!star_tile.fill_position(rows, p, &made)) set_flag_once(other);
    const std::size_t q = tile.first_panel + p / panel_rows, cell = p % panel_rows;
    panel[q].unit[0][cell] = *reinterpret_cast<const uint4*>(&made.field);
    for (int j = 0; j <= star_row_capacity; ++j)
      source[((2 * q + static_cast<std::size_t>(j) / 2) * panel_rows + cell) * 2 + j % 2] = made.source[j];
    row[q * panel_rows + cell] = made.row;
  }
}

/// Returns false if the triangle is not a star stencil's.
template <class Panel, class I>
bool fill_star_arrays(const StarPlan<I>& star, const DevicePattern<I>& T, TileArrays<I>* out)
{
  TileArrays<I> arrays(static_cast<std::size_t>(star.panels), PanelShape::shape_of<Panel>(),
                       (star_row_capacity + 1) / 2, static_cast<std::size_t>(star.ghosts));
  const DeviceArray<Tile> tiles(star.frame.tiles);
  const DeviceArray<TileCell> cells(star.tables.place);
  const DeviceArray<StarFields> field(star.tables.field);
  const DeviceArray<StarGhost> ghost(star.tables.ghost);
  const DeviceArray<std::uint16_t> face_exported(star.tables.face_exported);
  StarView<I> view = star.view;
  view.place = cells.data(), view.field = field.data(), view.ghost = ghost.data(),
  view.face_exported = face_exported.data();
  view.tiles = tiles.data();
  const Flag other;
  launch(fill_star<I, Panel>, {static_cast<unsigned>(star.frame.tiles.size()), star_threads}, view, T,
         reinterpret_cast<Panel*>(arrays.panel.data()), arrays.source.data(), arrays.row.data(),
      arrays.ghost_sources.data(), other.data());
  if (other.is_raised()) return false;
  arrays.tile = DeviceArray<Tile>(star.tiles_in_order());
  *out = std::move(arrays);
  return true;
}

}  // namespace syncfree::cuda
