#pragma once

/// Orders of the rows of a matrix, made on the device: those of make_ordering() (syncfree/ordering.hpp), row for row.

#include <memory>
#include <vector>

#include "cuda/analysis/pattern.hpp"
#include "cuda/analysis/row_blocks.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree::cuda {

/// A permutation in device memory, and its colours.
///   order        order[i] = row of A that becomes row i
///   color_begin  colours + 1 offsets into the new rows; no colour is empty
///   blocks       abmc: of new rows; else empty
template <class I> struct DeviceOrdering {
  DeviceArray<I> order;
  std::vector<I> color_begin;
  RowBlocks<I> blocks;
};

/// Makes orders of one matrix on the null stream. What several need is made once: the graph of nodes, its components.
template <class I> class DeviceOrderer {
public:
  ///   A  n x n in device memory, already checked: columns ascend and are in range; diagonal entries may be missing. It
  ///      must stay alive
  explicit DeviceOrderer(const DevicePattern<I>& A);
  DeviceOrderer(DeviceOrderer&&) noexcept;
  ~DeviceOrderer();

  /// Makes an order.
  ///   out     [out] unchanged on failure
  ///   errors  throws Failure: invalid_argument as make_ordering(), out_of_memory; std::bad_alloc
  ///   cost    O(nnz) memory on the device, none of size n on the host. A launch a wide colour round; of `cyclic` two
  ///           colourings and a turn a breadth-first level; of `abmc`, nine launches a round of joins. For `cyclic` a
  ///           graph with thousands of levels of few nodes each, as a path has, is ordered on the host, from a copy of
  ///           the pattern, and so is any with more than most_vertices rows (graph.hpp)
  void make(const OrderingOptions& options, DeviceOrdering<I>* out);

private:
  class Shared;
  std::unique_ptr<Shared> shared_;
};

/// Makes one order.
template <class I>
void make_ordering_on_device(const DevicePattern<I>& A, const OrderingOptions& options, DeviceOrdering<I>* out)
{
  DeviceOrderer<I>(A).make(options, out);
}

}  // namespace syncfree::cuda
