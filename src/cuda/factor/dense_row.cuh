#pragma once

/// Row i of block ILU, by a warp:
///   for p in L(i), ascending:  L_ip = W_p D_p;  W_q -= L_ip U_pq for q in U(p), if (i, q) is in the pattern
/// with W the blocks of row i of the permuted matrix, D_p the inverted diagonal block of row p. W is in shared memory
/// if rows are short, else in the factor's own arrays. A lane computes one value of a block after the other.

#include <cstddef>
#include <type_traits>

#include "cuda/base/search.cuh"
#include "cuda/base/thread_id.cuh"
#include "cuda/factor/dense_pivot.cuh"
#include "cuda/factor/factorize_dense.hpp"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/cuda/ready/ticket.cuh"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

constexpr int dense_threads = 256;  ///< at most, of a thread block

/// The factor and its plan in the form that kernels use; *_source as in DeviceFactorPattern.
///   slot, slot_begin  as in SlotsView; nullptr if there are none
///   work, pivot_row   `size` entries for each row, if rows are not in shared memory
template <class T, class I> struct DenseFactorView {
  I n;
  int size;
  bool single;  ///< values will be stored in single precision and must fit
  const I *lower_begin, *lower_column, *upper_begin, *upper_column;
  const I *lower_source, *upper_source, *diagonal_source, *order;
  const unsigned char* slot;
  const std::size_t* slot_begin;
  DeviceScalar<T> *lower, *upper, *inverse_pivot, *work;
  int* pivot_row;
  PivotBlockShift shift;
};

/// Shared memory of a warp, in bytes, for rows of at most `entries` blocks.
///   fixed  the size of blocks if the compiler knows it, else 0; also below
template <class N> std::size_t dense_warp_bytes(std::int64_t entries, int size, bool fixed)
{
  const std::size_t n = static_cast<std::size_t>(size), row = static_cast<std::size_t>(entries) * n * n * sizeof(N);
  const std::size_t bytes = row + (fixed ? 0 : n * (sizeof(N) + sizeof(int)));
  return (bytes + 15) / 16 * 16;
}

