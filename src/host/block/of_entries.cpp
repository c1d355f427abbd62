/// Block ILU of a matrix that is given by entries (core/pattern/of_entries.hpp), by the preconditioner of
/// host/preconditioner.cpp. If its blocks are full, their values are read where they are.

#include "core/pattern/of_entries.hpp"

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class T, class I>
class BlockedPreconditioner : public PreconditionerOfEntries<T, I, Preconditioner<T, I>> {
  using Base = PreconditionerOfEntries<T, I, Preconditioner<T, I>>;

public:
  BlockedPreconditioner() : Base(make_host_block_preconditioner<T, I>()) {}

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    return this->alone([&] { return this->analyse_entries(A, symbolic, options); });
  }

  Status has_pattern(PatternView<I> A, bool* same) override
  {
    return this->alone([&]() -> Status {
      *same = this->has_pattern_of(A);
      return {};
    });
  }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  {
    return this->alone([&] { return this->refresh_entries(A, rule); });
  }

private:
  bool find_full_blocks(const PatternView<I>& A, const SolverOptions& options, BlockPattern<I>* out) override
  {
    threads_ = options.threads;
    full_ = syncfree::find_full_blocks(A, options.block_size, options.threads, out);
    return full_;
  }

  bool has_full_blocks(const PatternView<I>& A, const BlockPattern<I>& full) override
  {
    return consists_of_blocks(A, full, threads_);
  }

  Status analyse_blocks(const PatternView<I>& pattern, const SymbolicOptions<I>& symbolic,
                        const SolverOptions& options) override
  {
    this->replace_blocks(make_host_block_preconditioner<T, I>(full_ ? BlockValues::by_rows : BlockValues::by_blocks));
    return this->blocks().analyse(pattern, symbolic, options);
  }

  const T* copy_values(const BlockPattern<I>& pattern, const T* value) override
  {
    if (full_) return value;
    value_.resize(pattern.values());
    copy_to_blocks(pattern, value, value_.data(), threads_);
    return value_.data();
  }

  void drop_blocks() override
  {
    full_ = false;
    value_ = Array<T>();
  }

  std::size_t kept_bytes() const override { return value_.size() * sizeof(T); }

  int threads_ = 1;
  bool full_ = false;  ///< no block has padding
  Array<T> value_;     ///< of the blocks, unless these are full
};

}  // namespace

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_blocked_preconditioner()
{
  return std::make_unique<BlockedPreconditioner<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_host_blocked_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
