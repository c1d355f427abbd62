/// Strategy `csc_sync_free`: one warp a column, in-degrees as the only preparation.
///
///   x_j = (b_j - s_j) / diagonal_j   when all parts of s_j have come;
///   then s_i += l_ij x_j for the rows i of column j

#include <cstdint>

#include "core/instantiate.hpp"
#include "core/transpose.hpp"
#include "stored_triangle.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {
namespace {

constexpr int warps_a_block = 16;

/// The sums of all columns and how many of their parts have come, in this launch and all before.
template <class T> struct Sums {
  Number<T>* sum;
  unsigned* count;
};

/// owns       a warp owns column j and x_j, a block 16 columns that follow each other
/// waits      until the parts counted for j, in global memory by other blocks and in shared memory by this one, are as
///            many as row j has entries; counts go on from launch to launch
/// publishes  parts of the sums of later rows, each followed by its count
/// order      a part relaxed, its count with release; the waiting lane reads counts with acquire (ready.cuh)
/// progress   parts come from blocks with earlier tickets or earlier warps of this block
/// result     not reproducible: parts are added as they come
/// source     Liu et al. 2016, algorithm 5; there blocks are taken to start in order, sums and counts are set anew
///            before each solve, and a fence stands between part and count
template <class T, class V, class I>
__global__ void __launch_bounds__(32 * warps_a_block)
solve_csc_sync_free(StoredView<V, I> L, const unsigned* degree, Sums<T> sums, unsigned long long* counter,
                    const Number<T>* b, Number<T>* x, bool lower, bool conjugate)
{
  using N = Number<T>;
  __shared__ alignas(16) unsigned char own_memory[warps_a_block * sizeof(N)];
  __shared__ unsigned own_count[warps_a_block];
  N* own_sum = reinterpret_cast<N*>(own_memory);
  if (threadIdx.x < warps_a_block) {
    own_sum[threadIdx.x] = N(0);
    own_count[threadIdx.x] = 0;
  }
  const Turn turn = take_turn(counter);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::size_t first = turn.place * warps_a_block, place = first + warp;
  if (place >= static_cast<std::size_t>(L.n)) return;
  const I j = L.row[place];
  N xj(0);
  if (lane == 0) {
    const unsigned wanted = degree[j] * static_cast<unsigned>(turn.launch + 1);
    for (Spin spin(j); count_of(sums.count + j) + count_of(own_count + warp) != wanted;) spin.turn();
    xj = b[j] - (sums.sum[j] + own_sum[warp]);
    sums.sum[j] = N(0);
    sums.count[j] = wanted;
    if (L.inverse_diagonal) {
      const N scale(L.inverse_diagonal[place]);
      xj = product(xj, conjugate ? conjugate_of(scale) : scale);
    }
    x[j] = xj;
  }
  xj = from_first_lane(xj);
  for (I k = L.begin[place] + lane; k < L.begin[place + 1]; k += 32) {
    const I i = L.column[k];
    const std::size_t other = lower ? static_cast<std::size_t>(i) : static_cast<std::size_t>(L.n - 1 - i);
    const N value(L.value[k]);
    const N part = product(conjugate ? conjugate_of(value) : value, xj);
    const bool own = other < first + warps_a_block;
    add_part(own ? own_sum + (other - first) : sums.sum + i, part);
    count_part(own ? own_count + (other - first) : sums.count + i);
  }
}

template <class T, class V, class I> class CscSolver : public DeviceSolver<T, I> {
public:
  explicit CscSolver(const DeviceTriangle<I>& triangle)
      : lower_(triangle.lower), triangle_(columns(triangle)), degree_(degrees(triangle)),
        sum_(triangle.pattern.n), count_(triangle.pattern.n), counter_(1)
  {
    sum_.fill(0, nullptr);
    count_.fill(0, nullptr);
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    solve_csc_sync_free<T, V, I><<<blocks_for(triangle_.n(), warps_a_block), 32 * warps_a_block, 0, stream>>>(
        triangle_.view(), degree_.data(), Sums<T>{numbers(sum_.data()), count_.data()}, counter_.data(), numbers(b),
        numbers(x), lower_, conjugate);
    check_launch("solve_csc_sync_free");
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    triangle_.refresh(value, inverse_diagonal, stream);
  }

  std::size_t plan_bytes() const override
  {
    return triangle_.plan_bytes() + degree_.bytes() + sum_.bytes() + count_.bytes();
  }
  std::size_t value_bytes() const override { return triangle_.value_bytes(); }

private:
  /// Columns in the order of a serial solve.
  static StoredTriangle<T, V, I> columns(const DeviceTriangle<I>& triangle)
  {
    const Transposed<I> turned(triangle.pattern);
    std::vector<I> source = turned.source;
    if (triangle.source)
      for (I& k : source) k = triangle.source[k];
    return {{triangle.lower, turned.view(), source.data(), triangle.unit}, solve_order(triangle), false};
  }

  static std::vector<unsigned> degrees(const DeviceTriangle<I>& triangle)
  {
    std::vector<unsigned> degree(triangle.pattern.n);
    for (I i = 0; i < triangle.pattern.n; ++i)
      degree[i] = static_cast<unsigned>(triangle.pattern.row_begin[i + 1] - triangle.pattern.row_begin[i]);
    return degree;
  }

  bool lower_;
  StoredTriangle<T, V, I> triangle_;
  DeviceArray<unsigned> degree_;
  DeviceArray<T> sum_;
  DeviceArray<unsigned> count_;
  DeviceArray<unsigned long long> counter_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_csc_sync_free(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<CscSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_csc_sync_free<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
