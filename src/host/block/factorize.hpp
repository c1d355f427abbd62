#pragma once

/// Numeric block ILU on CPU threads, on a fixed pattern of blocks:
///   for p in L(i), ascending:  L_ip = W_p U_pp^-1;  W_q -= L_ip U_pq for q in U(p), if (i, q) is in the pattern
/// with W the blocks of row i of the permuted matrix. The diagonal blocks of U are inverted, which the products above
/// and the solves need. A product costs much more than to look up whether its result is kept, so unlike the
/// factorization by entries this one looks it up.

#include <memory>
#include <vector>

#include "host/chunk_runner.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// Work arrays of a thread, and the results of its block rows.
template <class T> struct BlockWorkspace {
  Array<T*> block_at;           ///< the block of the row in this block column, or nullptr; n entries
  Array<T> product, factor;     ///< a block, a column of it
  Array<real_t<T>> modulus;     ///< a column
  std::vector<int> row;         ///< pivot rows
  int shifted = 0;              ///< pivots that the rule has replaced
  Status failure;               ///< of the lowest block row that failed, if any
};

template <class T, class I> class BlockFactorization {
public:
  /// Throws std::bad_alloc.
  ///   pattern  of the blocks; must outlive this
  ///   A        the pattern that was analysed; not kept
  ///   threads  1: block rows in order; more: row chunks of the lower triangle, if that pays off
  BlockFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int block_size, int threads);

  /// Factors A. The result is bitwise the same for any number of threads. Allocates nothing.
  ///   A       blocks of the pattern that was analysed
  ///   values  [out] arrays of the pattern's sizes, times the values of a block
  ///   report  [out] pivots that were replaced, as core/symbolic/pivot_block.hpp says
  ///   errors  zero_pivot(block row, index in it), not_finite(block row): the first such row, in the factor's
  ///           numbering; another_pattern(block row) if a row of A and the factor's row should have equally many blocks
  ///           and do not; invalid_argument: a shift type other than none and inblocks
  Status factorize_blocks(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values, PivotReport* report);

  /// True if each row of the factor has A's blocks and no others, in the same order.
  bool rows_of_A() const { return rows_of_A_; }

  /// Number of threads that factor block rows.
  int factor_threads() const { return runner_ ? runner_->active_threads() : 1; }

  /// Lets one thread do all further factorizations.
  void factor_alone()
  {
    if (runner_) runner_->restrict_to_caller(true);
  }

  /// As those of Factorization.
  double speedup() const { return speedup_; }
  double serial_seconds() const { return serial_seconds_; }

  std::size_t factorization_bytes() const;

private:
  template <int fixed>
  Status factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values, PivotReport* report);

  const FactorPattern<I>& pattern_;
  int size_;
  bool rows_of_A_;
  RowChunks<I> plan_;
  double speedup_ = 0, serial_seconds_ = 0;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
  std::vector<BlockWorkspace<T>> work_;     ///< by thread
};

}  // namespace syncfree
