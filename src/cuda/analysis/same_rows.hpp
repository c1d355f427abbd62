#pragma once

/// Is a matrix, entry by entry, the one that an analysis was made of? Throws Failure.

#include <cstddef>
#include <cstdint>

#include "cuda/analysis/factor_pattern.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {

/// The rows of A in device memory, where they may be already.
template <class I> struct PatternOnDevice {
  DeviceArray<I> begin, column;  ///< empty where they were
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

/// Rows that were kept, in device memory; empty where row_begin is nullptr. One of `index` and `word` has the columns.
template <class I> struct PatternCopyView {
  const I *row_begin = nullptr, *index = nullptr;
  const std::uint32_t* word = nullptr;

  SYNCFREE_HD I column(std::size_t k) const { return word ? static_cast<I>(word[k]) : index[k]; }
};

/// PatternCopy in device memory.
template <class I> class DevicePatternCopy {
public:
  DevicePatternCopy() = default;
  /// On the null stream. Takes over what was brought to the device for the analysis.
  explicit DevicePatternCopy(PatternOnDevice<I> rows);

  bool empty() const { return begin_.empty(); }
  PatternCopyView<I> view() const { return {begin_.data(), index_.data(), word_.data()}; }
  std::size_t bytes() const { return begin_.bytes() + index_.bytes() + word_.bytes(); }

private:
  DeviceArray<I> begin_, index_;
  DeviceArray<std::uint32_t> word_;
};

/// Has A the rows that were kept or, where none were, of each row that of L, the diagonal and that of U, one after the
/// other? Waits for the stream.
///   kept          of as many rows and entries as A, or empty
///   A, on_device  as of PatternOnDevice, with as many rows and entries as the matrix that was analysed
template <class I>
bool has_same_rows(const DeviceFactorPattern<I>& pattern, const PatternCopyView<I>& kept, const PatternView<I>& A,
                   const PatternView<I>& on_device, cudaStream_t stream);

}  // namespace syncfree::cuda
