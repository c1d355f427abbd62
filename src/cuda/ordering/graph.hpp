#pragma once

/// The graph that is coloured, in device memory. Vertices are 32-bit numbers also where indices of matrices have 64.

#include <cstddef>
#include <limits>

#include "cuda/analysis/pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"
#ifdef __CUDACC__
#include "cuda/base/search.cuh"
#endif

namespace syncfree::cuda {

using Vertex = unsigned;

/// Most rows of a matrix that is ordered on the device.
constexpr Vertex most_vertices = std::numeric_limits<int>::max();
constexpr Vertex no_vertex = ~Vertex(0);  ///< also a level or colour that is not known yet

/// Neighbours of vertex v, in any order: neighbor[begin[v]] to neighbor[begin[v + 1] - 1]. Symmetric, without v itself.
struct GraphView {
  Vertex n;
  const std::size_t* begin;
  const Vertex* neighbor;

#ifdef __CUDACC__
  __device__ unsigned degree(Vertex v) const { return static_cast<unsigned>(begin[v + 1] - begin[v]); }
  /// True if v is a neighbour of w, which is overlooked if w's neighbours do not ascend.
  __device__ bool has_neighbor(Vertex w, Vertex v) const
  {
    return find(neighbor + begin[w], 0u, degree(w), v) != ~0u;
  }
#endif
};

struct DeviceGraph {
  Vertex n = 0;
  std::size_t edges = 0;  ///< begin[n]
  DeviceArray<std::size_t> begin;
  DeviceArray<Vertex> neighbor;  ///< at least `edges`

  GraphView view() const { return {n, begin.data(), neighbor.data()}; }
};

/// NodeGraph (core/ordering/node_graph.hpp) in device memory.
///   node_begin  nodes + 1 offsets into the rows; empty: every row is a node
struct DeviceNodeGraph {
  DeviceGraph graph;
  DeviceArray<Vertex> node_begin;
};

/// Makes the graph of make_node_graph() on the null stream. Throws Failure.
///   A  1 to most_vertices rows
template <class I> DeviceNodeGraph make_node_graph_on_device(const DevicePattern<I>& A);

}  // namespace syncfree::cuda
