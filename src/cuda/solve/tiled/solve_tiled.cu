/// Strategy `tiled`: each thread block solves a tile of a grid or a run of rows in the shared memory of its
/// multiprocessor (core/plan/tile_plan.hpp).
///
///   x_i = (b_i - sum over entries) / diagonal_i
///
/// A dependence inside a tile costs one access to shared memory and one barrier of few warps. Compute warps do nothing
/// else. Other warps prepare their operands: one streams the tile's part of the factor, others fetch the values of
/// other tiles, which are ghosts stored after the tile's own values. A thread block reads its part of b and writes its
/// part of x in runs of consecutive rows.

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/plan/tile_cut.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "cuda/solve/solver.hpp"
#include "cuda/solve/tiled/kernel.cuh"
#include "cuda/solve/tiled/plan.cuh"
#include "cuda/solve/tiled/tiled.hpp"
#include "syncfree/options.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {
namespace {

/// Replaces entries of the pattern by their indices in the factor.
template <class I> void rename(Array<I>* entries, const I* source, int threads)
{
  constexpr std::size_t part = 1 << 16;
  for_parts(threads, (entries->size() + part - 1) / part, [&](std::size_t p) {
    for (std::size_t k = p * part; k < std::min(entries->size(), (p + 1) * part); ++k)
      if ((*entries)[k] >= 0) (*entries)[k] = source[(*entries)[k]];
  });
}

/// Returns the limits of the current device.
template <class T, class V> TileRule rule_of_device()
{
  using N = DeviceScalar<T>;
  using M = DeviceScalar<V>;
  TileRule rule;
  for (int s = 0; s < ghost_sizes; ++s)
    with_row_capacity(row_capacities[s], [&](auto row_capacity) {
      const std::int64_t fit =
          numbers_that_fit<TileSharedMemory<N, TilePanel<M, row_capacity>>, N>(least_depth_with_ghosts(row_capacity));
      rule.ghost_slots[s] = std::clamp<std::int64_t>(fit, 0, 0xfff0);
    });
  if (rule.ghost_slots[1] > 0) rule.most_slots = std::min(rule.most_slots, rule.ghost_slots[1]);
  constexpr int longest = row_capacities[ghost_sizes - 1];
  using Panel = TilePanel<M, longest>;
  rule.plane_slots = numbers_that_fit<TileSharedMemory<N, Panel>, N>(least_aliased_depth);
  rule.alias_slots =
    std::min<std::int64_t>(numbers_that_fit<TileSharedMemory<N, Panel, true>, N>(least_aliased_depth), 0xfff0);
  rule.multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  return rule;
}

template <class T, class V, class I>
TileRule make_rule(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  TileRule rule = rule_of_device<T, V>();
  rule.rows = options.blocks.tile_rows;
  rule.threads = options.threads;
  if (triangle.tile) rule.shape = *triangle.tile;
  return rule;
}

template <class I> TilePlan<I> make_plan(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  TilePlan<I> plan;
  const Status status = make_tile_plan(triangle.pattern(), triangle.lower, triangle.levels(), rule, &plan);
  if (!status.ok()) throw Failure{status};
  if (triangle.source) rename(&plan.source, triangle.source, rule.threads);
  return plan;
}

/// True if solve_tiles() has a variant that inverts.
template <class T, class V, int row_capacity>
constexpr bool can_invert = row_capacity == star_row_capacity&& std::is_same_v<T, V>;

/// Solver with tiles of a grid or runs of rows.
template <class T, class V, class I> class TileSolver : public DeviceSolver<T, I> {
  using N = DeviceScalar<T>;
  using Tiles = TileSet<T, N, V, I>;
  using WideTiles = TileSet<T, ColumnPackOf<T>, V, I>;

public:
  ///   star  nullptr if the tiles are not a star stencil's
  TileSolver(std::unique_ptr<Tiles> tiles, bool unit, PlanForm form, const TileRule& rule, const StarTriangle<I>* star)
      : tiles_(std::move(tiles)), scaled_(!unit), form_(form), rule_(rule), launches_(tiles_->exports(), "tiled"),
        chunks_(tiles_->exports(), "tiled"), wide_chunks_(0, "tiled")
  {
    if (star && columns_of<ColumnPackOf<T>> > 1) star_ = *star;
    tiles_->with_form([&](auto row_capacity, auto form) {
      allow_shared_memory(solve_tiles<N, V, row_capacity, form, false>, memory_of_block());
      tiles_->take_clusters(solve_tiles<N, V, row_capacity, form, false>);
      if constexpr (can_invert<T, V, row_capacity>)
        allow_shared_memory(solve_tiles<N, V, row_capacity, TileForm::inverted, false>, memory_of_block());
    });
  }

  SolverTraits traits() const override
  {
    SolverTraits traits;
    traits.columns = true;
    if (wide_) traits.interleaving = interleaving_of<T>(false);
    with_row_capacity(tiles_->row_capacity(),
                [&](auto row_capacity) { traits.inverse = can_invert<T, V, row_capacity> && !scaled_; });
    return traits;
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (v.count == 1) return launch_tiles(v.b, v.x, mode, stream);
    if (wide_) return launch_chunks<ColumnPackOf<T>>(*wide_, wide_chunks_, v, mode, stream);
    launch_chunks<N>(*tiles_, chunks_, v, mode, stream);
  }

  /// Without memory for a second set of tiles, columns are solved one by one, as chunks of one launch.
  bool prepare_columns() override
  {
    if (!star_) return false;
    const StarTriangle<I> star = *star_;
    star_.reset();
    try {
      wide_ = make_star_tiles<T, ColumnPackOf<T>, V>(star, rule_of_several<T, V>(star.grid, rule_));
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory) throw;
    }
    if (wide_) wide_chunks_ = ValueLaunches<T>(wide_->exports(), "tiled");
    return wide_ != nullptr;
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::rest) return;
    tiles_->update_panels(value, scaled_ ? inverse_diagonal : nullptr, stream);
    if (wide_) wide_->update_panels(value, scaled_ ? inverse_diagonal : nullptr, stream);
  }

  void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream) override
  {
    tiles_->update_panels(c, nullptr, stream);
    with_row_capacity(tiles_->row_capacity(), [&](auto row_capacity) {
      if constexpr (can_invert<T, V, row_capacity>)
        launch_kernel(solve_tiles<N, V, row_capacity, TileForm::inverted, false>, b, y, {}, stream);
    });
  }

  PlanSummary summarize_plan() const override
  {
    const std::size_t bytes = tiles_->tile_plan_bytes() + launches_.launch_bytes() + chunks_.launch_bytes() +
                              wide_chunks_.launch_bytes() + (wide_ ? wide_->tile_plan_bytes() : 0);
    return {tiles_->describe_tiles(), bytes, tiles_->tile_value_bytes() + (wide_ ? wide_->tile_value_bytes() : 0),
            form_};
  }

