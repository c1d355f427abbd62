/// Strategy `csc_sync_free`: one warp per column, in-degrees as the only preprocessing.
///
///   x_j = (b_j - s_j) / diagonal_j   when all contributions to s_j have arrived;
///   then s_i += l_ij x_j for the rows i of column j

#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/solve/baselines/csc_columns.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {
namespace {

constexpr int warps_a_block = 16;
constexpr int looks_inside = 4;  ///< polls of this block's count per poll of the others' count, which takes longer

/// Waits until all contributions of other thread blocks and of this one have arrived; returns false if the wait gives
/// up.
inline __device__ bool wait_for_parts(unsigned* others, unsigned* own, unsigned wanted, BoundedWait spin)
{
  const auto have_come = [=] {
    const unsigned missing = wanted - load_acquire(others);
    for (int look = 0; look < looks_inside; ++look)
      if (load_acquire_block(own) == missing) return true;
    return false;
  };
  return spin.until(have_come, [] {});
}

/// owns       a warp owns column j and x_j, a thread block 16 consecutive columns
/// waits      until the contributions counted for j, in global memory by other thread blocks and in shared memory by
///            this one, are as many as row j has entries; counts continue from launch to launch
/// publishes  contributions to the sums of later rows, each followed by its count
/// order      a contribution relaxed, its count with release; the waiting lane reads counts with acquire (ready.cuh);
///            scope: device or thread block, depending on the origin of the contributions
/// progress   contributions come from thread blocks with earlier tickets or earlier warps of this thread block
/// result     not reproducible: contributions are added in the order of their arrival
/// source     Liu et al. 2016, algorithm 5; there thread blocks are assumed to start in order, sums and counts are
///            reset before each solve, and a fence separates contribution and count
template <class T, class V, class I>
__global__ void __launch_bounds__(32 * warps_a_block)
solve_csc_sync_free(StoredView<V, I> L, const unsigned* degree, Sums<T> sums, TicketCounter* counter,
                    const DeviceScalar<T>* b, DeviceScalar<T>* x, bool lower, bool conjugate)
{
  using N = DeviceScalar<T>;
  __shared__ alignas(16) unsigned char own_memory[warps_a_block * sizeof(N)];
  __shared__ unsigned own_count[warps_a_block];
  N* own_sum = reinterpret_cast<N*>(own_memory);
  if (threadIdx.x < warps_a_block) {
    own_sum[threadIdx.x] = N(0);
    own_count[threadIdx.x] = 0;
  }
  const BlockTicket ticket = take_ticket(counter);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::size_t first = ticket.index * warps_a_block, position = first + warp;
  if (position >= static_cast<std::size_t>(L.n)) return;
  const I j = L.row[position];
  const I end = L.begin[position + 1];
  I k = L.begin[position] + lane;
  N xj(0);
  if (lane == 0) {
    const unsigned wanted = degree[j] * static_cast<unsigned>(ticket.launch + 1);
    const N right_side = b[j];
    const N scale = L.inverse_diagonal ? N(L.inverse_diagonal[position]) : N(1);
    const bool complete = wait_for_parts(sums.count + j, own_count + warp, wanted, BoundedWait(j));
    xj = product(right_side - (sums.sum[j] + own_sum[warp]), conjugate ? conjugate_of(scale) : scale);
    if (!complete) xj = quiet_nan<N>();
    sums.sum[j] = N(0);
    sums.count[j] = wanted;
    x[j] = xj;
  }
  xj = from_first_lane(xj);
  for (; k < end; k += 32) {
    const I i = L.column[k];
    const std::size_t other = lower ? static_cast<std::size_t>(i) : static_cast<std::size_t>(L.n - 1 - i);
    const N value(L.value[k]);
    const N part = product(conjugate ? conjugate_of(value) : value, xj);
    const bool own = other < first + warps_a_block;
    if (own) {
      red_add_part_relaxed(own_sum + (other - first), part);
      increment_release_block(own_count + (other - first));
    } else {
      red_add_part_relaxed(sums.sum + i, part);
      increment_release(sums.count + i);
    }
  }
}

template <class T, class V, class I> class CscSolver : public CscColumns<T, V, I> {
public:
  /// The columns are in the order of a serial solve.
  CscSolver(const DeviceTriangle<I>& triangle, const Transposed<I>& turned)
      : CscColumns<T, V, I>(triangle, turned, solve_order(triangle), false, "csc_sync_free"), lower_(triangle.lower)
  {
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    launch(solve_csc_sync_free<T, V, I>, {blocks_for(this->n(), warps_a_block), 32 * warps_a_block, 0, stream},
           this->stored_view(), this->degree(), this->sums(), this->counter(), as_device(v.b), as_device(v.x), lower_,
           mode.conjugate);
  }

private:
  bool lower_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csc_sync_free(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<CscSolver<T, V, I>>(triangle, Transposed<I>(triangle.pattern()));
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csc_sync_free<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
