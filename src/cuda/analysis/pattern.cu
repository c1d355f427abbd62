/// Row offsets by a scan, everything else with one warp per row.

#include "cuda/analysis/pattern.hpp"

#include <cstdint>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/base/scan.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;

/// lengths[r] = length of row order[r]; lengths[n] = 0
template <class I> __global__ void measure_rows(I n, const I* row_begin, const I* order, I* lengths)
{
  const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (r > static_cast<std::size_t>(n)) return;
  lengths[r] = r < static_cast<std::size_t>(n) ? row_begin[order[r] + 1] - row_begin[order[r]] : 0;
}

template <class I> __global__ void invert(I n, const I* order, I* inverse)
{
  const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (r < static_cast<std::size_t>(n)) inverse[order[r]] = static_cast<I>(r);
}

/// Copies n rows. new_index: new index of a column, or nullptr; turn: the last entry of a row becomes the first.
template <class I>
__global__ void move_rows(I n, DevicePattern<I> from, const I* from_source, const I* order, const I* new_index,
                          bool turn, const I* begin, I* column, I* source)
{
  const std::size_t r = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (r >= static_cast<std::size_t>(n)) return;
  const I first = from.row_begin[order[r]], count = from.row_begin[order[r] + 1] - first;
  for (I e = threadIdx.x % 32; e < count; e += 32) {
    const I j = from.column[first + e], to = begin[r] + (turn ? count - 1 - e : e);
    column[to] = new_index ? new_index[j] : j;
    if (source) source[to] = from_source ? from_source[first + e] : first + e;
  }
}

template <class I>
__global__ void sources_in_order(I n, const I* A_begin, const I* lower_begin, const I* upper_begin, I* lower, I* upper,
                                 I* diagonal)
{
  const std::size_t i = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (i >= static_cast<std::size_t>(n)) return;
  const int lane = threadIdx.x % 32;
  const I upper_count = upper_begin[i + 1] - upper_begin[i], first_upper = A_begin[i + 1] - upper_count;
  for (I e = lane; e < upper_count; e += 32) upper[upper_begin[i] + e] = first_upper + e;
  if (lane == 0) diagonal[i] = first_upper - 1;
  if (!lower) return;
  for (I e = lane; e < lower_begin[i + 1] - lower_begin[i]; e += 32) lower[lower_begin[i] + e] = A_begin[i] + e;
}

template <class I> unsigned warps_for(I rows)
{
  return blocks_for(static_cast<std::size_t>(rows) * 32, threads_a_block);
}

}  // namespace

template <class I> DeviceArray<I> inverse_permutation(I n, const I* order, cudaStream_t stream)
{
  DeviceArray<I> inverse(n);
  if (n == 0) return inverse;
  launch(invert<I>, {blocks_for(n, threads_a_block), threads_a_block, 0, stream}, n, order, inverse.data());
  return inverse;
}

template <class I>
PermutedRows<I> permute_rows(const DevicePattern<I>& pattern, const I* source, const I* order, bool renumber,
                             bool turn)
{
  const std::size_t n = pattern.n, nnz = pattern.nnz;
  PermutedRows<I> rows{DeviceArray<I>(n + 1), DeviceArray<I>(nnz), DeviceArray<I>(nnz)};
  launch(measure_rows<I>, {blocks_for(n + 1, threads_a_block), threads_a_block}, pattern.n, pattern.row_begin, order,
                                                                           rows.begin.data());
  exclusive_sum_in_place(rows.begin);
  if (n == 0) return rows;
  const DeviceArray<I> new_index = renumber ? inverse_permutation(pattern.n, order) : DeviceArray<I>();
  launch(move_rows<I>, {warps_for(pattern.n), threads_a_block}, pattern.n, pattern, source, order, new_index.data(),
         turn, rows.begin.data(), rows.column.data(), rows.source.data());
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  return rows;
}

template <class I> SampledRows<I> fetch_rows(const DevicePattern<I>& pattern, std::vector<I> rows)
{
  SampledRows<I> fetched = {pattern.n, std::move(rows), {}, {}};
  const I count = static_cast<I>(fetched.row.size());
  const DeviceArray<I> row(fetched.row), begin(fetched.row.size() + 1);
  launch(measure_rows<I>, {blocks_for(begin.size(), threads_a_block), threads_a_block}, count, pattern.row_begin,
         row.data(), begin.data());
  exclusive_sum_in_place(begin);
  fetched.row_begin.resize(begin.size());
  begin.read(fetched.row_begin.data(), 0, begin.size(), nullptr);
  const DeviceArray<I> column(static_cast<std::size_t>(fetched.row_begin.back()));
  if (column.empty()) return fetched;
  launch(move_rows<I>, {warps_for(count), threads_a_block}, count, pattern, nullptr, row.data(), nullptr, false,
         begin.data(), column.data(), nullptr);
  fetched.column.resize(column.size());
  column.read(fetched.column.data(), 0, column.size(), nullptr);
  return fetched;
}

template <class I>
void find_sources_in_order(I n, const I* A_begin, const I* lower_begin, const I* upper_begin, I* lower, I* upper,
                           I* diagonal)
{
  if (n == 0) return;
  launch(sources_in_order<I>, {warps_for(n), threads_a_block}, n, A_begin, lower_begin, upper_begin, lower, upper,
         diagonal);
}

#define INSTANTIATE(I)                                                                               \
  template DeviceArray<I> inverse_permutation<I>(I, const I*, cudaStream_t);                         \
  template PermutedRows<I> permute_rows<I>(const DevicePattern<I>&, const I*, const I*, bool, bool); \
  template SampledRows<I> fetch_rows<I>(const DevicePattern<I>&, std::vector<I>);                    \
  template void find_sources_in_order<I>(I, const I*, const I*, const I*, I*, I*, I*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
