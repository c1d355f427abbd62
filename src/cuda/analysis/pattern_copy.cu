/// Implementation of cuda/analysis/pattern_copy.hpp: a few lanes per row of L and U, or one thread per stored entry.

#include "cuda/analysis/pattern_copy.hpp"

#include <algorithm>
#include <utility>

#include "core/pattern/pattern_copy.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned lanes = 8;  ///< per row

/// Compares rows of A with those of L, the diagonal and U. Columns of a row whose offsets differ are not read: A may
/// be any matrix.
template <class I>
__global__ void compare_with_factor(DevicePattern<I> L, DevicePattern<I> U, DevicePattern<I> A, unsigned* differs)
{
  const std::size_t row = this_thread() / lanes;
  if (row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(row), begin = L.row_begin[i] + U.row_begin[i] + i;
  const I lower = L.row_begin[i + 1] - L.row_begin[i], upper = U.row_begin[i + 1] - U.row_begin[i];
  const I end = begin + lower + 1 + upper;
  bool same = A.row_begin[i] == begin && A.row_begin[i + 1] == end;
  for (I k = begin + static_cast<I>(threadIdx.x % lanes); same && k < end; k += lanes) {
    const I offset = k - begin;
    I wanted = i;
    if (offset < lower) wanted = L.column[L.row_begin[i] + offset];
    if (offset > lower) wanted = U.column[U.row_begin[i] + offset - lower - 1];
    same = A.column[k] == wanted;
  }
  if (!same) set_flag_once(differs);
}

/// One thread per row offset and entry.
template <class I> __global__ void compare_with_kept(PatternCopyView<I> kept, DevicePattern<I> A, unsigned* differs)
{
  const std::size_t k = this_thread();
  const bool offset_differs = k <= static_cast<std::size_t>(A.n) && kept.row_begin[k] != A.row_begin[k];
  const bool column_differs = k < static_cast<std::size_t>(A.nnz) && kept.column(k) != A.column[k];
  if (offset_differs || column_differs) set_flag_once(differs);
}

template <class I> __global__ void copy_to_words(std::size_t count, const I* column, std::uint32_t* word)
{
  const std::size_t k = this_thread();
  if (k < count) word[k] = static_cast<std::uint32_t>(column[k]);
}

}  // namespace

template <class I> DevicePatternCopy<I>::DevicePatternCopy(PatternOnDevice<I> rows)
{
  const DevicePattern<I>& A = rows.pattern;
  const std::size_t n = static_cast<std::size_t>(A.n), nnz = static_cast<std::size_t>(A.nnz);
  const bool was_brought = !rows.begin.empty();
  begin_ = was_brought ? std::move(rows.begin) : copy_of(A.row_begin, n + 1);
  if (!are_copied_to_words(A.n)) {
    index_ = was_brought ? std::move(rows.column) : copy_of(A.column, nnz);
  } else if (nnz > 0) {
    word_ = DeviceArray<std::uint32_t>(nnz);
    launch(copy_to_words<I>, {blocks_for(nnz, threads), threads}, nnz, A.column, word_.data());
  }
}

template <class I>
bool has_same_rows(const DeviceFactorPattern<I>& pattern, const PatternCopyView<I>& kept, const PatternView<I>& A,
                   const PatternView<I>& on_device, cudaStream_t stream)
{
  if (A.n == 0) return true;
  const PatternOnDevice<I> rows(A, on_device);
  const std::size_t n = static_cast<std::size_t>(A.n);
  const Flag differs(stream);
  if (kept.row_begin) {
    const std::size_t most = std::max(n + 1, static_cast<std::size_t>(A.nnz()));
    launch(compare_with_kept<I>, {blocks_for(most, threads), threads, 0, stream}, kept, rows.pattern, differs.data());
  } else {
    launch(compare_with_factor<I>, {blocks_for(n * lanes, threads), threads, 0, stream}, pattern.lower(),
           pattern.upper(), rows.pattern, differs.data());
  }
  return !differs.is_raised();
}

#define INSTANTIATE(I)                                                                                         \
  template class DevicePatternCopy<I>;                                                                            \
  template bool has_same_rows<I>(const DeviceFactorPattern<I>&, const PatternCopyView<I>&, const PatternView<I>&, \
                                 const PatternView<I>&, cudaStream_t);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