private:
  using Chunks = ColumnLaunches<T, N, DoubleBufferedMailbox>;

  void launch_tiles(const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    tiles_->with_form([&](auto row_capacity, auto form) {
      launch_kernel(solve_tiles<N, V, row_capacity, form, false>, b, x, mode, stream);
    });
  }

  template <class Kernel> void launch_kernel(Kernel kernel, const T* b, T* x, SolveMode mode, cudaStream_t stream)
  {
    launches_.launch_cluster(tiles_->cluster(), [&](unsigned cluster, auto mailbox, auto* counter) {
      return tiles_->try_launch(kernel, 1, cluster, mailbox, counter, Input<N>{as_device(b)}, Output<N>{as_device(x)},
                                mode.conjugate, stream, mode.overlaps);
    });
  }

  template <class Part, class Set, class Launches>
  static void launch_chunks(const Set& tiles, Launches& launches, const DeviceColumns<T>& v, SolveMode mode,
                            cudaStream_t stream)
  {
    tiles.with_form([&](auto row_capacity, auto form) {
      if constexpr (columns_of<Part> == 1 || row_capacity == star_row_capacity) {
        const auto kernel = solve_tiles<Part, V, row_capacity, form, true>;
        allow_shared_memory(kernel, memory_of_block());
        launches.launch_chunks(v, mode.overlaps, [&](unsigned chunks, auto mailbox, auto* counter, const auto& b,
                                                     const auto& x, bool overlap) {
          check(tiles.try_launch(kernel, chunks, 1, mailbox, counter, b, x, mode.conjugate, stream, overlap),
                "solve_tiles");
        });
      }
    });
  }

  std::unique_ptr<Tiles> tiles_;
  bool scaled_;
  PlanForm form_;
  TileRule rule_;
  ClusterLaunches<typename DoubleBufferedMailbox<N>::Memory> launches_;
  Chunks chunks_;
  std::optional<StarTriangle<I>> star_;  ///< until prepare_columns() has made the tiles for several columns
  std::unique_ptr<WideTiles> wide_;
  ValueLaunches<T> wide_chunks_;
};

