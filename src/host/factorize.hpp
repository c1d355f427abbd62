#pragma once

/// Numeric incomplete factorization on CPU threads.
///
/// Row i of the factor is row i of the permuted matrix minus multiples of the rows of U that
/// it has entries for, on the fixed pattern:
///   for p in L(i), ascending:  m = w_p / u_pp;  l_ip = m;  w_q -= m u_pq for q in U(p)
/// with w the row spread out to n entries. Entries outside the pattern are written too, which
/// saves a branch, and never read: each row first sets the places of its own pattern.
/// For IC the entry w_p of row i is u_pi, found in row p of U, and only q >= i matter. One thread that takes
/// rows in order meets the entries of row p of U in order too; threads need the place of each.

#include <memory>
#include <vector>

#include "chunk_runner.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// What a thread needs for its rows, and what it finds out about them.
template <class T> struct RowWorkspace {
  Array<T> w;        ///< n entries
  int repaired = 0;  ///< pivots that the rule inblocks has changed
  Status failure;    ///< of the lowest row that failed, if any
};

template <class T, class I> class Factorization {
public:
  /// Throws std::bad_alloc.
  ///   pattern  must outlive this
  ///   A        the pattern that was analysed; not kept
  ///   threads  1: rows in order; more: row chunks of the lower triangle, where that pays
  Factorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int threads);

  /// Bitwise the same for any number of threads. Allocates nothing.
  ///   A       the matrix whose pattern was analysed
  ///   values  [out] arrays of the pattern's sizes
  ///   report  [out] what the pivot rule did
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row): the first such row of the last attempt, in the
  ///           factor's numbering, as in PETSc; another_pattern(row) where a row of A has not as many entries as its
  ///           row of the factor, if each should
  Status run(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values, PivotReport* report);

  /// Has each row of the factor A's entries and no others, in the same order?
  bool rows_of_A() const { return rows_of_A_; }

  /// Threads that factor rows.
  int threads() const { return runner_ ? runner_->threads() : 1; }

  /// One thread does the factorizations that follow.
  void work_alone()
  {
    if (runner_) runner_->work_alone(true);
  }

  /// What the row chunks of the lower triangle promise over one thread; 0 for one thread.
  double speedup() const { return speedup_; }

  /// What a solve with that triangle takes on one thread, seconds by the same model.
  double serial_seconds() const { return serial_seconds_; }

  std::size_t bytes() const;

private:
  void find_mirror();
  Status attempt(const CsrView<T, I>& A, const PivotRule& rule, double shift, FactorValues<T>* values);
  int repaired() const;

  const FactorPattern<I>& pattern_;
  bool rows_of_A_ = false;                  ///< each row of the factor has A's entries: nothing to permute, no fill
  std::vector<unsigned char> together_;     ///< pivots that rows eliminate in one sweep, see find_together
  Array<I> mirror_;                         ///< IC on threads: for each entry L(i, p) the position of U(p, i)
  Array<I> next_;                           ///< IC on one thread: of each row of U, the entry that is met next
  RowChunks<I> plan_;
  double speedup_ = 0, serial_seconds_ = 0;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
  std::vector<RowWorkspace<T>> work_;       ///< one a thread
};

}  // namespace syncfree
