/// Strategy `level_order`: rows sorted by level, every number its own flag.
///
///   x_i = (b_i - sum_k value_k x_{column_k}) / diagonal_i
///
/// Rows are numbered by level, so that what a row reads has an earlier place and neighbours in a level stand side by
/// side. Each row belongs to 1, 4, 8 or 32 lanes of a warp, by the length of rows. x is handed over in a mailbox of n
/// places; there are two, used in turn: while a launch fills one, each row clears its place in the other for the next.

#include <cstdint>
#include <vector>

#include "core/instantiate.hpp"
#include "stored_triangle.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr int batch = 4;  ///< entries that a lane has in flight

/// Entries k, k + lanes, ... of a row, as far as they are below `end`.
template <class N, class M, class I, int lanes> struct Batch {
  I column[batch];
  N value[batch];
  N x[batch];
  bool waits[batch];

  __device__ void load(const I* columns, const M* values, I k, I end)
  {
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      waits[e] = k + e * lanes < end;
      column[e] = waits[e] ? columns[k + e * lanes] : 0;
      value[e] = waits[e] ? N(values[k + e * lanes]) : N(0);
      x[e] = N(0);
    }
  }

  /// Looks once for all that is missing; true when nothing is.
  __device__ bool poll(typename Mailbox<N>::word* mail)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < batch; ++e)
      if (waits[e]) x[e] = Mailbox<N>::poll(mail + Mailbox<N>::words * column[e]);
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      waits[e] = waits[e] && !Mailbox<N>::arrived(x[e]);
      complete = complete && !waits[e];
    }
    return complete;
  }

  __device__ N dot(bool conjugate) const
  {
    N sum(0);
#pragma unroll
    for (int e = 0; e < batch; ++e) sum += product(conjugate ? conjugate_of(value[e]) : value[e], x[e]);
    return sum;
  }
};

/// owns       `lanes` lanes of a warp own one row, a block 256 / lanes rows that follow each other in level order
/// waits      for the numbers of earlier rows, all of a batch polled at once; no lane waits alone in a loop, so rows of
///            one warp may depend on each other
/// publishes  the row's number in the mailbox of this launch, and b's place in the other mailbox for the next launch
/// order      relaxed: the number itself is the message (ready.cuh); mailboxes are cleared one launch ahead
/// progress   rows of earlier places belong to blocks with earlier tickets, or to this warp or block
/// result     reproducible: the order of additions depends on the row only
/// source     Liu et al. 2016 for waiting without levels' barriers, Su et al. 2020 for several rows in a warp; here the
///            value is the flag and rows are sorted
template <class T, class V, class I, int lanes>
__global__ void __launch_bounds__(threads_a_block)
solve_level_order(StoredView<V, I> L, typename Mailbox<Number<T>>::word* mailboxes, unsigned long long* counter,
                  const Number<T>* b, Number<T>* x, bool conjugate)
{
  using N = Number<T>;
  using Mail = Mailbox<N>;
  const Turn turn = take_turn(counter);
  const std::size_t place = turn.place * (threads_a_block / lanes) + threadIdx.x / lanes;
  const std::size_t mailbox_size = Mail::words * static_cast<std::size_t>(L.n);
  typename Mail::word* mail = mailboxes + (turn.launch & 1) * mailbox_size;
  typename Mail::word* next_mail = mailboxes + (~turn.launch & 1) * mailbox_size;

  const int lane = threadIdx.x % lanes;
  const bool first = lane == 0;
  const bool live = place < static_cast<std::size_t>(L.n);
  I k = live ? L.begin[place] + lane : 0;
  const I end = live ? L.begin[place + 1] : 0;
  const I row = live ? L.row[place] : 0;
  N rhs(0), scale(1), sum(0);
  Batch<N, Number<V>, I, lanes> now, ahead;
  now.load(L.column, L.value, k, end);
  ahead.load(L.column, L.value, k + batch * lanes, end);
  if (live && first) {
    rhs = b[row];
    if (L.inverse_diagonal) scale = N(L.inverse_diagonal[place]);
    if (conjugate) scale = conjugate_of(scale);
    Mail::clear(next_mail + Mail::words * place);
  }
  const unsigned group = lanes == 32 ? ~0u : ((1u << (lanes % 32)) - 1) << (threadIdx.x % 32 / lanes * lanes);
  bool summed = !live, done = !live;
  for (Spin spin(row); !__all_sync(~0u, done); spin.turn()) {
    if (!summed && now.poll(mail)) {
      sum += now.dot(conjugate);
      k += batch * lanes;
      summed = k >= end;
      if (!summed) {
        now = ahead;
        ahead.load(L.column, L.value, k + batch * lanes, end);
      }
    }
    const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done;
    if (!__any_sync(~0u, complete)) continue;
    N total = sum;
    for (int offset = lanes / 2; offset; offset /= 2) total += from_lane(total, offset);
    if (complete && first) {
      const N value = product(rhs - total, scale);
      Mail::publish(mail + Mail::words * place, value);
      x[row] = value;
    }
    done = done || complete;
  }
}

template <class T, class V, class I> class LevelOrderSolver : public DeviceSolver<T, I> {
public:
  explicit LevelOrderSolver(const DeviceTriangle<I>& triangle)
      : lanes_(choose_lanes(triangle.pattern)), triangle_(triangle, LevelsOf<I>(triangle)->row, true),
        mailboxes_(2 * Mailbox<Number<T>>::words * static_cast<std::size_t>(triangle.pattern.n)), counter_(1)
  {
    mailboxes_.fill(0xff, nullptr);
    counter_.fill(0, nullptr);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) override
  {
    switch (lanes_) {
      case 1: return launch<1>(b, x, conjugate, stream);
      case 4: return launch<4>(b, x, conjugate, stream);
      case 8: return launch<8>(b, x, conjugate, stream);
      default: return launch<32>(b, x, conjugate, stream);
    }
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream) override
  {
    triangle_.refresh(value, inverse_diagonal, stream);
  }

  std::string describe() const override
  {
    return std::to_string(lanes_) + (lanes_ == 1 ? " lane a row" : " lanes a row");
  }

  std::size_t plan_bytes() const override { return triangle_.plan_bytes() + mailboxes_.bytes(); }
  std::size_t value_bytes() const override { return triangle_.value_bytes(); }

private:
  template <int lanes> void launch(const T* b, T* x, bool conjugate, cudaStream_t stream)
  {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(triangle_.n()) * lanes, threads_a_block);
    solve_level_order<T, V, I, lanes><<<blocks, threads_a_block, 0, stream>>>(
        triangle_.view(), mailboxes_.data(), counter_.data(), numbers(b), numbers(x), conjugate);
    check_launch("solve_level_order");
  }

  int lanes_;
  StoredTriangle<T, V, I> triangle_;
  DeviceArray<typename Mailbox<Number<T>>::word> mailboxes_;
  DeviceArray<unsigned long long> counter_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_level_order(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<LevelOrderSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
