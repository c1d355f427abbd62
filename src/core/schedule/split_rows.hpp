#pragma once

/// Splits long rows of a triangle into trees of short ones.
///
/// A partial row p has no right-hand side and a diagonal of 1, so that x_p = -sum_k value_k x_k over the entries that
/// were moved to it. The row itself keeps one entry -1 for each of its partial rows: b_i - sum_p (-1) x_p. The order of
/// the additions depends only on the pattern.

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// The triangle with new rows; partial rows are between their row and the rows it reads.
///   row     by new row: the triangle's row, or -1 for a partial row
///   column  in no particular order within a row
///   source  by entry: the triangle's entry, or -1 for the value -1
template <class I> struct SplitRows {
  Array<I> row, row_begin, column, source;
  PatternView<I> pattern_view() const { return {static_cast<I>(row.size()), row_begin.data(), column.data()}; }
};

/// Splits rows so that no row has more than `most` entries.
///   T       strictly lower (lower = true) or strictly upper pattern
///   most    at least 2
///   errors  out_of_memory
///   cost    O(nnz) on `threads` threads; the result does not depend on their number
template <class I>
Status split_long_rows(PatternView<I> T, bool lower, I most, SplitRows<I>* out, int threads = 1);

}  // namespace syncfree
