/// The preconditioner by dense blocks on CPU threads: combines pattern, values and solves of a block ILU, as
/// host/preconditioner.cpp does for entries. A point's unknowns stay together: orders permute block rows.

#include <algorithm>
#include <new>
#include <utility>

#include "core/pattern/pattern_copy.hpp"
#include "core/pattern/transpose.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "factorize.hpp"
#include "host/team_monitor.hpp"
#include "solve.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree/threads.hpp"

namespace syncfree {
namespace {

template <class Vector> std::size_t array_bytes(const Vector& v) { return v.size() * sizeof(v[0]); }

std::size_t block_values(int size) { return static_cast<std::size_t>(size) * static_cast<std::size_t>(size); }

/// Rounds to V. Returns the position of the first value that V cannot represent, or the size.
template <class V, class T> std::size_t round_all(const Array<T>& from, Array<V>* to)
{
  to->resize(from.size());
  std::size_t first = from.size();
  for (std::size_t k = from.size(); k-- > 0;) {
    (*to)[k] = static_cast<V>(from[k]);
    if (!is_finite((*to)[k])) first = k;
  }
  return first;
}

/// to = from^T
template <class V> void transpose_block(int size, const V* from, V* to)
{
  for (int c = 0; c < size; ++c)
    for (int r = 0; r < size; ++r) to[c * size + r] = from[r * size + c];
}

/// The four triangular solves of a block factor, independent of the storage type.
template <class T, class I> class BlockSolves {
public:
  virtual ~BlockSolves() = default;

  /// As FactorSolves::update_factor(): takes new values, rounded to V or by pointer.
  virtual Status update_factor(const FactorValues<T>& values) = 0;
  /// Makes the solves with U^T and L^T, if they do not exist yet. Throws std::bad_alloc.
  virtual void prepare_transposes() = 0;

  virtual void solve_lower(const T* b, T* x, const Columns<I>& columns, bool transposed) = 0;
  virtual void solve_upper(const T* b, T* x, const Columns<I>& columns, bool transposed) = 0;
  virtual void solve_alone(bool alone) = 0;
  virtual FactorValues<T> factor_values() const = 0;
  virtual std::size_t bytes_of_values() const = 0;
  virtual std::size_t plan_bytes() const = 0;
  virtual std::size_t transpose_bytes() const = 0;
  virtual int threads() const = 0;
};

/// A triangle of transposed blocks.
template <class V, class I> struct TransposedBlocks : Transposed<I> {
  std::vector<V> value;

  TransposedBlocks(const PatternView<I>& T, int size)
      : Transposed<I>(T), value(this->source.size() * block_values(size))
  {
  }

  void copy_transposed(int size, const V* from)
  {
    const std::size_t values = block_values(size);
    for (std::size_t k = 0; k < this->source.size(); ++k)
      transpose_block(size, from + values * static_cast<std::size_t>(this->source[k]), value.data() + values * k);
  }

  std::size_t transposed_bytes() const
  {
    return array_bytes(this->row_begin) + array_bytes(this->column) + array_bytes(this->source) + array_bytes(value);
  }
};

template <class T, class V, class I> class StoredBlockSolves : public BlockSolves<T, I> {
public:
  using Solver = BlockSolver<T, V, I>;

  StoredBlockSolves(const FactorPattern<I>& pattern, int size, int threads)
      : pattern_(pattern), size_(size), threads_(threads),
        lower_({true, pattern.lower(), size, nullptr, nullptr}, threads),
        upper_({false, pattern.upper(), size, nullptr, nullptr}, threads)
  {
  }

  Status update_factor(const FactorValues<T>& values) override
  {
    if constexpr (std::is_same_v<T, V>) {
      point_to(values);
    } else {
      Status status = round_to_storage(values);
      if (!status.ok()) return status;
      point_to(stored_);
    }
    lower_.update_values(lower_value_, nullptr);
    upper_.update_values(upper_value_, inverse_pivot_);
    if (transposes_) refresh_transposes(transposes_.get());
    return {};
  }

  void prepare_transposes() override
  {
    if (transposes_) return;
    auto made = std::make_unique<Transposes>(pattern_, size_, threads_);
    refresh_transposes(made.get());
    transposes_ = std::move(made);
    solve_alone(alone_);
  }

  void solve_lower(const T* b, T* x, const Columns<I>& columns, bool transposed) override
  {
    (transposed ? transposes_->lower_solver : lower_).solve_blocks(b, x, columns);
  }

  void solve_upper(const T* b, T* x, const Columns<I>& columns, bool transposed) override
  {
    (transposed ? transposes_->upper_solver : upper_).solve_blocks(b, x, columns);
  }

  void solve_alone(bool alone) override
  {
    alone_ = alone;
    lower_.work_alone(alone);
    upper_.work_alone(alone);
    if (!transposes_) return;
    transposes_->lower_solver.work_alone(alone);
    transposes_->upper_solver.work_alone(alone);
  }

  FactorValues<T> factor_values() const override
  {
    const std::size_t values = block_values(size_);
    return {{lower_value_, lower_value_ + pattern_.lower_column.size() * values},
            {upper_value_, upper_value_ + pattern_.upper_column.size() * values},
            {inverse_pivot_, inverse_pivot_ + static_cast<std::size_t>(pattern_.n) * values}};
  }

  std::size_t bytes_of_values() const override
  {
    return (pattern_.lower_column.size() + pattern_.upper_column.size() + static_cast<std::size_t>(pattern_.n)) *
           block_values(size_) * sizeof(V);
  }

  std::size_t plan_bytes() const override { return lower_.plan_bytes() + upper_.plan_bytes(); }

  std::size_t transpose_bytes() const override
  {
    if (!transposes_) return 0;
    return transposes_->lower.transposed_bytes() + transposes_->upper.transposed_bytes() +
           array_bytes(transposes_->inverse_pivot) + transposes_->lower_solver.plan_bytes() +
           transposes_->upper_solver.plan_bytes();
  }

  int threads() const override { return std::max(lower_.active_threads(), upper_.active_threads()); }

private:
  struct Transposes {
    TransposedBlocks<V, I> lower, upper;  ///< of L and of U
    std::vector<V> inverse_pivot;
    Solver lower_solver, upper_solver;

    Transposes(const FactorPattern<I>& pattern, int size, int threads)
        : lower(pattern.lower(), size), upper(pattern.upper(), size),
          inverse_pivot(static_cast<std::size_t>(pattern.n) * block_values(size)),
          lower_solver({false, lower.pattern_view(), size, nullptr, nullptr}, threads),
          upper_solver({true, upper.pattern_view(), size, nullptr, nullptr}, threads)
    {
    }
  };

  void point_to(const FactorValues<V>& values)
  {
    lower_value_ = values.lower.data();
    upper_value_ = values.upper.data();
    inverse_pivot_ = values.inverse_pivot.data();
  }

  Status round_to_storage(const FactorValues<T>& values)
  {
    const std::size_t block = block_values(size_);
    const std::size_t lower = round_all(values.lower, &stored_.lower) / block;
    const std::size_t upper = round_all(values.upper, &stored_.upper) / block;
    const std::size_t pivot = round_all(values.inverse_pivot, &stored_.inverse_pivot) / block;
    const std::int64_t row =
        std::min({row_of_block(pattern_.lower_begin, lower), row_of_block(pattern_.upper_begin, upper),
                  static_cast<std::int64_t>(pivot)});
    if (row >= pattern_.n) return {};
    Status status = failed(Code::not_finite, row);
    status.block_row = true;
    return status;
  }

  /// The row of block k; n for the position after the last block.
  static std::int64_t row_of_block(const Array<I>& begin, std::size_t k)
  {
    return std::upper_bound(begin.begin(), begin.end(), static_cast<I>(k)) - begin.begin() - 1;
  }

  void refresh_transposes(Transposes* made) const
  {
    const std::size_t values = block_values(size_);
    made->lower.copy_transposed(size_, lower_value_);
    made->upper.copy_transposed(size_, upper_value_);
    for (std::size_t k = 0; k < made->inverse_pivot.size(); k += values)
      transpose_block(size_, inverse_pivot_ + k, made->inverse_pivot.data() + k);
    made->lower_solver.update_values(made->lower.value.data(), nullptr);
    made->upper_solver.update_values(made->upper.value.data(), made->inverse_pivot.data());
  }

  const FactorPattern<I>& pattern_;
  int size_, threads_;
  Solver lower_, upper_;
  std::unique_ptr<Transposes> transposes_;
  bool alone_ = false;
  FactorValues<V> stored_;  ///< used if V is not T
  const V* lower_value_ = nullptr;
  const V* upper_value_ = nullptr;
  const V* inverse_pivot_ = nullptr;
};

/// Result of one analysis; it is never moved, because its parts refer to each other.
template <class T, class I> struct BlockAnalysis {
  I nnz = 0;  ///< blocks of A
  FactorPattern<I> pattern;
  PatternCopy<I> rows;  ///< of A, if the factor's rows have other blocks
  SolverOptions options;
  Choice choice;
  LevelCounts levels;  ///< 0 until first requested
  std::unique_ptr<BlockFactorization<T, I>> factorization;
  std::unique_ptr<BlockSolves<T, I>> solves;
  FactorValues<T> values;  ///< empty between refreshes if storage is single precision
  std::vector<T> work;     ///< a vector, if rows or columns are permuted
  PivotReport pivots;
  TeamMonitor watch;  ///< monitors what `auto` has chosen
};

/// The choice of `auto`, given the predicted speedup of the chunks of the lower triangle.
template <class I>
Choice choose_for_blocks(const FactorPattern<I>& pattern, int block_size, int threads, double speedup)
{
  ChoiceInput input;
  const auto blocks = static_cast<std::int64_t>(pattern.lower_column.size() + pattern.upper_column.size());
  input.nnz = blocks * static_cast<std::int64_t>(block_values(block_size));
  input.threads = threads;
  input.blocks_speedup = speedup;
  return choose_strategy(input);
}

Status check_block_options(Kind kind, const SolverOptions& options)
{
  if (options.block_size < 1) return check_block_size(0, options.block_size);
  if (kind != Kind::ilu) return failed(Code::invalid_argument, "dense blocks are factored as ILU, not as IC");
  const std::string& name = options.strategy;
  if (name == "auto" || name == "serial" || name == "blocks") return check_threads(options.threads);
  if (!find_strategy(name, "host")) return failed(Code::unknown_strategy, name);
  return failed(Code::invalid_argument,
                "strategy " + name + " has no form for dense blocks; use serial, blocks or auto");
}

template <class T, class I>
std::unique_ptr<BlockSolves<T, I>> make_block_solves(const FactorPattern<I>& pattern, const SolverOptions& options,
                                                     int threads)
{
  const int size = options.block_size;
  if (options.single_storage) return std::make_unique<StoredBlockSolves<T, single_t<T>, I>>(pattern, size, threads);
  return std::make_unique<StoredBlockSolves<T, T, I>>(pattern, size, threads);
}

template <class T, class I>
Status make_block_analysis(PatternView<I> A, const SymbolicOptions<I>& symbolic, BlockAnalysis<T, I>* a)
{
  const int size = a->options.block_size, threads = a->options.threads;
  Status status = check_block_options(symbolic.kind, a->options);
  if (status.ok()) status = check_pattern(A, threads);
  if (status.ok()) status = make_factor_pattern(A, symbolic, &a->pattern, threads);
  status.block_row = status.row >= 0;
  if (!status.ok()) return status;
  a->nnz = A.nnz();
  a->factorization = std::make_unique<BlockFactorization<T, I>>(a->pattern, A, size, threads);
  if (!a->factorization->rows_of_A()) a->rows.keep_pattern(A);
  if (!a->pattern.natural()) a->work.resize(static_cast<std::size_t>(A.n) * static_cast<std::size_t>(size));
  a->choice = {a->options.strategy, "forced"};
  if (a->options.strategy == "auto") {
    a->choice = choose_for_blocks(a->pattern, size, threads, a->factorization->speedup());
    if (a->choice.strategy != "serial") a->watch.start_watching(2 * a->factorization->serial_seconds());
  }
  a->solves = make_block_solves<T>(a->pattern, a->options, a->choice.strategy == "serial" ? 1 : threads);
  return status;
}

/// True if A has the analysed pattern. Throws std::bad_alloc.
template <class T, class I> bool is_made_of(const BlockAnalysis<T, I>& a, const PatternView<I>& A)
{
  if (A.n != a.pattern.n || A.nnz() != a.nnz) return false;
  if (!a.factorization->rows_of_A()) return a.rows.are(A);
  return all_rows(A.n, worthwhile_threads(a.nnz, a.options.threads),
                  [&](I row) { return is_row_of(a.pattern, A, row, row, row + 1); });
}

template <class I> std::size_t pattern_bytes(const FactorPattern<I>& p)
{
  return array_bytes(p.lower_begin) + array_bytes(p.lower_column) + array_bytes(p.upper_begin) +
         array_bytes(p.upper_column) + array_bytes(p.row_order) + array_bytes(p.column_order) +
         array_bytes(p.column_place);
}

template <class T, class I> class HostBlockPreconditioner : public Preconditioner<T, I> {
public:
  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    factored_ = false;
    analysis_.reset();
    auto made = std::make_unique<BlockAnalysis<T, I>>();
    made->options = options;
    Status status = make_block_analysis(A, symbolic, made.get());
    if (status.ok()) analysis_ = std::move(made);
    return status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status has_pattern(PatternView<I> A, bool* same) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    *same = analysis_ && is_made_of(*analysis_, A);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Orders<I> orders() const override { return analysis_ ? analysis_->pattern.order_arrays() : Orders<I>(); }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    factored_ = false;
    if (!analysis_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
    BlockAnalysis<T, I>& a = *analysis_;
    if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz) return failed(Code::another_pattern);
    const std::size_t values = block_values(a.options.block_size);
    a.values.lower.resize(a.pattern.lower_column.size() * values);
    a.values.upper.resize(a.pattern.upper_column.size() * values);
    a.values.inverse_pivot.resize(static_cast<std::size_t>(a.pattern.n) * values);
    a.pivots = {};
    Status status = a.factorization->factorize_blocks(A, rule, &a.values, &a.pivots);
    if (status.ok()) status = a.solves->update_factor(a.values);
    if (a.options.single_storage && !std::is_same_v<T, single_t<T>>) a.values = FactorValues<T>();
    factored_ = status.ok();
    return status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!factored_) return not_factored();
    BlockAnalysis<T, I>& a = *analysis_;
    const bool transposed = op == Operation::transpose || op == Operation::adjoint;
    const bool conjugated = is_complex_v<T> && (op == Operation::conjugate || op == Operation::adjoint);
    if (transposed) a.solves->prepare_transposes();
    if (!a.watch.watches() || columns.count < 1) return solve_all(b, x, columns, transposed, conjugated);
    const auto begin = team_clock();
    Status status = solve_all(b, x, columns, transposed, conjugated);
    if (a.watch.record_apply((team_clock() - begin) / static_cast<double>(columns.count)))
      a.solves->solve_alone(a.watch.works_alone());
    if (a.watch.has_fallen_back()) a.factorization->factor_alone();
    return status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve_forward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!factored_) return not_factored();
    const std::vector<I>& order = analysis_->pattern.row_order;
    if (!order.empty()) gather_blocks(order, b, x, false);
    analysis_->solves->solve_lower(order.empty() ? b : x, x, one(), false);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve_backward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (!factored_) return not_factored();
    const std::vector<I>& order = analysis_->pattern.column_order;
    T* z = order.empty() ? x : analysis_->work.data();
    analysis_->solves->solve_upper(b, z, one(), false);
    if (!order.empty()) scatter_blocks(order, z, x, false);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Summary summarize() const override
  {
    Summary s;
    if (!analysis_) return s;
    const BlockAnalysis<T, I>& a = *analysis_;
    const auto values = static_cast<std::int64_t>(block_values(a.options.block_size));
    s.strategy = a.choice.strategy;
    s.reason = a.watch.has_fallen_back() ? a.choice.reason + a.watch.reason() : a.choice.reason;
    s.block_size = a.options.block_size;
    s.rows = static_cast<std::int64_t>(a.pattern.n) * s.block_size;
    s.operations = count_operations(a.pattern) * values * s.block_size;
    s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size()) * values;
    s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size()) * values;
    s.threads = std::max(a.solves->threads(), a.factorization->factor_threads());
    s.single_storage = a.options.single_storage;
    s.factor_bytes = pattern_bytes(a.pattern) + a.solves->bytes_of_values();
    s.plan_bytes = a.solves->plan_bytes() + a.factorization->factorization_bytes() + array_bytes(a.work) +
                   a.rows.pattern_copy_bytes();
    s.transpose_bytes = a.solves->transpose_bytes();
    s.pivots = a.pivots;
    return s;
  }

  Choice choice_with(int threads) const override
  try {
    if (!analysis_ || analysis_->options.strategy != "auto" || analysis_->options.threads > 1) return {};
    RowChunks<I> chunks;
    const int size = analysis_->options.block_size;
    if (!make_row_chunks(analysis_->pattern.lower(), true, threads, &chunks, size).ok()) return {};
    return choose_for_blocks(analysis_->pattern, size, threads, chunks.speedup);
  } catch (const std::bad_alloc&) {
    return {};
  }

  bool fell_back() const override { return analysis_ && analysis_->watch.has_fallen_back(); }

  LevelCounts levels() const override
  {
    if (analysis_ && analysis_->levels.lower == 0) analysis_->levels = count_levels(analysis_->pattern);
    return analysis_ ? analysis_->levels : LevelCounts();
  }

  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    return analysis_ ? analysis_->pattern : none;
  }

  FactorValues<T> values() const override { return factored_ ? analysis_->solves->factor_values() : FactorValues<T>(); }

