#include "factorize.hpp"

#include <new>

#include "../core/instantiate.hpp"
#include "../core/pivot.hpp"

namespace syncfree {
namespace {

template <class T> double magnitude(const T& v) { return std::abs(real_part(v)) + std::abs(imaginary_part(v)); }

/// Factors single rows with a given shift of the diagonal.
template <class T, class I> class RowFactorizer {
public:
  RowFactorizer(const FactorPattern<I>& pattern, const CsrView<T, I>& A, const PivotRule& rule, double shift,
                FactorValues<T>* values)
      : pattern_(pattern), A_(A), test_(rule), shift_(static_cast<real_t<T>>(shift)), values_(*values)
  {
  }

  /// False if the row's pivot is too small or one of its numbers is not finite; work->failure then says so.
  bool factor_row(I i, RowWorkspace<T>* work) const
  {
    T* w = work->w.data();
    clear(i, w);
    load(i, w);
    w[i] += shift_;
    if (pattern_.kind == Kind::ilu) eliminate_lu(i, w);
    else eliminate_cholesky(i, w);
    store(i, w);
    T pivot = w[i];
    const double row_sum = test_.needs_row_sum() ? sum_row(i) : 0;
    if (!std::isfinite(row_sum)) return fail(failed(Code::not_finite, i), work);
    if (!test_.accept(&pivot, row_sum, &work->repaired)) {
      Status failure = failed(Code::zero_pivot, i);
      failure.value = std::abs(pivot);
      failure.tolerance = test_.tolerance(row_sum);
      return fail(failure, work);
    }
    values_.inverse_pivot[i] = T(1) / pivot;
    return finite_row(i) || fail(failed(Code::not_finite, i), work);
  }

private:
  static bool fail(const Status& failure, RowWorkspace<T>* work)
  {
    if (work->failure.ok() || failure.row < work->failure.row) work->failure = failure;
    return false;
  }

  void clear(I i, T* w) const
  {
    for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) w[pattern_.lower_column[k]] = T(0);
    for (I k = pattern_.upper_begin[i]; k < pattern_.upper_begin[i + 1]; ++k) w[pattern_.upper_column[k]] = T(0);
    w[i] = T(0);
  }

  /// IC reads the upper triangle only: what is written below the diagonal is not looked at.
  void load(I i, T* w) const
  {
    const I row = pattern_.natural() ? i : pattern_.row_order[i];
    const I begin = A_.pattern.row_begin[row], end = A_.pattern.row_begin[row + 1];
    if (pattern_.natural())
      for (I k = begin; k < end; ++k) w[A_.pattern.column[k]] = A_.value[k];
    else
      for (I k = begin; k < end; ++k) w[pattern_.column_place[A_.pattern.column[k]]] = A_.value[k];
  }

  /// w -= factor times entries [begin, end) of the rows of U.
  void subtract(const T& factor, I begin, I end, T* w) const
  {
    const I* column = pattern_.upper_column.data();
    const T* value = values_.upper.data();
    for (I k = begin; k < end; ++k) w[column[k]] -= multiply(factor, value[k]);
  }

  void eliminate_lu(I i, T* w) const
  {
    for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) {
      const I p = pattern_.lower_column[k];
      const T factor = multiply(w[p], values_.inverse_pivot[p]);
      values_.lower[k] = factor;
      subtract(factor, pattern_.upper_begin[p], pattern_.upper_begin[p + 1], w);
    }
  }

