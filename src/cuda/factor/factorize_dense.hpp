#pragma once

/// Numeric block ILU on the device; the mathematics, the pivot rule and the reports are those of the host's
/// (host/block/factorize.hpp, core/symbolic/pivot_block.hpp), and so are the values up to rounding.

#include <memory>

#include "cuda/analysis/levels.hpp"
#include "cuda/factor/factor.hpp"
#include "cuda/factor/update_slots.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree::cuda {

/// Result of a factorization by blocks.
struct BlockOutcome {
  static constexpr unsigned long long none = ~0ull;
  /// Of the first block row that failed: row (size + 1), + 1 + the index of a pivot 0 if its values are finite.
  unsigned long long failure;
  int repaired;  ///< pivots that were replaced
};

template <class T, class I> struct DenseFactorView;

/// Throws Failure and std::bad_alloc.
template <class T, class I> class DeviceBlockFactorization final : public DeviceFactor<T, I> {
public:
  ///   pattern  of blocks; must outlive this
  ///   levels   of L; must outlive this
  ///   natural  rows and columns are not permuted
  ///   single   as in DeviceFactor
  DeviceBlockFactorization(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels, int block_size,
                           bool natural, bool single);

  /// Throws invalid_argument for a shift type other than none and inblocks.
  bool begin_factorization(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream) override;

  ///   errors  zero_pivot(block row, index in it), not_finite(block row)
  Status end(PivotReport* report, bool* made_again) override;

  std::size_t factor_plan_bytes() const override
  {
    return rows_.pattern_copy_bytes() + ready_.bytes() + slots_.slot_bytes() + work_.bytes() + pivot_rows_.bytes();
  }

private:
  using DeviceFactor<T, I>::pattern_, DeviceFactor<T, I>::single_, DeviceFactor<T, I>::rows_;
  using DeviceFactor<T, I>::lower_, DeviceFactor<T, I>::upper_, DeviceFactor<T, I>::inverse_pivot_;

  DenseFactorView<T, I> dense_view() const;

  const DeviceLevels<I>& levels_;
  const int size_;
  const bool natural_;
  UpdateSlots<I> slots_;             ///< of blocks; made if block rows are short
  ResettableArray<unsigned> ready_;  ///< by block row, number of the attempt that has finished it
  TicketCounterMemory counter_;
  std::shared_ptr<WaitMonitor> watch_ = WaitMonitor::at_hand();
  DeviceArray<BlockOutcome> outcome_;
  int warps_ = 0;                ///< of a thread block whose rows are in shared memory; 0: rows are too long for it
  std::size_t warp_bytes_ = 0;   ///< of shared memory
  DeviceArray<T> work_;          ///< a column of a block for each row, if rows are not in shared memory
  DeviceArray<int> pivot_rows_;  ///< likewise
  unsigned attempts_ = 0;
  PivotRule rule_;
  cudaStream_t stream_ = nullptr;  ///< of the factorization between begin_factorization() and end()
};

}  // namespace syncfree::cuda
