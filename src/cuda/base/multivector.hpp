#pragma once

/// Storage of several vectors of the same length in device memory.

#include <cstddef>

namespace syncfree::cuda {

/// Columns of a multivector: column c of b begins at b + c * b_leading, and its row i is i * b_row_step entries
/// further. Row steps larger than 1 occur only for interleaved vectors.
template <class T> struct DeviceColumns {
  const T* b;
  T* x;
  std::size_t b_leading, x_leading;
  int count;
  unsigned b_row_step = 1, x_row_step = 1;
};

/// Layout in which each row has `columns` adjacent columns (a chunk); stored chunk by chunk, or with all chunks of a
/// row adjacent. 1: columns are separate.
struct Interleaving {
  int columns = 1;
  bool whole_rows = false;

  bool operator==(const Interleaving& o) const { return columns == o.columns && whole_rows == o.whole_rows; }
};

}  // namespace syncfree::cuda
