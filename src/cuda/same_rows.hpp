#pragma once

/// Is a matrix, entry by entry, the one that an analysis was made of? Throws Failure.

#include "factor_pattern.hpp"
#include "syncfree/csr.hpp"

namespace syncfree::cuda {

/// The rows of A in device memory, where they may be already.
template <class I> struct RowsThere {
  DeviceArray<I> begin, column;  ///< empty where they were
  DevicePattern<I> pattern;

  ///   A          in host memory
  ///   on_device  the same in device memory, or empty
  RowsThere(const PatternView<I>& A, const PatternView<I>& on_device)
      : pattern{A.n, A.nnz(), on_device.row_begin, on_device.column}
  {
    if (pattern.row_begin) return;
    begin = DeviceArray<I>(A.row_begin, static_cast<std::size_t>(A.n) + 1);
    column = DeviceArray<I>(A.column, static_cast<std::size_t>(A.nnz()));
    pattern.row_begin = begin.data(), pattern.column = column.data();
  }
};

/// Has A the rows that were kept or, where none were, of each row that of L, the diagonal and that of U, one after the
/// other? Waits for the stream.
///   kept          of as many rows and entries as A, or empty
///   A, on_device  as of RowsThere, with as many rows and entries as the matrix that was analysed
template <class I>
bool has_same_rows(const DeviceFactorPattern<I>& pattern, const DevicePattern<I>& kept, const PatternView<I>& A,
                   const PatternView<I>& on_device, cudaStream_t stream);

}  // namespace syncfree::cuda
