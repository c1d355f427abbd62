/// Strategy `courier`: a tile of a grid or a run of rows for each thread block, solved in place in the shared memory of
/// its multiprocessor (core/courier_plan.hpp).
///
///   x_i = (b_i - sum over far entries - sum over near entries) / diagonal_i
///
/// Links of the chain that stay in a block cost one access to shared memory and one barrier of few warps. Compute warps
/// do nothing but that. What is needed for it comes ahead of them: one warp streams the block's part of the factor,
/// others fetch the numbers of other blocks. In solve_tiles() these are ghosts beside the block's own, in
/// solve_row_blocks() mail, which helper warps add up. A block reads its part of b and writes its part of x in runs.

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/courier_cut.hpp"
#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "courier.hpp"
#include "courier_compute.cuh"
#include "courier_mail.cuh"
#include "courier_tiles.cuh"
#include "ghost_plan.cuh"
#include "overlapping_solver.hpp"

namespace syncfree::cuda {
namespace {

/// owns       a block owns a run of rows; one lane of a compute warp a row of each step, a helper's lanes a row's mail
/// waits      compute lanes for the mail of their row, added up, and for pages; helpers for mail of earlier blocks and
///            of earlier steps, and like the fetching warp for pages that were left
/// publishes  each number in shared memory, and in the mailbox where somebody reads it there; clears the block's places
///            in the next launch's mailbox
/// order      mail and its sums are their own flags (relaxed; device, block). Steps: a named barrier, or __syncwarp()
///            for one warp. Pages: an mbarrier when they come; a page is left when the first thread has arrived behind
///            the barrier of the step that read its last position and cleared its sums. The fetching warp tells the
///            helpers, with release, which acquire it before they fill the sums of that page's successor
/// progress   earlier blocks have earlier tickets and wait for nobody later. In a block the row of the lowest level
///            that is not done has all it reads; its helper takes rows in the order of steps and hands each over as
///            it is complete, and pages come in that order, too
/// result     reproducible: the order of additions depends on the plan only
/// source     design notes 4 and 10; no publication known. Blocks of rows in local memory: Picciau et al. 2016
template <class T, class V, int near, bool alone>
__global__ void __launch_bounds__(courier_threads<Number<T>, near, alone>, 1)
solve_row_blocks(CourierView<V> A, typename ValueBox<Number<T>>::View mailbox, unsigned long long* counter,
                 const Number<T>* b, Number<T>* x, bool conjugate)
{
  using N = Number<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Turn turn = take_turn(counter);
  const RowBlock block = A.block[turn.place];
  const ValueBox<N> box(mailbox, A.mails, turn.launch);
  const CourierMemory<N, Number<V>, near> memory(shared, A.slots, A.depth);
  if (threadIdx.x < static_cast<unsigned>(A.depth)) {
    memory.full[threadIdx.x].make(1);
    memory.empty[threadIdx.x].make(1);
    gates_are_made();
  }
  if (threadIdx.x == 0) memory.left->start();
  for (std::uint32_t k = threadIdx.x; k < A.depth * courier_page; k += blockDim.x) Tray<N>::clear(memory.mail + k);
  if (threadIdx.x == 0) memory.x[A.slots] = N(0);
  for_rows(A, block, [&](std::uint32_t slot, std::int64_t row) { fetch_number(memory.x + slot, b + row); });
  for (std::uint32_t k = threadIdx.x; k < block.mails; k += blockDim.x) box.prepare(block.first_mail + k);
  await_fetched_numbers();
  __syncthreads();
  /* a lone compute warp has a scheduler, which is every fourth warp's, to itself */
  const unsigned all = blockDim.x / 32, warp = threadIdx.x / 32, first = A.warps;
  const unsigned skipped = alone ? (all - 1) / 4 : 0;
  if (warp < first) {
    Computing<N, V, near, alone, ValueBox<N>>(A, block, memory, box, conjugate).run(block.steps);
  } else if (warp == first) {
    Fetching<N, V, near>(A, block, memory).run();
  } else if (!alone || warp % 4 != 0) {
    Helping<N, V, near, ValueBox<N>>(A, block, memory, box, conjugate)
      .run(warp - first - 1 - (alone ? warp / 4 : 0), all - first - 1 - skipped);
  }
  __syncwarp();
  __syncthreads();
  for_rows(A, block, [&](std::uint32_t slot, std::int64_t row) { x[row] = memory.x[slot]; });
}

/// Near entries of a row at most: what registers and pages hold.
template <class N> constexpr int courier_most_near = is_wide<N> ? 8 : 16;

/// body(an integral constant) for one of the four.
template <class N, class Body> void with_near(int near, Body body)
{
  switch (near) {
    case 2: return body(std::integral_constant<int, 2>());
    case 4: return body(std::integral_constant<int, 4>());
    case 8: return body(std::integral_constant<int, 8>());
    default: return body(std::integral_constant<int, courier_most_near<N>>());
  }
}

constexpr int least_depth = 8;  ///< pages that six steps of 128 rows may touch, and one
template <class N> constexpr int least_depth_of(int near)
{
  return near == courier_most_near<N> ? least_depth / 2 : least_depth;
}
/// Entries of the pattern by their number in the factor.
template <class I> void rename(Array<I>* entries, const I* source, int threads)
{
  constexpr std::size_t part = 1 << 16;
  for_parts(threads, (entries->size() + part - 1) / part, [&](std::size_t p) {
    for (std::size_t k = p * part; k < std::min(entries->size(), (p + 1) * part); ++k)
      if ((*entries)[k] >= 0) (*entries)[k] = source[(*entries)[k]];
  });
}

/// What fits on the device at hand.
template <class T, class V> CourierRule rule_of_device()
{
  using N = Number<T>;
  using M = Number<V>;
  CourierRule rule;
  rule.most_slots = numbers_that_fit<CourierMemory<N, M, 4>, N>(least_depth);
  for (int s = 0; s < ghost_sizes; ++s)
    with_ghosts(ghost_near[s], [&](auto near) {
      const std::int64_t fit = numbers_that_fit<GhostMemory<N, GhostPage<M, near>>, N>(least_depth_with_ghosts(near));
      rule.ghost_slots[s] = std::clamp<std::int64_t>(fit, 0, 0xfff0);
    });
  constexpr int longest = ghost_near[ghost_sizes - 1];
  using Page = GhostPage<M, longest>;
  rule.plane_slots = numbers_that_fit<GhostMemory<N, Page>, N>(least_overlaid_depth);
  rule.overlay_slots =
    std::min<std::int64_t>(numbers_that_fit<GhostMemory<N, Page, true>, N>(least_overlaid_depth), 0xfff0);
  rule.multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  rule.most_near = courier_most_near<N>;
  rule.most_warps = 4;
  rule.most_warps_of_long = 2;
  return rule;
}

template <class T, class V, class I>
CourierRule make_rule(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  CourierRule rule = rule_of_device<T, V>();
  rule.rows = options.blocks.least_rows;
  rule.threads = options.threads;
  rule.shape = triangle.tile;
  return rule;
}

template <class T, class V, class I> CourierPlan<I> make_plan(const DeviceTriangle<I>& triangle, CourierRule rule)
{
  using N = Number<T>;
  CourierPlan<I> plan;
  for (int turn = 0;; ++turn) {
    const Status status = make_courier_plan(triangle.pattern(), triangle.lower, triangle.levels(), rule, &plan);
    if (!status.ok()) throw Failure{status};
    if (plan.has_ghosts) break;
    if (turn == 3) throw Failure{failed(Code::device_failure, "courier: no block fits; take level_order")};
    with_near<N>(plan.near, [&](auto near) {
      rule.most_slots = numbers_that_fit<CourierMemory<N, Number<V>, near>, N>(least_depth_of<N>(near));
    });
    if (plan.slots <= rule.most_slots) break;
    rule.near = plan.near;
  }
  if (triangle.source) {
    rename(&plan.source, triangle.source, rule.threads);
    rename(&plan.far_source, triangle.source, rule.threads);
  }
  return plan;
}

/// Rows that read others by mail.
template <class T, class V, class I> class MailSolver : public DeviceSolver<T, I> {
public:
  MailSolver(const DeviceTriangle<I>& triangle, const CourierPlan<I>& plan)
      : near_(plan.near), warps_(plan.warps), blocks_(plan.block.size()), slots_(plan.slots), rows_(most_rows_of(plan)),
        mails_(plan.mails), far_lanes_(plan.far_lanes), block_(plan.block), run_(plan.run), index_(plan.index),
        source_(plan.source), row_(plan.row),
        bundle_begin_(plan.bundle_begin), bundle_position_(plan.bundle_position), far_place_(plan.far_place),
        far_source_(plan.far_source), value_(plan.source.size()), scale_(triangle.unit ? 0 : plan.row.size()),
        far_value_(plan.far_source.size()), mailbox_(plan.mails), counter_(1)
  {
    with_near<Number<T>>(near_, [&](auto near) {
      const auto fits = [&] { return Memory<near>::bytes(slots_, depth_) <= memory_of_block(); };
      for (depth_ = 16; depth_ > least_depth_of<Number<T>>(near) && !fits();) depth_ /= 2;
      memory_ = Memory<near>::bytes(slots_, depth_);
      allow_shared_memory(solve_row_blocks<T, V, near, true>, memory_of_block());
      allow_shared_memory(solve_row_blocks<T, V, near, false>, memory_of_block());
    });
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    with_near<Number<T>>(near_, [&](auto near) {
      if (warps_ == 1) launch<near, true>(b, x, conjugate, stream);
      else launch<near, false>(b, x, conjugate, stream);
    });
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    take(value_, source_.data(), value, stream);
    take(scale_, row_.data(), inverse_diagonal, stream, 1);
    take(far_value_, far_source_.data(), value, stream);
  }

  std::string describe() const override
  {
    return std::to_string(blocks_) + " blocks of " + std::to_string(rows_) + " rows at most, " +
           std::to_string(near_) + " near entries a row, " + std::to_string(warps_) +
           (warps_ == 1 ? " warp" : " warps") + " for a step";
  }

  std::size_t plan_bytes() const override
  {
    return block_.bytes() + run_.bytes() + index_.bytes() + source_.bytes() + row_.bytes() + bundle_begin_.bytes() +
           bundle_position_.bytes() + far_place_.bytes() + far_source_.bytes() + mailbox_.bytes();
  }
  std::size_t value_bytes() const override { return value_.bytes() + scale_.bytes() + far_value_.bytes(); }

private:
  template <int near> using Memory = CourierMemory<Number<T>, Number<V>, near>;

  template <int near, bool alone> void launch(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const CourierView<V> view = {block_.data(), run_.data(), reinterpret_cast<const uint4*>(index_.data()),
                                 numbers(value_.data()),
                                 scale_.empty() ? nullptr : numbers(scale_.data()), bundle_begin_.data(),
                                 bundle_position_.data(), far_place_.data(), numbers(far_value_.data()),
                                 mails_, static_cast<std::uint32_t>(slots_), depth_, warps_, far_lanes_};
    solve_row_blocks<T, V, near, alone>
      <<<static_cast<unsigned>(blocks_), courier_threads<Number<T>, near, alone>, memory_, stream>>>(
        view, mailbox_.view(), counter_.data(), numbers(b), numbers(x), conjugate);
    check_launch("solve_row_blocks");
  }

  int near_, warps_, depth_ = least_depth;
  std::size_t blocks_, slots_, rows_, memory_ = 0;
  std::uint32_t mails_;
  int far_lanes_;
  DeviceArray<RowBlock> block_;
  DeviceArray<RowRun> run_;
  DeviceArray<std::uint16_t> index_;
  DeviceArray<I> source_, row_;
  DeviceArray<std::uint32_t> bundle_begin_, bundle_position_, far_place_;
  DeviceArray<I> far_source_;
  DeviceArray<V> value_, scale_, far_value_;
  typename ValueBox<Number<T>>::Memory mailbox_;
  DeviceArray<unsigned long long> counter_;
};

/// Has solve_tiles() a variant that inverts?
template <class T, class V, int near> constexpr bool can_invert = near == star_near && std::is_same_v<T, V>;

/// Rows that read ghosts.
template <class T, class V, class I> class GhostSolver : public OverlappingSolver<T, I> {
  using N = Number<T>;
  using Tiles = TileSet<T, N, V, I>;
  using WideTiles = TileSet<T, Bundle<T>, V, I>;

public:
  ///   star  nullptr: other tiles
  GhostSolver(std::unique_ptr<Tiles> tiles, bool unit, const CourierRule& rule, const StarTriangle<I>* star)
      : tiles_(std::move(tiles)), scaled_(!unit), rule_(rule), mailbox_(tiles_->mails()), counter_(1),
        chunks_(tiles_->mails()), wide_chunks_(0)
  {
    if (star && columns_of<Bundle<T>> > 1) star_ = *star;
    tiles_->with_form([&](auto near, auto form) {
      allow_shared_memory(solve_tiles<N, V, near, form, false>, memory_of_block());
      tiles_->take_clusters(solve_tiles<N, V, near, form, false>);
      if constexpr (can_invert<T, V, near>)
        allow_shared_memory(solve_tiles<N, V, near, TileForm::inverted, false>, memory_of_block());
    });
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool takes_columns() const override { return true; }
  Interleaving interleaving() const override { return wide_ ? interleaving_of<T>(false) : Interleaving(); }

  /// Without memory for tiles of their own columns go one by one through the chunks of one launch.
  bool prepare_columns() override
  {
    if (!star_) return false;
    const StarTriangle<I> star = *star_;
    star_.reset();
    try {
      wide_ = make_star_tiles<T, Bundle<T>, V>(star, rule_of_several<T, V>(star.grid, rule_));
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory) throw;
    }
    if (wide_) wide_chunks_ = ValueLaunches<T>(wide_->mails());
    return wide_ != nullptr;
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    tiles_->refresh(value, scaled_ ? inverse_diagonal : nullptr, stream);
    if (wide_) wide_->refresh(value, scaled_ ? inverse_diagonal : nullptr, stream);
  }
  bool refreshes_by_waiting() const override { return false; }

  bool solves_inverse() const override
  {
    bool can = false;
    with_ghosts(tiles_->near(), [&](auto near) { can = can_invert<T, V, near> && !scaled_; });
    return can;
  }
  void solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream) override
  {
    tiles_->refresh(c, nullptr, stream);
    with_ghosts(tiles_->near(), [&](auto near) {
      if constexpr (can_invert<T, V, near>)
        launch_one(solve_tiles<N, V, near, TileForm::inverted, false>, b, y, false, stream, false);
    });
  }

