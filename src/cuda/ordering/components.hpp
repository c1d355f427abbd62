#pragma once

/// Connected components of a graph, and which of them are bipartite, in few launches whatever their diameter.

#include "cuda/ordering/graph.hpp"

namespace syncfree::cuda {

/// Components in device memory.
///   component  of every vertex: smallest vertex of its component
///   side       of every vertex: parity of its distance from that vertex, or not_bipartite
///   any_odd    one word: not 0 if a component is not bipartite
struct DeviceComponents {
  DeviceArray<Vertex> component;
  DeviceArray<unsigned> side, any_odd;
};

constexpr unsigned not_bipartite = 2;

/// Finds the components of G on the null stream. Throws Failure.
///   G       at least one vertex
///   source  trees that are hooked together: Jaiganesh & Burtscher 2018; here of two copies of each vertex, one a side,
///           with an edge from each copy to the other one of a neighbour: a component is bipartite if its copies are
///           not all connected
DeviceComponents find_components_on_device(const GraphView& G);

/// True if triangles prove that no component but single vertices is bipartite, as they do on most meshes. A search for
/// the components takes several times as long. Works on the null stream and waits. Throws Failure.
///   G  at least one vertex; where neighbours do not ascend, triangles are overlooked
bool have_triangles_on_device(const GraphView& G);

}  // namespace syncfree::cuda
