#pragma once

/// join_nodes() (core/ordering/blocks.hpp) on the device.

#include "cuda/ordering/graph.hpp"

namespace syncfree::cuda {

/// NodeBlocks in device memory.
struct DeviceBlocks {
  DeviceArray<Vertex> block;
  DeviceGraph graph;
};

/// Joins the nodes of n rows to blocks on the null stream. Throws Failure.
///   of  at least one node
///   B   1 to most_abmc_rows
DeviceBlocks join_nodes_on_device(const DeviceNodeGraph& of, unsigned B);

}  // namespace syncfree::cuda
