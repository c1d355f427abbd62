#pragma once

/// L and then U of `level_order` in one launch, in the order of the caller's rows: b is gathered and x scattered in it.
/// Two hand-overs: from row to row, by values that are their own flags; or, if levels are so wide that this costs more
/// memory traffic than it saves time, from level to level. Rows of U without entries are finished by L's rows.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// What a launch reads of a factor; `row` of L is the index in b, that of U the index in x.
///   place_in_U  by position in L: position of the same row in U; negative for partial rows
///   place_in_L  the reverse
///   finished    rows of U at positions below have no entries
template <class V, class I> struct LevelPairView {
  StoredView<V, I> L, U;
  const I *place_in_U, *place_in_L;
  I finished;

  __device__ bool is_finished(I place) const { return place >= 0 && place < finished; }
  __device__ auto scale(std::size_t place, bool conjugate) const
  {
    const DeviceScalar<V> inverse = U.inverse_diagonal[place];
    return conjugate ? conjugate_of(inverse) : inverse;
  }
};

/// It may begin before the previous launch has ended, which may be one of this kernel: mailboxes are cleared after the
/// end of that launch.
///
/// owns       `lanes` lanes of a warp own one row, first those of L, then those of U that are not finished; a thread
///            block owns as many as it has room for, consecutive in level order
/// waits      for the values of earlier rows, all of a batch polled at once; first lanes of rows of U first for L's
/// publishes  the row's value, and U's value of a row that it finishes; prepares their slots for the next launch
/// order      DoubleBufferedMailbox: relaxed, the value itself is the message
/// progress   rows at earlier positions, and all of L for U, belong to thread blocks with earlier tickets, or to this
///            warp or thread block
/// result     reproducible: the order of additions depends on the row only
/// source     as solve_in_level_order; L and U in one launch: this library
///   memory  a slot for each row of L, then of U
template <class N, class V, class I, int lanes, class Loads>
__global__ void __launch_bounds__(level_order_threads)
solve_pair_by_values(LevelPairView<V, I> factor, unsigned blocks_of_L, typename DoubleBufferedMailbox<N>::View memory,
                     TicketCounter* counter, const N* b, N* x, bool conjugate)
{
  using Box = DoubleBufferedMailbox<N>;
  const BlockTicket ticket = take_ticket(counter);
  const bool is_L = ticket.index < blocks_of_L;
  const auto rows_of_L = static_cast<std::size_t>(factor.L.n), slots = rows_of_L + factor.U.n;
  const Box of_L(memory, slots, ticket.launch), of_U(memory, slots, ticket.launch, rows_of_L);
  const Box box(memory, slots, ticket.launch, is_L ? 0 : rows_of_L);
  const StoredView<V, I> A = is_L ? factor.L : factor.U;
  const std::size_t first = is_L ? 0 : factor.finished, block = ticket.index - (is_L ? 0 : blocks_of_L);
  const std::size_t position = first + block * (blockDim.x / lanes) + threadIdx.x / lanes;
  I place = -1;
  bool finishes = false;
  N scale(1);
  const auto begin = [&](bool live, I row, int lane) {
    const bool owns = live && lane == 0;
    if (owns) place = (is_L ? factor.place_in_U : factor.place_in_L)[position];
    finishes = owns && is_L && factor.is_finished(place);
    if (finishes) scale = N(factor.scale(place, conjugate));
    wait_for_primary_launch();
    trigger_dependent_launch();
    if (!owns) return N(0);
    box.prepare_slot(position);
    if (finishes) of_U.prepare_slot(place);
    if (is_L) return row >= 0 ? b[row] : N(0);
    if (place < 0) return N(0);
    auto seen = of_L.poll_slot(place);
    (void)BoundedWait(row).until<4>([&] { return of_L.has_arrived(seen); }, [&] { seen = of_L.poll_slot(place); });
    return of_L.take_value(place, seen);
  };
  const auto end = [&](I row, const N& value) {
    if (!is_L) x[row] = value;
    if (!finishes) return;
    const N finished = product(value, scale);
    of_U.publish_value(place, finished);
    x[factor.U.row[place]] = finished;
  };
  solve_row<N, V, I, Box, lanes, PlainRhs<V, I>, Loads>(A, box, position, position, OneChunk(), conjugate, begin, end);
}

/// The rows of one thread block, at positions [first, end) of L or of U. Stages are the levels of L, then those of U
/// but the first, whose rows are finished by L's.
struct LevelShare {
  std::int64_t first, end;
  unsigned stage;
  unsigned awaited;  ///< thread blocks of the stage before
};

