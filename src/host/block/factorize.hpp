#pragma once

/// Numeric block ILU on CPU threads, on a fixed pattern of blocks:
///   for p in L(i), ascending:  L_ip = W_p U_pp^-1;  W_q -= L_ip U_pq for q in U(p), if (i, q) is in the pattern
/// with W the blocks of row i of the permuted matrix. The diagonal blocks of U are inverted, which the products above
/// and the solves need. A product costs much more than to look up whether its result is kept, so unlike the
/// factorization by entries this one looks it up.

#include <vector>

#include "host/row_factorization.hpp"
#include "syncfree/blocks.hpp"

namespace syncfree {

/// Work arrays of a thread.
template <class T> struct BlockWorkspace : RowOutcome {
  Array<T*> block_at;        ///< the block of the row in this block column, or nullptr; n entries
  Array<T> product, factor;  ///< a block, a column of it
  Array<real_t<T>> modulus;  ///< a column
  std::vector<int> row;      ///< pivot rows
};

template <class T, class I> class BlockFactorization final : public RowFactorization<T, I> {
public:
  /// Throws std::bad_alloc.
  ///   pattern, A, threads  as in RowFactorization, of blocks
  ///   given                order of the values of A
  BlockFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int block_size, int threads,
                     BlockValues given);

  /// As RowFactorization, of blocks; pivots are repaired as core/symbolic/pivot_block.hpp says.
  ///   errors  zero_pivot(block row, index in it), not_finite(block row); another_pattern(block row) also if A has a
  ///           block that is not in the pattern; invalid_argument: a shift type other than none and inblocks
  Status factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                        PivotReport* report) override;

  std::size_t factorization_bytes() const override;

private:
  using RowFactorization<T, I>::pattern_;

  int size_;
  BlockValues given_;
  std::vector<BlockWorkspace<T>> work_;  ///< by thread
};

}  // namespace syncfree
