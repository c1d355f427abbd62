#include "factorize.hpp"

#include <algorithm>
#include <cmath>

#include "core/support/instantiate.hpp"
#include "core/symbolic/pivot_block.hpp"
#include "dense.hpp"

namespace syncfree {
namespace {

/// Factors single block rows.
template <int fixed, class T, class I> class BlockRowFactorizer {
public:
  BlockRowFactorizer(const FactorPattern<I>& pattern, int size, bool rows_of_A, const CsrView<T, I>& A,
                     BlockValues given, const PivotRule& rule, FactorValues<T>* values)
      : pattern_(pattern), lower_pattern_(pattern.lower()), upper_pattern_(pattern.upper()), size_(size),
        rows_of_A_(rows_of_A), A_(A), given_(given), rule_(rule), lower_(values->lower.data()),
        upper_(values->upper.data()), inverse_pivot_(values->inverse_pivot.data())
  {
  }

  /// Returns false if the row's pivot block is singular or one of its values is not finite; work->failure describes it.
  bool factor_row(I i, BlockWorkspace<T>* work) const
  {
    point_to_row(i, work->block_at.data());
    const bool same = rows_of_A_ ? copy_row(i) : scatter_row(i, work->block_at.data());
    if (same) eliminate(i, work);
    forget_row(i, work->block_at.data());
    if (!same) return fail(failed(Code::another_pattern, i), work);
    return invert_pivot(i, work);
  }

private:
  std::size_t values() const
  {
    const std::size_t n = fixed > 0 ? fixed : static_cast<std::size_t>(size_);
    return n * n;
  }
  T* lower(I k) const { return lower_ + values() * static_cast<std::size_t>(k); }
  T* upper(I k) const { return upper_ + values() * static_cast<std::size_t>(k); }
  T* pivot(I i) const { return inverse_pivot_ + values() * static_cast<std::size_t>(i); }

  /// Copies `count` blocks of block row `row` of A, from block k on.
  void copy_blocks(I row, I k, I count, T* to) const
  {
    if (given_ == BlockValues::by_blocks) {
      std::copy_n(A_.value + values() * static_cast<std::size_t>(k), values() * static_cast<std::size_t>(count), to);
      return;
    }
    const std::size_t n = fixed > 0 ? fixed : static_cast<std::size_t>(size_);
    const std::size_t begin = static_cast<std::size_t>(A_.pattern.row_begin[row]);
    const std::size_t length = n * (static_cast<std::size_t>(A_.pattern.row_begin[row + 1]) - begin);
    const T* block = A_.value + values() * begin + n * (static_cast<std::size_t>(k) - begin);
    for (I b = 0; b < count; ++b, block += n, to += values())
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = 0; c < n; ++c) to[c * n + r] = block[r * length + c];
  }

  static bool fail(Status failure, BlockWorkspace<T>* work)
  {
    failure.block_row = true;
    return work->fail(failure);
  }

  void point_to_row(I i, T** block_at) const
  {
    for (I k = lower_pattern_.row_begin[i]; k < lower_pattern_.row_begin[i + 1]; ++k)
      block_at[lower_pattern_.column[k]] = lower(k);
    block_at[i] = pivot(i);
    for (I k = upper_pattern_.row_begin[i]; k < upper_pattern_.row_begin[i + 1]; ++k)
      block_at[upper_pattern_.column[k]] = upper(k);
  }

  void forget_row(I i, T** block_at) const
  {
    for (I k = lower_pattern_.row_begin[i]; k < lower_pattern_.row_begin[i + 1]; ++k)
      block_at[lower_pattern_.column[k]] = nullptr;
    block_at[i] = nullptr;
    for (I k = upper_pattern_.row_begin[i]; k < upper_pattern_.row_begin[i + 1]; ++k)
      block_at[upper_pattern_.column[k]] = nullptr;
  }

  /// Copies row i of A if its blocks are the factor's. Returns false, before it reads a value, if their numbers differ.
  bool copy_row(I i) const
  {
    const I lower_begin = lower_pattern_.row_begin[i], lower_count = lower_pattern_.row_begin[i + 1] - lower_begin;
    const I upper_begin = upper_pattern_.row_begin[i], upper_count = upper_pattern_.row_begin[i + 1] - upper_begin;
    const I begin = A_.pattern.row_begin[i];
    if (A_.pattern.row_begin[i + 1] - begin != lower_count + 1 + upper_count) return false;
    copy_blocks(i, begin, lower_count, lower(lower_begin));
    copy_blocks(i, begin + lower_count, 1, pivot(i));
    copy_blocks(i, begin + lower_count + 1, upper_count, upper(upper_begin));
    return true;
  }

