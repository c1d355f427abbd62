#include "factorize_loop.hpp"

#include <algorithm>
#include <cmath>

#include "core/support/instantiate.hpp"

namespace syncfree {

template <class T, class I>
bool LoopFactorization<T, I>::suits(const FactorPattern<I>& p, const PatternView<I>& A)
{
  constexpr std::int64_t most = 20'000'000;  // most entries that rows access
  const std::size_t entries = p.lower_column.size() + p.upper_column.size() + static_cast<std::size_t>(p.n);
  if (entries != static_cast<std::size_t>(A.nnz())) return false;  // a diagonal was inserted
  std::int64_t touched = 0;
  for (const I column : p.lower_column) touched += 2 + p.upper_begin[column + 1] - p.upper_begin[column];
  return p.kind == Kind::ilu && p.levels == 0 && p.natural() && touched <= most;
}

template <class T, class I>
LoopFactorization<T, I>::LoopFactorization(PatternView<I> A, int threads)
    : n_(A.n), threads_(threads), row_begin_(A.row_begin, A.row_begin + A.n + 1),
      column_(A.column, A.column + A.nnz()), diagonal_(A.n), a_(A.nnz())
{
  for (I i = 0; i < n_; ++i) {
    const auto begin = column_.begin() + row_begin_[i], end = column_.begin() + row_begin_[i + 1];
    diagonal_[i] = static_cast<I>(std::lower_bound(begin, end, i) - column_.begin());
  }
  if (!loop_.trace(body()).ok()) throw std::bad_alloc();  // a checked pattern stays in range
}

template <class T, class I>
bool LoopFactorization<T, I>::factorize_by_loop(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values)
{
  if (rule.shift == Shift::nonzero || rule.shift == Shift::positive_definite) return false;
  // the factorization by rows then says which row has another length
  if (!std::equal(row_begin_.begin(), row_begin_.end(), A.pattern.row_begin)) return false;
  std::copy_n(A.value, a_.size(), a_.begin());
  return loop_.execute(body(), threads_).ok() && split_factors(rule, values);
}

template <class T, class I>
bool LoopFactorization<T, I>::split_factors(const PivotRule& rule, FactorValues<T>* values) const
{
  const T* a = a_.data();
  T *lower = values->lower.data(), *upper = values->upper.data();
  for (I i = 0; i < n_; ++i) {
    const I begin = row_begin_[i], diagonal = diagonal_[i], end = row_begin_[i + 1];
    const auto all_finite = [](const T& v) { return std::isfinite(real_part(v)) && std::isfinite(imaginary_part(v)); };
    if (!std::all_of(a + begin, a + end, all_finite) || !(std::abs(a[diagonal]) > rule.zero_pivot)) return false;
    const T inverse = T(1) / a[diagonal];
    if (!all_finite(inverse)) return false;
    values->inverse_pivot[i] = inverse;
    lower = std::copy(a + begin, a + diagonal, lower);
    upper = std::copy(a + diagonal + 1, a + end, upper);
  }
  return true;
}

template <class T, class I> std::size_t LoopFactorization<T, I>::factorization_bytes() const
{
  return (row_begin_.size() + column_.size() + diagonal_.size()) * sizeof(I) + a_.size() * sizeof(T) +
         loop_.loop_bytes();
}

#define INSTANTIATE(T, I) template class LoopFactorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
