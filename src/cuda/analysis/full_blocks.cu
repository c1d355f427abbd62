/// Implements cuda/analysis/full_blocks.hpp: a few lanes per row of entries, or per row of blocks.

#include "cuda/analysis/full_blocks.hpp"

#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/scalar.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned lanes = 8;  ///< per row

/// Raises `others` unless each row has the length and the columns of the first one of its block row, and these are
/// whole blocks.
template <class I> __global__ void compare_with_first_row(DevicePattern<I> A, I size, unsigned* others)
{
  const std::size_t row = this_thread() / lanes;
  if (row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(row), head = i / size * size;
  const I first = A.row_begin[head], length = A.row_begin[head + 1] - first, begin = A.row_begin[i];
  bool full = A.row_begin[i + 1] - begin == length && length % size == 0;
  for (I k = static_cast<I>(threadIdx.x % lanes); full && k < length; k += lanes) {
    const I of_block = A.column[first + k / size * size];
    full = of_block % size == 0 && A.column[begin + k] == of_block + k % size;
  }
  if (!full) set_flag_once(others);
}

template <class I> __global__ void store_blocks(DevicePattern<I> A, I size, I n, I* row_begin, I* column)
{
  const std::size_t row = this_thread() / lanes;
  if (row > static_cast<std::size_t>(n)) return;
  const I i = static_cast<I>(row), first = A.row_begin[i * size], block_first = first / (size * size);
  if (threadIdx.x % lanes == 0) row_begin[i] = block_first;
  if (i == n) return;
  const I count = (A.row_begin[i * size + 1] - first) / size;
  for (I m = static_cast<I>(threadIdx.x % lanes); m < count; m += lanes)
    column[block_first + m] = A.column[first + m * size] / size;
}

template <class I>
__global__ void compare_with_blocks(DevicePattern<I> A, I size, const I* row_begin, const I* column, unsigned* differs)
{
  const std::size_t row = this_thread() / lanes;
  if (row >= static_cast<std::size_t>(A.n)) return;
  const I i = static_cast<I>(row), block_row = i / size, first = row_begin[block_row];
  const I length = (row_begin[block_row + 1] - first) * size;
  const I begin = first * size * size + i % size * length;
  bool same = A.row_begin[i] == begin && A.row_begin[i + 1] == begin + length;
  for (I k = static_cast<I>(threadIdx.x % lanes); same && k < length; k += lanes)
    same = A.column[begin + k] == column[first + k / size] * size + k % size;
  if (!same) set_flag_once(differs);
}

/// A warp per block row.
template <class N, class I>
__global__ void copy_block_rows(I n, I size, const I* row_begin, const N* value, N* to)
{
  const std::size_t row = this_thread() / 32;
  if (row >= static_cast<std::size_t>(n)) return;
  const I first = row_begin[row], count = row_begin[row + 1] - first, values = size * size;
  const std::size_t base = static_cast<std::size_t>(first) * values;
  for (I at = static_cast<I>(threadIdx.x % 32); at < count * values; at += 32) {
    const I r = at % size, c = at / size % size, m = at / values;
    to[base + at] = value[base + static_cast<std::size_t>(r * count + m) * size + c];
  }
}

}  // namespace

template <class I> bool find_full_blocks(const DevicePattern<I>& A, int size, FullBlocks<I>* out)
{
  const I s = static_cast<I>(size), n = A.n / s;
  if (A.n == 0) return false;
  const Flag others;
  const auto rows = static_cast<std::size_t>(A.n);
  launch(compare_with_first_row<I>, {blocks_for(rows * lanes, threads), threads}, A, s, others.data());
  if (others.is_raised()) return false;
  if (!out) return true;
  FullBlocks<I> made;
  made.size = size;
  made.n = n;
  made.row_begin = DeviceArray<I>(static_cast<std::size_t>(n) + 1);
  made.column = DeviceArray<I>(static_cast<std::size_t>(A.nnz / (s * s)));
  launch(store_blocks<I>, {blocks_for((static_cast<std::size_t>(n) + 1) * lanes, threads), threads}, A, s, n,
         made.row_begin.data(), made.column.data());
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  *out = std::move(made);
  return true;
}

template <class I> bool consists_of(const FullBlocks<I>& blocks, const DevicePattern<I>& A, cudaStream_t stream)
{
  const Flag differs(stream);
  const auto rows = static_cast<std::size_t>(A.n);
  launch(compare_with_blocks<I>, {blocks_for(rows * lanes, threads), threads, 0, stream}, A,
         static_cast<I>(blocks.size), blocks.row_begin.data(), blocks.column.data(), differs.data());
  return !differs.is_raised();
}

template <class T, class I>
void copy_to_full_blocks(const FullBlocks<I>& blocks, const T* value, T* to, cudaStream_t stream)
{
  const auto rows = static_cast<std::size_t>(blocks.n);
  launch(copy_block_rows<DeviceScalar<T>, I>, {blocks_for(32 * rows, threads), threads, 0, stream}, blocks.n,
         static_cast<I>(blocks.size), blocks.row_begin.data(), as_device(value), as_device(to));
}

#define INSTANTIATE(I)                                                                  \
  template bool find_full_blocks<I>(const DevicePattern<I>&, int, FullBlocks<I>*);      \
  template bool consists_of<I>(const FullBlocks<I>&, const DevicePattern<I>&, cudaStream_t);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(T, I) \
  template void copy_to_full_blocks<T, I>(const FullBlocks<I>&, const T*, T*, cudaStream_t);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