  /// Sets row i of the factor to that of the permuted matrix. Returns false if that has a block outside the pattern.
  bool scatter_row(I i, T** block_at) const
  {
    std::fill(lower(lower_pattern_.row_begin[i]), lower(lower_pattern_.row_begin[i + 1]), T(0));
    std::fill(pivot(i), pivot(i + 1), T(0));
    std::fill(upper(upper_pattern_.row_begin[i]), upper(upper_pattern_.row_begin[i + 1]), T(0));
    const I row = pattern_.natural() ? i : pattern_.row_order[i];
    for (I k = A_.pattern.row_begin[row]; k < A_.pattern.row_begin[row + 1]; ++k) {
      const I column = A_.pattern.column[k];
      T* block = block_at[pattern_.natural() ? column : pattern_.column_place[column]];
      if (!block) return false;
      copy_blocks(row, k, 1, block);
    }
    return true;
  }

  /// Eliminates row i, and leaves in work->modulus what shows whether its values are finite.
  void eliminate(I i, BlockWorkspace<T>* work) const
  {
    T* const* block_at = work->block_at.data();
    std::fill(work->modulus.begin(), work->modulus.end(), real_t<T>(0));
    for (I k = lower_pattern_.row_begin[i]; k < lower_pattern_.row_begin[i + 1]; ++k) {
      const I p = lower_pattern_.column[k];
      T* factor = lower(k);
      multiply_blocks<fixed>(size_, factor, pivot(p), work->product.data());
      std::copy_n(work->product.data(), values(), factor);
      add_moduli<fixed>(size_, factor, work->modulus.data());
      for (I q = upper_pattern_.row_begin[p]; q < upper_pattern_.row_begin[p + 1]; ++q)
        if (T* block = block_at[upper_pattern_.column[q]]) subtract_product<fixed>(size_, factor, upper(q), block);
    }
    for (I k = upper_pattern_.row_begin[i]; k < upper_pattern_.row_begin[i + 1]; ++k)
      add_moduli<fixed>(size_, upper(k), work->modulus.data());
    add_moduli<fixed>(size_, pivot(i), work->modulus.data());
  }

  bool invert_pivot(I i, BlockWorkspace<T>* work) const
  {
    if (!is_finite_sum(work->modulus) && !finite_row(i)) return fail(failed(Code::not_finite, i), work);
    T* block = pivot(i);
    const real_t<T> shift = pivot_block_shift(block, size_, rule_, pattern_.natural());
    const int index =
        invert_pivot_block<fixed>(block, size_, shift, work->factor.data(), work->row.data(), &work->repaired);
    if (index < size_) return fail(failed(Code::zero_pivot, i, index), work);
    return std::all_of(block, pivot(i + 1), [](const T& v) { return is_finite(v); }) ||
           fail(failed(Code::not_finite, i), work);
  }

  static bool is_finite_sum(const Array<real_t<T>>& modulus)
  {
    real_t<T> sum = 0;
    for (const real_t<T>& part : modulus) sum += part;
    return std::isfinite(sum);
  }

  /// Checks each value, because a sum of finite moduli may overflow.
  bool finite_row(I i) const
  {
    const auto finite = [](const T* begin, const T* end) {
      return std::all_of(begin, end, [](const T& v) { return is_finite(v); });
    };
    return finite(lower(lower_pattern_.row_begin[i]), lower(lower_pattern_.row_begin[i + 1])) &&
           finite(pivot(i), pivot(i + 1)) &&
           finite(upper(upper_pattern_.row_begin[i]), upper(upper_pattern_.row_begin[i + 1]));
  }

  const FactorPattern<I>& pattern_;
  PatternView<I> lower_pattern_, upper_pattern_;
  int size_;
  bool rows_of_A_;
  CsrView<T, I> A_;
  BlockValues given_;
  PivotRule rule_;
  T *lower_, *upper_, *inverse_pivot_;
};

}  // namespace

template <class T, class I>
BlockFactorization<T, I>::BlockFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int block_size,
                                             int threads, BlockValues given)
    : RowFactorization<T, I>(pattern, A, block_size, threads), size_(block_size), given_(given),
      work_(static_cast<std::size_t>(this->factor_threads()))
{
  const std::size_t size = static_cast<std::size_t>(block_size);
  for (BlockWorkspace<T>& work : work_) {
    work.block_at.assign(pattern.n, nullptr);
    work.product.resize(size * size);
    work.factor.resize(size);
    work.modulus.resize(size);
    work.row.resize(size);
  }
}

template <class T, class I>
Status BlockFactorization<T, I>::factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                                                PivotReport* report)
{
  Status status = check_block_shift(rule);
  if (!status.ok()) return status;
  status = with_block_size(size_, [&](auto fixed) {
    return this->factor_in_order(
        &work_, BlockRowFactorizer<fixed(), T, I>(pattern_, size_, this->rows_of_A(), A, given_, rule, values));
  });
  if (!status.ok()) return status;
  *report = {};
  report->shifts = this->repaired_pivots(work_);
  if (report->shifts > 0) report->shift_amount = rule.shift_amount;
  return status;
}

template <class T, class I> std::size_t BlockFactorization<T, I>::factorization_bytes() const
{
  return this->chunk_bytes() + work_.size() * static_cast<std::size_t>(pattern_.n) * sizeof(T*);
}

#define INSTANTIATE(T, I) template class BlockFactorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
