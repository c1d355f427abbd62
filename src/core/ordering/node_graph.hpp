#pragma once

/// The graph that orderings colour: of A + A^T without the diagonal, over nodes.

#include <vector>

#include "core/pattern/graph.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Nodes are runs of consecutive rows of A; nodes a and b are neighbours if A has an entry in rows of a and columns of
/// b, or the reverse.
///   node_begin  nodes + 1 offsets into the rows of A
///   graph       neighbours of every node, ascending, without itself
template <class I> struct NodeGraph {
  Array<I> node_begin;
  Graph<I> graph;

  I nodes() const { return static_cast<I>(node_begin.size() - 1); }
  I rows_of(I node) const { return node_begin[node + 1] - node_begin[node]; }
};

/// Makes the graph of A. Rows i and i + 1 are in one node if they have the same columns and (i, i + 1) is an entry, so
/// that the rows of a node are coupled to each other; a node ends at most_rows rows. If nodes have fewer than 1.5 rows
/// on average, every row is a node: a few equal rows on a mesh are not worth their serial solve.
///   A          already checked by check_pattern
///   most_rows  >= 1
///   errors     out_of_memory, also if 2 nnz does not fit an index
///   cost       O(nnz) on `threads` threads; the result does not depend on them
template <class I> Status make_node_graph(PatternView<I> A, I most_rows, int threads, NodeGraph<I>* out);

}  // namespace syncfree
