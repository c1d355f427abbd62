#pragma once

/// search_breadth_first() (core/ordering/breadth_first.hpp) on the device, for all components at once.

#include "cuda/ordering/components.hpp"
#include "cuda/ordering/graph.hpp"

namespace syncfree::cuda {

/// Levels of BreadthFirst in device memory.
struct DeviceBreadthFirst {
  DeviceArray<unsigned> level;
  unsigned count = 0;
};

/// Searches all components of G on the null stream, from their smallest vertices. A level takes a few microseconds
/// whatever its size, so where there are many levels of few vertices each, the search is given up: the host is faster.
/// Throws Failure.
///   G    at least one vertex
///   out  [out] undefined if false is returned
bool search_breadth_first_on_device(const GraphView& G, const DeviceComponents& components, DeviceBreadthFirst* out);

}  // namespace syncfree::cuda
