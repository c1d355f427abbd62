/// Block ILU of a matrix that is given by entries, by the preconditioner of host/preconditioner.cpp. If its blocks are
/// full, their values are read where they are; else they are copied into dense blocks, with zeros where a block has no
/// entry. Rows and orders of the caller are those of entries.

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/pattern/of_entries.hpp"
#include "core/pattern/pattern_copy.hpp"
#include "core/support/instantiate.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/threads.hpp"

namespace syncfree {
namespace {

template <class T, class I> class BlockedPreconditioner : public Preconditioner<T, I> {
public:
  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    blocks_.reset();
    parts_ = Parts();
    Parts made;
    Status status = check_threads(options.threads);
    if (status.ok()) status = check_pattern(A, options.threads);
    if (status.ok()) status = check_block_size(A.n, options.block_size);
    if (!status.ok()) return status;
    made.full = find_full_blocks(A, options.block_size, options.threads, &made.pattern);
    if (!made.full) status = make_block_pattern(A, options.block_size, &made.pattern);
    std::vector<I> row, column;
    const I size = static_cast<I>(options.block_size);
    if (status.ok()) status = order_of_blocks(symbolic.row_order, A.n, size, &row);
    if (status.ok()) status = order_of_blocks(symbolic.column_order, A.n, size, &column);
    if (!status.ok()) return status;
    SymbolicOptions<I> of_blocks = symbolic;
    of_blocks.row_order = symbolic.row_order ? row.data() : nullptr;
    of_blocks.column_order = symbolic.column_order ? column.data() : nullptr;
    auto blocks = make_host_block_preconditioner<T, I>(made.full ? BlockValues::by_rows : BlockValues::by_blocks);
    status = blocks->analyse(made.pattern.view(), of_blocks, options);
    if (!status.ok()) return status;
    if (!made.full) made.rows.keep_pattern(A);
    made.n = A.n;
    made.nnz = A.nnz();
    made.threads = options.threads;
    made.row_order = order_of_rows(blocks->orders().row, made.pattern.n, size);
    made.column_order = order_of_rows(blocks->orders().column, made.pattern.n, size);
    parts_ = std::move(made);
    blocks_ = std::move(blocks);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status has_pattern(PatternView<I> A, bool* same) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    *same = blocks_ && has_size_of(A) &&
            (parts_.full ? consists_of_blocks(A, parts_.pattern, parts_.threads) : parts_.rows.are(A));
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Orders<I> orders() const override
  {
    if (parts_.row_order.empty()) return {};
    return {parts_.row_order.data(), parts_.column_order.data()};
  }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!blocks_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
    if (!has_size_of(A.pattern)) {
      (void)blocks_->refresh({}, rule);  // no solves from here on
      return failed(Code::another_pattern);
    }
    if (parts_.full) return blocks_->refresh({parts_.pattern.view(), A.value}, rule);
    parts_.value.resize(parts_.pattern.values());
    copy_to_blocks(parts_.pattern, A.value, parts_.value.data(), parts_.threads);
    return blocks_->refresh({parts_.pattern.view(), parts_.value.data()}, rule);
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    return blocks_ ? blocks_->solve(op, b, x, columns) : not_analysed();
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve_forward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    return blocks_ ? blocks_->solve_forward_half(b, x) : not_analysed();
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve_backward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    return blocks_ ? blocks_->solve_backward_half(b, x) : not_analysed();
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Summary summarize() const override
  {
    if (!blocks_) return {};
    Summary s = blocks_->summarize();
    s.padding = parts_.pattern.padding;
    s.plan_bytes += parts_.rows.pattern_copy_bytes() + parts_.value.size() * sizeof(T) +
                    (parts_.pattern.row_begin.size() + parts_.pattern.column.size() + parts_.pattern.place.size() +
                     parts_.row_order.size() + parts_.column_order.size()) *
                        sizeof(I);
    return s;
  }

  Choice choice_with(int threads) const override { return blocks_ ? blocks_->choice_with(threads) : Choice(); }
  bool fell_back() const override { return blocks_ && blocks_->fell_back(); }
  LevelCounts levels() const override { return blocks_ ? blocks_->levels() : LevelCounts(); }

  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    return blocks_ ? blocks_->pattern() : none;
  }

  FactorValues<T> values() const override { return blocks_ ? blocks_->values() : FactorValues<T>(); }

private:
  struct Parts {
    I n = 0, nnz = 0;
    int threads = 1;
    bool full = false;  ///< no block has padding; then the pattern has no places
    BlockPattern<I> pattern;
    std::vector<I> row_order, column_order;
    PatternCopy<I> rows;  ///< the analysed entries, unless full
    Array<T> value;       ///< of the blocks, unless full
  };

  static Status not_analysed()
  {
    return failed(Code::invalid_argument, "solve() was called before a successful refresh()");
  }

  bool has_size_of(const PatternView<I>& A) const
  {
    return A.n == parts_.n && A.nnz() == parts_.nnz;
  }

  Parts parts_;
  std::unique_ptr<Preconditioner<T, I>> blocks_;
  CallGuard busy_;
};

}  // namespace

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_blocked_preconditioner()
{
  return std::make_unique<BlockedPreconditioner<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_host_blocked_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
