#pragma once

/// The factorization where rows are short: a row is staged in shared memory, its updates know their slots, and a number
/// of U or an inverted pivot is its own flag.

#include <algorithm>
#include <cstdint>

#include "factor_row.cuh"
#include "lanes.hpp"
#include "update_slots.hpp"

namespace syncfree::cuda {

constexpr int staged_threads = 256;
constexpr int staged_batch = 4;  ///< pieces that a row has in flight

/// A piece of the work of a row: up to `lanes` entries of the row of U that belongs to one entry k of L.
template <class N, class I> struct Piece {
  I k = -1;        ///< -1: none
  bool first;      ///< of that row of U
  unsigned char slot = no_slot;
  const void* u_place = nullptr;
  N u{0}, inverse{0}, partner{0};
};

/// What `lanes` lanes do with row i. They meet in wait_for_group() only, so other rows of their warp go their own way.
template <class T, class I, int lanes> class StagedRow {
public:
  using N = Number<T>;
  using Mail = Mailbox<N>;
  using Word = typename Mail::word;

  __device__ StagedRow(const FactorView<T, I>& F, const SlotsView<I>& S, I i, unsigned char* memory)
      : F_(F), S_(S), i_(i), lane_(threadIdx.x % lanes), group_(group_of(lanes))
  {
    const std::size_t groups = staged_threads / lanes, group = threadIdx.x / lanes;
    w_ = reinterpret_cast<N*>(memory) + group * S.entries;
    pivot_row_ = reinterpret_cast<I*>(reinterpret_cast<N*>(memory) + groups * S.entries) + group * 3 * S.lowers;
    upper_begin_ = pivot_row_ + S.lowers;
    upper_count_ = upper_begin_ + S.lowers;
    lower_ = F.lower_begin[i], lowers_ = F.lower_begin[i + 1] - lower_;
    upper_ = F.upper_begin[i], uppers_ = F.upper_begin[i + 1] - upper_;
  }

  /// Numbers of A, and what is to be known of the rows of U.
  __device__ void load(const N* A, double shift)
  {
    for (I k = lane_; k < lowers_; k += lanes) {
      const I p = F_.lower_column[lower_ + k];
      pivot_row_[k] = p;
      upper_begin_[k] = F_.upper_begin[p];
      upper_count_[k] = F_.upper_begin[p + 1] - F_.upper_begin[p];
      if (F_.lu) w_[k] = entry(A, F_.lower_source[lower_ + k]);
    }
    for (I j = lane_; j < uppers_; j += lanes) w_[lowers_ + 1 + j] = entry(A, F_.upper_source[upper_ + j]);
    using R = decltype(real_of(N(0)));
    if (lane_ == 0) w_[lowers_] = entry(A, F_.diagonal_source[i_]) + N(static_cast<R>(shift));
    wait_for_group();
  }

  __device__ void eliminate()
  {
    I k = 0, chunk = 0;
    std::size_t slots = S_.begin[i_];
    while (k < lowers_) {
      Piece<N, I> piece[staged_batch];
#pragma unroll
      for (int e = 0; e < staged_batch; ++e) {
        if (k >= lowers_) continue;
        take(k, chunk, slots, &piece[e]);
        chunk += lanes;
        if (chunk < upper_count_[k]) continue;
        slots += static_cast<std::size_t>(upper_count_[k]);
        chunk = 0;
        ++k;
      }
      poll(piece);
#pragma unroll
      for (int e = 0; e < staged_batch; ++e)
        if (piece[e].k >= 0) update(piece[e]);
    }
  }

  /// Pivot and row of U are published, whatever they are.
  __device__ void finish(const DevicePivotRule& rule, Outcome* outcome)
  {
    for (I j = lane_; j < uppers_; j += lanes) {
      const N u = w_[lowers_ + 1 + j];
      total_ += size_of(u);
      good_ = good_ && fits(F_, u);
      Mail::publish(words(F_.upper) + Mail::words * (upper_ + j), u);
    }
    for (int offset = lanes / 2; offset; offset /= 2) total_ += __shfl_xor_sync(group_, total_, offset);
    good_ = __all_sync(group_, good_);
    if (lane_ > 0) return;
    const N pivot = finish_pivot(F_, i_, w_[lowers_], rule, total_, good_, outcome);
    Mail::publish(words(F_.inverse_pivot) + Mail::words * i_, pivot);
  }

private:
  static __device__ Word* words(N* numbers) { return reinterpret_cast<Word*>(numbers); }

  /// What was written to shared memory is visible to all lanes of the row.
  __device__ void wait_for_group() const { __syncwarp(group_); }

  __device__ void take(I k, I chunk, std::size_t slots, Piece<N, I>* piece) const
  {
    const I j = chunk + lane_;
    piece->k = k;
    piece->first = chunk == 0;
    if (j < upper_count_[k]) piece->slot = S_.slot[slots + static_cast<std::size_t>(j)];
    piece->u_place = words(F_.upper) + Mail::words * (upper_begin_[k] + j);
  }

  /// Looks for all numbers of a batch until they are there.
  __device__ void poll(Piece<N, I> (&piece)[staged_batch]) const
  {
    Spin spin(i_);
    for (bool missing = true; __any_sync(group_, missing); spin.turn()) {
#pragma unroll
      for (int e = 0; e < staged_batch; ++e) {
        if (piece[e].slot != no_slot) piece[e].u = Mail::poll(static_cast<Word*>(const_cast<void*>(piece[e].u_place)));
        if (piece[e].k < 0 || !piece[e].first) continue;
        piece[e].inverse = Mail::poll(words(F_.inverse_pivot) + Mail::words * pivot_row_[piece[e].k]);
        if (!F_.lu) piece[e].partner = Mail::poll(words(F_.upper) + Mail::words * S_.partner[lower_ + piece[e].k]);
      }
      missing = false;
#pragma unroll
      for (int e = 0; e < staged_batch; ++e)
        missing = missing || !Mail::arrived(piece[e].u) || !Mail::arrived(piece[e].inverse) ||
                  !Mail::arrived(piece[e].partner);
    }
  }

  __device__ void update(const Piece<N, I>& piece)
  {
    if (piece.first) {
      factor_ = product(F_.lu ? w_[piece.k] : piece.partner, piece.inverse);
      if (lane_ == 0) {
        F_.lower[lower_ + piece.k] = factor_;
        if (F_.lu) total_ += size_of(factor_);
        good_ = good_ && fits(F_, factor_);
      }
    }
    if (piece.slot != no_slot) w_[piece.slot] -= product(factor_, piece.u);
    wait_for_group();
  }

  const FactorView<T, I>& F_;
  const SlotsView<I>& S_;
  I i_;
  int lane_;
  unsigned group_;
  N* w_;                                        ///< the row, by slots
  I *pivot_row_, *upper_begin_, *upper_count_;  ///< by entry of L
  I lower_, lowers_, upper_, uppers_;
  N factor_{0};       ///< l_ip
  double total_ = 0;  ///< of this lane: moduli off the diagonal
  bool good_ = true;  ///< of this lane: all numbers can be stored
};

/// owns       `lanes` lanes own one row of L and U and its pivot; a block 256 / lanes rows that follow each other in
///            level order
/// waits      its lanes together, for the inverted pivots and the entries of U of a batch of up to four pieces, all
///            polled at once; rows of one warp may wait for each other, because its lanes are scheduled independently
/// publishes  the row of U and the inverted pivot, each number its own flag
/// order      relaxed: the number itself is the message (ready.cuh); U and pivots are unset before the launch. L is
///            read by later launches only
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier place in the block; every row
///            publishes, whatever its numbers are
/// result     reproducible: an entry is updated in the order of the pivots
/// source     Saad 2003, algorithm 10.4; waiting by rows as in Liu et al. 2016
template <class T, class I, int lanes>
__global__ void __launch_bounds__(staged_threads)
factorize_staged_rows(FactorView<T, I> F, SlotsView<I> S, const Number<T>* A, DevicePivotRule rule,
                      unsigned long long* counter, Outcome* outcome)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const Turn turn = take_turn(counter);
  const std::size_t place = turn.place * (staged_threads / lanes) + threadIdx.x / lanes;
  if (place >= static_cast<std::size_t>(F.n)) return;
  StagedRow<T, I, lanes> row(F, S, F.order[place], memory);
  row.load(A, rule.shift);
  row.eliminate();
  row.finish(rule, outcome);
}

