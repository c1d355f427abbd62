/// The preconditioner on CPU threads: combines the pattern, the values and the solves of an incomplete factor. With
/// A(r, c) = L U the solve of A x = b is
///   y_i = b_{r(i)},   L U z = y,   x_{c(i)} = z_i,
/// and that of A^T x = b exchanges r and c and uses U^T L^T. IC is symmetric (not Hermitian), so its
/// transposed solve is the solve itself.
///
/// The factor is of entries or of dense blocks: rows and entries of patterns and orders are then blocks, so that the
/// unknowns of a point stay together, and vectors have block_size entries for each row.

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <utility>

#include "block/dense.hpp"
#include "block/factorize.hpp"
#include "core/pattern/pattern_copy.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "core/symbolic/pivot_block.hpp"
#include "factorize.hpp"
#include "factorize_loop.hpp"
#include "solves.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree/threads.hpp"
#include "team_monitor.hpp"

namespace syncfree {
namespace {

template <class Vector> std::size_t array_bytes(const Vector& v) { return v.size() * sizeof(v[0]); }

/// Result of one analysis; it is never moved, because its parts refer to each other.
template <class T, class I> struct Analysis {
  I nnz = 0;  ///< of A
  std::int64_t operations = 0;  ///< of a factorization
  FactorPattern<I> pattern;
  PatternCopy<I> rows;  ///< of A, if the factor's rows have other entries
  SolverOptions options;
  Choice choice;
  LevelCounts levels;  ///< 0 until first requested
  std::unique_ptr<RowFactorization<T, I>> factorization;
  std::unique_ptr<LoopFactorization<T, I>> loop_factorization;  ///< for the strategy `loop`, if it applies
  std::unique_ptr<FactorSolves<T, I>> solves;
  FactorValues<T> values;  ///< empty between refreshes if storage is single precision
  std::vector<T> work;     ///< a vector, if rows or columns are permuted
  PivotReport pivots;
  int permuters = 1;         ///< threads of a permutation: those of the solves, if there are enough rows for them
  TeamMonitor watch;         ///< monitors what `auto` has chosen

  std::size_t block() const { return block_values(options.block_size); }
  I vector_size() const { return pattern.n * static_cast<I>(options.block_size); }
  int active_permuters() const { return watch.works_alone() ? 1 : permuters; }
};

/// What a preconditioner factors: matrices of dense blocks, and how their values are given; or of entries
struct MatrixForm {
  bool by_blocks = false;
  BlockValues values = BlockValues::by_blocks;
};

/// The choice of `auto`, given the predicted speedup of the row chunks of the lower triangle.
template <class I>
Choice choose_for_solves(const FactorPattern<I>& pattern, int block_size, int threads, double speedup)
{
  ChoiceInput input;
  const std::size_t entries = pattern.lower_column.size() + pattern.upper_column.size();
  input.nnz = static_cast<std::int64_t>(entries * block_values(block_size));
  input.threads = threads;
  input.blocks_speedup = speedup;
  return choose_strategy(input);
}

/// Placeholder values for the timing runs: non-zero, and small enough that the solution does not overflow.
template <class T, class I> FactorValues<T> trial_values(const FactorPattern<I>& p, int block_size)
{
  const std::size_t block = block_values(block_size);
  const auto sum = static_cast<float>(block_size);  // of a row of a block of ones
  FactorValues<T> values;
  values.lower.assign(p.lower_column.size() * block, T(0.001f / sum));
  values.upper.assign(p.upper_column.size() * block, T(0.001f / sum));
  values.inverse_pivot.assign(static_cast<std::size_t>(p.n) * block, T(1 / sum));
  return values;
}

/// Makes solves by the strategy of the options and measures them.
template <class T, class I>
Status try_out(const FactorPattern<I>& p, const SolverOptions& options, const FactorValues<T>& values,
               std::unique_ptr<FactorSolves<T, I>>* solves, Trial* trial)
{
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const I n = p.n * static_cast<I>(options.block_size);
  std::vector<T> b(static_cast<std::size_t>(n), T(1)), x(b.size());
  const auto begin = Clock::now();
  Status status = make_factor_solves(p, options, solves);
  if (status.ok()) status = (*solves)->update_factor(values);
  if (!status.ok()) return status;
  *trial = {options.strategy, since(begin), std::numeric_limits<double>::max()};
  for (int round = 0; round < 3; ++round) {
    const auto start = Clock::now();
    (*solves)->solve_factor(Triangle::lower, b.data(), x.data(), {1, n, n}, false);
    (*solves)->solve_factor(Triangle::upper, x.data(), x.data(), {1, n, n}, false);
    trial->apply = std::min(trial->apply, since(start));
  }
  return status;
}

/// Plans and measures the strategies that may be fastest on threads; keeps the solves of the fastest.
template <class T, class I> Status choose_by_trials(Analysis<T, I>* a, bool by_blocks)
{
  const FactorValues<T> values = trial_values<T>(a->pattern, a->options.block_size);
  std::vector<Trial> trials;
  std::vector<const char*> names = {"serial", "sync_free", "level_set", "blocks"};
  if (by_blocks) names = {"serial", "blocks"};
  for (const char* name : names) {
    std::unique_ptr<FactorSolves<T, I>> solves;
    SolverOptions options = a->options;
    options.strategy = name;
    Trial trial;
    const Status status = try_out(a->pattern, options, values, &solves, &trial);
    if (!status.ok()) return status;
    trials.push_back(trial);
    if (best_trial(trials, a->options.expected_applies) + 1 == trials.size()) a->solves = std::move(solves);
  }
  a->choice = syncfree::choose_by_trials(trials, a->options.expected_applies);
  if (a->choice.strategy != "serial") a->watch.start_watching(trials[0].apply);
  return {};
}

Status check_entry_options(const SolverOptions& options)
{
  const Status status = check_threads(options.threads);
  return status.ok() ? check_no_blocks(options) : status;
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
std::unique_ptr<RowFactorization<T, I>> make_factorization(const FactorPattern<I>& pattern, const PatternView<I>& A,
                                                           const MatrixForm& form, const SolverOptions& options)
{
  if (!form.by_blocks) return std::make_unique<Factorization<T, I>>(pattern, A, options.threads);
  return std::make_unique<BlockFactorization<T, I>>(pattern, A, options.block_size, options.threads, form.values);
}

/// Chooses the strategy if that needs no trials.
template <class T, class I> void choose_by_model(Analysis<T, I>* a)
{
  a->choice = {a->options.strategy, "forced"};
  if (a->options.strategy != "auto") return;
  a->choice = choose_for_solves(a->pattern, a->options.block_size, a->options.threads, a->factorization->speedup());
  if (a->choice.strategy != "serial") a->watch.start_watching(2 * a->factorization->serial_seconds());
}

template <class T, class I>
Status make_analysis(PatternView<I> A, const SymbolicOptions<I>& symbolic, const MatrixForm& form, Analysis<T, I>* a)
{
  const SolverOptions& options = a->options;
  const bool by_blocks = form.by_blocks;
  Status status = by_blocks ? check_block_options(symbolic.kind, options) : check_entry_options(options);
  if (status.ok()) status = check_pattern(A, options.threads);
  if (status.ok()) status = make_factor_pattern(A, symbolic, &a->pattern, options.threads);
  status.block_row = by_blocks && status.row >= 0;
  if (!status.ok()) return status;
  a->nnz = A.nnz();
  a->operations = count_block_operations(count_operations(a->pattern), a->pattern.n,
                                         static_cast<std::int64_t>(a->pattern.upper_column.size()), options.block_size);
  a->factorization = make_factorization<T>(a->pattern, A, form, options);
  if (!a->factorization->rows_of_A()) a->rows.keep_pattern(A);
  if (!a->pattern.natural()) a->work.resize(static_cast<std::size_t>(a->vector_size()));
  if (options.strategy == "auto" && options.trials && options.threads > 1 && A.n > 0)
    return choose_by_trials(a, by_blocks);
  choose_by_model(a);
  if (a->choice.strategy == "loop" && LoopFactorization<T, I>::suits(a->pattern, A))
    a->loop_factorization = std::make_unique<LoopFactorization<T, I>>(A, options.threads);
  SolverOptions chosen = options;
  chosen.strategy = a->choice.strategy;
  return make_factor_solves(a->pattern, chosen, &a->solves);
}

/// True if A has the analysed pattern. Throws std::bad_alloc.
template <class T, class I> bool is_made_of(const Analysis<T, I>& a, const PatternView<I>& A)
{
  if (A.n != a.pattern.n || A.nnz() != a.nnz) return false;
  if (!a.factorization->rows_of_A()) return a.rows.are(A);
  return all_rows(A.n, worthwhile_threads(a.nnz, a.options.threads), [&](I row) {
    return a.pattern.kind == Kind::ilu ? is_row_of(a.pattern, A, row, row, row + 1) : ends_in_row_of(a.pattern, A, row);
  });
}

/// Factors by the loop if possible; by the other factorization if a pivot or the rule requires more than elimination.
template <class T, class I> Status factor(const CsrView<T, I>& A, const PivotRule& rule, Analysis<T, I>* a)
{
  a->pivots = {};
  if (a->loop_factorization && a->loop_factorization->factorize_by_loop(A, rule, &a->values)) return {};
  return a->factorization->factorize_rows(A, rule, &a->values, &a->pivots);
}

template <class I> std::size_t pattern_bytes(const FactorPattern<I>& p)
{
  return array_bytes(p.lower_begin) + array_bytes(p.lower_column) + array_bytes(p.upper_begin) +
         array_bytes(p.upper_column) + array_bytes(p.row_order) + array_bytes(p.column_order) +
         array_bytes(p.column_place);
}

/// Copies block `from` of b to block `to` of y.
template <class T, class I> void copy_block(int size, const T* b, I from, T* y, I to)
{
  const auto entries = static_cast<std::size_t>(size);
  b += entries * static_cast<std::size_t>(from);
  y += entries * static_cast<std::size_t>(to);
  for (std::size_t r = 0; r < entries; ++r) y[r] = b[r];
}

/// y_i = b_{order(i)}, blocks of `size` entries
template <class T, class I> void gather_rows(const std::vector<I>& order, int size, int threads, const T* b, T* y)
{
  const I* row = order.data();
  const I n = static_cast<I>(order.size());
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (I i = 0; i < n; ++i) {
    if (size == 1) y[i] = b[row[i]];
    else copy_block(size, b, row[i], y, i);
  }
}

/// x_{order(i)} = z_i, blocks of `size` entries
template <class T, class I> void scatter_rows(const std::vector<I>& order, int size, int threads, const T* z, T* x)
{
  const I* row = order.data();
  const I n = static_cast<I>(order.size());
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (I i = 0; i < n; ++i) {
    if (size == 1) x[row[i]] = z[i];
    else copy_block(size, z, i, x, row[i]);
  }
}

/// The two triangles of a complete solve, and the permutations before and after it.
template <class I> struct Pass {
  Triangle first, second;
  const std::vector<I>& from;
  const std::vector<I>& to;
  bool conjugate;
};

template <class T, class I> class HostPreconditioner : public Preconditioner<T, I> {
public:
  explicit HostPreconditioner(const MatrixForm& form) : form_(form) {}

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    factored_ = false;
    analysis_.reset();
    auto made = std::make_unique<Analysis<T, I>>();
    made->options = options;
    Status status = make_analysis(A, symbolic, form_, made.get());
    if (!status.ok()) return status;
    made->permuters = worthwhile_threads(made->vector_size(), made->solves->describe_factor().threads);
    analysis_ = std::move(made);
    return {};
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
    Analysis<T, I>& a = *analysis_;
    if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz) return failed(Code::another_pattern);
    a.values.lower.resize(a.pattern.lower_column.size() * a.block());
    a.values.upper.resize(a.pattern.upper_column.size() * a.block());
    a.values.inverse_pivot.resize(static_cast<std::size_t>(a.pattern.n) * a.block());
    Status status = factor(A, rule, &a);
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
    const FactorPattern<I>& p = analysis_->pattern;
    const bool conjugate = op == Operation::conjugate || op == Operation::adjoint;
    if (p.kind == Kind::icc || op == Operation::none || op == Operation::conjugate) {
      solve_monitored({Triangle::lower, Triangle::upper, p.row_order, p.column_order, conjugate}, b, x, columns);
      return {};
    }
    Status status = analysis_->solves->prepare_transposes();
    if (status.ok())
      solve_monitored({Triangle::upper_transposed, Triangle::lower_transposed, p.column_order, p.row_order, conjugate},
                      b, x, columns);
    return status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve_forward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    Status status = check_half();
    if (!status.ok()) return status;
    const Analysis<T, I>& a = *analysis_;
    if (!a.pattern.natural()) gather_rows(a.pattern.row_order, a.options.block_size, a.active_permuters(), b, x);
    a.solves->solve_factor(Triangle::lower, a.pattern.natural() ? b : x, x, one(), false);
    if (a.pattern.kind == Kind::icc) a.solves->scale_by_root(false, x, x);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  /// U is the stored one: PETSc's U for ILU, D U for IC, so that IC's half is (D U)^-1 D^(1/2) b.
  Status solve_backward_half(const T* b, T* x) override
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    Status status = check_half();
    if (!status.ok()) return status;
    Analysis<T, I>& a = *analysis_;
    T* z = a.pattern.natural() ? x : a.work.data();
    if (a.pattern.kind == Kind::icc) a.solves->scale_by_root(true, b, z);
    a.solves->solve_factor(Triangle::upper, a.pattern.kind == Kind::icc ? z : b, z, one(), false);
    if (z != x) scatter_rows(a.pattern.column_order, a.options.block_size, a.active_permuters(), z, x);
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Summary summarize() const override
  {
    Summary s;
    if (!analysis_) return s;
    const Analysis<T, I>& a = *analysis_;
    const Description solves = a.solves->describe_factor();
    s.strategy = solves.strategy;
    s.reason = a.watch.has_fallen_back() ? a.choice.reason + a.watch.reason() : a.choice.reason;
    s.block_size = a.options.block_size;
    s.rows = a.vector_size();
    s.operations = a.operations;
    s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size() * a.block());
    s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size() * a.block());
    s.threads = std::max(solves.threads, a.factorization->factor_threads());
    s.single_storage = a.options.single_storage;
    s.factor_bytes = pattern_bytes(a.pattern) + a.solves->bytes_of_values();
    s.plan_bytes = solves.bytes + a.factorization->factorization_bytes() + array_bytes(a.work) +
                   a.rows.pattern_copy_bytes();
    if (a.loop_factorization) s.plan_bytes += a.loop_factorization->factorization_bytes();
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
    return choose_for_solves(analysis_->pattern, size, threads, chunks.speedup);
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

