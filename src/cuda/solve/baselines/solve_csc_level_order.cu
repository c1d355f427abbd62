/// Strategy `csc_level_order`: the method of Liu et al. 2016 with these changes: columns are sorted by level, so that
/// columns that are ready together are adjacent; a column has 1 to 32 lanes by its length; the first entries are
/// loaded before the wait, and one fence precedes the counts of all contributions that a lane has in flight.
///
///   x_j = (b_j - s_j) / diagonal_j   when all contributions to s_j have arrived;
///   then s_i += l_ij x_j for the rows i of column j

#include <cstdint>

#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/base/granularity.hpp"
#include "cuda/solve/baselines/csc_columns.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr int batch = 4;  ///< entries that a lane has in flight

/// Entries k, k + lanes, ... of a column, as far as they are less than `end`.
template <class N, class M, class I, int lanes> struct Parts {
  I position[batch];
  N value[batch];
  bool live[batch];

  __device__ void load_parts(const I* positions, const M* values, I k, I end)
  {
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      live[e] = k + e * lanes < end;
      position[e] = live[e] ? positions[k + e * lanes] : 0;
      value[e] = live[e] ? N(values[k + e * lanes]) : N(0);
    }
  }

  __device__ void send(const N& xj, bool conjugate, N* sum, unsigned* count) const
  {
#pragma unroll
    for (int e = 0; e < batch; ++e)
      if (live[e]) red_add_part_relaxed(sum + position[e], product(conjugate ? conjugate_of(value[e]) : value[e], xj));
    fence_release();
#pragma unroll
    for (int e = 0; e < batch; ++e)
      if (live[e]) increment_relaxed(count + position[e]);
  }
};

/// owns       `lanes` lanes own one column and its x_j, a thread block 256 / lanes columns that are consecutive in
///            level order
/// waits      its first lane until as many contributions have been counted as the row has entries; counts continue from
///            launch to launch. No lane waits alone in a loop, so columns of one warp may depend on each other
/// publishes  contributions to the sums of later rows, then their counts
/// order      contributions relaxed, a release fence, counts relaxed; counts are read with acquire (ready.cuh)
/// progress   contributions come from thread blocks with earlier tickets, or from this warp or thread block
/// result     not reproducible: contributions are added in the order of their arrival
/// source     Liu et al. 2016, algorithm 5, changed as described at the top of this file
template <class T, class V, class I, int lanes>
__global__ void __launch_bounds__(threads_a_block)
solve_csc_level_order(StoredView<V, I> L, const unsigned* degree, Sums<T> sums, TicketCounter* counter,
                      const DeviceScalar<T>* b, DeviceScalar<T>* x, bool conjugate)
{
  using N = DeviceScalar<T>;
  const BlockTicket ticket = take_ticket(counter);
  const std::size_t position = ticket.index * (threads_a_block / lanes) + threadIdx.x / lanes;
  const bool live = position < static_cast<std::size_t>(L.n), first = threadIdx.x % lanes == 0;
  I k = live ? L.begin[position] + static_cast<I>(threadIdx.x % lanes) : 0;
  const I end = live ? L.begin[position + 1] : 0, row = live ? L.row[position] : 0;
  Parts<N, DeviceScalar<V>, I, lanes> parts;
  parts.load_parts(L.column, L.value, k, end);
  N rhs(0), scale(1);
  unsigned wanted = 0;
  if (live && first) {
    rhs = b[row];
    if (L.inverse_diagonal) scale = N(L.inverse_diagonal[position]);
    if (conjugate) scale = conjugate_of(scale);
    wanted = degree[row] * static_cast<unsigned>(ticket.launch + 1);
  }
  bool done = !live, complete = false;
  const auto look = [&] {
    complete = !done && first && load_acquire(sums.count + position) == wanted;
    return __any_sync(~0u, complete) != 0;
  };
  while (!__all_sync(~0u, done)) {
    if (!BoundedWait(row).template until_for_warp<4>(look)) complete = !done && first, rhs = quiet_nan<N>();
    N xj(0);
    if (complete) {
      xj = product(rhs - sums.sum[position], scale);
      sums.sum[position] = N(0);
      x[row] = xj;
    }
    const bool sends = __shfl_sync(~0u, complete, 0, lanes);
    xj = from_first_lane(xj, lanes);
    if (!sends) continue;
    while (k < end) {
      parts.send(xj, conjugate, sums.sum, sums.count);
      k += batch * lanes;
      parts.load_parts(L.column, L.value, k, end);
    }
    done = true;
  }
}

template <class T, class V, class I> class CscLevelOrderSolver : public CscColumns<T, V, I> {
public:
  CscLevelOrderSolver(const DeviceTriangle<I>& triangle, const Transposed<I>& turned)
      : CscColumns<T, V, I>(triangle, turned, triangle.rows_in_level_order(), true, "csc_level_order"),
        lanes_(choose_lanes_of_whole_rows(granularity_of(triangle.n(), triangle.nnz(), triangle.level_count(),
                                                         longest_of(turned.pattern_view(), 1))))
  {
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    with_lanes(lanes_, [&](auto lanes) { launch_lanes<lanes>(v.b, v.x, mode.conjugate, stream); });
  }

  PlanSummary summarize_plan() const override
  {
    PlanSummary summary = CscColumns<T, V, I>::summarize_plan();
    summary.text = std::to_string(lanes_) + (lanes_ == 1 ? " lane a column" : " lanes a column");
    return summary;
  }

private:
  template <int lanes> void launch_lanes(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(this->n()) * lanes, threads_a_block);
    launch(solve_csc_level_order<T, V, I, lanes>, {blocks, threads_a_block, 0, stream}, this->stored_view(),
                 this->degree(), this->sums(), this->counter(), as_device(b), as_device(x), conjugate);
  }

  int lanes_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csc_level_order(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<CscLevelOrderSolver<T, V, I>>(triangle, Transposed<I>(triangle.pattern()));
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csc_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
