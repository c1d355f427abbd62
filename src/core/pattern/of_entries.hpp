#pragma once

/// Block ILU of a matrix that is given by entries: copies them into dense blocks, with zeros where a block has no
/// entry, and passes these to a preconditioner of blocks. Rows and orders of the caller are those of entries.

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "pattern_copy.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/threads.hpp"

namespace syncfree {

/// The order of block rows that an order of n rows is.
///   order   n entries, or nullptr; left empty then
///   errors  invalid_argument: rows of a block do not stay together
template <class I> Status order_of_blocks(const I* order, I n, I size, std::vector<I>* blocks)
{
  blocks->clear();
  if (!keeps_blocks(order, n, size))
    return failed(Code::invalid_argument, "the ordering separates the rows of a block of size " +
                                              std::to_string(size) + "; order blocks, or use block size 1");
  for (I i = 0; order && i < n; i += size) blocks->push_back(order[i] / size);
  return {};
}

/// The order of rows that an order of n blocks is; empty if that is nullptr.
template <class I> std::vector<I> order_of_rows(const I* blocks, I n, I size)
{
  std::vector<I> order;
  for (I i = 0; blocks && i < n; ++i)
    for (I r = 0; r < size; ++r) order.push_back(blocks[i] * size + r);
  return order;
}

/// The preconditioner of entries on top of one of blocks. A backend derives from it, and copies values to where the one
/// of blocks reads them. One thread at a time may call it: each call of a backend is in alone().
///   Interface  Preconditioner<T, I>, or a class derived from it
template <class T, class I, class Interface> class PreconditionerOfEntries : public Interface {
public:
  Orders<I> orders() const override
  {
    if (parts_.row_order.empty()) return {};
    return {parts_.row_order.data(), parts_.column_order.data()};
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  {
    return solve_alone([&] { return blocks_->solve(op, b, x, columns); });
  }
  Status solve_forward_half(const T* b, T* x) override
  {
    return solve_alone([&] { return blocks_->solve_forward_half(b, x); });
  }
  Status solve_backward_half(const T* b, T* x) override
  {
    return solve_alone([&] { return blocks_->solve_backward_half(b, x); });
  }

  Summary summarize() const override
  {
    Summary s = blocks_->summarize();
    s.padding = parts_.pattern.padding;
    s.plan_bytes += parts_.rows.pattern_copy_bytes() + kept_bytes() +
                    (parts_.pattern.row_begin.size() + parts_.pattern.column.size() + parts_.pattern.place.size() +
                     parts_.row_order.size() + parts_.column_order.size()) *
                        sizeof(I);
    return s;
  }

  Choice choice_with(int threads) const override { return blocks_->choice_with(threads); }
  bool fell_back() const override { return blocks_->fell_back(); }
  LevelCounts levels() const override { return blocks_->levels(); }
  const FactorPattern<I>& pattern() const override { return blocks_->pattern(); }
  FactorValues<T> values() const override { return factored_ ? blocks_->values() : FactorValues<T>(); }

protected:
  ///   blocks  not analysed yet
  explicit PreconditionerOfEntries(std::unique_ptr<Interface> blocks) : blocks_(std::move(blocks)) {}

  /// Finds the blocks of A if that is faster than make_block_pattern() and none needs padding.
  ///   A        row offsets are checked, and size divides n; columns are unchecked, and so are those of the blocks
  ///   out      [out] without `place`: then the three following functions know the places. Unchanged if not found
  ///   returns  whether they were found
  virtual bool find_full_blocks(const PatternView<I>& A, const SolverOptions& options, BlockPattern<I>* out) = 0;
  /// True if A consists of these blocks, which find_full_blocks() has found; it has as many rows and entries.
  virtual bool has_full_blocks(const PatternView<I>& A, const BlockPattern<I>& full) = 0;
  /// Copies the values of A's entries to those of its blocks, and returns these.
  virtual const T* copy_values(const BlockPattern<I>& pattern, const T* value) = 0;
  /// Analyses the pattern of the blocks.
  virtual Status analyse_blocks(const PatternView<I>& pattern, const SymbolicOptions<I>& symbolic,
                                const SolverOptions& options) = 0;
  /// Drops what these have kept of an earlier pattern.
  virtual void drop_blocks() = 0;
  virtual std::size_t kept_bytes() const = 0;

  /// Runs the body of a call for one thread at a time.
  template <class Body> Status alone(Body body)
  try {
    return busy_.execute_alone(body);
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }
  /// Runs the body, which changes a setting: rejected during a call, which the next one reports.
  template <class Body> void set_alone(Body body) { busy_.set_alone(body); }

  Status analyse_entries(const PatternView<I>& A, const SymbolicOptions<I>& symbolic, const SolverOptions& options)
  try {
    factored_ = emptied_ = false;
    parts_ = Parts();
    drop_blocks();
    const Status status = make_parts(A, symbolic, options);
    return status.ok() ? status : forget_analysis(status);
  } catch (const std::bad_alloc&) {
    return forget_analysis(failed(Code::out_of_memory));
  } catch (...) {
    (void)forget_analysis({});
    throw;
  }

  bool has_pattern_of(const PatternView<I>& A)
  {
    if (!parts_.made || !has_size_of(A)) return false;
    return parts_.full ? has_full_blocks(A, parts_.pattern) : parts_.rows.are(A);
  }

  Status refresh_entries(const CsrView<T, I>& A, const PivotRule& rule)
  try {
    factored_ = emptied_ = false;
    if (!parts_.made) return failed(Code::invalid_argument, "refresh() was called before analyse()");
    if (!has_size_of(A.pattern)) return forget_factor(failed(Code::another_pattern));
    const Status status = blocks_->refresh({parts_.pattern.view(), copy_values(parts_.pattern, A.value)}, rule);
    factored_ = status.ok();
    return status;
  } catch (const std::bad_alloc&) {
    return forget_factor(failed(Code::out_of_memory));
  } catch (...) {
    (void)forget_factor({});
    throw;
  }

  Interface& blocks() { return *blocks_; }
  const Interface& blocks() const { return *blocks_; }
  /// Takes another preconditioner of blocks, before it is analysed.
  void replace_blocks(std::unique_ptr<Interface> blocks) { blocks_ = std::move(blocks); }

private:
  struct Parts {
    bool made = false, full = false;
    I n = 0, nnz = 0;
    BlockPattern<I> pattern;
    PatternCopy<I> rows;  ///< the analysed entries, unless blocks are full
    std::vector<I> row_order, column_order;
  };

  Status make_parts(const PatternView<I>& A, const SymbolicOptions<I>& symbolic, const SolverOptions& options)
  {
    Status status = check_threads(options.threads);
    if (status.ok()) status = check_row_offsets(A, options.threads);
    if (status.ok()) status = check_block_size(A.n, options.block_size);
    if (!status.ok()) return status;
    parts_.full = find_full_blocks(A, options, &parts_.pattern);
    if (!parts_.full) status = check_pattern(A, options.threads);
    if (!parts_.full && status.ok()) status = make_block_pattern(A, options.block_size, &parts_.pattern);
    std::vector<I> row, column;
    const I size = static_cast<I>(options.block_size);
    if (status.ok()) status = order_of_blocks(symbolic.row_order, A.n, size, &row);
    if (status.ok()) status = order_of_blocks(symbolic.column_order, A.n, size, &column);
    if (!status.ok()) return status;
    SymbolicOptions<I> of_blocks = symbolic;
    of_blocks.row_order = symbolic.row_order ? row.data() : nullptr;
    of_blocks.column_order = symbolic.column_order ? column.data() : nullptr;
    status = analyse_blocks(parts_.pattern.view(), of_blocks, options);
    if (!status.ok()) {
      const Status of_entries = parts_.full ? check_pattern(A, options.threads) : Status();
      return of_entries.ok() ? status : of_entries;
    }
    if (!parts_.full) parts_.rows.keep_pattern(A);
    parts_.n = A.n;
    parts_.nnz = A.nnz();
    const Orders<I> orders = blocks_->orders();
    parts_.row_order = order_of_rows(orders.row, parts_.pattern.n, size);
    parts_.column_order = order_of_rows(orders.column, parts_.pattern.n, size);
    parts_.made = true;
    return {};
  }

  template <class Body> Status solve_alone(Body body)
  {
    return alone([&] {
      if (factored_ || emptied_) return body();  // without values the blocks refuse it, or report a void replay
      return failed(Code::invalid_argument, "solve() was called before a successful refresh()");
    });
  }

  Status forget_analysis(const Status& cause)
  {
    parts_ = Parts();
    drop_blocks();
    SolverOptions none;
    none.block_size = 0;
    return forget(cause, [&] { return blocks_->analyse({}, {}, none); });
  }

  Status forget_factor(const Status& cause)
  {
    return forget(cause, [&] { return blocks_->refresh({}, PivotRule()); });
  }

  /// Calls fail(), which leaves the blocks without values, also for replays. A call that reports an earlier solve does
  /// nothing else, so it is repeated.
  ///   returns  that report, or the cause
  template <class Fail> Status forget(const Status& cause, Fail fail)
  {
    constexpr int most_reports = 2;  // of a replay and of a wait
    Status told = cause;
    for (int k = 0; k <= most_reports; ++k) {
      const Status status = fail();
      emptied_ = status.code != Code::stale_capture && status.code != Code::wait_expired;
      if (emptied_) break;
      told = status;
    }
    return told;
  }

  bool has_size_of(const PatternView<I>& A) const
  {
    return A.n == parts_.n && A.nnz() == parts_.nnz;
  }

  std::unique_ptr<Interface> blocks_;
  Parts parts_;
  bool factored_ = false;  ///< blocks_ has the values of the last refresh; not if that, or an analysis, has failed
  bool emptied_ = false;   ///< blocks_ has none since a call of this object has failed
  CallGuard busy_;
};

}  // namespace syncfree