  Columns<I> one() const { return {1, analysis_->vector_size(), analysis_->vector_size()}; }

  Status check_half() const
  {
    if (!factored_) return not_factored();
    return analysis_->pattern.kind == Kind::icc ? analysis_->solves->check_roots() : Status();
  }

  void solve_monitored(const Pass<I>& pass, const T* b, T* x, const Columns<I>& columns)
  {
    Analysis<T, I>& a = *analysis_;
    if (!a.watch.watches() || columns.count < 1) return solve_both(pass, b, x, columns);
    const auto begin = team_clock();
    solve_both(pass, b, x, columns);
    if (a.watch.record_apply((team_clock() - begin) / static_cast<double>(columns.count)))
      a.solves->solve_alone(a.watch.works_alone());
    if (a.watch.has_fallen_back()) a.factorization->factor_alone();
  }

  /// In natural order the second solve works in place on x; permuted columns use the work vector.
  void solve_both(const Pass<I>& pass, const T* b, T* x, const Columns<I>& columns)
  {
    FactorSolves<T, I>& solves = *analysis_->solves;
    if (analysis_->pattern.natural()) {
      solves.solve_factor(pass.first, b, x, columns, pass.conjugate);
      solves.solve_factor(pass.second, x, x, {columns.count, columns.x_leading, columns.x_leading}, pass.conjugate);
      return;
    }
    T* work = analysis_->work.data();
    const int size = analysis_->options.block_size, threads = analysis_->active_permuters();
    for (I c = 0; c < columns.count; ++c) {
      gather_rows(pass.from, size, threads, b + static_cast<std::size_t>(c) * columns.b_leading, work);
      solves.solve_factor(pass.first, work, work, one(), pass.conjugate);
      solves.solve_factor(pass.second, work, work, one(), pass.conjugate);
      scatter_rows(pass.to, size, threads, work, x + static_cast<std::size_t>(c) * columns.x_leading);
    }
  }

  const MatrixForm form_;
  std::unique_ptr<Analysis<T, I>> analysis_;
  bool factored_ = false;
  CallGuard busy_;
};

}  // namespace

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner()
{
  return std::make_unique<HostPreconditioner<T, I>>(MatrixForm());
}

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_block_preconditioner(BlockValues values)
{
  return std::make_unique<HostPreconditioner<T, I>>(MatrixForm{true, values});
}

#define INSTANTIATE(T, I)                                                          \
  template std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner<T, I>(); \
  template std::unique_ptr<Preconditioner<T, I>> make_host_block_preconditioner<T, I>(BlockValues);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
