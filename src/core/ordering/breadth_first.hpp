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

/// Searches all components, each from its smallest vertex.
///   G     symmetric, without diagonal
///   cost  O(nnz), serial; throws std::bad_alloc
template <class I> BreadthFirst<I> search_breadth_first(PatternView<I> G);

}  // namespace syncfree
