#pragma once

/// Views of compressed sparse row matrices. A view owns nothing.

namespace syncfree {

/// Pattern of a square n x n matrix.
///   row_begin  n + 1 offsets, row_begin[0] = 0
///   column     row_begin[n] columns in [0, n), ascending and distinct in each row
template <class I> struct PatternView {
  I n = 0;
  const I* row_begin = nullptr;
  const I* column = nullptr;

  I nnz() const { return n > 0 ? row_begin[n] : 0; }
};

/// Calls use(k) for the entries k of a row strictly below (lower = true) or strictly above the diagonal.
template <class I, class Use> void for_side(const PatternView<I>& A, bool lower, I row, const Use& use)
{
  for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
    if (lower ? A.column[k] < row : A.column[k] > row) use(k);
}

/// A pattern with its values (row_begin[n] values, in the same order).
template <class T, class I> struct CsrView {
  PatternView<I> pattern;
  const T* value = nullptr;
};

/// One triangle of a factor: strictly lower or strictly upper entries in CSR, and the inverted diagonal separately.
/// Row i of the solve computes
///   x_i = (b_i - sum_k value[k] x[column[k]]) * inverse_diagonal[i]
/// with inverse_diagonal == nullptr for a unit diagonal.
template <class V, class I> struct TriangleView {
  bool lower = true;
  PatternView<I> pattern;
  const V* value = nullptr;
  const V* inverse_diagonal = nullptr;
};

}  // namespace syncfree
