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

/// Blocks that a multiprocessor shall hold; more registers would be used, but not to more effect.
template <class T, class I> constexpr int staged_blocks(int lanes)
{
  return sizeof(T) > 8 || sizeof(I) > 4 ? 1 : lanes == 32 ? 4 : 3;
}

/// Four bytes in a register.
class Bytes {
public:
  explicit __device__ Bytes(unsigned char all) : word_(all * 0x01010101u) {}
  __device__ unsigned operator[](int e) const { return word_ >> 8 * e & 255; }
  __device__ void set(int e, unsigned byte) { word_ ^= (word_ ^ byte << 8 * e) & 255u << 8 * e; }

private:
  unsigned word_;
};

/// The work of a row comes in pieces, up to `lanes` entries of the row of U that belongs to one entry k of L. By piece:
/// k, whether that row of U begins, and this lane's slot and entry of U.
template <class I> struct Pieces {
  static constexpr unsigned char none = 255;
  Bytes k{none}, first{0}, slot{no_slot};
  I u[staged_batch];
};

/// The numbers of a piece.
template <class N> struct PieceNumbers {
  N u, inverse, partner;
};

/// What `lanes` lanes do with a row. A warp stays together: its rows look for numbers at the same time, and those that
/// have all of a batch go on at the same time.
template <class T, class I, int lanes> class StagedRow {
public:
  using N = Number<T>;
  using Mail = Mailbox<N>;
  using Word = typename Mail::word;

  ///   place   of the row in level order; from n on there is none
  __device__ StagedRow(const FactorView<T, I>& F, const SlotsView<I>& S, std::size_t place, unsigned char* memory)
      : F_(F), S_(S), done_(place >= static_cast<std::size_t>(F.n)), i_(F.order[done_ ? 0 : place]),
        lane_(threadIdx.x % lanes), group_(group_of(lanes))
  {
    const std::size_t groups = staged_threads / lanes, group = threadIdx.x / lanes;
    w_ = reinterpret_cast<N*>(memory) + group * S.entries;
    pivot_row_ = reinterpret_cast<I*>(reinterpret_cast<N*>(memory) + groups * S.entries) + group * 3 * S.lowers;
    upper_begin_ = pivot_row_ + S.lowers;
    upper_count_ = upper_begin_ + S.lowers;
    lower_ = F.lower_begin[i_], lowers_ = F.lower_begin[i_ + 1] - lower_;
    upper_ = F.upper_begin[i_], uppers_ = F.upper_begin[i_ + 1] - upper_;
    slots_ = S.begin[i_];
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
    __syncwarp();
  }

  /// Eliminates; then pivot and row of U are published, whatever they are.
  __device__ void run(const DevicePivotRule& rule, Outcome* outcome)
  {
    take();
    advance();
    for (Spin spin(i_); !__all_sync(all, done_); spin.turn()) {
      const unsigned missing = __ballot_sync(all, !done_ && !poll());
      const bool complete = !done_ && (missing & group_) == 0;
      if (!__any_sync(all, complete)) continue;
      update(complete);
      const bool finishes = complete && next_.k[0] == none;
      if (__any_sync(all, finishes)) finish(finishes, rule, outcome);
      done_ = done_ || finishes;
      if (complete && !finishes) advance();
    }
  }

private:
  static constexpr unsigned all = ~0u;
  static constexpr unsigned char none = Pieces<I>::none;

  static __device__ Word* words(N* numbers) { return reinterpret_cast<Word*>(numbers); }

  /// The next batch; who waits for it has loaded its slots long before.
  __device__ void take()
  {
    next_ = Pieces<I>();
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      if (k_ >= lowers_) break;
      const I j = chunk_ + lane_, count = upper_count_[k_];
      next_.k.set(e, static_cast<unsigned>(k_));
      next_.first.set(e, chunk_ == 0);
      next_.u[e] = upper_begin_[k_] + j;
      if (j < count) next_.slot.set(e, S_.slot[slots_ + static_cast<std::size_t>(j)]);
      chunk_ += lanes;
      if (chunk_ < count) continue;
      slots_ += static_cast<std::size_t>(count);
      chunk_ = 0;
      ++k_;
    }
  }

  /// To the batch that was taken.
  __device__ void advance()
  {
    now_ = next_;
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      number_[e].u = now_.slot[e] != no_slot ? Mail::nothing() : N(0);
      number_[e].inverse = now_.first[e] ? Mail::nothing() : N(0);
      number_[e].partner = now_.first[e] && !F_.lu ? Mail::nothing() : N(0);
    }
    take();
  }

  /// Looks once for what is missing of the batch. Is all there?
  __device__ bool poll()
  {
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      PieceNumbers<N>& number = number_[e];
      if (!Mail::arrived(number.u)) number.u = Mail::poll(words(F_.upper) + Mail::words * now_.u[e]);
      if (!Mail::arrived(number.inverse))
        number.inverse = Mail::poll(words(F_.inverse_pivot) + Mail::words * pivot_row_[now_.k[e]]);
      if (!Mail::arrived(number.partner))
        number.partner = Mail::poll(words(F_.upper) + Mail::words * S_.partner[lower_ + static_cast<I>(now_.k[e])]);
    }
    bool there = true;
