#pragma once

/// The base of the kernels that factor a row in shared memory. The slots of updates are precomputed, and the entries of
/// U and the inverse pivots are sentinel values.

#include <cstddef>

#include "cuda/factor/row.cuh"
#include "cuda/factor/update_slots.hpp"

namespace syncfree::cuda {

constexpr int staged_threads = 256;

/// Thread blocks per multiprocessor; without this limit more registers would be used, but without gain.
template <class T, class I> constexpr int staged_blocks = sizeof(T) > 8 || sizeof(I) > 4 ? 1 : 3;

/// The work of `lanes` lanes of a warp. It is divided into pieces, in ascending order: up to `lanes` entries of the row
/// of U that belongs to one entry k of L.
template <class T, class I, int lanes> class StagedRow {
public:
  using N = DeviceScalar<T>;

  /// i       the row
  /// memory  shared memory of the thread block, for all its rows
  __device__ StagedRow(const FactorView<T, I>& F, const SlotsView<I>& S, const DevicePivotRule& rule, I i,
                       unsigned char* memory)
      : F_(F), S_(S), rule_(rule), i_(i), lane_(threadIdx.x % lanes), group_(group_of(lanes))
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

  /// Loads the values of A, and offsets and lengths of the rows of U.
  __device__ void load_row_of_A(const N* A)
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
    if (lane_ == 0) w_[lowers_] = entry(A, F_.diagonal_source[i_]) + N(static_cast<R>(rule_.shift));
    __syncwarp();
  }

protected:
  using Mail = SentinelValue<N>;
  using Word = typename Mail::word;
  static constexpr unsigned all = ~0u;

  __device__ bool has_pieces_left() const { return k_ < lowers_; }

  /// Advances past the piece that starts at chunk_ of row k_ of U.
  __device__ void pass_piece()
  {
    const I count = upper_count_[k_];
    chunk_ += lanes;
    if (chunk_ < count) return;
    slots_ += static_cast<std::size_t>(count);
    chunk_ = 0;
    ++k_;
  }

  __device__ Word* upper_at(I k) const { return sentinel_at(F_.upper, static_cast<std::size_t>(k)); }
  /// Location of the inverse pivot of the row to which entry k of L belongs.
  __device__ Word* inverse_at(I k) const { return inverse_of(pivot_row_[k]); }
  __device__ Word* partner_at(I k) const { return upper_at(S_.partner[lower_ + k]); }

  /// Stores factor_ as entry k of L. Called by all lanes of the row.
  __device__ void keep_factor(I k)
  {
    good_ = good_ & fits(F_, factor_);
    if (lane_ > 0) return;
    F_.lower[lower_ + k] = factor_;
    if (F_.lu && rule_.sums) total_ += abs_value(factor_);
  }

  /// Publishes the row of U and the inverse pivot, whatever their values are. Called by all lanes; `mine`: this lane's
  /// row is finished.
  __device__ void finish_row(bool mine, Outcome* outcome)
  {
    const N pivot = w_[lowers_];
    publish_upper(mine);
    const N inverse = N(1) / pivot;
    const bool good = (__ballot_sync(all, !good_) & group_) == 0;
    double total = total_;
    if (rule_.sums)
      for (int offset = lanes / 2; offset; offset /= 2) total += __shfl_xor_sync(all, total, offset);
    if (!mine || lane_ > 0) return;
    Mail::publish(inverse_of(i_), finish_pivot(F_, i_, pivot, inverse, rule_, total, good, outcome));
  }

  const FactorView<T, I>& F_;
  const SlotsView<I>& S_;
  const DevicePivotRule& rule_;
  I i_;
  int lane_;
  unsigned group_;
  N* w_;                                        ///< the row, by slots
  I *pivot_row_, *upper_begin_, *upper_count_;  ///< by entry of L
  I lower_, lowers_, upper_, uppers_;
  I k_ = 0, chunk_ = 0;  ///< start of the next piece
  std::size_t slots_;    ///< of row k_ of U
  N factor_{0};          ///< l_ip
  double total_ = 0;     ///< of this lane: sum of absolute values off the diagonal, if needed
  bool good_ = true;     ///< of this lane: all values can be stored

private:
  __device__ void publish_upper(bool mine)
  {
#pragma unroll 1
    for (I j = lane_; mine && j < uppers_; j += lanes) {
      const N u = w_[lowers_ + 1 + j];
      Mail::publish(upper_at(upper_ + j), u);
      good_ = good_ & fits(F_, u);
      if (rule_.sums) total_ += abs_value(u);
    }
  }

  __device__ Word* inverse_of(I row) const { return sentinel_at(F_.inverse_pivot, static_cast<std::size_t>(row)); }
};

}  // namespace syncfree::cuda
