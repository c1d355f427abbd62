#pragma once

/// Row lengths and bandwidths of a pattern, or of one triangle of A; A may consist of that triangle only.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/pattern/sampled_rows.hpp"
#include "core/support/parallel.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// Number of entries of the longest row. Throws std::bad_alloc.
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

/// Median row bandwidth of a sample: on a grid this is a plane or, in a plane, a line. 0 if rows read nothing. Throws
/// std::bad_alloc.
template <class I> std::int64_t typical_row_bandwidth(const PatternView<I>& A, bool lower);
/// The same from a sample, which contains rows_to_examine().
template <class I> std::int64_t typical_row_bandwidth(const SampledRows<I>& A, bool lower);

/// True if most rows have equal bandwidths, as on a grid, or smaller ones, as on a grid that lacks neighbours. Then
/// dependence chains stay inside tiles, and tiles follow each other at equal intervals; otherwise a chain may cross
/// tile borders again and again.
template <class I> bool reaches_regularly(PatternView<I> A, bool lower);
/// The same from a sample, which contains rows_to_examine().
template <class I> bool reaches_regularly(const SampledRows<I>& A, bool lower);

}  // namespace syncfree
