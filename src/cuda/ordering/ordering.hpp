#pragma once

/// Orders of the rows of a matrix, made on the device: those of make_ordering() (syncfree/ordering.hpp), row for row.

#include <vector>

#include "cuda/analysis/pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree::cuda {

/// A permutation in device memory, and its colours.
///   order        order[i] = row of A that becomes row i
///   color_begin  colours + 1 offsets into the new rows; no colour is empty
template <class I> struct DeviceOrdering {
  DeviceArray<I> order;
  std::vector<I> color_begin;
};

/// Makes an order on the null stream; complete on return.
///   A       n x n in device memory, already checked: columns ascend and are in range; diagonal entries may be missing
///   out     [out] unchanged on failure
///   errors  throws Failure: invalid_argument as make_ordering(), out_of_memory, also if the entries of A + A^T do not
///           fit an index; std::bad_alloc
///   cost    O(nnz) memory on the device, none of size n on the host
template <class I>
void make_ordering_on_device(const DevicePattern<I>& A, const OrderingOptions& options, DeviceOrdering<I>* out);

}  // namespace syncfree::cuda