template <class T, class I, int fixed, bool shared> class DenseRow {
public:
  using N = DeviceScalar<T>;
  using Count = std::conditional_t<shared, unsigned, std::size_t>;  ///< of values of a row

  ///   memory, entries  of this warp, for so many blocks, if `shared`
  __device__ DenseRow(const DenseFactorView<T, I>& F, I i, unsigned char* memory)
      : F_(F), i_(i), lane_(threadIdx.x % 32), size_(fixed > 0 ? fixed : F.size)
  {
    lower_begin_ = F.lower_begin[i], lowers_ = F.lower_begin[i + 1] - lower_begin_;
    upper_begin_ = F.upper_begin[i], uppers_ = F.upper_begin[i + 1] - upper_begin_;
    w_ = reinterpret_cast<N*>(memory);
    if (fixed > 0) return;
    const std::size_t own = static_cast<std::size_t>(i) * size_;
    column_ = shared ? w_ + entries() * values() : F.work + own;
    pivot_row_ = shared ? reinterpret_cast<int*>(column_ + size_) : F.pivot_row + own;
  }

  /// Loads the row of the permuted matrix.
  __device__ void copy(const N* A)
  {
    constexpr int batch = 4;  // loads in flight
    const Count count = entries() * values();
    for (Count first = lane_; first < count; first += 32 * batch) {
      N v[batch];
#pragma unroll
      for (int q = 0; q < batch; ++q) {
        const Count at = first + 32 * q;
        if (at >= count) continue;
        const I source = source_of(static_cast<I>(at / values()));
        v[q] = source < 0 ? N(0) : A[offset(source) + at % values()];
      }
#pragma unroll
      for (int q = 0; q < batch; ++q) {
        const Count at = first + 32 * q;
        if (at < count) block(static_cast<I>(at / values()))[at % values()] = v[q];
      }
    }
    __syncwarp();
  }

  /// A lane holds where one of the next 32 pivot rows is, and whether that has been published.
  __device__ void eliminate(unsigned* ready, unsigned attempt)
  {
    const unsigned char* slot = F_.slot ? F_.slot + F_.slot_begin[i_] : nullptr;
    for (I chunk = 0; chunk < lowers_; chunk += 32) {
      const int here = static_cast<int>(min(I(32), lowers_ - chunk));
      PivotRow pivot = {};
      if (lane_ < here) {
        pivot.row = F_.lower_column[lower_begin_ + chunk + lane_];
        pivot.begin = F_.upper_begin[pivot.row];
        pivot.count = F_.upper_begin[pivot.row + 1] - pivot.begin;
      }
      const unsigned sum = warp_inclusive_sum(static_cast<unsigned>(pivot.count));
      bool is_published_mine = false;
      unsigned published = 0;
      BatchSlots slots;
      load_slots(slot, 0, shfl(pivot.count, 0), &slots);
      for (int k = 0; k < here; ++k) {
        wait_for_row(k, here, ready + pivot.row, attempt, &is_published_mine, &published);
        const PivotRow of_k = {shfl(pivot.row, k), shfl(pivot.begin, k), shfl(pivot.count, k)};
        const unsigned after = shfl(sum, k), before = after - static_cast<unsigned>(of_k.count);
        const I next = k + 1 < here ? shfl(pivot.count, k + 1) : I(0);
        apply_row(chunk + k, of_k, slot, before, [&] { load_slots(slot, after, next, &slots); }, slots);
      }
      if (slot) slot += shfl(sum, 31);
    }
  }

  /// Inverts the diagonal block and stores what other rows wait for. Returns the key of the row's failure, or none. The
  /// same in all lanes.
  __device__ unsigned long long finish_pivot(int* shifted)
  {
    N* const a = block(lowers_);
    const unsigned long long key = static_cast<unsigned long long>(i_) * (size_ + 1);
    if (shared)
      store(block(lowers_ + 1), static_cast<Count>(uppers_) * values(),
            F_.upper + offset(upper_begin_));
    const bool finite_before = all_finite(a, values());
    const double shift = pivot_shift_of(a, size_, F_.shift);
    __syncwarp();
    int index;
    if constexpr (fixed > 0) index = invert_by_warp<fixed>(a, shift, shifted);
    else index = invert_any_by_warp(a, size_, shift, column_, pivot_row_, shifted);
    const bool finite_after = index < size_ || all_fit(a, values());
    if (shared) store(a, values(), F_.inverse_pivot + offset(i_));
    if (!finite_before || !finite_after) return key;
    return index < size_ ? key + 1 + index : BlockOutcome::none;
  }

  /// Stores L. Returns whether L and U fit; the same in all lanes.
  __device__ bool finish_row()
  {
    const Count of_L = static_cast<Count>(lowers_) * values();
    const bool fit = all_fit(block(0), of_L);
    if (shared) store(w_, of_L, F_.lower + offset(lower_begin_));
    return all_fit(block(lowers_ + 1), static_cast<Count>(uppers_) * values()) && fit;
  }

private:
  /// Updates of values that this lane has in flight: the block, and the column of U's block.
  static constexpr int batch_size = fixed > 0 ? (12 / fixed > 1 ? 12 / fixed : 1) : 1;
  struct UpdateBatch {
    I target[batch_size];
    N u[batch_size][fixed > 0 ? fixed : 1];
  };

  /// Slots of a batch, those of the first one of a pivot row while the previous pivot row is applied.
  struct BatchSlots {
    unsigned char slot[batch_size];
  };

  /// A row p that this row waits for, and its entries of U.
  struct PivotRow {
    I row, begin, count;
  };

  __device__ Count values() const { return static_cast<Count>(size_) * size_; }
  __device__ Count entries() const { return static_cast<Count>(lowers_ + 1 + uppers_); }

  /// Offset of block k in an array of the factor.
  __device__ std::size_t offset(I k) const { return static_cast<std::size_t>(k) * values(); }

  __device__ I source_of(I e) const
  {
    if (e < lowers_) return F_.lower_source[lower_begin_ + e];
    return e == lowers_ ? F_.diagonal_source[i_] : F_.upper_source[upper_begin_ + (e - lowers_ - 1)];
  }

  /// Block e of the row: those of L, the diagonal one, those of U.
  __device__ N* block(I e) const
  {
    if (shared) return w_ + static_cast<Count>(e) * values();
    if (e < lowers_) return F_.lower + offset(lower_begin_ + e);
    if (e == lowers_) return F_.inverse_pivot + offset(i_);
    return F_.upper + offset(upper_begin_ + (e - lowers_ - 1));
  }

  __device__ bool all_finite(const N* v, Count count) const
  {
    bool all = true;
#pragma unroll 1
    for (Count at = lane_; at < count; at += 32) all = all && finite(v[at]);
    return __all_sync(~0u, all);
  }

  /// As all_finite(), in the precision in which they will be stored.
  __device__ bool all_fit(const N* v, Count count) const
  {
    bool fit = true;
#pragma unroll 1
    for (Count at = lane_; at < count; at += 32)
      fit = fit && (F_.single ? finite(DeviceScalar<single_t<T>>(v[at])) : finite(v[at]));
    return __all_sync(~0u, fit);
  }

  __device__ void store(const N* from, Count count, N* to) const
  {
#pragma unroll 1
    for (Count at = lane_; at < count; at += 32) to[at] = from[at];
  }

  /// Waits for pivot row k of `here`. The next ones, which often share its cache line, are polled with it.
  ///   flag       of this lane's pivot row
  ///   mine, all  [in, out] whether it has been published; the lanes for which that is known
  __device__ void wait_for_row(int k, int here, unsigned* flag, unsigned attempt, bool* mine, unsigned* all)
  {
    constexpr int together = 4;
    const bool polls = lane_ >= k && lane_ < min(k + together, here);
    const bool arrived = BoundedWait(i_).until_for_warp([&] { return (*all >> k & 1) != 0; },
                                                        [&] {
                                                          if (polls && !*mine) *mine = is_published(flag, attempt);
                                                          *all = __ballot_sync(~0u, *mine);
                                                        });
    if (!arrived && lane_ == 0) block(lowers_)[0] = quiet_nan<N>();
    __syncwarp();
  }

  /// L_ik = W_k D_p; W_q -= L_ik U_pq
  ///   slot, before  slots of this row, or nullptr; those of row p of U begin at `before`
  ///   load_next     loads `slots` for the next pivot row; called after the last use of those of this one
  template <class LoadNext>
  __device__ void apply_row(I k, const PivotRow& p, const unsigned char* slot, unsigned before, LoadNext load_next,
                            const BatchSlots& slots)
  {
    const N* const D = F_.inverse_pivot + offset(p.row);
    if constexpr (fixed > 0) {
      if (slot) return apply_in_batches(block(k), D, p, slot + before, load_next, slots);
    }
    scale(block(k), D);
    subtract_products(block(k), k + 1, p, slot ? slot + before : nullptr);
  }

  template <class LoadNext>
  __device__ void apply_in_batches(N* L, const N* D, const PivotRow& p, const unsigned char* slot, LoadNext load_next,
                                   const BatchSlots& slots)
  {
    UpdateBatch batch;
    const int count = static_cast<int>(p.count) * fixed * fixed;
    load_batch(0, count, p, slots, &batch);  // together with D
    load_next();
    scale(L, D);
#pragma unroll 1
    for (int first = 0; first < count;) {
      subtract_batch(L, first, batch);
      first += 32 * batch_size;
      if (first >= count) break;
      BatchSlots others;
      load_slots_from(first, count, slot, &others);
      load_batch(first, count, p, others, &batch);
    }
    __syncwarp();
  }

  ///   before  begin of the pivot row's slots
  ///   count   of its entries of U
  __device__ void load_slots(const unsigned char* slot, unsigned before, I count, BatchSlots* to) const
  {
    if constexpr (fixed > 0)
      if (slot) load_slots_from(0, static_cast<int>(count) * fixed * fixed, slot + before, to);
  }

  __device__ void load_slots_from(int first, int count, const unsigned char* slot, BatchSlots* to) const
  {
#pragma unroll
    for (int q = 0; q < batch_size; ++q) {
      const int at = first + lane_ + 32 * q;
      to->slot[q] = at < count ? slot[at / (fixed * fixed)] : no_slot;
    }
  }

  __device__ void load_batch(int first, int count, const PivotRow& p, const BatchSlots& slots,
                             UpdateBatch* batch) const
  {
    constexpr int block_values = fixed * fixed;
#pragma unroll
    for (int q = 0; q < batch_size; ++q) {
      const int at = first + lane_ + 32 * q, j = at / block_values, c = at % block_values / fixed;
      batch->target[q] = at < count ? from_slot(slots.slot[q]) : I(-1);
      if (batch->target[q] < 0) continue;
      const N* const U = F_.upper + offset(p.begin + j) + c * fixed;
#pragma unroll
      for (int m = 0; m < fixed; ++m) batch->u[q][m] = U[m];
    }
  }

  __device__ void subtract_batch(const N* L, int first, const UpdateBatch& batch)
  {
    constexpr int block_values = fixed * fixed;
#pragma unroll
    for (int q = 0; q < batch_size; ++q) {
      if (batch.target[q] < 0) continue;
      const int inside = (first + lane_ + 32 * q) % block_values, r = inside % fixed;
      N* const target = block(batch.target[q]) + inside;
      N sum = *target;
#pragma unroll
      for (int m = 0; m < fixed; ++m) sum -= product(L[m * fixed + r], batch.u[q][m]);
      *target = sum;
    }
  }

  /// Value (r, c) of A B, blocks.
  __device__ N product_at(const N* A, const N* B, int r, int c) const
  {
    const Count n = static_cast<Count>(size_);
    N sum = product(A[r], B[c * n]);
#pragma unroll
    for (int m = 1; m < size_; ++m) sum += product(A[m * n + r], B[c * n + m]);
    return sum;
  }

  /// W = W D
  __device__ void scale(N* W, const N* D)
  {
    if constexpr (fixed > 0) {
      constexpr int count = fixed * fixed, each = (count + 31) / 32;
      N result[each];
#pragma unroll
      for (int e = 0; e < each; ++e) {
        const int at = lane_ + 32 * e;
        if (at < count) result[e] = product_at(W, D, at % fixed, at / fixed);
      }
      __syncwarp();
#pragma unroll
      for (int e = 0; e < each; ++e)
        if (lane_ + 32 * e < count) W[lane_ + 32 * e] = result[e];
    } else {
      for (int r = 0; r < size_; ++r) {  // a row of the result needs no other one
        for (int c = lane_; c < size_; c += 32) column_[c] = product_at(W, D, r, c);
        __syncwarp();
        for (int c = lane_; c < size_; c += 32) W[static_cast<Count>(c) * size_ + r] = column_[c];
        __syncwarp();
      }
    }
    __syncwarp();
  }

  /// W_q -= L U_pq, for any size, with slots or without.
  ///   first_of_L  entries of L in this row before it are finished
  __device__ void subtract_products(const N* L, I first_of_L, const PivotRow& p, const unsigned char* slot)
  {
#pragma unroll 1
    for (Count at = lane_; at < static_cast<Count>(p.count) * values(); at += 32) {
      const I j = static_cast<I>(at / values());
      const I e = slot ? from_slot(slot[j]) : find_block(F_.upper_column[p.begin + j], first_of_L);
      if (e < 0) continue;
      const Count inside = at % values(), r = inside % size_, c = inside / size_;
      const N* const U = F_.upper + offset(p.begin + j) + c * size_;
      N* const target = block(e) + inside;
      N sum = *target;
      for (int m = 0; m < size_; ++m) sum -= product(L[static_cast<Count>(m) * size_ + r], U[m]);
      *target = sum;
    }
    __syncwarp();
  }

  static __device__ I from_slot(unsigned char slot) { return slot == no_slot ? I(-1) : static_cast<I>(slot); }

  /// Number of the block (i, q) in the row, or -1; entries of L before `first` are not looked for.
  __device__ I find_block(I q, I first) const
  {
    if (q == i_) return lowers_;
    const I lower_end = lower_begin_ + lowers_, upper_end = upper_begin_ + uppers_;
    const I found = q > i_ ? find(F_.upper_column, upper_begin_, upper_end, q)
                           : find(F_.lower_column, lower_begin_ + first, lower_end, q);
    if (found < 0) return found;
    return q > i_ ? lowers_ + 1 + (found - upper_begin_) : found - lower_begin_;
  }

  const DenseFactorView<T, I>& F_;
  I i_;
  int lane_, size_;
  I lower_begin_, lowers_, upper_begin_, uppers_;
  N *w_, *column_ = nullptr;
  int* pivot_row_ = nullptr;
};