/// One attempt. U and inverse pivots are unset, 0xff in all bytes.
///   against_crowding  bytes of shared memory that a block takes at least (lanes.hpp)
template <class T, class I>
void factorize_staged(const FactorView<T, I>& F, const SlotsView<I>& S, std::size_t against_crowding,
                      const Number<T>* A, const DevicePivotRule& rule, unsigned long long* counter, Outcome* outcome,
                      cudaStream_t stream)
{
  const auto kernel = S.lanes == 4    ? factorize_staged_rows<T, I, 4>
                      : S.lanes == 8  ? factorize_staged_rows<T, I, 8>
                      : S.lanes == 16 ? factorize_staged_rows<T, I, 16>
                                      : factorize_staged_rows<T, I, 32>;
  const std::size_t rows = static_cast<std::size_t>(staged_threads / S.lanes);
  const std::size_t row_memory = static_cast<std::size_t>(S.entries) * sizeof(Number<T>) +
                                 3 * static_cast<std::size_t>(S.lowers) * sizeof(I);
  const std::size_t memory = std::max(rows * row_memory, against_crowding);
  allow_shared_memory(kernel, memory);
  kernel<<<blocks_for(static_cast<std::size_t>(F.n), static_cast<unsigned>(rows)), staged_threads, memory, stream>>>(
      F, S, A, rule, counter, outcome);
  check_launch("factorize_staged_rows");
}

}  // namespace syncfree::cuda
