/// The preconditioner on CPU threads: pattern, numbers and solves of an incomplete factor
/// brought together. With A(r, c) = L U the solve of A x = b is
///   y_i = b_{r(i)},   L U z = y,   x_{c(i)} = z_i,
/// and that of A^T x = b exchanges r and c and uses U^T L^T.

#include <new>
#include <utility>

#include "../core/instantiate.hpp"
#include "factorize.hpp"
#include "solves.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

template <class V> std::size_t bytes(const std::vector<V>& v) { return v.size() * sizeof(V); }

/// Everything that one analysis makes; it does not move, because its parts refer to each other.
template <class T, class I> struct Analysis {
  I nnz = 0;  ///< of A
  FactorPattern<I> pattern;
  SolverOptions options;
  Choice choice;
  I lower_levels = 0, upper_levels = 0;
  std::unique_ptr<Factorization<T, I>> factorization;
  std::unique_ptr<FactorSolves<T, I>> solves;
  FactorValues<T> values;  ///< empty between refreshes where storage is single
  std::vector<T> work;     ///< n entries where rows or columns are permuted
  PivotReport pivots;
};

template <class T, class I> class HostPreconditioner : public Preconditioner<T, I> {
public:
  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  try {
    auto made = std::make_unique<Analysis<T, I>>();
    made->nnz = A.nnz();
    made->options = options;
    Status status = check_pattern(A);
    if (status.ok()) status = make_factor_pattern(A, symbolic, &made->pattern);
    if (status.ok()) status = choose(made.get());
    if (status.ok())
      status = make_factor_solves(made->pattern, made->choice.strategy, options.threads, options.single_storage,
                                  &made->solves);
    if (!status.ok()) return status;
    made->factorization = std::make_unique<Factorization<T, I>>(made->pattern, options.threads);
    if (!made->pattern.natural()) made->work.resize(A.n);
    analysis_ = std::move(made);
    factored_ = false;
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  try {
    if (!analysis_) return failed(Code::invalid_argument, "refresh before analyse");
    factored_ = false;
    Analysis<T, I>& a = *analysis_;
    if (A.pattern.n != a.pattern.n || A.pattern.nnz() != a.nnz)
      return failed(Code::invalid_argument, "the matrix has another pattern than the one that was analysed");
    a.values.lower.resize(a.pattern.lower_column.size());
    a.values.upper.resize(a.pattern.upper_column.size());
    a.values.inverse_pivot.resize(a.pattern.n);
    Status status = a.factorization->run(A, rule, &a.values, &a.pivots);
    if (!status.ok()) return status;
    a.solves->refresh(a.values);
    if (a.options.single_storage && !std::is_same_v<T, single_t<T>>) a.values = FactorValues<T>();
    factored_ = true;
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  {
    if (!factored_) return failed(Code::invalid_argument, "solve before a successful refresh");
    const FactorPattern<I>& pattern = analysis_->pattern;
    const bool conjugated = op == Operation::conjugate || op == Operation::adjoint;
    const bool transposed =
        pattern.kind == Kind::ilu && (op == Operation::transpose || op == Operation::adjoint);
    if (transposed) {
      Status status = analysis_->solves->prepare_transposes();
      if (!status.ok()) return status;
    }
    const Triangle first = transposed ? Triangle::upper_transposed : Triangle::lower;
    const Triangle second = transposed ? Triangle::lower_transposed : Triangle::upper;
    if (pattern.natural()) {
      analysis_->solves->solve(first, b, x, columns, conjugated);
      analysis_->solves->solve(second, x, x, {columns.count, columns.x_leading, columns.x_leading}, conjugated);
      return {};
    }
    const std::vector<I>& from = transposed ? pattern.column_order : pattern.row_order;
    const std::vector<I>& to = transposed ? pattern.row_order : pattern.column_order;
    for (I c = 0; c < columns.count; ++c) {
      gather(from, b + static_cast<std::size_t>(c) * columns.b_leading, analysis_->work.data());
      analysis_->solves->solve(first, analysis_->work.data(), analysis_->work.data(), one(), conjugated);
      analysis_->solves->solve(second, analysis_->work.data(), analysis_->work.data(), one(), conjugated);
      scatter(to, analysis_->work.data(), x + static_cast<std::size_t>(c) * columns.x_leading);
    }
    return {};
  }

  Status solve_forward_half(const T* b, T* x) override
  {
    Status status = check_half();
    if (!status.ok()) return status;
    gather(analysis_->pattern.row_order, b, x);
    analysis_->solves->solve(Triangle::lower, x, x, one(), false);
    if (analysis_->pattern.kind == Kind::icc)
      for (I i = 0; i < analysis_->pattern.n; ++i) x[i] *= std::sqrt(analysis_->solves->inverse_pivot(i));
    return {};
  }

  Status solve_backward_half(const T* b, T* x) override
  {
    Status status = check_half();
    if (!status.ok()) return status;
    T* z = analysis_->pattern.natural() ? x : analysis_->work.data();
    const bool icc = analysis_->pattern.kind == Kind::icc;
    for (I i = 0; i < analysis_->pattern.n; ++i)
      z[i] = icc ? b[i] / std::sqrt(analysis_->solves->inverse_pivot(i)) : b[i];
    analysis_->solves->solve(Triangle::upper, z, z, one(), false);
    if (z != x) scatter(analysis_->pattern.column_order, z, x);
    return {};
  }

  Summary summarize() const override
  {
    Summary s;
    if (!analysis_) return s;
    const Analysis<T, I>& a = *analysis_;
    s.strategy = a.choice.strategy;
    s.reason = a.choice.reason;
    s.lower_levels = a.lower_levels;
    s.upper_levels = a.upper_levels;
    s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size());
    s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size());
    s.threads = a.choice.strategy == "serial" ? 1 : a.options.threads;
    s.single_storage = a.options.single_storage;
    s.factor_bytes = pattern_bytes(a.pattern) + a.solves->value_bytes();
    s.plan_bytes = a.solves->plan_bytes() + a.factorization->bytes() + bytes(a.work);
    s.transpose_bytes = a.solves->transpose_bytes();
    s.pivots = a.pivots;
    return s;
  }

  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    return analysis_ ? analysis_->pattern : none;
  }

  FactorValues<T> values() const override { return factored_ ? analysis_->solves->values() : FactorValues<T>(); }