/// owns       a warp owns one block row of L and U and its inverted diagonal block; a thread block consecutive rows in
///            level order
/// waits      for the flag of each pivot row, in ascending order; a lane polls one flag
/// publishes  the row's flag, set to the number of the attempt: flags are never reset
/// order      acquire by the lane that polls, __syncwarp to its warp; __syncwarp, release by lane 0 (ready.cuh). L is
///            read by later launches only
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier warp of the thread block; every row
///            publishes, whatever its values are
/// result     reproducible: a value is updated by one lane at a time, in the order of the pivots
/// source     Saad 2003, algorithm 10.4, of blocks; waiting by rows as in Liu et al. 2016
template <class T, class I, int fixed, bool shared>
__global__ void __launch_bounds__(dense_threads)
factorize_dense(DenseFactorView<T, I> F, const DeviceScalar<T>* A, unsigned warp_bytes, unsigned* ready,
                unsigned attempt, TicketCounter* counter, BlockOutcome* outcome)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const BlockTicket ticket = take_ticket(counter);
  const unsigned warp = threadIdx.x / 32;
  const std::size_t position = ticket.index * (blockDim.x / 32) + warp;
  if (position >= static_cast<std::size_t>(F.n)) return;
  const I i = F.order[position];
  DenseRow<T, I, fixed, shared> row(F, i, memory + static_cast<std::size_t>(warp) * warp_bytes);
  row.copy(A);
  row.eliminate(ready, attempt);
  int shifted = 0;
  unsigned long long failure = row.finish_pivot(&shifted);
  __syncwarp();
  if (threadIdx.x % 32 == 0) store_release(ready + i, attempt);
  if (!row.finish_row()) failure = static_cast<unsigned long long>(i) * (F.size + 1);
  if (threadIdx.x % 32 != 0) return;
  if (failure != BlockOutcome::none) red_min_relaxed(&outcome->failure, failure);
  if (shifted > 0) red_add_relaxed(&outcome->repaired, shifted);
}

}  // namespace syncfree::cuda