  void eliminate_cholesky(I i, T* w) const
  {
    for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) {
      const I p = pattern_.lower_column[k];
      const I source = pattern_.lower_source[k];
      const T factor = multiply(values_.upper[source], values_.inverse_pivot[p]);
      values_.lower[k] = factor;
      subtract(factor, source, pattern_.upper_begin[p + 1], w);
    }
  }

  void store(I i, const T* w) const
  {
    for (I k = pattern_.upper_begin[i]; k < pattern_.upper_begin[i + 1]; ++k)
      values_.upper[k] = w[pattern_.upper_column[k]];
  }

  /// Sum of |entries| off the diagonal, as the pivot rules of PETSc take it.
  double sum_row(I i) const
  {
    double sum = 0;
    if (pattern_.kind == Kind::ilu)
      for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) sum += std::abs(values_.lower[k]);
    for (I k = pattern_.upper_begin[i]; k < pattern_.upper_begin[i + 1]; ++k) sum += std::abs(values_.upper[k]);
    return sum;
  }

  /// The sum of magnitudes is finite unless an entry is not, or the sum overflows; only then look at each.
  bool finite_row(I i) const
  {
    double sum = magnitude(values_.inverse_pivot[i]);
    for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) sum += magnitude(values_.lower[k]);
    for (I k = pattern_.upper_begin[i]; k < pattern_.upper_begin[i + 1]; ++k) sum += magnitude(values_.upper[k]);
    if (std::isfinite(sum)) return true;
    bool finite = is_finite(values_.inverse_pivot[i]);
    for (I k = pattern_.lower_begin[i]; k < pattern_.lower_begin[i + 1]; ++k) finite &= is_finite(values_.lower[k]);
    for (I k = pattern_.upper_begin[i]; k < pattern_.upper_begin[i + 1]; ++k) finite &= is_finite(values_.upper[k]);
    return finite;
  }

  const FactorPattern<I>& pattern_;
  const CsrView<T, I>& A_;
  PivotTest<T> test_;
  real_t<T> shift_;
  FactorValues<T>& values_;
};

/// Below this many rows a level and thread the threads would mostly wait.
constexpr int least_rows_a_level_a_thread = 16;

template <class I> bool pays(const RowBlocks<I>& plan, I n)
{
  return plan.levels > 0 && n / plan.levels >= static_cast<I>(plan.blocks) * least_rows_a_level_a_thread;
}

}  // namespace

template <class T, class I>
Factorization<T, I>::Factorization(const FactorPattern<I>& pattern, int threads) : pattern_(pattern), work_(1)
{
  if (threads > 1) {
    if (!make_row_blocks(pattern.lower(), true, threads, &plan_).ok()) throw std::bad_alloc();
    if (pays(plan_, pattern.n)) {
      runner_ = std::make_unique<BlockRunner<I>>(plan_);
      work_.resize(threads);
    } else {
      plan_ = RowBlocks<I>();
    }
  }
  for (RowWorkspace<T>& work : work_) work.w.resize(pattern.n);
}

template <class T, class I>
Status Factorization<T, I>::attempt(const CsrView<T, I>& A, const PivotRule& rule, double shift,
                                    FactorValues<T>* values)
{
  const RowFactorizer<T, I> factorizer(pattern_, A, rule, shift, values);
  for (RowWorkspace<T>& work : work_) {
    work.repaired = 0;
    work.failure = Status();
  }
  if (!runner_) {
    for (I i = 0; i < pattern_.n; ++i)
      if (!factorizer.factor_row(i, &work_[0])) break;
    return work_[0].failure;
  }
  /* rows below the first failure still have to be looked at; rows above it are wasted */
  Minimum first_failure;
  first_failure.reset(pattern_.n);
  runner_->run([&](I i, int thread) {
    if (i < first_failure.get() && !factorizer.factor_row(i, &work_[thread])) first_failure.lower(i);
  });
  for (const RowWorkspace<T>& work : work_)
    if (!work.failure.ok() && work.failure.row == first_failure.get()) return work.failure;
  return {};
}

template <class T, class I> int Factorization<T, I>::repaired() const
{
  int count = 0;
  for (const RowWorkspace<T>& work : work_) count += work.repaired;
  return count;
}

template <class T, class I>
Status Factorization<T, I>::run(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                                PivotReport* report)
{
  ShiftLoop shifts(rule, rule.shift == Shift::positive_definite ? dominance_shift(A, rule) : 0);
  for (;;) {
    const Status status = attempt(A, rule, shifts.amount(), values);
    if (status.code == Code::zero_pivot) {
      if (!shifts.retry_after_failure()) return status;
    } else if (!status.ok()) {
      return status;
    } else if (!shifts.retry_to_refine()) {
      *report = shifts.report(repaired());
      return status;
    }
  }
}

template <class T, class I> std::size_t Factorization<T, I>::bytes() const
{
  return plan_bytes(plan_) + work_.size() * static_cast<std::size_t>(pattern_.n) * sizeof(T);
}

#define INSTANTIATE(T, I) template class Factorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
