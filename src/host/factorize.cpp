#include "factorize.hpp"

#include <algorithm>

#include "core/support/instantiate.hpp"
#include "core/symbolic/pivot.hpp"

namespace syncfree {
namespace {

/// Finite if and only if v is, unless the sum overflows; |v| for real v.
template <class T> double magnitude(const T& v) { return std::abs(real_part(v)) + std::abs(imaginary_part(v)); }

/// The pattern of a factor as raw pointers, so that the loops over a row reload nothing.
template <class I> struct Rows {
  bool lu;
  const I *lower_begin, *lower_column, *upper_begin, *upper_column;
  const unsigned char* together;  ///< as Factorization::together_, or nullptr
  const I* mirror;                ///< as Factorization::mirror_, or nullptr
  I* next;                        ///< as Factorization::next_

  Rows(const FactorPattern<I>& p, const std::vector<unsigned char>& together_or_none, const Array<I>& mirror_or_none,
       Array<I>* next_or_none)
      : lu(p.kind == Kind::ilu), lower_begin(p.lower_begin.data()), lower_column(p.lower_column.data()),
        upper_begin(p.upper_begin.data()), upper_column(p.upper_column.data()),
        together(together_or_none.empty() ? nullptr : together_or_none.data()),
        mirror(mirror_or_none.empty() ? nullptr : mirror_or_none.data()), next(next_or_none->data())
  {
  }

  /// IC: the position of U(p, i) for entry k = L(i, p).
  I mirror_of(I k, I p) const { return mirror ? mirror[k] : next[p]++; }
};

/// Factors single rows for a given shift of the diagonal.
template <class T, class I> class RowFactorizer {
public:
  /// rows_of_A  row i of A has the entries of row i of the factor and no others (IC: from the diagonal on)
  RowFactorizer(const FactorPattern<I>& pattern, const Rows<I>& rows, bool rows_of_A, const CsrView<T, I>& A,
                const PivotRule& rule, double shift, FactorValues<T>* values)
      : pattern_(pattern), rows_(rows), rows_of_A_(rows_of_A), A_(A), test_(rule),
        shift_(static_cast<real_t<T>>(shift)), lower_(values->lower.data()), upper_(values->upper.data()),
        inverse_pivot_(values->inverse_pivot.data())
  {
  }

  /// Returns false if the row's pivot is too small or one of its values is not finite; work->failure then describes it.
  bool factor_row(I i, RowWorkspace<T>* work) const
  {
    T* w = work->w.data();
    if (!rows_of_A_) scatter_row(i, w);
    else if (!copy_row(i, w)) return work->fail(failed(Code::another_pattern, i));
    w[i] += shift_;
    const double lower = rows_.lu ? eliminate_lu(i, w) : eliminate_cholesky(i, w);
    const double upper = store_upper(i, w);
    T pivot = w[i];
    if (!std::isfinite(lower + upper + magnitude(pivot)) && !(finite_row(i) && is_finite(pivot)))
      return work->fail(failed(Code::not_finite, i));
    const double row_sum = test_.needs_row_sum() ? sum_row(i, lower, upper) : 0;
    if (!test_.accept(&pivot, row_sum, &work->repaired)) return work->fail(zero_pivot(i, pivot, row_sum));
    inverse_pivot_[i] = T(1) / pivot;
    return std::isfinite(magnitude(inverse_pivot_[i])) || work->fail(failed(Code::not_finite, i));
  }

private:
  Status zero_pivot(I i, const T& pivot, double row_sum) const
  {
    Status failure = failed(Code::zero_pivot, i);
    failure.value = std::abs(pivot);
    failure.tolerance = test_.tolerance(row_sum);
    return failure;
  }

  /// Copies row i of A if A's entries are the factor's; A's columns are then not read. Returns false, before it reads
  /// any value, if the numbers of entries differ.
  bool copy_row(I i, T* w) const
  {
    const I lower_count = rows_.lu ? rows_.lower_begin[i + 1] - rows_.lower_begin[i] : 0;
    const I upper_count = rows_.upper_begin[i + 1] - rows_.upper_begin[i];
    const I rest = A_.pattern.row_begin[i + 1] - A_.pattern.row_begin[i] - (lower_count + 1 + upper_count);
    if (rows_.lu ? rest != 0 : rest < 0) return false;
    const T* diagonal = A_.value + (A_.pattern.row_begin[i + 1] - upper_count - 1);
    const I* column = rows_.lower_column + rows_.lower_begin[i];
    for (I k = 0; k < lower_count; ++k) w[column[k]] = diagonal[k - lower_count];
    w[i] = *diagonal;
    column = rows_.upper_column + rows_.upper_begin[i];
    for (I k = 0; k < upper_count; ++k) w[column[k]] = diagonal[k + 1];
    return true;
  }

  /// Scatters row i of the permuted matrix to the factor's pattern. IC reads the upper triangle only: what is written
  /// below the diagonal is never read.
  void scatter_row(I i, T* w) const
  {
    for (I k = rows_.lower_begin[i]; k < rows_.lower_begin[i + 1]; ++k) w[rows_.lower_column[k]] = T(0);
    for (I k = rows_.upper_begin[i]; k < rows_.upper_begin[i + 1]; ++k) w[rows_.upper_column[k]] = T(0);
    w[i] = T(0);
    const I row = pattern_.natural() ? i : pattern_.row_order[i];
    const I begin = A_.pattern.row_begin[row], end = A_.pattern.row_begin[row + 1];
    if (pattern_.natural())
      for (I k = begin; k < end; ++k) w[A_.pattern.column[k]] = A_.value[k];
    else
      for (I k = begin; k < end; ++k) w[pattern_.column_place[A_.pattern.column[k]]] = A_.value[k];
  }

  /// w -= factor * entries [begin, end) of U.
  void subtract_row(const T& factor, I begin, I end, T* w) const
  {
    for (I k = begin; k < end; ++k) w[rows_.upper_column[k]] -= multiply(factor, upper_[k]);
  }

  /// Eliminates row i. Returns the sum of magnitudes of row i of L, as does eliminate_cholesky.
  double eliminate_lu(I i, T* w) const
  {
    double sum = 0;
    const I end = rows_.lower_begin[i + 1];
    for (I k = rows_.lower_begin[i]; k < end;) {
      const int count = pivots_together(k, end);
      if (count == 3) eliminate_together<3>(k, w, &sum);
      else if (count == 2) eliminate_together<2>(k, w, &sum);
      else eliminate_together<1>(k, w, &sum);
      k += count;
    }
    return sum;
  }

  /// Number of pivots, from entry k of L on, whose rows of U have the same tail and can be eliminated together.
  int pivots_together(I k, I end) const
  {
    if (!rows_.together) return 1;
    const I p = rows_.lower_column[k];
    int count = rows_.together[p];
    while (count > 1 && (k + count > end || rows_.lower_column[k + count - 1] != p + count - 1)) --count;
    return count;
  }

  /// Eliminates with pivots p, p + 1, ... whose rows of U have the same columns after those: w is read and written once
  /// for all of them. Each value undergoes the same operations in the same order as with one pivot after the other.
  template <int count> void eliminate_together(I k, T* w, double* sum) const
  {
    const I p = rows_.lower_column[k];
    T factor[count];
    const T* row[count];
    for (int c = 0; c < count; ++c) {
      factor[c] = multiply(w[p + c], inverse_pivot_[p + c]);
      lower_[k + c] = factor[c];
      *sum += magnitude(factor[c]);
      row[c] = upper_ + rows_.upper_begin[p + c];
      for (int d = c + 1; d < count; ++d) w[p + d] -= multiply(factor[c], *row[c]++);
    }
    const I last = p + count - 1, length = rows_.upper_begin[last + 1] - rows_.upper_begin[last];
    const I* column = rows_.upper_column + rows_.upper_begin[last];
    for (I q = 0; q < length; ++q) {
      T value = w[column[q]];
      for (int c = 0; c < count; ++c) value -= multiply(factor[c], row[c][q]);
      w[column[q]] = value;
    }
  }

  double eliminate_cholesky(I i, T* w) const
  {
    double sum = 0;
    for (I k = rows_.lower_begin[i]; k < rows_.lower_begin[i + 1]; ++k) {
      const I p = rows_.lower_column[k];
      const I source = rows_.mirror_of(k, p);
      const T factor = multiply(upper_[source], inverse_pivot_[p]);
      lower_[k] = factor;
      sum += magnitude(factor);
      subtract_row(factor, source, rows_.upper_begin[p + 1], w);
    }
    return sum;
  }

  /// Stores row i of U. Returns its sum of magnitudes.
  double store_upper(I i, const T* w) const
  {
    double sum = 0;
    for (I k = rows_.upper_begin[i]; k < rows_.upper_begin[i + 1]; ++k) {
      upper_[k] = w[rows_.upper_column[k]];
      sum += magnitude(upper_[k]);
    }
    return sum;
  }

  /// Sum of |entries| off the diagonal, as PETSc's pivot rules define it.
  ///   lower, upper  sums of magnitudes
  double sum_row(I i, double lower, double upper) const
  {
    if constexpr (is_complex_v<T>) {
      lower = upper = 0;
      for (I k = rows_.lower_begin[i]; k < rows_.lower_begin[i + 1]; ++k) lower += std::abs(lower_[k]);
      for (I k = rows_.upper_begin[i]; k < rows_.upper_begin[i + 1]; ++k) upper += std::abs(upper_[k]);
    }
    return rows_.lu ? lower + upper : upper;
  }

  /// Checks each entry, because a sum of finite magnitudes may overflow.
  bool finite_row(I i) const
  {
    bool finite = true;
    for (I k = rows_.lower_begin[i]; k < rows_.lower_begin[i + 1]; ++k) finite &= is_finite(lower_[k]);
    for (I k = rows_.upper_begin[i]; k < rows_.upper_begin[i + 1]; ++k) finite &= is_finite(upper_[k]);
    return finite;
  }

  const FactorPattern<I>& pattern_;
  Rows<I> rows_;
  bool rows_of_A_;
  CsrView<T, I> A_;
  PivotTest<T> test_;
  real_t<T> shift_;
  T *lower_, *upper_, *inverse_pivot_;
};

/// True if U(p) = {p + 1} and U(p + 1).
template <class I> bool ends_like_next(const FactorPattern<I>& pattern, I p)
{
  const I begin = pattern.upper_begin[p], next = pattern.upper_begin[p + 1], end = pattern.upper_begin[p + 2];
  if (next - begin != end - next + 1) return false;
  const I* column = pattern.upper_column.data();
  return column[begin] == p + 1 && std::equal(column + begin + 1, column + next, column + next);
}

/// For each pivot the number, at most three, of pivots that can be eliminated together from it on; empty if that is
/// rare.
template <class I> std::vector<unsigned char> find_together(const FactorPattern<I>& pattern)
{
  std::vector<unsigned char> together(pattern.n, 1);
  I grouped = 0;
  for (I p = pattern.n - 1; p-- > 0;) {
    if (!ends_like_next(pattern, p)) continue;
    together[p] = static_cast<unsigned char>(std::min(3, together[p + 1] + 1));
    ++grouped;
  }
  if (grouped < pattern.n / 4) return {};
  return together;
}

}  // namespace

template <class T, class I>
Factorization<T, I>::Factorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int threads)
    : RowFactorization<T, I>(pattern, A, 1, threads), work_(static_cast<std::size_t>(this->factor_threads()))
{
  if (pattern.kind == Kind::ilu) together_ = find_together(pattern);
  if (pattern.kind == Kind::icc) find_mirror();
  for (RowWorkspace<T>& work : work_) work.w.assign(pattern.n, T(0));
}

