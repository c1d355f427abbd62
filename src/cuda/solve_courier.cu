/// Strategy `courier`: a run of rows for each thread block, solved in place in the shared memory of its multiprocessor
/// (core/courier_plan.hpp).
///
///   x_i = (b_i - sum over far entries - sum over near entries) / diagonal_i
///
/// Links of the chain that stay in a block cost one access to shared memory and one barrier of few warps. Compute warps
/// do nothing but that. What is needed for it comes ahead of them: a fetching warp streams the block's part of the
/// factor, helper warps subtract what comes by mail. A block reads its part of b and writes its part of x in runs.

#include <algorithm>
#include <vector>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "courier_compute.cuh"
#include "courier_mail.cuh"
#include "level_order.cuh"

namespace syncfree::cuda {
namespace {

/// By all threads of a block, several loads in flight.
template <class N> __device__ void copy_run(N* to, const N* from, std::uint32_t count)
{
  constexpr int flight = 4;
  for (std::uint32_t first = threadIdx.x; first < count; first += flight * blockDim.x) {
    N some[flight];
#pragma unroll
    for (int f = 0; f < flight; ++f)
      if (first + f * blockDim.x < count) some[f] = from[first + f * blockDim.x];
#pragma unroll
    for (int f = 0; f < flight; ++f)
      if (first + f * blockDim.x < count) to[first + f * blockDim.x] = some[f];
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
  const CourierMemory<N, Number<V>, near> memory(shared, A.most_rows, A.depth);
  if (threadIdx.x < static_cast<unsigned>(A.depth)) {
    memory.full[threadIdx.x].make(1);
    memory.empty[threadIdx.x].make(1);
    gates_are_made();
  }
  if (threadIdx.x == 0) memory.left->start();
  for (std::uint32_t k = threadIdx.x; k < A.depth * courier_page; k += blockDim.x) Tray<N>::clear(memory.mail + k);
  if (threadIdx.x == 0) memory.x[block.rows] = N(0);
  copy_run(memory.x, b + block.first_row, block.rows);
  for (std::uint32_t k = threadIdx.x; k < block.mails; k += blockDim.x) box.prepare(block.first_mail + k);
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
  copy_run(x + block.first_row, memory.x, block.rows);
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

template <class T, class V, class I> class CourierSolver : public DeviceSolver<T, I> {
public:
  CourierSolver(const DeviceTriangle<I>& triangle, const SolverOptions& options)
      : CourierSolver(triangle, make_plan(triangle, options))
  {
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
    return std::to_string(blocks_) + " blocks of " + std::to_string(most_rows_) + " rows at most, " +
           std::to_string(near_) + " near entries a row, " + std::to_string(warps_) +
           (warps_ == 1 ? " warp" : " warps") + " for a step";
  }

  std::size_t plan_bytes() const override
  {
    return block_.bytes() + index_.bytes() + source_.bytes() + row_.bytes() + bundle_begin_.bytes() +
           bundle_position_.bytes() + far_place_.bytes() + far_source_.bytes() + mailbox_.bytes();
  }
  std::size_t value_bytes() const override { return value_.bytes() + scale_.bytes() + far_value_.bytes(); }

private:
  static constexpr int least_depth = 8;  ///< pages that six steps of 128 rows may touch, and one
  static constexpr int least_depth_of(int near)
  {
    return near == courier_most_near<Number<T>> ? least_depth / 2 : least_depth;
  }
  template <int near> using Memory = CourierMemory<Number<T>, Number<V>, near>;

  static std::size_t memory_of_block()
  {
    const int memory = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    return static_cast<std::size_t>(memory) - 1024;  // the ticket and what the compiler takes
  }

  /// Rows that fit beside a ring of `depth` pages.
  template <int near> static std::int64_t rows_that_fit(int depth)
  {
    const std::size_t rest = memory_of_block() - Memory<near>::bytes(0, depth);
    return static_cast<std::int64_t>(rest / sizeof(Number<T>)) - 2;
  }

  static CourierPlan<I> make_plan(const DeviceTriangle<I>& triangle, const SolverOptions& options)
  {
    constexpr int most_near = courier_most_near<Number<T>>;
    CourierRule rule;
    rule.most_rows = rows_that_fit<4>(least_depth);
    rule.rows = options.blocks.least_rows;
    rule.most_near = most_near;
    rule.most_warps = 4;
    rule.most_warps_of_long = 2;
    rule.threads = options.threads;
    const LevelsOf<I> levels(triangle);
    CourierPlan<I> plan;
    for (;;) {
      const Status status = make_courier_plan(triangle.pattern, triangle.lower, *levels, rule, &plan);
      if (!status.ok()) throw Failure{status};
      with_near<Number<T>>(plan.near, [&](auto near) { rule.most_rows = rows_that_fit<near>(least_depth_of(near)); });
      if (plan.most_rows <= rule.most_rows) break;
      rule.near = plan.near;
    }
    if (triangle.source) {
      rename(&plan.source, triangle.source, rule.threads);
      rename(&plan.far_source, triangle.source, rule.threads);
    }
    return plan;
  }

  static void rename(Array<I>* entries, const I* source, int threads)
  {
    constexpr std::size_t part = 1 << 16;
    for_parts(threads, (entries->size() + part - 1) / part, [&](std::size_t p) {
      for (std::size_t k = p * part; k < std::min(entries->size(), (p + 1) * part); ++k)
        if ((*entries)[k] >= 0) (*entries)[k] = source[(*entries)[k]];
    });
  }

  CourierSolver(const DeviceTriangle<I>& triangle, const CourierPlan<I>& plan)
      : near_(plan.near), warps_(plan.warps), blocks_(plan.block.size()), most_rows_(plan.most_rows),
        mails_(plan.mails), far_lanes_(plan.far_lanes), block_(plan.block), index_(plan.index), source_(plan.source),
        row_(plan.row),
        bundle_begin_(plan.bundle_begin), bundle_position_(plan.bundle_position), far_place_(plan.far_place),
        far_source_(plan.far_source), value_(plan.source.size()), scale_(triangle.unit ? 0 : plan.row.size()),
        far_value_(plan.far_source.size()), mailbox_(plan.mails), counter_(1)
  {
    with_near<Number<T>>(near_, [&](auto near) {
      const auto fits = [&] { return Memory<near>::bytes(most_rows_, depth_) <= memory_of_block(); };
      for (depth_ = 16; depth_ > least_depth_of(near) && !fits();) depth_ /= 2;
      memory_ = Memory<near>::bytes(most_rows_, depth_);
      allow_shared_memory(solve_row_blocks<T, V, near, true>, memory_of_block());
      allow_shared_memory(solve_row_blocks<T, V, near, false>, memory_of_block());
    });
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  template <int near, bool alone> void launch(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const CourierView<V> view = {block_.data(), reinterpret_cast<const uint4*>(index_.data()), numbers(value_.data()),
                                 scale_.empty() ? nullptr : numbers(scale_.data()), bundle_begin_.data(),
                                 bundle_position_.data(), far_place_.data(), numbers(far_value_.data()),
                                 mails_, static_cast<std::uint32_t>(most_rows_), depth_, warps_, far_lanes_};
    solve_row_blocks<T, V, near, alone>
      <<<static_cast<unsigned>(blocks_), courier_threads<Number<T>, near, alone>, memory_, stream>>>(
        view, mailbox_.view(), counter_.data(), numbers(b), numbers(x), conjugate);
    check_launch("solve_row_blocks");
  }

  int near_, warps_, depth_ = least_depth;
  std::size_t blocks_, most_rows_, memory_ = 0;
  std::uint32_t mails_;
  int far_lanes_;
  DeviceArray<RowBlock> block_;
  DeviceArray<std::uint16_t> index_;
  DeviceArray<I> source_, row_;
  DeviceArray<std::uint32_t> bundle_begin_, bundle_position_, far_place_;
  DeviceArray<I> far_source_;
  DeviceArray<V> value_, scale_, far_value_;
  typename ValueBox<Number<T>>::Memory mailbox_;
  DeviceArray<unsigned long long> counter_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_courier(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  return std::make_unique<CourierSolver<T, V, I>>(triangle, options);
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_courier<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