  std::string describe() const override { return tiles_->describe(); }
  std::size_t plan_bytes() const override
  {
    return tiles_->plan_bytes() + mailbox_.bytes() + chunks_.bytes() + wide_chunks_.bytes() +
           (wide_ ? wide_->plan_bytes() : 0);
  }
  std::size_t value_bytes() const override { return tiles_->value_bytes() + (wide_ ? wide_->value_bytes() : 0); }

private:
  using Chunks = ColumnLaunches<T, N, ValueBox>;

  void run(const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps) override
  {
    tiles_->with_form([&](auto near, auto form) {
      launch_one(solve_tiles<N, V, near, form, false>, b, x, conjugate, stream, overlaps);
    });
  }

  void run_columns(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream, bool overlaps) override
  {
    if (wide_) return run_chunks<Bundle<T>>(*wide_, wide_chunks_, v, conjugate, stream, overlaps);
    run_chunks<N>(*tiles_, chunks_, v, conjugate, stream, overlaps);
  }

  template <class Kernel>
  void launch_one(Kernel kernel, const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps)
  {
    tiles_->launch(kernel, 1, tiles_->cluster(), mailbox_.view(), counter_.data(), Input<N>{numbers(b)},
                   Output<N>{numbers(x)}, conjugate, stream, overlaps);
  }