template <class T, class I> void Factorization<T, I>::find_mirror()
{
  next_.resize(pattern_.n);
  if (this->factor_threads() == 1) return;
  std::copy_n(pattern_.upper_begin.data(), pattern_.n, next_.data());
  mirror_.resize(pattern_.lower_column.size());
  for (std::size_t k = 0; k < mirror_.size(); ++k) mirror_[k] = next_[pattern_.lower_column[k]]++;
  next_ = Array<I>();
}

template <class T, class I>
Status Factorization<T, I>::attempt(const CsrView<T, I>& A, const PivotRule& rule, double shift,
                                    FactorValues<T>* values)
{
  std::copy_n(pattern_.upper_begin.data(), next_.size(), next_.data());
  const Rows<I> rows(pattern_, together_, mirror_, &next_);
  return this->factor_in_order(
      &work_, RowFactorizer<T, I>(pattern_, rows, this->rows_of_A(), A, rule, shift, values));
}

template <class T, class I>
Status Factorization<T, I>::factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                                           PivotReport* report)
{
  ShiftLoop shifts(pattern_.kind, rule);
  for (;;) {
    const Status status = attempt(A, rule, shifts.amount(), values);
    if (status.code == Code::zero_pivot) {
      if (!shifts.retry_after_failure(status.tolerance, [&] { return dominance_shift(A, rule); })) return status;
    } else if (!status.ok()) {
      return status;
    } else if (!shifts.retry_to_refine()) {
      *report = shifts.report(this->repaired_pivots(work_));
      return status;
    }
  }
}

template <class T, class I> std::size_t Factorization<T, I>::factorization_bytes() const
{
  return this->chunk_bytes() + together_.size() + (mirror_.size() + next_.size()) * sizeof(I) +
         work_.size() * static_cast<std::size_t>(pattern_.n) * sizeof(T);
}

#define INSTANTIATE(T, I) template class Factorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
