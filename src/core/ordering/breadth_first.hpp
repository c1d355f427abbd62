#pragma once

/// Breadth-first levels of a graph, as a search of all components at once finds them, too.

#include "core/pattern/graph.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// One search in each connected component.
///   level      of every vertex: distance from its component's root
///   component  of every vertex: smallest vertex of its component
///   count      number of levels of the deepest component; 0 if there is no vertex
template <class I> struct BreadthFirst {
  Array<I> level, component;
  I count = 0;
};

/// Searches all components. The first root of a component is its smallest vertex; `root_sweeps` times, the vertex of
/// least (degree, index) in the last level becomes the root instead, which never makes levels fewer.
///   G       symmetric, without diagonal
///   cost    O((1 + root_sweeps) nnz), serial; throws std::bad_alloc
///   source  roots: George & Liu 1979, with a fixed number of sweeps
template <class I> BreadthFirst<I> search_breadth_first(PatternView<I> G, int root_sweeps);

}  // namespace syncfree
