#pragma once

/// Pattern work that is done on the device. Throws Failure.

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// As PatternView, in device memory.
template <class I> struct DevicePattern {
  I n = 0, nnz = 0;
  const I *row_begin = nullptr, *column = nullptr;
};

/// Rows one after the other; source[k] is the entry that entry k was.
template <class I> struct PermutedRows {
  DeviceArray<I> begin, column, source;
};

/// The rows of a pattern in another order, on the null stream; has happened on return.
///   source    what `source` of the result names instead of the entry itself, or nullptr
///   order     n rows; all three are device memory
///   renumber  columns become places in that order
///   turn      entries of a row are turned round
template <class I>
PermutedRows<I> permute_rows(const DevicePattern<I>& pattern, const I* source, const I* order, bool renumber,
                             bool turn);

/// place[order[r]] = r.
template <class I> DeviceArray<I> places_in(I n, const I* order, cudaStream_t stream = nullptr);

/// Where the numbers of L, U and the diagonal stand in a matrix whose rows are L, diagonal and U one after the other,
/// on the null stream.
///   A_begin                 n + 1 row offsets of the matrix
///   lower, upper, diagonal  [out] entries of the matrix; lower may be nullptr
template <class I>
void find_sources_in_order(I n, const I* A_begin, const I* lower_begin, const I* upper_begin, I* lower, I* upper,
                           I* diagonal);

}  // namespace syncfree::cuda