private:
  static Status choose(Analysis<T, I>* a)
  {
    if (a->options.threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
    std::vector<I> depth(a->pattern.n);
    a->lower_levels = find_levels(a->pattern.lower(), true, depth.data());
    a->upper_levels =
        a->pattern.kind == Kind::icc ? a->lower_levels : find_levels(a->pattern.upper(), false, depth.data());
    a->choice = {a->options.strategy, "forced"};
    if (a->options.strategy != "auto") return {};
    ChoiceInput input;
    input.n = a->pattern.n;
    input.nnz = static_cast<std::int64_t>(a->pattern.lower_column.size() + a->pattern.upper_column.size());
    input.levels = static_cast<std::int64_t>(a->lower_levels) + a->upper_levels;
    input.threads = a->options.threads;
    a->choice = choose_strategy(input);
    return {};
  }

  static std::size_t pattern_bytes(const FactorPattern<I>& p)
  {
    return bytes(p.lower_begin) + bytes(p.lower_column) + bytes(p.upper_begin) + bytes(p.upper_column) +
           bytes(p.lower_source) + bytes(p.row_order) + bytes(p.column_order) + bytes(p.column_place);
  }

  Columns<I> one() const { return {1, analysis_->pattern.n, analysis_->pattern.n}; }

  /// y_i = b_{order(i)}; an empty order is the identity.
  void gather(const std::vector<I>& order, const T* b, T* y) const
  {
    const I n = analysis_->pattern.n;
    if (order.empty())
      for (I i = 0; i < n; ++i) y[i] = b[i];
    else
      for (I i = 0; i < n; ++i) y[i] = b[order[i]];
  }

  void scatter(const std::vector<I>& order, const T* z, T* x) const
  {
    for (I i = 0; i < analysis_->pattern.n; ++i) x[order[i]] = z[i];
  }

  /// IC's halves take the square root of D.
  Status check_half() const
  {
    if (!factored_) return failed(Code::invalid_argument, "solve before a successful refresh");
    if (analysis_->pattern.kind != Kind::icc) return {};
    for (I i = 0; i < analysis_->pattern.n; ++i) {
      const T inverse = analysis_->solves->inverse_pivot(i);
      if (imaginary_part(inverse) == 0 && real_part(inverse) >= 0) continue;
      Status status = failed(Code::negative_pivot, i);
      status.value = real_part(T(1) / inverse);
      return status;
    }
    return {};
  }

  std::unique_ptr<Analysis<T, I>> analysis_;
  bool factored_ = false;
};

}  // namespace

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner()
{
  return std::make_unique<HostPreconditioner<T, I>>();
}

#define INSTANTIATE(T, I) template std::unique_ptr<Preconditioner<T, I>> make_host_preconditioner<T, I>();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
