#pragma once

/// join_nodes() (core/ordering/blocks.hpp) on the device.

#include "cuda/ordering/graph.hpp"

namespace syncfree::cuda {

/// NodeBlocks in device memory. `graph.edges` is that of the nodes: the edges of blocks are not counted on the host.
struct DeviceBlocks {
  DeviceArray<Vertex> block;
  DeviceGraph graph;
};

/// False if the graph has so many edges that join_nodes_on_device() cannot count them: 2^33.
bool can_join_on_device(const DeviceNodeGraph& of);

/// Joins the nodes of n rows to blocks on the null stream. Throws Failure.
///   of    at least one node; can_join_on_device()
///   B     1 to most_abmc_rows
///   cost  32 bytes an edge, 64 a node; nine launches a round; waits once, at the end
DeviceBlocks join_nodes_on_device(const DeviceNodeGraph& of, unsigned B);

}  // namespace syncfree::cuda
