#pragma once

/// Numeric factorization row by row on a fixed pattern, by one thread or in row chunks on several: what the
/// factorizations by entries (factorize.hpp) and by dense blocks (block/factorize.hpp) share. With blocks, rows and
/// entries of patterns are those of blocks.

#include <memory>
#include <vector>

#include "chunk_runner.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// What became of the rows of one thread.
struct RowOutcome {
  int repaired = 0;  ///< pivots that the rule `inblocks` has changed
  Status failure;    ///< of the lowest row that failed, if any

  /// Notes a failed row. Returns false.
  bool fail(const Status& of_row)
  {
    if (failure.ok() || of_row.row < failure.row) failure = of_row;
    return false;
  }
};

template <class T, class I> class RowFactorization {
public:
  virtual ~RowFactorization() = default;

  /// Factors A. The result is bitwise the same for any number of threads. Allocates nothing.
  ///   A       the matrix whose pattern was analysed
  ///   values  [out] arrays of the pattern's sizes, times the values of a block
  ///   report  [out] what the pivot rule did
  ///   errors  zero_pivot, not_finite: the first such row of the last attempt, in the factor's numbering, as in PETSc;
  ///           another_pattern(row) if a row of A and the factor's row should have equally many entries and do not
  virtual Status factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                                PivotReport* report) = 0;

  virtual std::size_t factorization_bytes() const = 0;

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

protected:
  /// Throws std::bad_alloc.
  ///   pattern  must outlive this
  ///   A        the pattern that was analysed; not kept
  ///   threads  1: rows in order; more: row chunks of the lower triangle, if that pays off
  RowFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int block_size, int threads);

  /// Calls factorizer.factor_row(i, workspace of the thread) for the rows up to the first failure, which it returns.
  ///   work  one for each of factor_threads(), derived from RowOutcome
  template <class Workspace, class Factorizer>
  Status factor_in_order(std::vector<Workspace>* work, const Factorizer& factorizer)
  {
    for (Workspace& of_thread : *work) static_cast<RowOutcome&>(of_thread) = {};
    if (!runner_) {
      for (I i = 0; i < pattern_.n; ++i)
        if (!factorizer.factor_row(i, work->data())) break;
      return work->front().failure;
    }
    /* rows before the first failure must still be factored; work on later rows is wasted */
    Minimum first_failure;
    first_failure.reset(pattern_.n);
    runner_->run_chunks([&](I begin, I end, int thread) {
      for (I i = begin; i < end && i < first_failure.read_minimum(); ++i)
        if (!factorizer.factor_row(i, work->data() + thread)) first_failure.lower_minimum(i);
    });
    for (const Workspace& of_thread : *work)
      if (!of_thread.failure.ok() && of_thread.failure.row == first_failure.read_minimum()) return of_thread.failure;
    return {};
  }

  /// Number of pivots that the last factor_in_order() changed.
  template <class Workspace> static int repaired_pivots(const std::vector<Workspace>& work)
  {
    int count = 0;
    for (const Workspace& of_thread : work) count += of_thread.repaired;
    return count;
  }

  std::size_t chunk_bytes() const { return plan_.row_chunk_bytes(); }

  const FactorPattern<I>& pattern_;

private:
  bool rows_of_A_;
  RowChunks<I> plan_;
  double speedup_ = 0, serial_seconds_ = 0;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
};

}  // namespace syncfree
