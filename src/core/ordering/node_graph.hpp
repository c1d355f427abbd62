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

/// Makes the graph of A. A node is a maximal run of rows with the same columns. If there are more than 0.8 n nodes,
/// every row is a node: a few equal rows on a mesh are not worth their serial solve. Orders that keep nodes together
/// keep PETSc's inodes together, which are runs of the same kind, cut at a limit and used below the same bound: its LU
/// factorization reads past the end of its arrays if they are not.
///   A       already checked by check_pattern
///   errors  out_of_memory, also if an index cannot count the edges
///   cost    O(nnz) on `threads` threads; the result does not depend on them
template <class I> Status make_node_graph(PatternView<I> A, int threads, NodeGraph<I>* out);

}  // namespace syncfree
