/// What same_rows.hpp declares: a few lanes a row of L and U, a thread an entry of what was kept.

#include "same_rows.hpp"

#include "core/instantiate.hpp"
#include "flag.cuh"
#include "syncfree/cuda/launch.hpp"
#include "this_thread.cuh"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned lanes = 8;  ///< that share a row

/// No column is looked at of a row that begins or ends elsewhere: A may be any matrix.
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
    const I place = k - begin;
    I wanted = i;
    if (place < lower) wanted = L.column[L.row_begin[i] + place];
    if (place > lower) wanted = U.column[U.row_begin[i] + place - lower - 1];
    same = A.column[k] == wanted;
  }
  if (!same) raise(differs);
}

template <class I>
__global__ void compare_numbers(std::size_t count, const I* kept, const I* numbers, unsigned* differs)
{
  const std::size_t k = this_thread();
  if (k < count && kept[k] != numbers[k]) raise(differs);
}

template <class I>
void compare(std::size_t count, const I* kept, const I* numbers, const Flag& differs, cudaStream_t stream)
{
  if (count == 0) return;
  launch(compare_numbers<I>, {blocks_for(count, threads), threads, 0, stream}, count, kept, numbers, differs.data());
}

}  // namespace

template <class I>
bool has_same_rows(const DeviceFactorPattern<I>& pattern, const DevicePattern<I>& kept, const PatternView<I>& A,
                   const PatternView<I>& on_device, cudaStream_t stream)
{
  if (A.n == 0) return true;
  const RowsThere<I> rows(A, on_device);
  const std::size_t n = static_cast<std::size_t>(A.n);
  const Flag differs(stream);
  if (kept.row_begin) {
    compare(n + 1, kept.row_begin, rows.pattern.row_begin, differs, stream);
    compare(static_cast<std::size_t>(kept.nnz), kept.column, rows.pattern.column, differs, stream);
  } else {
    launch(compare_with_factor<I>, {blocks_for(n * lanes, threads), threads, 0, stream}, pattern.lower(),
           pattern.upper(), rows.pattern, differs.data());
  }
  return !differs.is_raised();
}

#define INSTANTIATE(I)                                                                                          \
  template bool has_same_rows<I>(const DeviceFactorPattern<I>&, const DevicePattern<I>&, const PatternView<I>&, \
                                 const PatternView<I>&, cudaStream_t);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
