#pragma once

/// The factorization for short rows and wide levels: several rows per warp, each in shared memory
/// (cuda/factor/staged_row.cuh).

#include "cuda/factor/staged_row.cuh"
#include "syncfree/cuda/ready/barrier.cuh"

namespace syncfree::cuda {

constexpr int staged_batch = 4;  ///< pieces in flight per row

/// Four bytes in a register.
class Bytes {
public:
  explicit __device__ Bytes(unsigned char all) : word_(all * 0x01010101u) {}
  __device__ unsigned operator[](int e) const { return word_ >> 8 * e & 255; }
  __device__ void set(int e, unsigned byte) { word_ ^= (word_ ^ byte << 8 * e) & 255u << 8 * e; }

private:
  unsigned word_;
};

/// By piece: k, whether the row of U starts with it, and this lane's slot and entry of U.
template <class I> struct Pieces {
  static constexpr unsigned char none = 255;
  Bytes k{none}, first{0}, slot{no_slot};
  I u[staged_batch];
};

/// The values of a piece.
template <class N> struct PieceNumbers {
  N u, inverse, partner;
};

/// The warp does not diverge: its rows poll at the same time, and those whose batches are complete continue at the same
/// time.
template <class T, class I, int lanes> class StagedRowOfSeveral : public StagedRow<T, I, lanes> {
  using Base = StagedRow<T, I, lanes>;
  using typename Base::Mail, typename Base::N;
  using Base::F_, Base::S_, Base::i_, Base::lane_, Base::group_, Base::w_, Base::upper_begin_, Base::upper_count_;
  using Base::k_, Base::chunk_, Base::slots_, Base::factor_, Base::all;

public:
  ///   position   of the row in level order; at or beyond n: no row
  __device__ StagedRowOfSeveral(const FactorView<T, I>& F, const SlotsView<I>& S, const DevicePivotRule& rule,
                                std::size_t position, unsigned char* memory)
      : Base(F, S, rule, F.order[has_row(F, position) ? position : 0], memory), done_(!has_row(F, position))
  {
  }

  /// Eliminates, then publishes the row of U and the pivot.
  __device__ void factorize_rows(Outcome* outcome)
  {
    load_batch();
    advance_batch();
    bool complete = false;
    const auto look = [&] {
      const unsigned missing = __ballot_sync(all, !done_ && !poll_batch());
      complete = !done_ && (missing & group_) == 0;
      return __any_sync(all, complete) != 0;
    };
    while (!__all_sync(all, done_)) {
      if (!BoundedWait(i_).template until_for_warp<1>(look)) {
        give_up_batch();
        continue;
      }
      update(complete);
      const bool finishes = complete && next_.k[0] == none;
      if (__any_sync(all, finishes)) this->finish_row(finishes, outcome);
      done_ = done_ || finishes;
      if (complete && !finishes) advance_batch();
    }
  }

private:
  static constexpr unsigned char none = Pieces<I>::none;

  static __device__ bool has_row(const FactorView<T, I>& F, std::size_t position)
  {
    return position < static_cast<std::size_t>(F.n);
  }

  /// Loads the next batch, so that its slots are loaded long before the row waits for its values.
  __device__ void load_batch()
  {
    next_ = Pieces<I>();
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      if (!this->has_pieces_left()) break;
      const I j = chunk_ + lane_;
      next_.k.set(e, static_cast<unsigned>(k_));
      next_.first.set(e, chunk_ == 0);
      next_.u[e] = upper_begin_[k_] + j;
      if (j < upper_count_[k_]) next_.slot.set(e, S_.slot[slots_ + static_cast<std::size_t>(j)]);
      this->pass_piece();
    }
  }

  /// Makes the loaded batch the current one.
  __device__ void advance_batch()
  {
    now_ = next_;
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      number_[e].u = now_.slot[e] != no_slot ? Mail::sentinel_value() : N(0);
      number_[e].inverse = now_.first[e] ? Mail::sentinel_value() : N(0);
      number_[e].partner = now_.first[e] && !F_.lu ? Mail::sentinel_value() : N(0);
    }
    load_batch();
  }

  /// Polls once the values of the batch that have not arrived. Returns true if all have.
  __device__ bool poll_batch()
  {
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      PieceNumbers<N>& number = number_[e];
      const I k = static_cast<I>(now_.k[e]);
      if (!Mail::arrived(number.u)) number.u = Mail::poll(this->upper_at(now_.u[e]));
      if (!Mail::arrived(number.inverse)) number.inverse = Mail::poll(this->inverse_at(k));
      if (!Mail::arrived(number.partner)) number.partner = Mail::poll(this->partner_at(k));
    }
    bool complete = true;
#pragma unroll
    for (int e = 0; e < staged_batch; ++e)
      complete = complete && Mail::arrived(number_[e].u) && Mail::arrived(number_[e].inverse) &&
              Mail::arrived(number_[e].partner);
    return complete;
  }

  /// Gives up the batch: values that have not arrived become NaN.
  __device__ void give_up_batch()
  {
    const auto end = [](N* number) {
      if (!Mail::arrived(*number)) *number = quiet_nan<N>();
    };
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) end(&number_[e].u), end(&number_[e].inverse), end(&number_[e].partner);
  }

  /// Applies the batch. Called by all lanes; `mine`: the batch of this lane's row is complete.
  __device__ void update(bool mine)
  {
#pragma unroll
    for (int e = 0; e < staged_batch; ++e) {
      if (!__any_sync(all, mine && now_.k[e] != none)) break;
      if (mine && now_.first[e]) {
        factor_ = product(F_.lu ? w_[now_.k[e]] : number_[e].partner, number_[e].inverse);
        this->keep_factor(static_cast<I>(now_.k[e]));
      }
      if (mine && now_.slot[e] != no_slot) w_[now_.slot[e]] -= product(factor_, number_[e].u);
      __syncwarp();
    }
  }

  bool done_;             ///< also if there is no row
  Pieces<I> now_, next_;  ///< the current batch, and the next
  PieceNumbers<N> number_[staged_batch];
};

/// owns       `lanes` lanes own one row of L and U and its pivot; a thread block 256 / lanes consecutive rows in level
///            order
/// waits      for the inverse pivots and the entries of U of a batch of pieces, all rows of a warp in one loop, so they
///            may wait for each other
/// publishes  the row of U and the inverse pivot, as sentinel values
/// order      relaxed: the value is its own flag (ready.cuh); U and pivots are reset by the launch before, whose end
///            is awaited. L is read by later launches only
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier row of the thread block; every row
///            publishes, whatever its values are
/// result     reproducible: an entry is updated in the order of the pivots
/// source     Saad 2003, algorithm 10.4; waiting by rows as in Liu et al. 2016
template <class T, class I, int lanes>
__global__ void __launch_bounds__(staged_threads, staged_blocks<T, I>)
factorize_several_rows(FactorView<T, I> F, SlotsView<I> S, const DeviceScalar<T>* A, DevicePivotRule rule,
                       TicketCounter* counter, Outcome* outcome)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const BlockTicket ticket = take_ticket(counter);
  const std::size_t position = ticket.index * (staged_threads / lanes) + threadIdx.x / lanes;
  StagedRowOfSeveral<T, I, lanes> row(F, S, rule, position, memory);
  row.load_row_of_A(A);
  wait_for_primary_launch();
  row.factorize_rows(outcome);
}

}  // namespace syncfree::cuda
