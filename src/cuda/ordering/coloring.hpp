#pragma once

/// The colourings of core/ordering/coloring.hpp on the device.

#include "cuda/ordering/breadth_first.hpp"
#include "cuda/ordering/components.hpp"
#include "cuda/ordering/graph.hpp"

namespace syncfree::cuda {

/// Colours in [0, count), some of which no vertex may have.
struct DeviceColoring {
  DeviceArray<unsigned> color;
  unsigned count = 0;
};

/// Each makes the colours that its namesake in core makes, on the null stream, but for empty ones. Throws Failure.
///   G  at least one vertex
DeviceColoring color_greedily_on_device(const GraphView& G);
DeviceColoring color_with_few_on_device(const GraphView& G, const DeviceComponents& components);
///   K  2 to most_cyclic_colors
DeviceColoring color_cyclically_on_device(const GraphView& G, const DeviceBreadthFirst& search, unsigned K);

}  // namespace syncfree::cuda
