#pragma once

/// Samples of the rows of a pattern, from which grids and bandwidths are guessed.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "syncfree/csr.hpp"

namespace syncfree {

/// Numbers of rows that find_grid(), which looks at few first, reaches_regularly(), for which each row is a random
/// access to memory, and typical_row_bandwidth() examine, approximately.
constexpr std::int64_t few_rows_for_grid = 64, rows_for_grid = 512;
constexpr std::int64_t rows_for_regularity = 128, rows_for_bandwidth = 512;

/// Calls look(row) for about `sample` of the n rows, ascending.
template <class I, class Look> void for_sample(I n, const Look& look, std::int64_t sample)
{
  const I stride = static_cast<I>(n / sample) | 1;  // odd, so that it does not follow a side of a grid
  for (I row = stride / 2; row < n; row += stride) look(row);
}

/// Returns the row of an inode of `node` rows that a serial solve computes first.
template <class I> I first_of_node(I row, I n, bool lower, I node)
{
  return lower ? row - row % node : row + (n - 1 - row) % node;
}

/// Some rows of a pattern of n rows.
///   row        ascending
///   row_begin  row.size() + 1 offsets into `column`
template <class I> struct SampledRows {
  I n = 0;
  std::vector<I> row, row_begin, column;
};

/// for_side() of a row that is in the sample.
template <class I, class Use> void for_side(const SampledRows<I>& A, bool lower, I row, const Use& use)
{
  const std::size_t s = static_cast<std::size_t>(std::lower_bound(A.row.begin(), A.row.end(), row) - A.row.begin());
  for (I k = A.row_begin[s]; k < A.row_begin[s + 1]; ++k)
    if (lower ? A.column[k] < row : A.column[k] > row) use(k);
}

/// Returns the rows of a triangle that find_grid() for these inodes, reaches_regularly() and typical_row_bandwidth()
/// examine, ascending. Throws std::bad_alloc.
template <class I> std::vector<I> rows_to_examine(I n, bool lower, I node)
{
  std::vector<I> rows;
  for (const std::int64_t count : {few_rows_for_grid, rows_for_grid})
    for_sample(n, [&](I row) { rows.push_back(first_of_node(row, n, lower, node)); }, count);
  for (const std::int64_t count : {rows_for_regularity, rows_for_bandwidth})
    for_sample(n, [&](I row) { rows.push_back(row); }, count);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace syncfree
