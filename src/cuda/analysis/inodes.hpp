#pragma once

/// Inodes of a triangle (core/schedule/inodes.hpp) on the device. All calls are complete on return. Throws Failure and
/// std::bad_alloc.

#include "core/schedule/inodes.hpp"
#include "cuda/analysis/levels.hpp"

namespace syncfree::cuda {

/// Inodes in device memory.
template <class I> struct DeviceInodes {
  int size = 0;
  I count = 0, entries = 0;
  DeviceArray<I> first, before, begin, column;
  DeviceLevels<I> levels;

  DevicePattern<I> pattern() const { return {count, entries, begin.data(), column.data()}; }
};

/// A search for the largest inode size for which the inodes, padded to that size, do not have many more rows than the
/// triangle. The constructor queues its first part.
template <class I> class InodeSearch {
public:
  ///   stream  in which the triangle is ready
  InodeSearch(const DevicePattern<I>& T, bool lower, cudaStream_t stream = nullptr);

  /// Returns false if even the smallest size gives too many rows.
  ///   patience  as for find_levels(); after it the host computes the levels, with the same result
  bool find(DeviceInodes<I>* out, std::uint64_t patience = 0) const;

private:
  DevicePattern<I> T_;
  bool lower_;
  cudaStream_t stream_;
  DeviceArray<I> runs_before_;
};

/// The inodes in level order, padded to `size` rows; row p of the inode at position r has slot r * size + p.
///   row     by slot: the triangle's row, or -1
///   begin   by inode: its entries, which are those of its first row; then their number
///   column  by entry: the slot of the row that is read; the nearest is last
///   source  by entry, and row of the inode: the entry of the triangle, or -1
///   inner   by inode, and pair of its rows in the order (1, 0), (2, 0), (2, 1): the entry by which one reads the
///           other, or -1
template <class I> struct NodeRows {
  DeviceArray<I> row, begin, column, source, inner;
};

/// Returns the number of pairs of rows of an inode.
constexpr int pairs_of(int size) { return size * (size - 1) / 2; }

/// Sorts the inodes by level, on the null stream.
template <class I> NodeRows<I> order_nodes(const DevicePattern<I>& T, bool lower, const DeviceInodes<I>& nodes);

}  // namespace syncfree::cuda
