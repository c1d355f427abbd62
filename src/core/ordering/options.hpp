#pragma once

/// What the orders are made with, on the host and on the device.

#include <algorithm>
#include <cstdint>

#include "syncfree/ordering.hpp"

namespace syncfree {

/// Root sweeps of the breadth-first search. The targets of `cyclic` follow the levels; the others need parities only
/// (`multicolor`), or a direction inside blocks (`abmc`).
constexpr int root_sweeps_of(OrderingKind kind) { return kind == OrderingKind::cyclic ? 2 : 0; }

/// Inside a block nodes of one level are sorted by degree; higher degrees than this number - 1 count as that.
constexpr int degrees_in_blocks = 256;

/// Returns s, by how many colours the targets of `cyclic` move from a level to the next.
///   inside  colours that the graph of the edges inside levels needs
inline std::int64_t cyclic_step(std::int64_t inside, std::int64_t K)
{
  return std::min(K / 2, std::max<std::int64_t>(1, (3 * inside + 2) / 4));
}

}  // namespace syncfree