/// The rest of a row from entry k on, with every `lanes`-th entry; the first ones are loaded by the constructor.
template <class N, class V, class I, int lanes> class RestOfRow {
public:
  __device__ RestOfRow(const StoredView<V, I>& A, std::size_t position, bool live)
      : column_of_(A.column), value_of_(A.value)
  {
    k_ = live ? A.begin[position] + static_cast<I>(threadIdx.x % lanes) : 0;
    end_ = live ? A.begin[position + 1] : 0;
    load_entries();
  }

  /// Returns the lane's part of the product with x, which is not constant during the launch.
  __device__ N multiply(const N* x, bool conjugate)
  {
    N sum(0);
    for (;;) {
#pragma unroll
      for (int e = 0; e < batch; ++e)
        if (k_ + e * lanes < end_) sum += product(conjugate ? conjugate_of(value_[e]) : value_[e], x[column_[e]]);
      k_ += batch * lanes;
      if (k_ >= end_) return sum;
      load_entries();
    }
  }

private:
  static constexpr int batch = 4;

  __device__ void load_entries()
  {
#pragma unroll
    for (int e = 0; e < batch; ++e)
      if (k_ + e * lanes < end_) column_[e] = column_of_[k_ + e * lanes], value_[e] = N(value_of_[k_ + e * lanes]);
  }

  const I* column_of_;
  const DeviceScalar<V>* value_of_;
  I k_, end_, column_[batch];
  N value_[batch];
};

/// Waits until all thread blocks of the stage before have stored their values. Called by a whole thread block, of which
/// one thread waits; false if the launch was given up. Only what it sees last is acquired: each acquire would empty the
/// first-level cache of the thread blocks that still multiply.
///   row  for the report
inline __device__ bool await_stage(unsigned* complete, const LevelShare& share, unsigned long long launch,
                                   std::int64_t row)
{
  bool is_complete = true;
  if (share.stage > 0 && threadIdx.x == 0) {
    unsigned* const count = complete + share.stage - 1;
    const unsigned all = static_cast<unsigned>(launch + 1) * share.awaited;
    unsigned seen = load_relaxed(count);
    is_complete = BoundedWait(row).until<4>([&] { return seen == all; }, [&] { seen = load_relaxed(count); });
    fence_acquire();
  }
  return __syncthreads_and(is_complete) != 0;
}

/// It may begin before the previous launch has ended, which may be one of this kernel.
///
/// owns       a thread block owns a share of a stage; `lanes` lanes of a warp own one row at a time
/// waits      one thread until the stage before is complete, the others at the barrier of the thread block
/// publishes  y of its rows in L, z and x of those in U; then it counts itself as complete
/// order      the thread block's barrier before the count, which is released; relaxed polls of the count, then an
///            acquire fence and the barrier: causality order is transitive, so plain loads see the values
/// progress   the stage before belongs to thread blocks with earlier tickets
/// result     reproducible: the order of additions depends on the row only
/// source     levels: Anderson & Saad 1989, Saltz 1990; here in one launch, without a barrier of the whole grid
///   complete  by stage: thread blocks that have completed it, in all launches
///   y, z      n values, by position in L and in U; z of the last stage is not read, so it is not stored
template <class N, class V, class I, int lanes>
__global__ void __launch_bounds__(level_order_threads, 4)
solve_pair_by_levels(LevelPairView<V, I> factor, unsigned stages_of_L, unsigned last_stage, const LevelShare* shares,
                     unsigned* complete, TicketCounter* counter, N* y, N* z, const N* b, N* x, bool conjugate)
{
  const BlockTicket ticket = take_ticket(counter);
  const LevelShare share = shares[ticket.index];
  const bool is_L = share.stage < stages_of_L;
  const StoredView<V, I> A = is_L ? factor.L : factor.U;
  const I* const places = is_L ? factor.place_in_U : factor.place_in_L;
  std::size_t position = share.first + threadIdx.x / lanes;
  const std::size_t end = share.end;
  I place = -1, index = 0;
  const auto look_up = [&] {
    if (position < end && threadIdx.x % lanes == 0) place = places[position], index = A.row[position];
  };
  look_up();
  RestOfRow<N, V, I, lanes> row(A, position, position < end);
  wait_for_primary_launch();
  trigger_dependent_launch();
  const N start = await_stage(complete, share, ticket.launch, A.row[share.first]) ? N(0) : quiet_nan<N>();
  for (;;) {
    N sum = start + row.multiply(is_L ? y : z, conjugate);
#pragma unroll
    for (int offset = lanes / 2; offset; offset /= 2) sum += shfl_xor(sum, offset);
    if (position < end && threadIdx.x % lanes == 0) {
      if (is_L) {
        const N value = b[index] - sum;
        y[position] = value;
        if (factor.is_finished(place))
          x[factor.U.row[place]] = z[place] = product(value, N(factor.scale(place, conjugate)));
      } else {
        const N value = product(y[place] - sum, N(factor.scale(position, conjugate)));
        x[index] = value;
        if (share.stage != last_stage) z[position] = value;
      }
    }
    position += blockDim.x / lanes;
    if (position - threadIdx.x / lanes >= end) break;
    look_up();
    row = RestOfRow<N, V, I, lanes>(A, position, position < end);
  }
  __syncthreads();
  if (threadIdx.x == 0) increment_release(complete + share.stage);
}

