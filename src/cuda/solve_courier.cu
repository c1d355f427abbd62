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
#include <type_traits>
#include <vector>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "courier.hpp"
#include "courier_arrays.cuh"
#include "courier_compute.cuh"
#include "courier_ghosts.cuh"
#include "courier_mail.cuh"
#include "launch.hpp"
#include "level_order.cuh"

namespace syncfree::cuda {
namespace {

/// copy(place in shared memory, row) for all rows of a block, by its threads: a warp takes a run.
template <class View, class Copy> __device__ void for_rows(const View& A, const RowBlock& block, Copy copy)
{
  const RowRun* run = A.run + block.first_run;
  for (std::uint32_t r = threadIdx.x / 32; r < block.runs; r += blockDim.x / 32) {
    const RowRun own = run[r];
    for (std::uint32_t k = threadIdx.x % 32; k < own.rows; k += 32) copy(own.slot + k, own.first_row + k);
  }
}

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

/// owns       a block owns a tile or a run of rows; one lane of a computing warp a row of each step
/// waits      computing lanes for ghosts of their row, and for pages; polling warps for mail of earlier blocks; the
///            streaming thread for positions that nobody will read
/// publishes  each number in shared memory, and in the mailbox where somebody reads it there; clears the block's places
///            in the next launch's mailbox
/// order      mail and ghosts are their own flags (relaxed; device, block): a result that is NaN or infinite may have
///            come from a ghost that was not there, and is computed again when all are. Steps: named barriers, each
///            signalled by one group of warps and met by the next. Pages: an mbarrier when they come, of which one
///            thread tells the others with release, which they acquire; and an mbarrier when the first thread, behind
///            the barrier of a later step, knows that they have been read
/// progress   earlier blocks have earlier tickets and wait for nobody later. In a block steps follow each other, a page
///            is asked for before it is read, and polling warps wait for nobody in their block
/// result     reproducible: the order of additions depends on the plan only. `inverts`: 1 / x_i in place of x_i, which
///            is NaN, too, as long as a ghost is not there
/// source     design notes 10; no publication known
template <class T, class V, int near, bool inverts>
__global__ void __launch_bounds__(ghost_threads<near>, 1)
solve_tiles(GhostView<V> A, typename ValueBox<Number<T>>::View mailbox, unsigned long long* counter, const Number<T>* b,
            Number<T>* x, bool conjugate)
{
  using N = Number<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Turn turn = take_turn(counter);
  const RowBlock block = A.block[turn.place];
  const ValueBox<N> box(mailbox, A.mails, turn.launch);
  const GhostMemory<N, Number<V>, near> memory(shared, A.slots + 1 + A.most_ghosts, A.depth);
  if (threadIdx.x < static_cast<unsigned>(A.depth)) {
    memory.full[threadIdx.x].make(1);
    memory.empty[threadIdx.x].make(1);
    gates_are_made();
  }
  if (threadIdx.x == 0) memory.arrived->start();
  if (threadIdx.x == 0) memory.x[A.slots] = N(0);
  N* ghost = memory.x + A.slots + 1;
  for (std::uint32_t k = threadIdx.x; k < block.ghosts; k += blockDim.x) Tray<N>::clear(ghost + k);
  for (std::uint32_t k = threadIdx.x; k < block.mails; k += blockDim.x) box.prepare(block.first_mail + k);
  await_launch_before();
  let_next_start();
  for_rows(A, block, [&](std::uint32_t slot, std::int64_t row) { fetch_number(memory.x + slot, b + row); });
  await_fetched_numbers();
  __syncthreads();
  const unsigned warp = threadIdx.x / 32, computing = courier_groups * A.warps;
  if (warp < computing) {
    Walking<N, V, near, inverts, ValueBox<N>>(A, block, memory, box, conjugate).run(block.steps);
  } else if (warp == computing) {
    Streaming<N, V, near>(A, block, memory).run();
  } else if (warp == computing + 1) {
    if (threadIdx.x % 32 == 0) announce_pages(memory, block.pages, A.depth, Spin(block.first_row));
  } else {
    fetch_ghosts(A.ghost_place + block.first_ghost, block.ghosts, ghost, box, warp - computing - 2, block.first_row);
  }
  __syncwarp();
  __syncthreads();
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

/// What a block may use; the rest is for the ticket and the compiler.
inline std::size_t memory_of_block()
{
  return static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - 1024;
}

/// body(an integral constant) for one of the sizes of rows with ghosts.
template <class Body> void with_ghosts(int near, Body body)
{
  if (near == ghost_near[0]) return body(std::integral_constant<int, ghost_near[0]>());
  if (near == ghost_near[1]) return body(std::integral_constant<int, ghost_near[1]>());
  return body(std::integral_constant<int, ghost_near[2]>());
}

constexpr int least_depth = 8;  ///< pages that six steps of 128 rows may touch, and one
template <class N> constexpr int least_depth_of(int near)
{
  return near == courier_most_near<N> ? least_depth / 2 : least_depth;
}
/// With ghosts four steps must fit, which are of 64 rows where rows are long; more hide how far memory is.
constexpr int least_depth_with_ghosts(int near) { return 2 * ghost_warps(near); }

/// Numbers that fit beside a ring of `depth` pages.
template <class Memory, class N> std::int64_t numbers_that_fit(int depth)
{
  const std::size_t others = Memory::bytes(0, depth) + 16, all = memory_of_block();  // the ring begins at a 16th
  return others < all ? static_cast<std::int64_t>((all - others) / sizeof(N)) : 0;
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
      const std::int64_t fit = numbers_that_fit<GhostMemory<N, M, near>, N>(least_depth_with_ghosts(near));
      rule.ghost_slots[s] = std::clamp<std::int64_t>(fit, 0, 0xfff0);
    });
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

/// Of a block.
template <class I> std::uint32_t most_rows_of(const CourierPlan<I>& plan)
{
  std::uint32_t most = 0;
  for (const RowBlock& block : plan.block) most = std::max(most, block.rows);
  return most;
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
template <class T, class V, class I> class GhostSolver : public DeviceSolver<T, I> {
public:
  GhostSolver(const DeviceTriangle<I>& triangle, const CourierPlan<I>& plan, GhostArrays<I> arrays)
      : near_(plan.near), warps_(plan.warps), blocks_(plan.block.size()), slots_(plan.slots), rows_(most_rows_of(plan)),
        most_ghosts_(plan.most_ghosts), mails_(plan.mails), scaled_(!triangle.unit), arrays_(std::move(arrays)),
        run_(plan.run), mailbox_(plan.mails), counter_(1)
  {
    with_ghosts(near_, [&](auto near) {
      using Memory = GhostMemory<Number<T>, Number<V>, near>;
      const std::size_t numbers = std::size_t{slots_} + 1 + most_ghosts_;
      while (depth_ > least_depth_with_ghosts(near) && Memory::bytes(numbers, depth_) > memory_of_block()) --depth_;
      memory_ = Memory::bytes(numbers, depth_);
      allow_shared_memory(solve_tiles<T, V, near, false>, memory_of_block());
      if constexpr (can_invert<T, V, near>) allow_shared_memory(solve_tiles<T, V, near, true>, memory_of_block());
    });
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) override { run(b, x, conjugate, stream, false); }
  void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    run(b, x, conjugate, stream, overlaps_);
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    with_ghosts(near_, [&](auto near) {
      const std::size_t count = arrays_.source.size() / 2;
      fill_pairs<T, V, I, near><<<blocks_for(count, 256), 256, 0, stream>>>(
        count, arrays_.source.data(), arrays_.row.data(), numbers(value),
        scaled_ ? numbers(inverse_diagonal) : nullptr,
        reinterpret_cast<GhostPage<Number<V>, near>*>(arrays_.page.data()));
      check_launch("fill_pairs");
    });
  }

  bool solve_inverse(const T* c, const T* b, T* y, cudaStream_t stream) override
  {
    bool can = false;
    with_ghosts(near_, [&](auto near) {
      if constexpr (can_invert<T, V, near>) {
        if (scaled_) return;
        refresh(c, nullptr, stream);
        launch_tiles(solve_tiles<T, V, near, true>, b, y, false, stream, false);
        can = true;
      }
    });
    return can;
  }

  std::string describe() const override
  {
    return std::to_string(blocks_) + " blocks of " + std::to_string(rows_) + " rows and " +
           std::to_string(most_ghosts_) + " ghosts at most, " + std::to_string(warps_) +
           (warps_ == 1 ? " warp" : " warps") + " for a step";
  }

  std::size_t plan_bytes() const override
  {
    return arrays_.block.bytes() + run_.bytes() + arrays_.page.bytes() - value_bytes() + arrays_.source.bytes() +
           arrays_.row.bytes() + arrays_.ghost_place.bytes() + mailbox_.bytes();
  }
  std::size_t value_bytes() const override { return arrays_.source.size() * sizeof(V); }

private:
  static constexpr int most_depth = 16;

  void run(const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps)
  {
    with_ghosts(near_, [&](auto near) {
      launch_tiles(solve_tiles<T, V, near, false>, b, x, conjugate, stream, overlaps);
    });
  }

  template <class Kernel>
  void launch_tiles(Kernel kernel, const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps)
  {
    const GhostView<V> view = {arrays_.block.data(), run_.data(), arrays_.page.data(), arrays_.ghost_place.data(),
                               mails_, slots_, most_ghosts_, depth_, warps_};
    const auto threads = static_cast<unsigned>(32 * (courier_groups * warps_ + 2 + ghost_pollers));
    launch(kernel, {static_cast<unsigned>(blocks_), threads, memory_, stream, overlaps}, view, mailbox_.view(),
           counter_.data(), numbers(b), numbers(x), conjugate);
  }

  int near_, warps_, depth_ = most_depth;
  std::size_t blocks_, memory_ = 0;
  std::uint32_t slots_, rows_, most_ghosts_, mails_;
  bool scaled_;
  const bool overlaps_ = launches_can_overlap();
  GhostArrays<I> arrays_;
  DeviceArray<RowRun> run_;
  typename ValueBox<Number<T>>::Memory mailbox_;
  DeviceArray<unsigned long long> counter_;
};

/// Nothing where the triangle is not known to be that of a star's grid, or on the device.
template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_on_star(const DeviceTriangle<I>& triangle, const CourierRule& rule)
{
  StarPlan<I> star;
  if (!triangle.on_device.row_begin || triangle.source) return nullptr;
  if (!make_star_tables(triangle.n(), triangle.lower, triangle.grid, rule, &star)) return nullptr;
  GhostArrays<I> arrays;
  if (!fill_star_arrays<GhostPage<Number<V>, star_near>>(star, triangle.on_device, &arrays)) return nullptr;
  return std::make_unique<GhostSolver<T, V, I>>(triangle, star.frame, std::move(arrays));
}

}  // namespace

template <class T, class V, class I> TileChoice choose_courier_tile(const Grid<I>& grid)
{
  const CourierRule rule = rule_of_device<T, V>();
  return choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors);
}

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_courier(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  const CourierRule rule = make_rule<T, V>(triangle, options);
  if (auto solver = make_on_star<T, V>(triangle, rule)) return solver;
  const CourierPlan<I> plan = make_plan<T, V>(triangle, rule);
  if (!plan.has_ghosts) return std::make_unique<MailSolver<T, V, I>>(triangle, plan);
  std::unique_ptr<DeviceSolver<T, I>> solver;
  with_ghosts(plan.near, [&](auto near) {
    auto arrays = GhostArrays<I>::template upload<GhostPage<Number<V>, near>>(plan);
    solver = std::make_unique<GhostSolver<T, V, I>>(triangle, plan, std::move(arrays));
  });
  return solver;
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_courier<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&); \
  template TileChoice choose_courier_tile<T, V, I>(const Grid<I>&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
