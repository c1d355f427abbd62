#include "row_factorization.hpp"

#include <new>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// True if row i of the factor has the entries of row i of A and no others. A factor keeps all entries of A, so equal
/// counts mean equal entries. For IC only entries from the diagonal on count.
template <class I> bool has_rows_of(const FactorPattern<I>& pattern, const PatternView<I>& A)
{
  if (!pattern.natural()) return false;
  if (pattern.kind == Kind::ilu) {
    const std::size_t entries = pattern.lower_column.size() + pattern.upper_column.size() + pattern.n;
    return entries == static_cast<std::size_t>(A.nnz());
  }
  for (I i = 0; i < A.n; ++i) {
    const I place = A.row_begin[i + 1] - (pattern.upper_begin[i + 1] - pattern.upper_begin[i]) - 1;
    if (place < A.row_begin[i] || A.column[place] != i) return false;
  }
  return true;
}

/// A plan that predicts less is not worth using threads.
constexpr double least_speedup = 1.2;

}  // namespace

template <class T, class I>
RowFactorization<T, I>::RowFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int block_size,
                                         int threads)
    : pattern_(pattern), rows_of_A_(has_rows_of(pattern, A))
{
  if (threads <= 1) return;
  if (!make_row_chunks(pattern.lower(), true, threads, &plan_, block_size).ok()) throw std::bad_alloc();
  speedup_ = plan_.speedup;
  serial_seconds_ = plan_.serial_seconds;
  if (speedup_ >= least_speedup) runner_ = std::make_unique<ChunkRunner<I>>(plan_);
  else plan_ = RowChunks<I>();
}

#define INSTANTIATE(T, I) template class RowFactorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