/// Returns nullptr if the triangle is not known to be a star stencil's, or not on the device.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_star(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  if (!triangle.on_device.row_begin || triangle.source) return nullptr;
  const StarTriangle<I> star = {triangle.lower, triangle.on_device, triangle.grid};
  auto tiles = make_star_tiles<T, DeviceScalar<T>, V>(star, rule);
  if (!tiles) return nullptr;
  return std::make_unique<TileSolver<T, V, I>>(std::move(tiles), triangle.unit, PlanForm::grid, rule, &star);
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_with_ghosts(const TilePlan<I>& plan, TileArrays<I> arrays, bool unit,
                                                     const TileRule& rule)
{
  auto tiles = std::make_unique<TileSet<T, DeviceScalar<T>, V, I>>(plan, std::move(arrays));
  return std::make_unique<TileSolver<T, V, I>>(std::move(tiles), unit, PlanForm::rows, rule, nullptr);
}

/// Returns nullptr if the device cannot make the plan. Throws Failure, also no_plan.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_device(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  if (!may_plan_ghosts(triangle, rule)) return nullptr;
  PanelShape shape = {};
  with_row_capacity(row_capacities[size_of_ghosts(triangle.longest(), rule)],
              [&](auto row_capacity) { shape = PanelShape::shape_of<TilePanel<DeviceScalar<V>, row_capacity>>(); });
  TilePlan<I> frame;
  TileArrays<I> arrays;
  if (!make_ghost_plan(triangle, rule, shape, &frame, &arrays)) return nullptr;
  return make_with_ghosts<T, V>(frame, std::move(arrays), triangle.unit, rule);
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_host(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  const TilePlan<I> plan = make_plan(triangle, rule);
  TileArrays<I> arrays;
  with_row_capacity(plan.row_capacity, [&](auto row_capacity) {
    arrays = TileArrays<I>::template upload_tiles<TilePanel<DeviceScalar<V>, row_capacity>>(plan);
  });
  return make_with_ghosts<T, V>(plan, std::move(arrays), triangle.unit, rule);
}

}  // namespace

template <class T, class V, class I> TileChoice choose_star_tile(const Grid<I>& grid)
{
  const TileRule rule = rule_of_device<T, V>();
  return choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors);
}

template <class T, class V, class I> bool may_plan_tiles_on_device(const DeviceTriangle<I>& triangle)
{
  return may_plan_ghosts(triangle, rule_of_device<T, V>());
}

/// Makes the triangle's form. If that is `any`, tries the forms in turn, the fastest first: if one runs out of memory,
/// the next is tried; if that ends with no_plan, the error is out_of_memory.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_tiled(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  const TileRule rule = make_rule<T, V>(triangle, options);
  const auto wants = [&](PlanForm form) { return triangle.form == PlanForm::any || triangle.form == form; };
  Status lack;
  const auto unless_memory_lacks = [&](auto make) -> std::unique_ptr<DeviceSolver<T, I>> {
    try {
      return make();
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory || triangle.form != PlanForm::any) throw;
      lack = failure.status;
      return nullptr;
    }
  };
  try {
    if (wants(PlanForm::grid))
      if (auto solver = make_on_star<T, V>(triangle, rule)) return solver;
    if (wants(PlanForm::inodes))
      if (auto solver = unless_memory_lacks([&] { return make_tiled_inodes<T, V>(triangle, rule); })) return solver;
    if (wants(PlanForm::rows)) {
      if (auto solver = unless_memory_lacks([&] { return make_on_device<T, V>(triangle, rule); })) return solver;
      return make_on_host<T, V>(triangle, rule);
    }
    throw Failure{failed(Code::no_plan, std::string("tiles have no plan of the form ") + name_of(triangle.form))};
  } catch (const Failure& failure) {
    if (failure.status.code == Code::no_plan && !lack.ok()) throw Failure{lack};
    throw;
  }
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_tiled<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&); \
  template TileChoice choose_star_tile<T, V, I>(const Grid<I>&);                                 \
  template bool may_plan_tiles_on_device<T, V, I>(const DeviceTriangle<I>&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
