/// Implements the part of cuda/solve/dense/dense_solver.hpp about tiles of points (point_kernel.cuh).

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/solve/dense/dense_solver.hpp"
#include "cuda/solve/dense/point_kernel.cuh"

namespace syncfree::cuda {
namespace {

template <int value> using Constant = std::integral_constant<int, value>;

/// True if there is a kernel: groups of larger rows have no room in rings.
template <class T> constexpr bool has_point_kernel(int size, int near)
{
  return size >= 2 && size <= largest_point && near * size <= 40 &&
         sizeof(T) * static_cast<std::size_t>(size * near) <= 512;
}

template <class T, int near, class Body> void with_size_of_point(int size, Body body)
{
  const auto call = [&](auto fixed) {
    if constexpr (has_point_kernel<T>(fixed, near))
      if (size == fixed) body(fixed, Constant<near>());
  };
  call(Constant<2>()), call(Constant<3>()), call(Constant<4>()), call(Constant<5>()), call(Constant<6>());
  static_assert(largest_point == 6);
}

/// Calls body(size, near, scaled), integral constants, if there is a kernel.
template <class T, class Body> void with_point(int size, int near, bool scaled, Body body)
{
  const auto with_scaled = [&](auto fixed_size, auto fixed_near) {
    if (scaled) body(fixed_size, fixed_near, std::true_type());
    else body(fixed_size, fixed_near, std::false_type());
  };
  with_near(near, [&](auto fixed_near) { with_size_of_point<T, fixed_near>(size, with_scaled); });
}

/// Returns the size of rows, one of point_entries, or 0 if they are too long.
int entries_for(std::int64_t longest)
{
  for (const int entries : point_entries)
    if (longest <= entries) return entries;
  return 0;
}

template <class V> PointFormat format_of(int size, int near, bool scaled)
{
  const auto columns = static_cast<std::size_t>(columns_of_point(size, near, scaled));
  return {near, sizeof(V) * columns * static_cast<std::size_t>(size), 0, 0};
}

/// Bytes of a group in a ring.
unsigned ring_bytes(const PointFormat& format, int size)
{
  return units_of_group(static_cast<unsigned>(points_a_warp(size)), format.bytes_a_point) * unsigned{value_unit};
}

constexpr unsigned least_warps = 4, least_depth = 2, most_depth = 4;
constexpr unsigned enough_warps = 6;  ///< for which tiles leave room

template <class T, class V, class I> class PointTilesSolver : public DeviceSolver<T, I> {
  using N = DeviceScalar<T>;

public:
  ///   format  of the plan's values
  PointTilesSolver(const DeviceTriangle<I>& triangle, const PointFormat& format, PointPlan<I> plan)
      : size_(triangle.block_size), scaled_(!triangle.unit), plan_(std::move(plan)), value_(plan_.units * value_unit),
        memory_(plan_.name.size() * static_cast<std::size_t>(size_)), counter_("tiled"),
        view_{static_cast<std::uint32_t>(plan_.name.size()), plan_.most_slots, plan_.most_groups, plan_.tile.data(),
              plan_.group.data(), plan_.slots.data(), plan_.name.data(), plan_.ghost.data(), value_.data(),
              most_point_warps, least_depth, ring_bytes(format, size_)}
  {
    with_point<N>(size_, plan_.near, scaled_, [&](auto size, auto near, auto scaled) {
      const std::size_t most = memory_of_block();
      while (view_.warps > least_warps && shared_bytes<size>() > most) --view_.warps;
      while (view_.depth < most_depth && shared_bytes<size>(view_.depth + 1) <= most) ++view_.depth;
      allow_shared_memory(solve_point_tiles<N, V, size, near, scaled>, shared_bytes<size>());
    });
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    with_point<N>(size_, plan_.near, scaled_, [&](auto size, auto near, auto scaled) {
      const LaunchParameters parameters = {static_cast<unsigned>(plan_.tile.size()),
                                           32 * (view_.warps + 1 + point_pollers), shared_bytes<size>(), stream,
                                           mode.overlaps};
      launch(solve_point_tiles<N, V, size, near, scaled>, parameters, view_, memory_.mailbox_view(), counter_.data(),
             as_device(v.b), as_device(v.x), mode.conjugate);
    });
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    with_point<N>(size_, plan_.near, scaled_, [&](auto size, auto near, auto scaled) {
      constexpr unsigned threads = 256;
      const PointSource<N, I> from = {as_device(value), as_device(inverse_diagonal), plan_.source.data()};
      const unsigned blocks = blocks_for(plan_.group.size() * 32, threads);
      launch(store_point_values<T, V, I, size, near, scaled>, {blocks, threads, 0, stream},
             static_cast<std::uint32_t>(plan_.group.size()), view_, from);
    });
  }

  PlanSummary summarize_plan() const override
  {
    const PointTiling& t = plan_.tiling;
    const std::string text =
      std::to_string(plan_.tile.size()) + " tiles of " + std::to_string(t.tile_lines) + " lines of " +
      std::to_string(t.tile_planes) + (t.tile_planes == 1 ? " plane, blocks of " : " planes, blocks of ") +
      std::to_string(size_) + " x " + std::to_string(size_) + ", " + std::to_string(plan_.most_ghosts) +
      " ghosts at most, " + std::to_string(view_.warps) + " warps";
    return {text, plan_.bytes() + memory_.mailbox_bytes(), value_.bytes(), PlanForm::grid};
  }

private:
  template <int size> std::size_t shared_bytes(unsigned depth) const
  {
    return PointMemory<N, size>::shared_bytes(view_, depth, plan_.bytes_of_steps());
  }
  template <int size> std::size_t shared_bytes() const { return shared_bytes<size>(view_.depth); }

  const int size_;
  const bool scaled_;
  const PointPlan<I> plan_;
  DeviceArray<unsigned char> value_;
  typename DoubleBufferedMailbox<N>::Memory memory_;
  TicketCounterMemory counter_;
  PointTilesView view_;
};

/// Memory for a tile, with room for rings of so many warps.
std::size_t memory_for_tile(unsigned warps, const PointFormat& format, int size)
{
  const std::size_t ring = least_depth * (ring_bytes(format, size) + sizeof(Mbarrier));
  const std::size_t rings = warps * ring + value_unit;
  return memory_of_block() > rings ? memory_of_block() - rings : 0;
}

/// Describes a triangle; by no grid if its levels are not known or its values not stored as tiles need them.
template <class I> PointTriangle<I> points_of(const DeviceTriangle<I>& triangle)
{
  const bool is_known = triangle.on_device.row_begin && triangle.device_levels && triangle.grid.lines > 1;
  if (!is_known || triangle.source || triangle.transposed_blocks) return {};
  return {triangle.grid,  triangle.lower,         triangle.unit,      triangle.block_size, triangle.n(),
          triangle.nnz(), triangle.level_count(), triangle.longest()};
}

/// Returns an empty tiling if the triangle can have no plan.
///   format  [out] if it may have one
template <class T, class V, class I>
PointTilingChoice choose_tiling(const PointTriangle<I>& triangle, PointCosts* costs, PointFormat* format)
{
  const int near = entries_for(triangle.longest), size = triangle.block_size;
  if (triangle.grid.lines <= 1 || near == 0 || !has_point_kernel<DeviceScalar<T>>(size, near)) return {};
  *format = format_of<V>(size, near, !triangle.unit);
  constexpr double most = 0xffffffff;  // of 32-bit numbers of rows, entries, and units of values
  const auto points = static_cast<double>(triangle.n);
  if (points * size > most || static_cast<double>(triangle.nnz) > most) return {};
  if (points * static_cast<double>(units_of_group(1, format->bytes_a_point)) > most) return {};
  format->result_bytes = static_cast<std::size_t>(size) * sizeof(T);
  format->memory = memory_for_tile(least_warps, *format, size);
  *costs = {near, points_a_warp(size), format->bytes_a_point / static_cast<std::size_t>(near), format->result_bytes,
            memory_for_tile(enough_warps, *format, size), device_attribute(cudaDevAttrMultiProcessorCount)};
  return choose_point_tiling(triangle.grid, triangle.n, triangle.lower, triangle.levels, *costs);
}

}  // namespace

template <class T, class V, class I> bool may_tile_points(const PointTriangle<I>& points)
{
  PointCosts costs;
  PointFormat format;
  const PointTilingChoice choice = choose_tiling<T, V>(points, &costs, &format);
  return choice.tiling.tile_lines > 0 &&
         choice.time < time_of_point_levels(points.n, points.nnz, points.levels, costs);
}

template <class T, class V, class I> bool may_tile_points(const DeviceTriangle<I>& triangle)
{
  return may_tile_points<T, V>(points_of(triangle));
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_point_tiles_solver(const DeviceTriangle<I>& triangle)
{
  PointCosts costs;
  PointFormat format;
  const PointTiling tiling = choose_tiling<T, V>(points_of(triangle), &costs, &format).tiling;
  PointPlan<I> plan;
  if (tiling.tile_lines == 0 || !make_point_plan(triangle, tiling, format, &plan)) return nullptr;
  return std::make_unique<PointTilesSolver<T, V, I>>(triangle, format, std::move(plan));
}

#define INSTANTIATE(T, V, I)                                                                                        \
  template bool may_tile_points<T, V, I>(const PointTriangle<I>&);                                                  \
  template bool may_tile_points<T, V, I>(const DeviceTriangle<I>&);                                                 \
  template std::unique_ptr<DeviceSolver<T, I>> make_point_tiles_solver<T, V, I>(const DeviceTriangle<I>&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
