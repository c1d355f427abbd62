#pragma once

/// What the orders are made with, on the host and on the device.

#include <algorithm>
#include <cstdint>

#include "syncfree/ordering.hpp"

namespace syncfree {

/// Returns s, by how many colours the targets of `cyclic` move from a level to the next.
///   inside  colours that the graph of the edges inside levels needs
inline std::int64_t cyclic_step(std::int64_t inside, std::int64_t K)
{
  return std::min(K / 2, std::max<std::int64_t>(1, (3 * inside + 2) / 4));
}

}  // namespace syncfree