/// inverse[row[k]] = k; rows that are negative are partial ones.
template <class I> __global__ void invert_rows(std::size_t count, const I* row, I* inverse)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count && row[k] >= 0) inverse[row[k]] = static_cast<I>(k);
}
/// to[k] = from[row[k]]; negative rows are copied.
template <class I> __global__ void map_rows(std::size_t count, const I* row, const I* from, I* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = row[k] < 0 ? row[k] : from[row[k]];
}

/// A triangle as its solver stores it.
///   n            rows without partial ones
///   level_begin  offsets of the levels into the stored rows
template <class V, class I> struct LeveledRows {
  StoredView<V, I> rows;
  I n;
  const std::vector<I>& level_begin;
  Granularity granularity;
  int lanes;
  LevelOrderBlocks blocks;
};

template <class T, class V, class I> class LevelPair : public PairSolver<T> {
  using N = DeviceScalar<T>;
  using Rows = LeveledRows<V, I>;
  using Mailboxes = typename DoubleBufferedMailbox<N>::Memory;

public:
  /// Refers to the arrays of both solvers.
  LevelPair(const Rows& L, const Rows& U, const Orders<I>& orders, const char* name)
      : by_levels_(is_handed_over_by_levels(L) && is_handed_over_by_levels(U)), shape_(shape_of(L, U)),
        place_in_U_(places(L, U)), place_in_L_(places(U, L)), b_row_(names(L, orders.row)),
        x_row_(names(U, orders.column)), counter_(name)
  {
    view_ = {L.rows, U.rows, place_in_U_.data(), place_in_L_.data(), U.level_begin[1]};
    if (orders.row) view_.L.row = b_row_.data(), view_.U.row = x_row_.data();
    if (by_levels_) begin_levels(L, U);
    else begin_values(L, U);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return true;
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const LaunchParameters parameters = {blocks_, shape_.blocks.threads, shape_.blocks.shared_bytes(), stream,
                                         values_.may_overlap(stream)};
    if (by_levels_) {
      const auto kernel = shape_.lanes == 1 ? solve_pair_by_levels<N, V, I, 1> : solve_pair_by_levels<N, V, I, 4>;
      return launch(kernel, parameters, view_, stages_of_L_, last_stage_, shares_.data(), complete_.data(),
                    counter_.data(), as_device(y_.data()), as_device(z_.data()), as_device(b), as_device(x), conjugate);
    }
    with_kernel([&](auto kernel) {
      launch(kernel, parameters, view_, blocks_of_L_, memory_->mailbox_view(), counter_.data(), as_device(b),
             as_device(x), conjugate);
    });
  }

  std::size_t pair_bytes() const override
  {
    return place_in_U_.bytes() + place_in_L_.bytes() + b_row_.bytes() + x_row_.bytes() + y_.bytes() + z_.bytes() +
           shares_.bytes() + complete_.bytes() + (memory_ ? memory_->mailbox_bytes() : 0);
  }
  std::string describe_pair() const override
  {
    return std::string("both in one launch") + (by_levels_ ? ", level after level" : "") + ", " +
           std::to_string(shape_.lanes) + (shape_.lanes == 1 ? " lane" : " lanes") + " a row";
  }

private:
  struct Shape {
    int lanes;
    LevelOrderBlocks blocks;
    bool wide;  ///< levels
  };

  static bool is_handed_over_by_levels(const Rows& of)
  {
    return of.rows.n == of.n && of.granularity.rows_a_level >= least_rows_by_levels;
  }

  /// As many lanes as a level has threads for, but at least two for long rows. Where levels are narrow, as for one
  /// triangle.
  Shape shape_of(const Rows& L, const Rows& U) const
  {
    const bool long_rows = L.granularity.entries_a_row > 8;
    if (by_levels_) return {long_rows ? 4 : 1, {}, true};
    if (!has_wide_levels(L.granularity) || !has_wide_levels(U.granularity))
      return {std::max(L.lanes, U.lanes), blocks_of_both(L.blocks, U.blocks), false};
    const double rows = std::max(L.granularity.rows_a_level, U.granularity.rows_a_level);
    int lanes = long_rows ? 2 : 1;
    while (lanes < 8 && 2 * lanes * rows <= most_threads_a_level) lanes *= 2;
    return {lanes, {128, 0}, true};
  }

  static DeviceArray<I> places(const Rows& from, const Rows& to)
  {
    DeviceArray<I> inverse(to.n), place(from.rows.n);
    launch(invert_rows<I>, {blocks_for(to.rows.n, 256), 256}, to.rows.n, to.rows.row, inverse.data());
    launch(map_rows<I>, {blocks_for(from.rows.n, 256), 256}, from.rows.n, from.rows.row, inverse.data(), place.data());
    return place;
  }
  static DeviceArray<I> names(const Rows& of, const I* order)
  {
    DeviceArray<I> name(order ? of.rows.n : 0);
    if (order) launch(map_rows<I>, {blocks_for(of.rows.n, 256), 256}, of.rows.n, of.rows.row, order, name.data());
    return name;
  }

  void begin_values(const Rows& L, const Rows& U)
  {
    const auto blocks_of = [&](std::size_t rows) { return blocks_for(rows * shape_.lanes, shape_.blocks.threads); };
    const auto left = static_cast<std::size_t>(U.rows.n - view_.finished);
    blocks_of_L_ = blocks_of(L.rows.n);
    blocks_ = blocks_of_L_ + (left > 0 ? blocks_of(left) : 0);
    memory_ = std::make_unique<Mailboxes>(static_cast<std::size_t>(L.rows.n) + U.rows.n);
    with_kernel([&](auto kernel) { allow_shared_memory(kernel, shape_.blocks.shared_bytes()); });
  }

  void begin_levels(const Rows& L, const Rows& U)
  {
    std::vector<LevelShare> shares;
    deal_rows(L, 0, &shares);
    stages_of_L_ = last_stage_ + 1;
    deal_rows(U, 1, &shares);
    blocks_ = static_cast<unsigned>(shares.size());
    shares_ = DeviceArray<LevelShare>(shares);
    y_ = DeviceArray<T>(L.n), z_ = DeviceArray<T>(U.n);
    complete_ = ResettableArray<unsigned>(last_stage_ + 1, 0);
  }

  /// Deals the rows of each level to thread blocks. A thread has four rows, one after the other: fewer blocks start.
  void deal_rows(const Rows& of, std::size_t first_level, std::vector<LevelShare>* shares)
  {
    const std::int64_t rows = 4 * level_order_threads / shape_.lanes;
    for (std::size_t level = first_level; level + 1 < of.level_begin.size(); ++level) {
      const unsigned stage = shares->empty() ? 0 : shares->back().stage + 1;
      const std::size_t before = shares->size();
      const auto awaited = static_cast<unsigned>(before - first_of_stage_);
      for (std::int64_t row = of.level_begin[level]; row < of.level_begin[level + 1]; row += rows)
        shares->push_back({row, std::min<std::int64_t>(row + rows, of.level_begin[level + 1]), stage, awaited});
      first_of_stage_ = before;
      last_stage_ = stage;
    }
  }

  /// Calls body(kernel) with that of the hand-over by values. Where levels are wide, room on the device for rows of the
  /// next level counts more than entries loaded ahead.
  template <class Body> void with_kernel(Body body) const
  {
    if (!shape_.wide)
      return with_lanes(shape_.lanes,
                        [&](auto lanes) { body(solve_pair_by_values<N, V, I, lanes, TwoBatches>); });
    switch (shape_.lanes) {
      case 1: return body(solve_pair_by_values<N, V, I, 1, OneBatch<4>>);
      case 2: return body(solve_pair_by_values<N, V, I, 2, OneBatch<4>>);
      case 4: return body(solve_pair_by_values<N, V, I, 4, OneBatch<2>>);
      default: return body(solve_pair_by_values<N, V, I, 8, OneBatch<2>>);
    }
  }

  /// Measured on an H200.
  static constexpr double least_rows_by_levels = 2e5, most_threads_a_level = 73728;

  const bool by_levels_;
  const Shape shape_;
  DeviceArray<I> place_in_U_, place_in_L_, b_row_, x_row_;
  TicketCounterMemory counter_;
  LevelPairView<V, I> view_;
  NewValues values_;
  unsigned blocks_ = 0;
  std::unique_ptr<Mailboxes> memory_;  ///< by values
  unsigned blocks_of_L_ = 0;
  std::size_t first_of_stage_ = 0;  ///< by levels, as all that follows
  unsigned stages_of_L_ = 0, last_stage_ = 0;
  DeviceArray<LevelShare> shares_;
  ResettableArray<unsigned> complete_;
  DeviceArray<T> y_, z_;
};

}  // namespace syncfree::cuda
