#pragma once

/// Tests whether a matrix has, entry by entry, the pattern of an analysis. Throws Failure.

#include <cstddef>
#include <cstdint>

#include "cuda/analysis/factor_pattern.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {

/// The rows of A in device memory; copied unless the caller has them there.
template <class I> struct PatternOnDevice {
  DeviceArray<I> begin, column;  ///< empty unless copied
  DevicePattern<I> pattern;

  ///   A          in host memory
  ///   on_device  the same in device memory, or empty
  PatternOnDevice(const PatternView<I>& A, const PatternView<I>& on_device)
      : pattern{A.n, A.nnz(), on_device.row_begin, on_device.column}
  {
    if (pattern.row_begin) return;
    begin = DeviceArray<I>(A.row_begin, static_cast<std::size_t>(A.n) + 1);
    column = DeviceArray<I>(A.column, static_cast<std::size_t>(A.nnz()));
    pattern.row_begin = begin.data(), pattern.column = column.data();
  }
};

/// A stored copy of rows in device memory; empty if row_begin is nullptr. The columns are in `index` or in `word`.
template <class I> struct PatternCopyView {
  const I *row_begin = nullptr, *index = nullptr;
  const std::uint32_t* word = nullptr;

  SYNCFREE_HD I column(std::size_t k) const { return word ? static_cast<I>(word[k]) : index[k]; }
};

/// PatternCopy (core/pattern/pattern_copy.hpp) in device memory.
template <class I> class DevicePatternCopy {
public:
  DevicePatternCopy() = default;
  /// Copies on the null stream. Takes over the arrays that were copied to the device for the analysis.
  explicit DevicePatternCopy(PatternOnDevice<I> rows);

  bool empty() const { return begin_.empty(); }
  PatternCopyView<I> pattern_copy_view() const { return {begin_.data(), index_.data(), word_.data()}; }
  std::size_t pattern_copy_bytes() const { return begin_.bytes() + index_.bytes() + word_.bytes(); }

private:
  DeviceArray<I> begin_, index_;
  DeviceArray<std::uint32_t> word_;
};

/// True if A has the stored rows or, if none are stored, if each row is that of L, the diagonal and that of U, in
/// sequence. Waits for the stream.
///   kept          with as many rows and entries as A, or empty
///   A, on_device  as for PatternOnDevice, with as many rows and entries as the analysed matrix
template <class I>
bool has_same_rows(const DeviceFactorPattern<I>& pattern, const PatternCopyView<I>& kept, const PatternView<I>& A,
                   const PatternView<I>& on_device, cudaStream_t stream);

}  // namespace syncfree::cuda