#pragma unroll
    for (int e = 0; e < staged_batch; ++e)
      there = there && Mail::arrived(number_[e].u) && Mail::arrived(number_[e].inverse) &&
              Mail::arrived(number_[e].partner);
    return there;
  }

  /// By all lanes; `mine`: the batch of this one's row is complete.
  __device__ void update(bool mine)
  {
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      if (!__any_sync(all, mine && now_.k[e] != none)) break;
      if (mine && now_.first[e]) {
        factor_ = product(F_.lu ? w_[now_.k[e]] : number_[e].partner, number_[e].inverse);
        if (lane_ == 0) {
          F_.lower[lower_ + static_cast<I>(now_.k[e])] = factor_;
          if (F_.lu) total_ += size_of(factor_);
          good_ = good_ && fits(F_, factor_);
        }
      }
      if (mine && now_.slot[e] != no_slot) w_[now_.slot[e]] -= product(factor_, number_[e].u);
      __syncwarp();
    }
  }

  /// By all lanes; `mine`: this one's row is finished.
  __device__ void finish(bool mine, const DevicePivotRule& rule, Outcome* outcome)
  {
    for (I j = lane_; mine && j < uppers_; j += lanes) {
      const N u = w_[lowers_ + 1 + j];
      total_ += size_of(u);
      good_ = good_ && fits(F_, u);
      Mail::publish(words(F_.upper) + Mail::words * (upper_ + j), u);
    }
    const bool good = (__ballot_sync(all, !good_) & group_) == 0;
    double total = total_;
    if (rule.sums)
      for (int offset = lanes / 2; offset; offset /= 2) total += __shfl_xor_sync(all, total, offset);
    if (!mine || lane_ > 0) return;
    const N pivot = finish_pivot(F_, i_, w_[lowers_], rule, total, good, outcome);
    Mail::publish(words(F_.inverse_pivot) + Mail::words * i_, pivot);
  }

  const FactorView<T, I>& F_;
  const SlotsView<I>& S_;
  bool done_;  ///< or there is no row
  I i_;
  int lane_;
  unsigned group_;
  N* w_;                                        ///< the row, by slots
  I *pivot_row_, *upper_begin_, *upper_count_;  ///< by entry of L
  I lower_, lowers_, upper_, uppers_;
  Pieces<I> now_, next_;  ///< the batch at hand, and the next
  PieceNumbers<N> number_[staged_batch];
  I k_ = 0, chunk_ = 0;  ///< behind what was taken
  std::size_t slots_;    ///< of row k_ of U
  N factor_{0};          ///< l_ip
  double total_ = 0;     ///< of this lane: moduli off the diagonal
  bool good_ = true;     ///< of this lane: all numbers can be stored
};

/// owns       `lanes` lanes own one row of L and U and its pivot; a block 256 / lanes rows that follow each other in
///            level order
/// waits      for the inverted pivots and the entries of U of a batch of pieces, all rows of a warp in one
///            loop, so they may wait for each other
/// publishes  the row of U and the inverted pivot, each number its own flag
/// order      relaxed: the number itself is the message (ready.cuh); U and pivots are unset before the launch. L is
///            read by later launches only
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier place in the block; every row
///            publishes, whatever its numbers are
/// result     reproducible: an entry is updated in the order of the pivots
/// source     Saad 2003, algorithm 10.4; waiting by rows as in Liu et al. 2016
template <class T, class I, int lanes>
__global__ void __launch_bounds__(staged_threads, staged_blocks<T, I>(lanes))
factorize_staged_rows(FactorView<T, I> F, SlotsView<I> S, const Number<T>* A, DevicePivotRule rule,
                      unsigned long long* counter, Outcome* outcome)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const Turn turn = take_turn(counter);
  const std::size_t place = turn.place * (staged_threads / lanes) + threadIdx.x / lanes;
  StagedRow<T, I, lanes> row(F, S, place, memory);
  row.load(A, rule.shift);
  row.run(rule, outcome);
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
