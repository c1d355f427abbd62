/// Implements cuda/factor/factorize_dense.hpp. Blocks of 2 to 6 rows have kernels of their own, others share one, with
/// rows in shared memory if they fit there, else in the factor's own arrays.

#include "cuda/factor/factorize_dense.hpp"

#include <algorithm>
#include <type_traits>

#include "core/support/instantiate.hpp"
#include "core/symbolic/pivot_block.hpp"
#include "cuda/factor/dense_row.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr const char* name = "factorization";  ///< name of the kernel for TicketCounterMemory

__global__ void clear_outcome(BlockOutcome* outcome) { *outcome = {BlockOutcome::none, 0}; }

bool has_own_kernel(int size) { return size >= 2 && size <= 6; }

template <class T, class I> auto choose_kernel(int size, bool shared)
{
  if (!shared) return factorize_dense<T, I, 0, false>;
  switch (size) {
    case 2: return factorize_dense<T, I, 2, true>;
    case 3: return factorize_dense<T, I, 3, true>;
    case 4: return factorize_dense<T, I, 4, true>;
    case 5: return factorize_dense<T, I, 5, true>;
    case 6: return factorize_dense<T, I, 6, true>;
    default: return factorize_dense<T, I, 0, true>;
  }
}

/// Slots of blocks. Their table is limited as for entries, next to which blocks make the factor larger still.
template <class T, class I> UpdateSlots<I> make_slots(const DeviceFactorPattern<I>& pattern, I levels)
{
  const DevicePattern<I> L = pattern.lower();
  return {pattern, granularity_of(L.n, L.nnz, levels, pattern.counts.most_lower), sizeof(T)};
}

}  // namespace

template <class T, class I>
DeviceBlockFactorization<T, I>::DeviceBlockFactorization(const DeviceFactorPattern<I>& pattern,
                                                         const DeviceLevels<I>& levels, int block_size, bool natural,
                                                         bool single)
    : DeviceFactor<T, I>(pattern, static_cast<std::size_t>(block_size) * block_size, single), levels_(levels),
      size_(block_size), natural_(natural), slots_(make_slots<T>(pattern, levels.count)), ready_(pattern.n, 0),
      counter_(name), outcome_(1)
{
  const std::int64_t entries_a_row = std::max<std::int64_t>(1, pattern.counts.most);
  warp_bytes_ = dense_warp_bytes<DeviceScalar<T>>(entries_a_row, size_, has_own_kernel(size_));
  const std::size_t of_rows = shared_bytes_of_all - 1024;  // the rest is for the ticket and the compiler
  warps_ = static_cast<int>(std::min<std::size_t>(dense_threads / 32, of_rows / warp_bytes_));
  if (warps_ == 0) {
    const std::size_t entries = static_cast<std::size_t>(pattern.n) * static_cast<std::size_t>(size_);
    work_ = DeviceArray<T>(entries);
    pivot_rows_ = DeviceArray<int>(entries);
  }
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
}

template <class T, class I> DenseFactorView<T, I> DeviceBlockFactorization<T, I>::dense_view() const
{
  const SlotsView<I> slots = slots_.slots_view();
  return {
      pattern_.n,
      size_,
      single_,
      pattern_.lower_begin.data(),
      pattern_.lower_column.data(),
      pattern_.upper_begin.data(),
      pattern_.upper_column.data(),
      pattern_.lower_source.data(),
      pattern_.upper_source.data(),
      pattern_.diagonal_source.data(),
      levels_.row.data(),
      slots_.made() ? slots.slot : nullptr,
      slots_.made() ? slots.begin : nullptr,
      as_device(lower_.data()),
      as_device(upper_.data()),
      as_device(inverse_pivot_.data()),
      as_device(work_.data()),
      pivot_rows_.data(),
      choose_pivot_block_shift(size_, rule_, natural_),
  };
}

template <class T, class I>
bool DeviceBlockFactorization<T, I>::begin_factorization(const CsrView<T, I>& A, const PivotRule& rule,
                                                         cudaStream_t stream)
{
  const Status status = check_block_shift(rule);
  if (!status.ok()) throw Failure{status};
  rule_ = rule;
  stream_ = stream;
  launch(clear_outcome, {1, 1, 0, stream}, outcome_.data());
  const bool shared = warps_ > 0;
  const unsigned warps = shared ? static_cast<unsigned>(warps_) : dense_threads / 32;
  const std::size_t warp_bytes = shared ? warp_bytes_ : 0;
  const unsigned blocks = blocks_for(static_cast<std::size_t>(pattern_.n), warps);
  launch(choose_kernel<T, I>(size_, shared), {blocks, 32 * warps, warps * warp_bytes, stream}, dense_view(),
         as_device(A.value), static_cast<unsigned>(warp_bytes), ready_.data(), ++attempts_, counter_.data(),
         outcome_.data());
  this->round_values(false, stream);
  return true;
}

template <class T, class I> Status DeviceBlockFactorization<T, I>::end(PivotReport* report, bool* made_again)
{
  *made_again = false;
  BlockOutcome outcome;
  outcome_.read(&outcome, 0, 1, stream_);
  if (watch_->has_failed()) throw Failure{watch_->take_failure(stream_)};
  if (outcome.failure != BlockOutcome::none) {
    const unsigned long long keys = static_cast<unsigned long long>(size_) + 1;
    const auto row = static_cast<std::int64_t>(outcome.failure / keys);
    const auto index = static_cast<std::int64_t>(outcome.failure % keys) - 1;
    Status status = index < 0 ? failed(Code::not_finite, row) : failed(Code::zero_pivot, row, index);
    status.block_row = true;
    return status;
  }
  *report = {};
  report->shifts = outcome.repaired;
  if (outcome.repaired > 0) report->shift_amount = rule_.shift_amount;
  return {};
}

#define INSTANTIATE(T, I) template class DeviceBlockFactorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