  template <class Part, class Set, class Launches>
  static void run_chunks(const Set& tiles, Launches& launches, const DeviceColumns<T>& v, bool conjugate,
                         cudaStream_t stream, bool overlaps)
  {
    tiles.with_form([&](auto near, auto form) {
      if constexpr (columns_of<Part> == 1 || near == star_near) {
        const auto kernel = solve_tiles<Part, V, near, form, true>;
        allow_shared_memory(kernel, memory_of_block());
        launches.run(v, overlaps, [&](unsigned chunks, auto mailbox, auto* counter, const auto& b, const auto& x,
                                      bool overlap) {
          tiles.launch(kernel, chunks, 1, mailbox, counter, b, x, conjugate, stream, overlap);
        });
      }
    });
  }

  std::unique_ptr<Tiles> tiles_;
  bool scaled_;
  CourierRule rule_;
  typename ValueBox<N>::Memory mailbox_;
  DeviceArray<unsigned long long> counter_;
  Chunks chunks_;
  std::optional<StarTriangle<I>> star_;  ///< until the tiles for several columns are asked for
  std::unique_ptr<WideTiles> wide_;
  ValueLaunches<T> wide_chunks_;
};

/// Nothing where the triangle is not known to be that of a star's grid, or on the device.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_star(const DeviceTriangle<I>& triangle, const CourierRule& rule)
{
  if (!triangle.on_device.row_begin || triangle.source) return nullptr;
  const StarTriangle<I> star = {triangle.lower, triangle.on_device, triangle.grid};
  auto tiles = make_star_tiles<T, Number<T>, V>(star, rule);
  if (!tiles) return nullptr;
  return std::make_unique<GhostSolver<T, V, I>>(std::move(tiles), triangle.unit, rule, &star);
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_with_ghosts(const CourierPlan<I>& plan, GhostArrays<I> arrays, bool unit,
                                                     const CourierRule& rule)
{
  auto tiles = std::make_unique<TileSet<T, Number<T>, V, I>>(plan, std::move(arrays));
  return std::make_unique<GhostSolver<T, V, I>>(std::move(tiles), unit, rule, nullptr);
}

/// Nothing where the device cannot make the plan or has no memory for it, or rows have no room for ghosts.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_device(const DeviceTriangle<I>& triangle, const CourierRule& rule)
{
  if (!may_plan_ghosts(triangle, rule)) return nullptr;
  PageShape shape = {};
  with_ghosts(ghost_near[size_of_ghosts(triangle.longest(), rule)],
              [&](auto near) { shape = PageShape::of<GhostPage<Number<V>, near>>(); });
  CourierPlan<I> frame;
  GhostArrays<I> arrays;
  try {
    if (!make_ghost_plan(triangle, rule, shape, &frame, &arrays)) return nullptr;
  } catch (const Failure& failure) {
    if (failure.status.code != Code::out_of_memory) throw;
    return nullptr;
  }
  return make_with_ghosts<T, V>(frame, std::move(arrays), triangle.unit, rule);
}

}  // namespace

template <class T, class V, class I> TileChoice choose_courier_tile(const Grid<I>& grid)
{
  const CourierRule rule = rule_of_device<T, V>();
  return choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors);
}

