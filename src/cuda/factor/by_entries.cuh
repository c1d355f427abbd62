#pragma once

/// The factorization entry by entry, for long rows, which would be too much work for one warp; the terms of an entry
/// are precomputed (cuda/factor/update_lists.hpp). The values of L and U and the inverse pivots are sentinel values.

#include "cuda/factor/row.cuh"
#include "cuda/factor/update_lists.hpp"
#include "syncfree/cuda/ready/barrier.cuh"

namespace syncfree::cuda {

constexpr int entry_threads = 256;

/// One entry, computed by one lane or, if it has many terms, by its warp.
template <class T, class I> class FactorEntry {
public:
  using N = DeviceScalar<T>;
  using Mail = SentinelValue<N>;

  /// position: at or beyond S.positions there is no entry
  __device__ FactorEntry(const FactorView<T, I>& F, const ListsView<I>& S, std::size_t position, const N* A)
      : F_(F), S_(S), done_(position >= S.positions)
  {
    if (done_) return;
    const I lowers = S.lowers, uppers = S.uppers, index = S.index[position];
    row_ = S.row[position];
    next_ = S.begin[position], end_ = S.begin[position + 1];
    is_lower_ = index < lowers;
    is_upper_ = !is_lower_ && index < lowers + uppers;
    k_ = is_lower_ ? index : is_upper_ ? index - lowers : row_;
    if (is_lower_) pivot_ = F.lower_column[k_];
    if (is_upper_) sum_ = entry(A, F.upper_source[k_]);
    else if (!is_lower_) sum_ = entry(A, F.diagonal_source[k_]);
    else if (F.lu) sum_ = entry(A, F.lower_source[k_]);
  }

  __device__ void factorize_entry(const DevicePivotRule& rule, Outcome* outcome)
  {
    const auto look = [&] {
      if (!done_ && !is_long()) go_on();
      for (unsigned left = __ballot_sync(all, !done_ && is_long()); left; left &= left - 1)
        go_on_together(__ffs(static_cast<int>(left)) - 1);
      if (!done_ && next_ == end_) finish_entry(rule, outcome);
    };
    BoundedWait spin(row_);
    if (!spin.until_for_warp([&] { return __all_sync(all, done_); }, look)) give_up_entry();
  }

private:
  static constexpr unsigned all = ~0u;
  static constexpr int together = 4;  ///< terms that each lane takes at once, with the others of its warp
  static constexpr int alone = 8;     ///< the same, by itself
  static constexpr int many = 128;    ///< terms that are too many for one lane
  static __device__ N poll_value(N* numbers, I k) { return Mail::poll(sentinel_at(numbers, k)); }
  static __device__ void publish_value(N* numbers, I k, const N& v) { Mail::publish(sentinel_at(numbers, k), v); }

  __device__ bool is_long() const { return end_ - next_ > many; }

  /// Computes a term. Returns false if a factor has not arrived.
  __device__ bool term(std::size_t t, N* v) const
  {
    const I k = S_.lower[t];
    const N l = k < 0 ? N(-1) : poll_value(F_.lower, k), u = poll_value(F_.upper, S_.upper[t]);
    *v = product(l, u);
    return (k < 0 || Mail::arrived(l)) && Mail::arrived(u);
  }

  /// Subtracts the next terms, in order, as far as they have arrived.
  __device__ void go_on()
  {
    for (bool complete = true; complete && next_ < end_;) {
      N v[alone];
      bool arrived[alone];
#pragma unroll
      for (int e = 0; e < alone; ++e) arrived[e] = next_ + e < end_ && term(next_ + e, &v[e]);
#pragma unroll
      for (int e = 0; e < alone; ++e) {
        complete = complete && arrived[e];
        if (!complete) continue;
        sum_ -= v[e];
        ++next_;
      }
    }
  }

  /// All lanes: subtracts the next terms of the owner's entry, if all of them have arrived.
  __device__ void go_on_together(int owner)
  {
    const int lane = threadIdx.x % 32;
    const std::size_t begin = __shfl_sync(all, static_cast<unsigned long long>(next_), owner);
    const std::size_t end = __shfl_sync(all, static_cast<unsigned long long>(end_), owner);
    N v[together];
    bool complete = true;
#pragma unroll
    for (int e = 0; e < together; ++e) {
      const std::size_t t = begin + static_cast<std::size_t>(32 * e + lane);
      v[e] = N(0);
      if (t < end) complete = term(t, &v[e]) && complete;
    }
    if (!__all_sync(all, complete)) return;
    for (int e = 1; e < together; ++e) v[0] += v[e];
    for (int offset = 16; offset; offset /= 2) v[0] += shfl_xor(v[0], offset);
    if (lane != owner) return;
    sum_ -= v[0];
    next_ = min(end_, begin + 32 * together);
  }

  __device__ void finish_entry(const DevicePivotRule& rule, Outcome* outcome)
  {
    if (is_upper_) {
      publish_entry(F_.upper, sum_, outcome);
    } else if (is_lower_) {
      const N inverse = poll_value(F_.inverse_pivot, pivot_);
      if (!Mail::arrived(inverse)) return;
      publish_entry(F_.lower, product(sum_, inverse), outcome);
    } else {
      publish_value(F_.inverse_pivot, k_, finish_pivot(F_, row_, sum_, N(1) / sum_, rule, 0, true, outcome));
    }
    done_ = true;
  }

  /// Gives up: publishes a NaN if the entry is not finished.
  __device__ void give_up_entry()
  {
    if (!done_) publish_value(is_upper_ ? F_.upper : is_lower_ ? F_.lower : F_.inverse_pivot, k_, quiet_nan<N>());
  }

  __device__ void publish_entry(N* numbers, const N& v, Outcome* outcome)
  {
    if (!fits(F_, v)) red_min_relaxed(&outcome->failure, 0);
    publish_value(numbers, k_, v);
  }

  const FactorView<T, I>& F_;
  const ListsView<I>& S_;
  bool done_, is_lower_ = false, is_upper_ = false;
  I row_ = 0, k_ = 0, pivot_ = 0;    ///< k: entry of L or U, or the row
  std::size_t next_ = 0, end_ = 0;  ///< remaining terms
  N sum_{0};
};

/// owns       a lane owns one entry of L or U or a pivot
/// waits      for the factors of its terms, and for the pivot of an entry of L; all lanes of a warp in one loop, so
///            they may wait for each other
/// publishes  each value, as a sentinel value
/// order      relaxed: the value is its own flag (ready.cuh); all are reset by the launch
///            before, whose end is awaited
/// progress   an entry's terms have earlier positions, so an earlier ticket, or a lane of the same thread block; every
///            entry is published, whatever its value is
/// result     reproducible: terms are added in the order of the pivots or, if they are many, in an order that depends
///            only on their number
/// source     Saad 2003, algorithm 10.4, by entries as in Chow and Patel 2015, but in the order of dependences
template <class T, class I>
__global__ void __launch_bounds__(entry_threads)
factorize_entries(FactorView<T, I> F, ListsView<I> S, const DeviceScalar<T>* A, DevicePivotRule rule,
                  TicketCounter* counter, Outcome* outcome)
{
  const BlockTicket ticket = take_ticket(counter);
  FactorEntry<T, I> own(F, S, ticket.index * entry_threads + threadIdx.x, A);
  wait_for_primary_launch();
  own.factorize_entry(rule, outcome);
}

/// If the rule needs row sums: a warp tests the pivot of a row against the sum of its absolute values.
template <class T, class I>
__global__ void test_pivots(FactorView<T, I> F, DevicePivotRule rule, Outcome* outcome)
{
  const std::size_t row = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (row >= static_cast<std::size_t>(F.n)) return;
  double sum = 0;
  const int lane = threadIdx.x % 32;
  if (F.lu)
    for (I k = F.lower_begin[row] + lane; k < F.lower_begin[row + 1]; k += 32) sum += abs_value(F.lower[k]);
  for (I k = F.upper_begin[row] + lane; k < F.upper_begin[row + 1]; k += 32) sum += abs_value(F.upper[k]);
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  const DeviceScalar<T> pivot = DeviceScalar<T>(1) / F.inverse_pivot[row];
  constexpr double doubt = 2;  // the pivot is known only by its inverse
  if (lane == 0 && pivot_size(pivot, rule) <= doubt * pivot_tolerance(rule, sum)) red_min_relaxed(&outcome->failure, 0);
}

}  // namespace syncfree::cuda
