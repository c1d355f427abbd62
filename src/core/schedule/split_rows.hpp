#pragma once

/// Long rows of a triangle as trees of short ones.
///
/// A partial row p has no right-hand side and a diagonal of 1, so that x_p = -sum_k value_k x_k over the entries that
/// it was given. The row itself keeps one entry -1 for each of its partial rows: b_i - sum_p (-1) x_p. The order of the
/// additions depends on the pattern only.

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// A triangle in new rows; those of partial rows lie between their row and what it reads.
///   row     by new row: the triangle's row, or -1 for a partial row
///   column  of a row in no order
///   source  by entry: the triangle's entry, or -1 for the number -1
template <class I> struct SplitRows {
  Array<I> row, row_begin, column, source;
  PatternView<I> view() const { return {static_cast<I>(row.size()), row_begin.data(), column.data()}; }
};

/// No row keeps more than `most` entries.
///   T       strictly lower (lower = true) or strictly upper pattern
///   most    at least 2
///   errors  out_of_memory
///   cost    O(nnz) on so many threads, on which the result does not depend
template <class I>
Status split_long_rows(PatternView<I> T, bool lower, I most, SplitRows<I>* out, int threads = 1);

}  // namespace syncfree
