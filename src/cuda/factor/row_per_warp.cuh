#pragma once

/// The factorization for narrow levels: a row per warp, in shared memory (cuda/factor/staged_row.cuh). A step along the
/// critical path through the levels takes one poll, one product and one division.

#include "cuda/factor/staged_row.cuh"
#include "syncfree/cuda/ready/barrier.cuh"

namespace syncfree::cuda {

constexpr int staged_window = 4;  ///< pieces in flight per row

/// A piece: this lane's slot and entry of U, and the values; k < 0: no piece.
template <class N, class I> struct Piece {
  I k = -1;
  bool first;  ///< the row of U starts with this piece
  unsigned slot;
  I upper_entry;
  N u, inverse, partner;
};

/// Keeps a window of pieces, refilled one at a time: a value is polled when its piece enters the window and, if it had
/// not arrived, again when the piece is about to be used.
template <class T, class I, bool lu> class StagedRowOfWarp : public StagedRow<T, I, 32> {
  using Base = StagedRow<T, I, 32>;
  using typename Base::Mail, typename Base::N;
  using Base::S_, Base::i_, Base::lane_, Base::w_, Base::upper_begin_, Base::upper_count_;
  using Base::k_, Base::chunk_, Base::slots_, Base::factor_, Base::all;

public:
  using Base::Base;

  /// Eliminates, then publishes the row of U and the pivot.
  __device__ void factorize_row(Outcome* outcome)
  {
#pragma unroll
    for (int e = 0; e < staged_window; ++e) begin_piece(&window_[e]);
    for (;;) {
#pragma unroll
      for (int e = 0; e < staged_window; ++e) {
        if (window_[e].k < 0) return this->finish_row(true, outcome);
        apply(e);
        begin_piece(&window_[e]);
      }
    }
  }

private:
  /// Loads the next piece. Polls the row of U at the same time as its slots are loaded.
  __device__ void begin_piece(Piece<N, I>* piece)
  {
    piece->k = -1;
    if (!this->has_pieces_left()) return;
    const I j = chunk_ + lane_;
    const bool has_entry = j < upper_count_[k_];
    piece->k = k_;
    piece->first = chunk_ == 0;
    piece->upper_entry = upper_begin_[k_] + j;
    piece->slot = has_entry ? S_.slot[slots_ + static_cast<std::size_t>(j)] : no_slot;
    piece->u = has_entry ? Mail::poll(this->upper_at(piece->upper_entry)) : N(0);
    piece->inverse = Mail::poll(this->inverse_at(k_));
    if (!lu) piece->partner = Mail::poll(this->partner_at(k_));
    this->pass_piece();
  }

  /// Polls once the values of a piece that have not arrived.
  __device__ void poll_piece(Piece<N, I>* piece)
  {
    if (piece->k < 0) return;
    if (piece->slot != no_slot && !Mail::arrived(piece->u)) piece->u = Mail::poll(this->upper_at(piece->upper_entry));
    if (!Mail::arrived(piece->inverse)) piece->inverse = Mail::poll(this->inverse_at(piece->k));
    if (!lu && !Mail::arrived(piece->partner)) piece->partner = Mail::poll(this->partner_at(piece->k));
  }

  __device__ bool is_complete(const Piece<N, I>& piece) const
  {
    return __all_sync(all, (piece.slot == no_slot || Mail::arrived(piece.u)) && Mail::arrived(piece.inverse) &&
                             (lu || Mail::arrived(piece.partner)));
  }

  /// Waits for the current piece. Polls no other piece meanwhile, because such polls would delay those of warps on the
  /// critical path. When it has arrived, the others may have arrived too, and are polled once.
  __device__ void wait_for(int e)
  {
    Piece<N, I>& piece = window_[e];
    if (is_complete(piece)) return;
    auto* const inverse = this->inverse_at(piece.k);
    auto* const u = piece.slot != no_slot ? this->upper_at(piece.upper_entry) : inverse;
    auto* const partner = lu ? inverse : this->partner_at(piece.k);
    const auto look_again = [&] {
      piece.u = Mail::poll(u);
      piece.inverse = Mail::poll(inverse);
      if (!lu) piece.partner = Mail::poll(partner);
    };
    (void)BoundedWait(i_).until_for_warp<4>([&] { return is_complete(piece); }, look_again);
#pragma unroll
    for (int d = 1; d < staged_window; ++d) poll_piece(&window_[(e + d) % staged_window]);
  }

  /// Applies a piece. Work that does not need the piece's values is done before they have arrived.
  __device__ void apply(int e)
  {
    const Piece<N, I>& piece = window_[e];
    const bool counts = piece.slot != no_slot;
    const N left = lu && piece.first ? w_[piece.k] : N(0), old = counts ? w_[piece.slot] : N(0);
    wait_for(e);
    if (piece.first) factor_ = product(lu ? left : piece.partner, piece.inverse);
    if (counts) w_[piece.slot] = old - product(factor_, piece.u);
    __syncwarp();
    if (piece.first) this->keep_factor(piece.k);
  }

  Piece<N, I> window_[staged_window];
};

/// owns       a warp owns one row of L and U and its pivot; a thread block 8 consecutive rows in level order
/// waits      for the inverse pivot and the entries of U of one piece after the other
/// publishes  the row of U and the inverse pivot, as sentinel values
/// order      relaxed: the value is its own flag (ready.cuh); U and pivots are reset by the launch before, whose end
///            is awaited. L is read by later launches only
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier warp of the thread block; every row
///            publishes, whatever its values are
/// result     reproducible: an entry is updated in the order of the pivots
/// source     Saad 2003, algorithm 10.4; waiting by rows as in Liu et al. 2016
template <class T, class I, bool lu>
__global__ void __launch_bounds__(staged_threads, staged_blocks<T, I>)
factorize_row_by_warp(FactorView<T, I> F, SlotsView<I> S, const DeviceScalar<T>* A, DevicePivotRule rule,
                      TicketCounter* counter, Outcome* outcome)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const BlockTicket ticket = take_ticket(counter);
  const std::size_t position = ticket.index * (staged_threads / 32) + threadIdx.x / 32;
  if (position >= static_cast<std::size_t>(F.n)) return;
  StagedRowOfWarp<T, I, lu> row(F, S, rule, F.order[position], memory);
  row.load_row_of_A(A);
  wait_for_primary_launch();
  row.factorize_row(outcome);
}

}  // namespace syncfree::cuda
