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

#include "core/courier_plan.hpp"
#include "core/instantiate.hpp"
#include "level_order.cuh"

namespace syncfree::cuda {
namespace {

template <class V> struct CourierView {
  const RowBlock* block;
  const std::uint32_t* step_end;
  const std::uint16_t* index;
  const Number<V>*value, *scale;  ///< scale nullptr: 1
  const std::uint32_t *far_begin, *far_place;
  const std::uint16_t* far_slot;
  const Number<V>* far_value;
  std::uint32_t mails;
  int depth;      ///< pages in shared memory, a power of two
  int warps;      ///< that compute
  int far_lanes;  ///< of a row that reads mail
};

/// Complex numbers take twice the registers.
template <class N> constexpr bool is_wide = sizeof(N) > 8;
template <class N, int near> constexpr int courier_threads = near == 2 && !is_wide<N> ? 1024 : 512;
/// Mail that a helper's lane has in flight.
template <class N, int near> constexpr int courier_batch = near == 2 ? 2 : is_wide<N> ? 4 : 8;

/// What a block keeps in shared memory.
template <class N, class M, int near> struct CourierMemory {
  static constexpr std::size_t planes = near + 3;
  M *value, *scale;
  std::uint16_t* index;
  N* x;                 ///< by slot: the right-hand side, then the number
  unsigned char* ready; ///< by slot: has all mail been subtracted?
  Gate *full, *empty;   ///< by page of the ring

  static constexpr std::size_t page_bytes = courier_page * ((near + 1) * sizeof(M) + planes * 2);
  static std::size_t bytes(std::size_t rows, int depth)
  {
    return depth * (page_bytes + 2 * sizeof(Gate)) + (rows + 1) * (sizeof(N) + 1) + 16;
  }

  __device__ CourierMemory(unsigned char* memory, std::uint32_t rows, int depth)
  {
    x = reinterpret_cast<N*>(memory + depth * (page_bytes + 2 * sizeof(Gate)));
    value = reinterpret_cast<M*>(memory);
    scale = value + static_cast<std::size_t>(depth) * near * courier_page;
    index = reinterpret_cast<std::uint16_t*>(scale + static_cast<std::size_t>(depth) * courier_page);
    full = reinterpret_cast<Gate*>(index + depth * planes * courier_page);
    empty = full + depth;
    ready = reinterpret_cast<unsigned char*>(x + rows + 1);
  }
};

/// A row of a step, as far as it is known before its numbers are.
template <int near> struct Station {
  std::uint32_t own = 0, mail = courier_no_mail, slot[near] = {};
  bool waits = false;

  __device__ void read(const std::uint16_t* index)
  {
    const std::uint32_t first = index[0];
    own = first & ~static_cast<std::uint32_t>(courier_far);
    waits = first & courier_far;
#pragma unroll
    for (int j = 0; j < near; ++j) slot[j] = index[(j + 1) * courier_page];
    mail = index[(near + 1) * courier_page] | static_cast<std::uint32_t>(index[(near + 2) * courier_page]) << 16;
  }
};

/// Walks through the ends of a block's steps: a warp reads 32 at a time, ahead of need.
class Steps {
public:
  __device__ Steps(const std::uint32_t* end, std::uint32_t count)
      : end_(end), count_(count), lane_(threadIdx.x % 32), now_(read(0)), ahead_(read(32))
  {
  }
  /// The end of the next step; that of the last once all were told.
  __device__ std::uint32_t next()
  {
    if (told_ % 32 == 0 && told_ > 0) {
      now_ = ahead_;
      ahead_ = read(told_ + 32);
    }
    return __shfl_sync(~0u, now_, static_cast<int>(told_++ % 32));
  }

private:
  __device__ std::uint32_t read(std::uint32_t first) const
  {
    return end_[min(first + lane_, count_ - 1)];
  }
  const std::uint32_t* end_;
  std::uint32_t count_, lane_, told_ = 0, now_, ahead_;
};

/// sum - sum_j value_j number_j in few dependent operations; the last product, that of the latest number, comes last.
template <class N, class M, int near>
__device__ N subtract_near(N sum, const M* value, const N (&number)[near], bool conjugate)
{
  constexpr int ways = near >= 8 ? 4 : near / 2;
  N part[ways] = {};
  part[ways - 1] = sum;
#pragma unroll
  for (int j = 0; j < near; ++j) {
    const N v = N(value[j * courier_page]);
    part[j % ways] -= product(conjugate ? conjugate_of(v) : v, number[j]);
  }
#pragma unroll
  for (int w = 1; w < ways; ++w) part[0] += part[w];
  return part[0];
}

/// The warps that compute: a lane a row, one step after the other.
template <class T, class V, int near, bool alone, class Box>
__device__ void compute(const CourierView<V>& A, const RowBlock& block,
                        const CourierMemory<Number<T>, Number<V>, near>& memory, const Box& box, bool conjugate)
{
  using N = Number<T>;
  constexpr std::size_t planes = CourierMemory<N, Number<V>, near>::planes;
  const std::uint32_t me = threadIdx.x, mask = A.depth - 1;
  Steps steps(A.step_end + block.first_step, block.steps);
  std::uint32_t seen = 0, freed = 0, begin = 0, end = steps.next();
  const auto await = [&](std::uint32_t position) {
    for (; seen * courier_page < position; ++seen)
      memory.full[seen & mask].wait(seen / A.depth & 1, Spin(block.first_row));
  };
  const auto look_ahead = [&](Station<near>* station, std::uint32_t first, std::uint32_t last) {
    await(last);
    const std::uint32_t p = first + me;
    if (p < last) {
      station->read(memory.index + (p / courier_page & mask) * planes * courier_page + p % courier_page);
      if (station->waits) station->waits = !is_raised(memory.ready + station->own);
    } else {
      station->waits = false;
    }
    return __any_sync(~0u, station->waits);
  };
  Station<near> station, next;
  bool waiting = look_ahead(&station, begin, end);
  for (std::uint32_t s = 0; s < block.steps; ++s) {
    const std::uint32_t p = begin + me, following = steps.next();
    const bool mine = p < end;
    for (Spin spin(block.first_row + station.own); waiting; spin.turn()) {
      if (station.waits) station.waits = !is_raised(memory.ready + station.own);
      waiting = __any_sync(~0u, station.waits);
    }
    N number[near];
#pragma unroll
    for (int j = 0; j < near; ++j) number[j] = memory.x[station.slot[j]];
    N sum = memory.x[station.own];
    const std::uint32_t page = p / courier_page & mask;
    const Number<V>* value = memory.value + page * near * courier_page + p % courier_page;
    sum = subtract_near<N, Number<V>, near>(sum, value, number, conjugate);
    if (A.scale) {
      const N scale = N(memory.scale[page * courier_page + p % courier_page]);
      sum = product(sum, conjugate ? conjugate_of(scale) : scale);
    }
    if (mine) {
      memory.x[station.own] = sum;
      if (station.mail != courier_no_mail) box.put(station.mail, sum);
    }
    const bool more = s + 1 < block.steps;
    if (more) waiting = look_ahead(&next, end, following);
    if (alone) __syncwarp();
    else meet(32 * A.warps);
    station = next;
    begin = end;
    end = following;
    for (; freed < begin / courier_page; ++freed)
      if (threadIdx.x % 32 == 0) memory.empty[freed & mask].arrive();
  }
}

/// The warp that streams pages into the ring.
template <class N, class V, int near>
__device__ void fetch(const CourierView<V>& A, const RowBlock& block,
                      const CourierMemory<N, Number<V>, near>& memory)
{
  using M = Number<V>;
  constexpr unsigned values = near * courier_page * sizeof(M), scales = courier_page * sizeof(M);
  constexpr unsigned indices = CourierMemory<N, M, near>::planes * courier_page * 2;
  const unsigned lane = threadIdx.x % 32, mask = A.depth - 1;
  for (std::uint32_t q = 0; q < block.pages; ++q) {
    const unsigned at = q & mask;
    const std::size_t page = block.first_page + q;
    if (q >= static_cast<unsigned>(A.depth)) memory.empty[at].wait((q / A.depth - 1) & 1, Spin(block.first_row));
    M* value = memory.value + at * near * courier_page;
    M* scale = memory.scale + at * courier_page;
    std::uint16_t* index = memory.index + at * (indices / 2);
    const M *from = A.value + page * near * courier_page, *scale_from = A.scale + page * courier_page;
    const std::uint16_t* index_from = A.index + page * (indices / 2);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (lane != 0) continue;
    Gate& gate = memory.full[at];
    gate.arrive_with(values + indices + (A.scale ? scales : 0));
    gate.copy(value, from, values);
    gate.copy(index, index_from, indices);
    if (A.scale) gate.copy(scale, scale_from, scales);
#else
    for (unsigned k = lane; k < near * courier_page; k += 32) value[k] = from[k];
    for (unsigned k = lane; k < indices / 2; k += 32) index[k] = index_from[k];
    if (A.scale)
      for (unsigned k = lane; k < courier_page; k += 32) scale[k] = scale_from[k];
    __syncwarp();
    if (lane == 0) memory.full[at].arrive();
#endif
  }
}

/// Mail of one row, as far as a lane sees to it.
template <class N, class M, class Box, int size> struct Letters {
  std::uint32_t k, end, slot, place[size];
  N value[size];
  typename Box::Look look[size];
  bool waits[size];

  /// Entries from k on, `lanes` apart.
  __device__ void open(const std::uint32_t* places, const M* values, unsigned lanes)
  {
#pragma unroll
    for (int e = 0; e < size; ++e) {
      waits[e] = k + e * lanes < end;
      place[e] = waits[e] ? places[k + e * lanes] : 0;
      value[e] = waits[e] ? N(values[k + e * lanes]) : N(0);
    }
  }

  /// Looks once for all that is missing, and adds it up when nothing is: then true.
  __device__ bool take(const Box& box, bool conjugate, N* sum)
  {
    bool complete = true;
    bool live[size];
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (waits[e]) look[e] = box.look(place[e]);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      live[e] = waits[e];
      complete = complete && (!waits[e] || box.arrived(look[e]));
    }
    if (!complete) return false;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (live[e]) *sum += product(conjugate ? conjugate_of(value[e]) : value[e], box.take(place[e], look[e]));
    return true;
  }
};

/// Warps that subtract what comes by mail: `far_lanes` lanes a row, the first of the next row's entries on their way.
template <class T, class V, int near, class Box>
__device__ void help(const CourierView<V>& A, const RowBlock& block,
                     const CourierMemory<Number<T>, Number<V>, near>& memory, const Box& box, bool conjugate,
                     unsigned helper, unsigned helpers)
{
  using N = Number<T>;
  using Mail = Letters<N, Number<V>, Box, courier_batch<N, near>>;
  const unsigned lanes = A.far_lanes, lane = threadIdx.x % lanes, rows = 32 / lanes;
  const unsigned group = lanes == 32 ? ~0u : ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  const std::uint32_t* begin = A.far_begin + block.first_far_begin;
  const std::uint16_t* slot = A.far_slot + block.first_far_row;
  const std::uint32_t* place = A.far_place + block.first_far;
  const Number<V>* value = A.far_value + block.first_far;
  const auto find = [&](Mail* mail, std::uint32_t row) {
    const bool live = row < block.far_rows;
    mail->slot = live ? slot[row] : 0;
    mail->end = live ? begin[row + 1] : 0;
    mail->k = live ? begin[row] + lane : 0;
    mail->open(place, value, lanes);
  };
  std::uint32_t row = helper * rows + threadIdx.x % 32 / lanes;
  Mail now, ahead;
  find(&now, row);
  for (std::uint32_t first = helper * rows; first < block.far_rows; first += helpers * rows) {
    find(&ahead, row + helpers * rows);
    N sum(0);
    const bool live = row < block.far_rows;
    bool summed = !live, done = !live;
    for (Spin spin(block.first_row + now.slot); !__all_sync(~0u, done); spin.turn()) {
      if (!summed && now.take(box, conjugate, &sum)) {
        now.k += courier_batch<N, near> * lanes;
        summed = now.k >= now.end;
        if (!summed) now.open(place, value, lanes);
      }
      const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done;
      if (!__any_sync(~0u, complete)) continue;
      N total = sum;
      for (unsigned offset = lanes / 2; offset; offset /= 2) total += from_lane(total, static_cast<int>(offset));
      if (complete && lane == 0) {
        memory.x[now.slot] -= total;
        raise(memory.ready + now.slot);
      }
      done = done || complete;
    }
    row += helpers * rows;
    now = ahead;
  }
}

/// owns       a block owns a run of rows; one lane of a compute warp a row of each step, a helper's lanes a row's mail
/// waits      compute lanes for the flag of a row that reads mail and for pages; helpers for mail of earlier blocks and
///            of earlier steps; the fetching lane for pages that were left
/// publishes  each number in shared memory, and in the mailbox where somebody reads it there; clears the block's places
///            in the next launch's mailbox
/// order      mail is its own flag (relaxed, device). Right-hand sides: a helper's release of the row's byte, acquired
///            by the row's lane before it reads the number. Steps: a named barrier, or __syncwarp() for one warp. Pages:
///            mbarriers; a page is left when all compute warps have arrived behind the step that read it
/// progress   earlier blocks have earlier tickets and wait for nobody later. In a block the row of the lowest level that
///            is not done has all it reads; its helper takes rows in the order of steps and hands each over as it is
///            complete, and pages come in that order, too
/// result     reproducible: the order of additions depends on the plan only
/// source     design notes 4 and 10; no publication known. Blocks of rows in local memory: Picciau et al. 2016
template <class T, class V, int near, bool alone>
__global__ void __launch_bounds__(courier_threads<Number<T>, near>, 1)
solve_row_blocks(CourierView<V> A, typename ValueBox<Number<T>>::View mailbox, unsigned long long* counter,
                 const Number<T>* b, Number<T>* x, bool conjugate)
{
  using N = Number<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  const Turn turn = take_turn(counter);
  const RowBlock block = A.block[turn.place];
  const ValueBox<N> box(mailbox, A.mails, turn.launch);
  const CourierMemory<N, Number<V>, near> memory(shared, block.rows, A.depth);
  if (threadIdx.x < static_cast<unsigned>(A.depth)) {
    memory.full[threadIdx.x].make(1);
    memory.empty[threadIdx.x].make(A.warps);
    gates_are_made();
  }
  for (std::uint32_t k = threadIdx.x; k <= block.rows; k += blockDim.x) {
    memory.x[k] = k < block.rows ? b[block.first_row + k] : N(0);
    memory.ready[k] = 0;
  }
  for (std::uint32_t k = threadIdx.x; k < block.mails; k += blockDim.x) box.prepare(block.first_mail + k);
  __syncthreads();
  /* a lone compute warp has a scheduler, which is every fourth warp's, to itself */
  const unsigned all = blockDim.x / 32, warp = threadIdx.x / 32, first = A.warps;
  const unsigned skipped = alone ? (all - 1) / 4 : 0;
  if (warp < first) {
    compute<T, V, near, alone>(A, block, memory, box, conjugate);
  } else if (warp == first) {
    fetch<N, V, near>(A, block, memory);
  } else if (!alone || warp % 4 != 0) {
    help<T, V, near>(A, block, memory, box, conjugate, warp - first - 1 - (alone ? warp / 4 : 0),
                     all - first - 1 - skipped);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < block.rows; k += blockDim.x) x[block.first_row + k] = memory.x[k];
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
  CourierSolver(const DeviceTriangle<I>& triangle, std::int64_t rows)
      : CourierSolver(triangle, make_plan(triangle, rows))
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
    return block_.bytes() + step_end_.bytes() + index_.bytes() + source_.bytes() + row_.bytes() + far_begin_.bytes() +
           far_slot_.bytes() + far_place_.bytes() + far_source_.bytes() + mailbox_.bytes();
  }
  std::size_t value_bytes() const override { return value_.bytes() + scale_.bytes() + far_value_.bytes(); }

private:
  static constexpr int least_depth = 4;  ///< pages that two steps of 128 rows may touch, and one
  template <int near> using Memory = CourierMemory<Number<T>, Number<V>, near>;