template <class T, class V, class I> bool may_plan_courier_on_device(const DeviceTriangle<I>& triangle)
{
  return may_plan_ghosts(triangle, rule_of_device<T, V>());
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_courier(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  const CourierRule rule = make_rule<T, V>(triangle, options);
  if (rule.rows == 0)
    if (auto solver = make_courier_of_lines<T, V>(triangle)) return solver;
  if (auto solver = make_on_star<T, V>(triangle, rule)) return solver;
  if (auto solver = make_courier_of_nodes<T, V>(triangle, rule)) return solver;
  if (auto solver = make_on_device<T, V>(triangle, rule)) return solver;
  const CourierPlan<I> plan = make_plan<T, V>(triangle, rule);
  if (!plan.has_ghosts) return std::make_unique<MailSolver<T, V, I>>(triangle, plan);
  GhostArrays<I> arrays;
  with_ghosts(plan.near,
              [&](auto near) { arrays = GhostArrays<I>::template upload<GhostPage<Number<V>, near>>(plan); });
  return make_with_ghosts<T, V>(plan, std::move(arrays), triangle.unit, rule);
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_courier<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&); \
  template TileChoice choose_courier_tile<T, V, I>(const Grid<I>&);                                 \
  template bool may_plan_courier_on_device<T, V, I>(const DeviceTriangle<I>&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
