/// Strategy `csr_writing_first`: one thread per row, rows in the order of a serial solve, one flag per value.
///
///   x_i = (b_i - sum_k value_k x_{column_k}) / diagonal_i

#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/solve/baselines/flagged_solver.cuh"

namespace syncfree::cuda {
namespace {

/// owns       a thread owns one row, a thread block 256 consecutive rows
/// waits      for the flag of the current entry, with one poll per iteration, so that a thread with a finished row
///            writes it while others of its warp still wait
/// publishes  x_i, then its flag, which then holds the launch's number: flags are never reset
/// order      release by the row's thread, acquire by each reader (ready.cuh)
/// progress   earlier rows belong to thread blocks with earlier tickets, or to this thread block, in which no thread
///            waits in a loop of its own
/// result     reproducible: entries are added in the row's order
/// source     Su et al. 2020, algorithm 5 (writing-first); there thread blocks are assumed to start in order, and flags
///            are cleared before each solve
template <class T, class V, class I>
__global__ void __launch_bounds__(flagged_threads)
solve_csr_writing_first(StoredView<V, I> L, unsigned* ready, TicketCounter* counter, const DeviceScalar<T>* b,
                        DeviceScalar<T>* x, bool conjugate)
{
  using N = DeviceScalar<T>;
  const FlaggedRow<I> row(L, counter);
  if (!row.live) return;
  N sum(0);
  I k = row.begin;
  bool done = false;
  const auto look = [&] {
    if (k < row.end) {
      const I j = L.column[k];
      if (!is_published(ready + j, row.launch)) return;
      const N value(L.value[k++]);
      sum += product(conjugate ? conjugate_of(value) : value, x[j]);
    } else {
      finish_row<T>(L, row, b, sum, conjugate, x, ready);
      done = true;
    }
  };
  BoundedWait spin(row.i);
  while (!spin.until<4>([&] { return done; }, look)) sum = quiet_nan<N>(), k = row.end;
}

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csr_writing_first(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<FlaggedSolver<T, V, I>>(triangle, solve_csr_writing_first<T, V, I>, "csr_writing_first");
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csr_writing_first<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
