#pragma once

/// Cuthill-McKee order of a graph, defined so that it can be computed in parallel.

#include "core/pattern/graph.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// Vertices in Cuthill-McKee order.
///   order  vertex at every position: by component, level, least position of a neighbour in the level before, degree,
///          index
///   level  level of every vertex: distance from its component's root
template <class I> struct CuthillMcKee {
  Array<I> order, level;
};

/// Makes the Cuthill-McKee order of all components, these in the order of their smallest vertices. The first root of a
/// component is its smallest vertex. `root_sweeps` times, the vertex of least (degree, index) in the last level becomes
/// the root instead; this never makes levels fewer.
///   G       symmetric, without diagonal, columns ascend
///   cost    O((1 + root_sweeps) nnz + nnz log of the highest degree), serial; throws std::bad_alloc
///   source  Cuthill & McKee 1969; roots: George & Liu 1979, with a fixed number of sweeps; by levels in parallel:
///           Karantasis et al. 2014
template <class I> CuthillMcKee<I> order_cuthill_mckee(PatternView<I> G);

constexpr int root_sweeps = 2;

}  // namespace syncfree