  static std::size_t memory_of_block()
  {
    int device = 0, memory = 0;
    SYNCFREE_CUDA(cudaGetDevice(&device));
    SYNCFREE_CUDA(cudaDeviceGetAttribute(&memory, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return static_cast<std::size_t>(memory) - 1024;  // the ticket and what the compiler takes
  }

  static int multiprocessors()
  {
    int device = 0, count = 0;
    SYNCFREE_CUDA(cudaGetDevice(&device));
    SYNCFREE_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
  }

  /// Rows that fit beside a ring of `depth` pages.
  template <int near> static std::int64_t rows_that_fit(int depth)
  {
    const std::size_t rest = memory_of_block() - Memory<near>::bytes(0, depth);
    return static_cast<std::int64_t>(rest / (sizeof(Number<T>) + 1));
  }

  static CourierPlan<I> make_plan(const DeviceTriangle<I>& triangle, std::int64_t rows)
  {
    constexpr int most_near = courier_most_near<Number<T>>;
    CourierRule rule;
    rule.rows = rows_that_fit<4>(8);
    rule.blocks = rows > 0 ? 1 : multiprocessors();
    rule.most_near = most_near;
    rule.most_warps = 4;
    if (rows > 0) rule.rows = std::min(rule.rows, rows);
    const LevelsOf<I> levels(triangle);
    CourierPlan<I> plan;
    for (;;) {
      const Status status = make_courier_plan(triangle.pattern, triangle.lower, *levels, rule, &plan);
      if (!status.ok()) throw Failure{status};
      if (plan.near < most_near || rule.rows <= rows_that_fit<most_near>(least_depth)) break;
      rule.near = most_near;
      rule.rows = rows_that_fit<most_near>(least_depth);
    }
    if (!triangle.source) return plan;
    for (I& source : plan.source)
      if (source >= 0) source = triangle.source[source];
    for (I& source : plan.far_source) source = triangle.source[source];
    return plan;
  }

  CourierSolver(const DeviceTriangle<I>& triangle, const CourierPlan<I>& plan)
      : near_(plan.near), warps_(plan.warps), blocks_(plan.block.size()), mails_(plan.mails),
        far_lanes_(lanes_for_mail(plan)),        block_(plan.block), step_end_(plan.step_end), index_(plan.index), source_(plan.source), row_(plan.row),
        far_begin_(plan.far_begin), far_slot_(plan.far_slot), far_place_(plan.far_place),
        far_source_(plan.far_source), value_(plan.source.size()), scale_(triangle.unit ? 0 : plan.row.size()),
        far_value_(plan.far_source.size()), mailbox_(plan.mails), counter_(1)
  {
    for (const RowBlock& block : plan.block) most_rows_ = std::max<std::size_t>(most_rows_, block.rows);
    with_near<Number<T>>(near_, [&](auto near) {
      for (depth_ = 16; depth_ > least_depth && Memory<near>::bytes(most_rows_, depth_) > memory_of_block();) depth_ /= 2;
      memory_ = Memory<near>::bytes(most_rows_, depth_);
      const auto most = static_cast<int>(memory_of_block());
      allow(solve_row_blocks<T, V, near, true>, most);
      allow(solve_row_blocks<T, V, near, false>, most);
    });
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  template <class Kernel> static void allow(Kernel kernel, int bytes)
  {
    SYNCFREE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  }

  static int lanes_for_mail(const CourierPlan<I>& plan)
  {
    const double mean = static_cast<double>(plan.far_place.size()) /
                        static_cast<double>(std::max<std::size_t>(1, plan.far_slot.size()));
    return mean <= 10 ? 1 : mean <= 32 ? 4 : 32;
  }

  template <int near, bool alone> void launch(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const CourierView<V> view = {block_.data(), step_end_.data(), index_.data(), numbers(value_.data()),
                                 scale_.empty() ? nullptr : numbers(scale_.data()), far_begin_.data(),
                                 far_place_.data(), far_slot_.data(), numbers(far_value_.data()),
                                 mails_, depth_, warps_, far_lanes_};
    solve_row_blocks<T, V, near, alone>
      <<<static_cast<unsigned>(blocks_), courier_threads<Number<T>, near>, memory_, stream>>>(
        view, mailbox_.view(), counter_.data(), numbers(b), numbers(x), conjugate);
    check_launch("solve_row_blocks");
  }

  int near_, warps_, depth_ = least_depth;
  std::size_t blocks_, most_rows_ = 0, memory_ = 0;
  std::uint32_t mails_;
  int far_lanes_;
  DeviceArray<RowBlock> block_;
  DeviceArray<std::uint32_t> step_end_;
  DeviceArray<std::uint16_t> index_;
  DeviceArray<I> source_, row_;
  DeviceArray<std::uint32_t> far_begin_;
  DeviceArray<std::uint16_t> far_slot_;
  DeviceArray<std::uint32_t> far_place_;
  DeviceArray<I> far_source_;
  DeviceArray<V> value_, scale_, far_value_;
  typename ValueBox<Number<T>>::Memory mailbox_;
  DeviceArray<unsigned long long> counter_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_courier(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  return std::make_unique<CourierSolver<T, V, I>>(triangle, options.blocks.least_rows);
}

#define INSTANTIATE(T, V, I)                                                                        \
  template std::unique_ptr<DeviceSolver<T, I>> make_courier<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
