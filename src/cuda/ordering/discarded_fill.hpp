#pragma once

/// The discarded fill of an order (syncfree/ordering.hpp), measured on the device. Throws Failure and std::bad_alloc.

#include <cstdint>
#include <vector>

#include "cuda/analysis/pattern.hpp"
#include "cuda/base/stream.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree::cuda {

/// A matrix whose diagonal is complete, in device memory: value[diagonal[i]] = a_ii.
template <class T, class I> struct DeviceMatrix {
  DevicePattern<I> pattern;
  const T* value = nullptr;
  const I* diagonal = nullptr;
};

/// A row of the sample.
///   met          entries of the rows that it reads
///   room         columns that have entries or fill in this row, at most
///   apart, sum   of |a_ij - a_ji| and |a_ij| + |a_ji| over its entries
template <class I> struct LookedAtRow {
  I row;
  std::int64_t met, room;
  double apart, sum;
};

/// A row of the sample with its hash table: slots [begin, begin + mask + 1).
template <class I> struct RowWithTable {
  I row;
  std::uint64_t begin, mask;
};

/// The rows that measure_discarded_fill() samples, chosen once for all orders. Works on the null stream, but for
/// begin_natural(), and waits.
template <class T, class I> class FillSampler {
public:
  /// The matrix must stay alive.
  explicit FillSampler(const DeviceMatrix<T, I>& A);

  /// Returns what measure_discarded_fill() does; sums are rounded differently.
  ///   order  n rows in device memory; nullptr: natural order
  DiscardedFill measure(const I* order);

  /// Begins to measure the natural order in a stream of its own, without waiting; once.
  void begin_natural();
  /// Returns measure(nullptr), which has been begun.
  DiscardedFill measure_natural() const { return read_fill(of_natural_, for_natural_.get()); }

  /// Returns what measure_unsymmetry() does.
  double unsymmetry() const { return unsymmetry_; }

private:
  std::vector<LookedAtRow<I>> look_at_rows() const;
  void make_tables(const std::vector<LookedAtRow<I>>& rows);
  /// Queues the sum of each sampled row.
  DeviceArray<double> measure_rows_in(cudaStream_t stream, const I* order) const;
  DiscardedFill read_fill(const DeviceArray<double>& of_row, cudaStream_t stream) const;

  DeviceMatrix<T, I> A_;
  double unsymmetry_ = 0;
  std::size_t slots_ = 0;
  DeviceArray<RowWithTable<I>> rows_;
  Stream for_natural_;
  DeviceArray<double> of_natural_;
};

}  // namespace syncfree::cuda
