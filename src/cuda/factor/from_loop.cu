#include "cuda/factor/from_loop.hpp"

#include <algorithm>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/base/scalar.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/loop.cuh"
#include "syncfree/loop/loops.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;

inline __device__ std::size_t this_thread() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }

/// to[k] = a[source[k]]; sets *bad if a value is not finite.
template <class N, class I>
__global__ void take_checked(std::size_t count, const I* source, const N* a, N* to, unsigned* bad)
{
  const std::size_t k = this_thread();
  if (k >= count) return;
  const N v = a[source[k]];
  to[k] = v;
  if (!finite(v)) store_relaxed(bad, 1);
}

template <class N, class I>
__global__ void invert_checked(std::size_t n, const I* source, const N* a, double zero_pivot, N* inverse_pivot,
                               unsigned* bad)
{
  const std::size_t i = this_thread();
  if (i >= n) return;
  const N pivot = a[source[i]], inverse = N(1) / pivot;
  inverse_pivot[i] = inverse;
  if (!(abs_value(pivot) > zero_pivot) || !finite(inverse)) store_relaxed(bad, 1);
}

template <class T, class I> class MadeByLoop : public LoopFactorization<T, I> {
public:
  using N = DeviceScalar<T>;
  using Body = Ilu0Csr<N, I>;

  MadeByLoop(const PatternView<I>& A, const std::vector<I>& diagonal, const DeviceFactorPattern<I>& pattern)
      : pattern_(pattern), begin_(A.row_begin, static_cast<std::size_t>(A.n) + 1), column_(A.column, A.nnz()),
        a_(A.nnz()), bad_(1), body_(A, diagonal.data(), nullptr)
  {
    const Status status = loop_.trace(body_);
    if (!status.ok()) throw Failure{status};
    body_.A = {A.n, begin_.data(), column_.data()};
    body_.diagonal = pattern.diagonal_source.data();
    body_.a_.data = as_device(a_.data());
  }

  bool factorize_by_loop(const T* value, const PivotRule& rule, T* lower, T* upper, T* inverse_pivot,
                 cudaStream_t stream) override
  {
    if (rule.shift == Shift::nonzero || rule.shift == Shift::positive_definite) return false;
    SYNCFREE_CUDA(cudaMemcpyAsync(a_.data(), value, a_.bytes(), cudaMemcpyDeviceToDevice, stream));
    N* a = as_device(a_.data());
    const auto n = static_cast<std::size_t>(pattern_.n);
    const Status status = loop_.execute(body_, stream);
    if (!status.ok()) throw Failure{status};
    bad_.fill(0, stream);
    gather_checked(pattern_.lower_source, lower, stream);
    gather_checked(pattern_.upper_source, upper, stream);
    launch(invert_checked<DeviceScalar<T>, I>, {blocks_for(n, threads), threads, 0, stream}, n,
           pattern_.diagonal_source.data(), a, rule.zero_pivot, as_device(inverse_pivot), bad_.data());
    unsigned bad;
    bad_.read(&bad, 0, 1, stream);
    return bad == 0;
  }

  std::size_t factor_loop_bytes() const override
  {
    return begin_.bytes() + column_.bytes() + a_.bytes() + loop_.bytes();
  }

private:
  void gather_checked(const DeviceArray<I>& source, T* to, cudaStream_t stream)
  {
    if (source.empty()) return;
    launch(take_checked<DeviceScalar<T>, I>, {blocks_for(source.size(), threads), threads, 0, stream}, source.size(),
           source.data(), as_device(a_.data()), as_device(to), bad_.data());
  }

  const DeviceFactorPattern<I>& pattern_;
  DeviceArray<I> begin_, column_;
  DeviceArray<T> a_;
  DeviceArray<unsigned> bad_;
  Body body_;  ///< with arrays in device memory
  DeviceLoop<Body> loop_;
};

/// Position of the diagonal among the entries, by row.
template <class I> std::vector<I> find_diagonal(const PatternView<I>& A)
{
  std::vector<I> position(static_cast<std::size_t>(A.n));
  for (I i = 0; i < A.n; ++i)
    position[i] =
        static_cast<I>(std::lower_bound(A.column + A.row_begin[i], A.column + A.row_begin[i + 1], i) - A.column);
  return position;
}

/// Number of accesses to entries by all rows.
template <class I> std::int64_t count_touched(const PatternView<I>& A, const std::vector<I>& diagonal)
{
  std::int64_t touched = 0;
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < diagonal[i]; ++k)
      touched += 2 + A.row_begin[A.column[k] + 1] - diagonal[A.column[k]];
  return touched;
}

/// Upper bound of the steps of one iteration: for each entry of L the textbook's loop walks along its row.
template <class I> std::int64_t count_steps_of_longest(const PatternView<I>& A, const std::vector<I>& diagonal)
{
  std::int64_t most = 0;
  for (I i = 0; i < A.n; ++i) {
    const std::int64_t entries = A.row_begin[i + 1] - A.row_begin[i], lowers = diagonal[i] - A.row_begin[i];
    most = std::max(most, lowers * entries);
  }
  return most;
}

}  // namespace

template <class T, class I>
std::unique_ptr<LoopFactorization<T, I>> make_loop_factorization(const PatternView<I>& A,
                                                                 const DeviceFactorPattern<I>& pattern)
{
  constexpr std::int64_t most = 20'000'000, most_steps = 1 << 24;
  const std::vector<I> diagonal = find_diagonal(A);
  if (count_touched(A, diagonal) > most || count_steps_of_longest(A, diagonal) > most_steps) return nullptr;
  return std::make_unique<MadeByLoop<T, I>>(A, diagonal, pattern);
}

#define INSTANTIATE(T, I)                                                                          \
  template std::unique_ptr<LoopFactorization<T, I>> make_loop_factorization(const PatternView<I>&, \
                                                                            const DeviceFactorPattern<I>&);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
