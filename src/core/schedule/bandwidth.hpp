#pragma once

/// How long rows are and how far they reach: rows of a pattern, or of one triangle of A, which may be all that A has.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/support/parallel.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// Entries of the longest row. Throws std::bad_alloc.
template <class I> I longest_of(const PatternView<I>& T, int threads)
{
  std::vector<I> longest(parts_of(T.n) + 1, 0);
  for_parts(threads, parts_of(T.n), [&](std::size_t part) {
    I most = 0;
    for (I i = first_of_part<I>(part); i < end_of_part(part, T.n); ++i)
      most = std::max<I>(most, T.row_begin[i + 1] - T.row_begin[i]);
    longest[part] = most;
  });
  return *std::max_element(longest.begin(), longest.end());
}

/// look(row) for about `sample` of n rows, where a choice needs no more.
template <class I, class Look> void for_sample(I n, Look look, std::int64_t sample = 4096)
{
  const I stride = static_cast<I>(n / sample) | 1;  // odd, so as not to follow a side of a grid
  for (I row = stride / 2; row < n; row += stride) look(row);
}

/// On a grid this is a plane or, of a plane, a line. 0 where rows read nobody. Throws std::bad_alloc.
template <class I> std::int64_t typical_row_bandwidth(const PatternView<I>& A, bool lower);

/// Do most rows reach equally far, as on a grid, or less far, as on one that lacks neighbours? Then chains stay inside
/// blocks, and blocks follow each other at equal distances in time; elsewhere the same chain may cross borders again
/// and again.
template <class I> bool reaches_regularly(PatternView<I> A, bool lower);

}  // namespace syncfree
