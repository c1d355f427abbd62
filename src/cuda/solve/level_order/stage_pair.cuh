#pragma once

/// L and then U of `level_order` in one launch, level after level: for levels so wide that a hand-over from row to row
/// costs more memory traffic than it saves time. Only values that no vector of the caller holds are stored: rows of L
/// without entries are read from b, and rows of U read x. Rows of U without entries are finished by L's rows.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cuda/base/launch.hpp"
#include "cuda/solve/level_order/kernel.cuh"
#include "cuda/solve/level_order/leveled_rows.cuh"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

/// Rows of a stage: a level of L or U but for the first ones, or, before them, rows without entries in L and U.
enum class StagePart : unsigned { isolated, lower, last_of_lower, upper };

/// The rows of one thread block, at positions [first, end) of L, or of U if they are upper or isolated; of the latter
/// those that have entries in L are left out.
struct StageShare {
  std::int64_t first, end;
  unsigned stage;
  StagePart part;
  unsigned awaited;  ///< thread blocks of the stage before
};

/// Returns the address of x_i, or of b_{~i} if i is negative.
template <class N, class I> __device__ const N* operand_at(I i, const N* x, const N* b)
{
  return i < 0 ? b + ~i : x + i;
}

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

  /// Returns the lane's part of the product with x, which is not constant during the launch; x_{~i} is b_i.
  __device__ N multiply(const N* x, const N* b, bool conjugate)
  {
    N sum(0);
    for (;;) {
#pragma unroll
      for (int e = 0; e < batch; ++e)
        if (k_ + e * lanes < end_)
          sum += product(conjugate ? conjugate_of(value_[e]) : value_[e], *operand_at(column_[e], x, b));
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
inline __device__ bool await_stage(unsigned* complete, const StageShare& share, unsigned long long launch,
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

/// Rows without entries in L and U; called by the threads of a block. x is what follows from the diagonal alone.
template <class N, class V, class I>
__device__ void solve_isolated_rows(const LeveledFactor<V, I>& factor, const StageShare& share, const N* b, N* x,
                                    bool conjugate)
{
  for (std::int64_t k = share.first + threadIdx.x; k < share.end; k += blockDim.x) {
    const I operand = factor.place_in_L[k];
    if (operand < 0) x[factor.U.row[k]] = product(b[~operand], N(factor.scale(k, conjugate)));
  }
}

/// It may begin before the previous launch has ended, which may be one of this kernel.
///
/// owns       a thread block owns a share of a stage; `lanes` lanes of a warp own one row at a time
/// waits      one thread until the stage before is complete, the others at the barrier of the thread block
/// publishes  y of its rows in L, x of those in U; then it counts itself as complete
/// order      the thread block's barrier before the count, which is released; relaxed polls of the count, then an
///            acquire fence and the barrier: causality order is transitive, so plain loads see the values
/// progress   the stage before belongs to thread blocks with earlier tickets
/// result     reproducible: the order of additions depends on the row only
/// source     levels: Anderson & Saad 1989, Saltz 1990; here in one launch, without a barrier of the whole grid
///   factor    columns and place_in_L name values of L by position, or by ~index in b; columns of U are indices in x
///   complete  by stage: thread blocks that have completed it, in all launches
///   y         by position in L; what no row will read is not stored
template <class N, class V, class I, int lanes>
__global__ void __launch_bounds__(level_order_threads, 4)
solve_pair_by_levels(LeveledFactor<V, I> factor, const StageShare* shares, unsigned* complete, TicketCounter* counter,
                     N* y, const N* b, N* x, bool conjugate)
{
  const BlockTicket ticket = take_ticket(counter);
  const StageShare share = shares[ticket.index];
  const bool is_L = share.part != StagePart::upper, is_isolated = share.part == StagePart::isolated;
  const StoredView<V, I> A = is_L ? factor.L : factor.U;
  const I* const places = is_L ? factor.place_in_U : factor.place_in_L;
  std::size_t position = (is_isolated ? share.end : share.first) + threadIdx.x / lanes;
  const std::size_t end = share.end;
  I place = -1, index = 0;
  const auto look_up = [&] {
    if (position < end && threadIdx.x % lanes == 0) place = places[position], index = A.row[position];
  };
  look_up();
  RestOfRow<N, V, I, lanes> row(A, position, position < end);
  wait_for_primary_launch();
  trigger_dependent_launch();
  if (is_isolated) solve_isolated_rows(factor, share, b, x, conjugate);
  const N start = await_stage(complete, share, ticket.launch, A.row[share.first]) ? N(0) : quiet_nan<N>();
  while (position - threadIdx.x / lanes < end) {
    N sum = start + row.multiply(is_L ? y : x, b, conjugate);
#pragma unroll
    for (int offset = lanes / 2; offset; offset /= 2) sum += shfl_xor(sum, offset);
    if (position < end && threadIdx.x % lanes == 0) {
      if (is_L) {
        const N value = b[index] - sum;
        const bool finishes = factor.is_finished(place);
        if (finishes) x[factor.U.row[place]] = product(value, N(factor.scale(place, conjugate)));
        if (!finishes || share.part == StagePart::lower) y[position] = value;
      } else {
        x[index] = product(*operand_at(place, y, b) - sum, N(factor.scale(position, conjugate)));
      }
    }
    position += blockDim.x / lanes;
    look_up();
    row = RestOfRow<N, V, I, lanes>(A, position, position < end);
  }
  __syncthreads();
  if (threadIdx.x == 0) increment_release(complete + share.stage);
}


/// Replaces positions in L by operands: to[k] = ~index[from[k]] for rows without entries. `to` may be `from`.
///   from_b  number of these, which come first
///   index   of the rows of L in b
template <class I> __global__ void name_operands(std::size_t count, I from_b, const I* index, const I* from, I* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = from[k] < from_b ? ~index[from[k]] : from[k];
}
/// Sets *found to 1 if one of the indices is in [begin, end).
template <class I> __global__ void find_in_range(std::size_t count, const I* index, I begin, I end, unsigned* found)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count && index[k] >= begin && index[k] < end) *found = 1;
}

template <class T, class V, class I> class StagePair : public PairSolver<T> {
  using N = DeviceScalar<T>;
  using Rows = LeveledRows<V, I>;

public:
  /// True if both triangles have such levels. No rows may be partial.
  static bool serves(const Rows& L, const Rows& U)
  {
    const auto has_such_levels = [](const Rows& of) {
      return of.rows.n == of.n && of.granularity.rows_a_level >= least_rows_a_level;
    };
    return has_such_levels(L) && has_such_levels(U);
  }

  /// Refers to the arrays of both solvers.
  StagePair(const Rows& L, const Rows& U, const Orders<I>& orders, const char* name)
      : lanes_(L.granularity.entries_a_row > 8 ? 4 : 1), indices_(L, U, orders), factor_(indices_.factor_of(L, U)),
        column_of_L_(L.nnz), column_of_U_(mapped_rows<I>(U.nnz, U.rows.column, factor_.U.row)), counter_(name)
  {
    set_operands(L, L.nnz, L.rows.column, column_of_L_.data());
    set_operands(L, U.n, factor_.place_in_L, indices_.place_in_L());
    factor_.L.column = column_of_L_.data(), factor_.U.column = column_of_U_.data();
    std::vector<StageShare> shares;
    if (is_any_in(factor_.place_in_L, factor_.finished, std::numeric_limits<I>::min(), 0))
      deal_rows(0, factor_.finished, StagePart::isolated, &shares);
    deal_levels(L, StagePart::lower, &shares);
    deal_levels(U, StagePart::upper, &shares);
    shares_ = DeviceArray<StageShare>(shares);
    if (needs_values_of(L)) y_ = DeviceArray<T>(L.n);
    complete_ = ResettableArray<unsigned>(stages_, 0);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  bool accept_new_values() override
  {
    values_.announce();
    return true;
  }

  void solve_pair(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    const auto kernel = lanes_ == 1 ? solve_pair_by_levels<N, V, I, 1> : solve_pair_by_levels<N, V, I, 4>;
    launch(kernel, {static_cast<unsigned>(shares_.size()), level_order_threads, 0, stream, values_.may_overlap(stream)},
           factor_, shares_.data(), complete_.data(), counter_.data(), as_device(y_.data()), as_device(b), as_device(x),
           conjugate);
  }

  std::size_t pair_bytes() const override
  {
    return indices_.index_bytes() + column_of_L_.bytes() + column_of_U_.bytes() + y_.bytes() + shares_.bytes() +
           complete_.bytes();
  }
  std::string describe_pair() const override
  {
    return "both in one launch, level after level, " + std::to_string(lanes_) + (lanes_ == 1 ? " lane" : " lanes") +
           " a row";
  }

private:
  void set_operands(const Rows& L, std::size_t count, const I* position, I* operand) const
  {
    if (count == 0) return;
    launch(name_operands<I>, {blocks_for(count, 256), 256}, count, L.level_begin[1], factor_.L.row, position, operand);
  }

  static bool is_any_in(const I* index, I count, I begin, I end)
  {
    DeviceArray<unsigned> found(1);
    found.fill(0, nullptr);
    launch(find_in_range<I>, {blocks_for(count, 256), 256}, static_cast<std::size_t>(count), index, begin, end,
           found.data());
    unsigned value = 0;
    found.read(&value, 0, 1, nullptr);
    return value != 0;
  }

  /// False if all rows of L with entries finish those of U and no row of L reads them.
  bool needs_values_of(const Rows& L) const
  {
    const I from_b = L.level_begin[1];
    return L.level_begin.size() > 3 ||
           (L.n > from_b && is_any_in(factor_.place_in_U + from_b, L.n - from_b, factor_.finished, L.n));
  }

  void deal_levels(const Rows& of, StagePart part, std::vector<StageShare>* shares)
  {
    for (std::size_t level = 1; level + 1 < of.level_begin.size(); ++level) {
      const bool last = level + 2 == of.level_begin.size();
      deal_rows(of.level_begin[level], of.level_begin[level + 1],
                last && part == StagePart::lower ? StagePart::last_of_lower : part, shares);
    }
  }

  /// Deals the rows of a stage to thread blocks. A thread has four rows, one after the other: fewer blocks start.
  void deal_rows(std::int64_t first, std::int64_t end, StagePart part, std::vector<StageShare>* shares)
  {
    const std::int64_t rows = 4 * level_order_threads / lanes_;
    const std::size_t before = shares->size();
    const auto awaited = static_cast<unsigned>(before - first_of_stage_);
    for (; first < end; first += rows) shares->push_back({first, std::min(first + rows, end), stages_, part, awaited});
    first_of_stage_ = before;
    ++stages_;
  }

  static constexpr double least_rows_a_level = 2e5;  ///< measured on an H200

  const int lanes_;
  PairIndices<V, I> indices_;  ///< place_in_L: operands
  LeveledFactor<V, I> factor_;
  DeviceArray<I> column_of_L_, column_of_U_;
  TicketCounterMemory counter_;
  NewValues values_;
  std::size_t first_of_stage_ = 0;
  unsigned stages_ = 0;
  DeviceArray<StageShare> shares_;
  ResettableArray<unsigned> complete_;
  DeviceArray<T> y_;
};

}  // namespace syncfree::cuda
