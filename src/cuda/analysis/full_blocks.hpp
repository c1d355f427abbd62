#pragma once

/// The dense blocks of a matrix that is given by entries, if all of them are full. Throws Failure.

#include "cuda/analysis/pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Row r, column c of block k, the m-th of the `count` blocks of block row i, is entry
/// size * (size * row_begin[i] + r * count + m) + c of the matrix.
template <class I> struct FullBlocks {
  int size = 1;
  I n = 0;
  DeviceArray<I> row_begin, column;  ///< of blocks

  bool found() const { return !row_begin.empty(); }
  std::size_t block_bytes() const { return row_begin.bytes() + column.bytes(); }
};

/// Finds the blocks, on the null stream; complete on return. Returns false if one is not full.
///   A     row offsets ascend from 0 to nnz; the columns are unchecked, and so are those of the blocks; size divides n
///   out   [out] unchanged if one is not full; nullptr: the test only
template <class I> bool find_full_blocks(const DevicePattern<I>& A, int size, FullBlocks<I>* out);

/// True if A consists of these blocks. Waits for the stream.
///   A  with as many rows and entries
template <class I> bool consists_of(const FullBlocks<I>& blocks, const DevicePattern<I>& A, cudaStream_t stream);

/// Copies values from the order of the entries to that of the blocks, each column by column.
template <class T, class I>
void copy_to_full_blocks(const FullBlocks<I>& blocks, const T* value, T* to, cudaStream_t stream);

}  // namespace syncfree::cuda
