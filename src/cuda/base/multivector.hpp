#pragma once

/// Several vectors of one length, as they stand in device memory.

#include <cstddef>

namespace syncfree::cuda {

/// Vectors side by side: column c of b begins at b + c * b_leading, and row i of it is i * b_row_step numbers further.
/// Steps of more than 1 are for interleaved vectors only.
template <class T> struct DeviceColumns {
  const T* b;
  T* x;
  std::size_t b_leading, x_leading;
  int count;
  unsigned b_row_step = 1, x_row_step = 1;
};

/// Vectors of which each row has `columns` columns beside each other, chunk after chunk of these, or all chunks of a
/// row beside each other. 1: columns stand apart.
struct Interleaving {
  int columns = 1;
  bool whole_rows = false;

  bool operator==(const Interleaving& o) const { return columns == o.columns && whole_rows == o.whole_rows; }
};

}  // namespace syncfree::cuda
