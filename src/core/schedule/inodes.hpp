#pragma once

/// Inodes of a triangle: consecutive rows in the order of a serial solve, each of which (after the first) reads
/// exactly the previous row and what that row reads. They come from mesh points with several unknowns.

#include <array>
#include <cstddef>
#include <cstdint>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {

/// Most rows of an inode.
constexpr int largest_node = 3;
/// Triangles with longer rows are not searched for inodes.
constexpr std::int64_t longest_with_inodes = 256;

/// Numbers of inodes, if they have at most 2, ..., largest_node rows.
using NodeCounts = std::array<unsigned, largest_node - 1>;

/// True if so many inodes, padded to `size` rows, do not have many more rows than the triangle.
inline bool are_few_nodes(double nodes, int size, double rows)
{
  constexpr double most_padding = 1.25;
  return nodes * size <= most_padding * rows;
}

/// Returns the largest size with few enough padded rows, or 0.
inline int choose_node_size(const NodeCounts& nodes, double rows)
{
  for (int size = largest_node; size > 1; --size)
    if (are_few_nodes(static_cast<double>(nodes[static_cast<std::size_t>(size) - 2]), size, rows)) return size;
  return 0;
}

/// Inodes in host memory. A step is a row's position in that order.
///   size    most rows of an inode; 0: inodes do not pay off
///   first   by inode: its first step; then n
///   before  by step: number of inodes that begin before it; then count
///   begin, column  the inodes that inode v reads, the nearest last, from column[begin[v]] on; begin has count + 1
///                  entries
///   levels  of the inodes
template <class I> struct Inodes {
  int size = 0;
  I count = 0;
  Array<I> first, before, begin, column;
  LevelSets<I> levels;
};

/// Finds the inodes of a triangle by a serial pass over its entries. Throws std::bad_alloc.
///   T  strictly lower or strictly upper; the columns of a row ascend
template <class I> Inodes<I> find_inodes(const PatternView<I>& T, bool lower);

}  // namespace syncfree
