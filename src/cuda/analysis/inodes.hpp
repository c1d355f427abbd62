#pragma once

/// Nodes of a triangle: rows that follow each other in the order of a serial solve, each of which reads what the one
/// before it reads, and that one. They come from points of a mesh with several unknowns. What is made has been made on
/// return. Throws Failure and std::bad_alloc.

#include "cuda/analysis/levels.hpp"

namespace syncfree::cuda {

/// A step is a row's place in that order.
///   size    rows of a node at most; 0: nodes are not worth it
///   first   by node: its first step; then n
///   before  by step: nodes that begin before it; then count
///   begin, column  by node, of which there are count + 1: the nodes that it reads, the nearest last
///   levels  of nodes
template <class I> struct DeviceInodes {
  int size = 0;
  I count = 0, entries = 0;
  DeviceArray<I> first, before, begin, column;
  DeviceLevels<I> levels;

  DevicePattern<I> pattern() const { return {count, entries, begin.data(), column.data()}; }
};

/// Rows of a node at most.
constexpr int largest_node = 3;

/// A search for the largest nodes of which, all taken to be full, there are not many more rows than the triangle has.
/// When it has been made, a first look is in the queue.
template <class I> class InodeSearch {
public:
  ///   stream  in which the triangle is ready
  InodeSearch(const DevicePattern<I>& T, bool lower, cudaStream_t stream = nullptr);

  /// Returns false where even the smallest are too many.
  ///   patience  as of find_levels(); behind it the host finds the levels, which are the same
  bool find(DeviceInodes<I>* out, std::uint64_t patience = 0) const;

private:
  DevicePattern<I> T_;
  bool lower_;
  cudaStream_t stream_;
  DeviceArray<I> runs_before_;
};

/// The nodes by level, each with room for `size` rows; row p of the node at place r has place r * size + p.
///   row     by place: the triangle's, or -1
///   begin   by node: its entries, which are those of its first row; then their number
///   column  by entry: the place of the row that is read; the nearest comes last
///   source  by entry, and row of its node: the entry of the triangle, or -1
///   inner   by node, and pair of its rows in the order (1, 0), (2, 0), (2, 1): the entry by which one reads the other,
///           or -1
template <class I> struct NodeRows {
  DeviceArray<I> row, begin, column, source, inner;
};

/// Pairs of rows of a node.
constexpr int pairs_of(int size) { return size * (size - 1) / 2; }

/// On the null stream.
template <class I> NodeRows<I> order_nodes(const DevicePattern<I>& T, bool lower, const DeviceInodes<I>& nodes);

}  // namespace syncfree::cuda