private:
  static Status not_factored()
  {
    return failed(Code::invalid_argument, "solve() was called before a successful refresh()");
  }

  std::size_t size() const { return static_cast<std::size_t>(analysis_->options.block_size); }
  std::size_t vector_size() const { return size() * static_cast<std::size_t>(analysis_->pattern.n); }
  Columns<I> one() const { return {1, static_cast<I>(vector_size()), static_cast<I>(vector_size())}; }

  /// y_i = b_{order(i)}, conjugated as requested
  void gather_blocks(const std::vector<I>& order, const T* b, T* y, bool conjugated) const
  {
    const std::size_t n = size();
    for (const I row : order) {
      const T* from = b + n * static_cast<std::size_t>(row);
      for (std::size_t r = 0; r < n; ++r) *y++ = conjugated ? conjugate(from[r]) : from[r];
    }
  }

  /// x_{order(i)} = z_i, conjugated as requested
  void scatter_blocks(const std::vector<I>& order, const T* z, T* x, bool conjugated) const
  {
    const std::size_t n = size();
    for (const I row : order) {
      T* to = x + n * static_cast<std::size_t>(row);
      for (std::size_t r = 0; r < n; ++r, ++z) to[r] = conjugated ? conjugate(*z) : *z;
    }
  }

  /// Solves with both triangles, in place after the first one. conj(A)^-1 b is conj(A^-1 conj(b)).
  void solve_both(const T* b, T* x, const Columns<I>& columns, bool transposed)
  {
    const Columns<I> in_place = {columns.count, columns.x_leading, columns.x_leading};
    BlockSolves<T, I>& solves = *analysis_->solves;
    if (transposed) {
      solves.solve_upper(b, x, columns, true);
      solves.solve_lower(x, x, in_place, true);
    } else {
      solves.solve_lower(b, x, columns, false);
      solves.solve_upper(x, x, in_place, false);
    }
  }

  Status solve_all(const T* b, T* x, const Columns<I>& columns, bool transposed, bool conjugated)
  {
    BlockAnalysis<T, I>& a = *analysis_;
    const FactorPattern<I>& p = a.pattern;
    if (p.natural() && !conjugated) {
      solve_both(b, x, columns, transposed);
      return {};
    }
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading) {
      if (p.natural()) {
        std::transform(b, b + vector_size(), x, [](const T& v) { return conjugate(v); });
        solve_both(x, x, one(), transposed);
        std::transform(x, x + vector_size(), x, [](const T& v) { return conjugate(v); });
        continue;
      }
      gather_blocks(transposed ? p.column_order : p.row_order, b, a.work.data(), conjugated);
      solve_both(a.work.data(), a.work.data(), one(), transposed);
      scatter_blocks(transposed ? p.row_order : p.column_order, a.work.data(), x, conjugated);
    }
    return {};
  }

  std::unique_ptr<BlockAnalysis<T, I>> analysis_;
  bool factored_ = false;
  CallGuard busy_;
};

}  // namespace

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_block_preconditioner()
{
  return std::make_unique<HostBlockPreconditioner<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_host_block_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
