#pragma once

/// How far rows reach, from a sample of them.

#include <cstdint>

#include "syncfree/csr.hpp"

namespace syncfree {

/// look(row) for some of n rows, where a choice needs no more.
template <class I, class Look> void for_sample(I n, Look look)
{
  constexpr std::int64_t sample = 4096;
  const I stride = static_cast<I>(n / sample) | 1;  // odd, so as not to follow a side of a grid
  for (I row = stride / 2; row < n; row += stride) look(row);
}

/// On a grid this is a plane or, of a plane, a line. 0 where rows read nobody. Throws std::bad_alloc.
template <class I> std::int64_t typical_reach(const PatternView<I>& T);

/// Do most rows reach equally far, as on a grid? Then chains stay inside blocks, and blocks follow each other at equal
/// distances in time; elsewhere the same chain may cross borders again and again.
template <class I> bool reaches_regularly(PatternView<I> T);

}  // namespace syncfree
