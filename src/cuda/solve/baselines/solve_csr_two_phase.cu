/// Strategy `csr_two_phase`: one thread per row, rows in the order of a serial solve; first the operands that earlier
/// warps compute, then those of the same warp. A warp waits as a whole: if each row reads the one before it, as in a
/// stencil, warps run one after the other.
///
///   x_i = (b_i - sum_k value_k x_{column_k}) / diagonal_i

#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/solve/baselines/flagged_solver.cuh"

namespace syncfree::cuda {
namespace {

/// True if row j, which `row` reads, belongs to the same warp. The rows of a warp are consecutive.
template <class I> __device__ bool in_this_warp(const FlaggedRow<I>& row, I j)
{
  const I distance = j < row.i ? row.i - j : j - row.i;
  return distance <= static_cast<I>(threadIdx.x % 32);
}

/// owns       a thread owns one row, a thread block 256 consecutive rows
/// waits      phase 1: for the flags of rows of earlier warps, one after the other; phase 2: at most 32 rounds of the
///            warp, in each of which those rows are written that have all their operands from this warp
/// publishes  x_i, then its flag, which then holds the launch's number: flags are never reset
/// order      release by the row's thread, acquire by each reader (ready.cuh)
/// progress   phase 1 waits for earlier warps of this thread block or for thread blocks with earlier tickets only; in
///            each round of phase 2 the earliest unfinished row is ready
/// result     reproducible: entries of a phase are added in the row's order
/// source     Su et al. 2020, algorithm 4 (two-phase); there thread blocks are assumed to start in order, and flags are
///            cleared before each solve
template <class T, class V, class I>
__global__ void __launch_bounds__(flagged_threads)
solve_csr_two_phase(StoredView<V, I> L, unsigned* ready, TicketCounter* counter, const DeviceScalar<T>* b,
                    DeviceScalar<T>* x, bool conjugate)
{
  using N = DeviceScalar<T>;
  const FlaggedRow<I> row(L, counter);
  N sum(0);
  const auto add = [&](I k, I j) {
    const N value(L.value[k]);
    sum += product(conjugate ? conjugate_of(value) : value, x[j]);
  };
  for (I k = row.begin; k < row.end; ++k) {
    const I j = L.column[k];
    if (in_this_warp(row, j)) continue;
    if (!wait_for(ready + j, row.launch, BoundedWait(row.i))) sum = quiet_nan<N>();
    add(k, j);
  }
  __syncwarp();
  I k = row.begin;
  bool done = !row.live;
  for (int turn = 0; turn < 32 && !__all_sync(~0u, done); ++turn) {
    for (; k < row.end; ++k) {
      const I j = L.column[k];
      if (!in_this_warp(row, j)) continue;
      if (!is_published(ready + j, row.launch)) break;
      add(k, j);
    }
    if (!done && k == row.end) {
      finish_row<T>(L, row, b, sum, conjugate, x, ready);
      done = true;
    }
    __syncwarp();
  }
  if (!done) finish_left_row<T>(row, x, ready);
}

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csr_two_phase(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<FlaggedSolver<T, V, I>>(triangle, solve_csr_two_phase<T, V, I>, "csr_two_phase");
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csr_two_phase<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
