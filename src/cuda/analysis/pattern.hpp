#pragma once

/// Pattern operations on the device. Throws Failure.

#include <vector>

#include "core/pattern/sampled_rows.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// A PatternView in device memory.
template <class I> struct DevicePattern {
  I n = 0, nnz = 0;
  const I *row_begin = nullptr, *column = nullptr;
};

/// Permuted rows; source[k] is the original index of entry k.
template <class I> struct PermutedRows {
  DeviceArray<I> begin, column, source;
};

/// Permutes the rows of a pattern, on the null stream; complete on return.
///   source    the result's `source` is taken from this array instead of the entry index, or nullptr
///   order     n rows; all three are device memory
///   renumber  columns become positions in that order
///   turn      the entries of a row are reversed
template <class I>
PermutedRows<I> permute_rows(const DevicePattern<I>& pattern, const I* source, const I* order, bool renumber,
                             bool turn);

/// Copies some rows to the host, on the null stream; waits.
///   rows  ascending, in [0, n)
template <class I> SampledRows<I> fetch_rows(const DevicePattern<I>& pattern, std::vector<I> rows);

/// Returns the inverse permutation: inverse[order[r]] = r.
template <class I> DeviceArray<I> inverse_permutation(I n, const I* order, cudaStream_t stream = nullptr);

/// Finds the values of L, U and the diagonal in a matrix whose rows are L, diagonal and U in sequence, on the null
/// stream.
///   A_begin                 n + 1 row offsets of the matrix
///   lower, upper, diagonal  [out] entry indices of the matrix; lower may be nullptr
template <class I>
void find_sources_in_order(I n, const I* A_begin, const I* lower_begin, const I* upper_begin, I* lower, I* upper,
                           I* diagonal);

}  // namespace syncfree::cuda
