#pragma once

/// Numeric incomplete factorization on CPU threads.
///
/// Row i of the factor is row i of the permuted matrix minus multiples of the rows of U that
/// it has entries for, on the fixed pattern:
///   for p in L(i), ascending:  m = w_p / u_pp;  l_ip = m;  w_q -= m u_pq for q in U(p)
/// with w the row scattered to n entries. Entries outside the pattern are written too, which saves a branch, and never
/// read: each row first sets the entries of its own pattern.
/// For IC the entry w_p of row i is u_pi, found in row p of U, and only q >= i matter. One thread that takes rows in
/// order visits the entries of row p of U in order too; several threads need the position of each.

#include <memory>
#include <vector>

#include "chunk_runner.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// Work arrays of a thread, and the results of its rows.
template <class T> struct RowWorkspace {
  Array<T> w;        ///< n entries
  int repaired = 0;  ///< pivots that the rule `inblocks` has changed
  Status failure;    ///< of the lowest row that failed, if any
};

template <class T, class I> class Factorization {
public:
  /// Throws std::bad_alloc.
  ///   pattern  must outlive this
  ///   A        the pattern that was analysed; not kept
  ///   threads  1: rows in order; more: row chunks of the lower triangle, if that pays off
  Factorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int threads);

  /// Factors A. The result is bitwise the same for any number of threads. Allocates nothing.
  ///   A       the matrix whose pattern was analysed
  ///   values  [out] arrays of the pattern's sizes
  ///   report  [out] what the pivot rule did
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row): the first such row of the last attempt, in the
  ///           factor's numbering, as in PETSc; another_pattern(row) if a row of A and the factor's row should have
  ///           equally many entries and do not
  Status factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values, PivotReport* report);

  /// True if each row of the factor has A's entries and no others, in the same order.
  bool rows_of_A() const { return rows_of_A_; }

  /// Number of threads that factor rows.
  int factor_threads() const { return runner_ ? runner_->active_threads() : 1; }

  /// Lets one thread do all further factorizations.
  void factor_alone()
  {
    if (runner_) runner_->restrict_to_caller(true);
  }

  /// Predicted speedup of the row chunks of the lower triangle over one thread; 0 for one thread.
  double speedup() const { return speedup_; }

  /// Seconds of a solve with that triangle on one thread, by the same model.
  double serial_seconds() const { return serial_seconds_; }

  std::size_t factorization_bytes() const;

private:
  void find_mirror();
  Status attempt(const CsrView<T, I>& A, const PivotRule& rule, double shift, FactorValues<T>* values);
  int repaired() const;

  const FactorPattern<I>& pattern_;
  bool rows_of_A_ = false;                  ///< rows have A's entries: no permutation, no fill
  std::vector<unsigned char> together_;     ///< pivots that are eliminated together, see find_together
  Array<I> mirror_;                         ///< IC on several threads: position of U(p, i) for each entry L(i, p)
  Array<I> next_;                           ///< IC on one thread: by row of U, the next entry to be visited
  RowChunks<I> plan_;
  double speedup_ = 0, serial_seconds_ = 0;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
  std::vector<RowWorkspace<T>> work_;       ///< by thread
};

}  // namespace syncfree
