/// Implements cuda/factor/update_lists.hpp: the terms of entry (i, q) are the intersection of row i of L and column q
/// of U.

#include "cuda/factor/update_lists.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/base/search.cuh"
#include "cuda/base/sort.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;

/// U by columns, rows ascending in each column.
template <class I> struct ColumnsView {
  const I *begin, *row, *entry;
};

template <class I> __global__ void name_entries(DevicePattern<I> U, I* row, I* entry)
{
  const std::size_t i = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (i >= static_cast<std::size_t>(U.n)) return;
  for (I k = U.row_begin[i] + threadIdx.x % 32; k < U.row_begin[i + 1]; k += 32) {
    row[k] = static_cast<I>(i);
    entry[k] = k;
  }
}

/// begin[q]: the first position whose column is at least q.
template <class I> __global__ void find_column_begins(I n, I nnz, const I* column, I* begin)
{
  const std::size_t q = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (q > static_cast<std::size_t>(n)) return;
  I low = 0, high = nnz;
  while (low < high) {
    const I middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(column[middle]) < q) low = middle + 1;
    else high = middle;
  }
  begin[q] = low;
}

template <class I> __global__ void take_rows(std::size_t nnz, const I* row_of, const I* entry, I* row)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < nnz) row[k] = row_of[entry[k]];
}

template <class I> class Columns {
public:
  explicit Columns(const DevicePattern<I>& U) : begin_(static_cast<std::size_t>(U.n) + 1), row_(U.nnz), entry_(U.nnz)
  {
    const std::size_t nnz = static_cast<std::size_t>(U.nnz);
    const DeviceArray<I> row_of(nnz), entry(nnz), column(nnz);
    launch(name_entries<I>, {blocks_for(32 * static_cast<std::size_t>(U.n), threads_a_block), threads_a_block}, U,
           row_of.data(), entry.data());
    sort_pairs(U.column, column, entry, entry_, bits_of(static_cast<std::uint64_t>(U.n)));
    launch(find_column_begins<I>, {blocks_for(begin_.size(), threads_a_block), threads_a_block}, U.n, U.nnz,
           column.data(), begin_.data());
    launch(take_rows<I>, {blocks_for(nnz, threads_a_block), threads_a_block}, nnz, row_of.data(), entry_.data(),
           row_.data());
  }
  ColumnsView<I> columns_view() const { return {begin_.data(), row_.data(), entry_.data()}; }

private:
  DeviceArray<I> begin_, row_, entry_;
};

/// A range [begin, end) of ascending indices.
template <class I> struct List {
  const I* key;
  I begin, end;

  __device__ I length() const { return end - begin; }
};

/// Data from which the terms of entries are computed.
template <class I> struct Factor {
  DevicePattern<I> L, U;
  bool lu;
  ColumnsView<I> columns;

  __device__ I column_of(I index, I row) const
  {
    return index < L.nnz ? L.column[index] : index < L.nnz + U.nnz ? U.column[index - L.nnz] : row;
  }
  __device__ bool is_lower_of_ic(I index) const { return !lu && index < L.nnz; }
  __device__ List<I> lower_row(I i) const { return {L.column, L.row_begin[i], L.row_begin[i + 1]}; }
  __device__ List<I> rows_in(I q) const { return {columns.row, columns.begin[q], columns.begin[q + 1]}; }
};

/// length[r] = entries of the row at position r of the order; length[n] = 0
template <class I> __global__ void measure_rows_in_order(Factor<I> F, const I* order, I* length)
{
  const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (r > static_cast<std::size_t>(F.L.n)) return;
  I entries = 0;
  if (r < static_cast<std::size_t>(F.L.n)) {
    const I i = order[r];
    entries = F.L.row_begin[i + 1] - F.L.row_begin[i] + 1 + F.U.row_begin[i + 1] - F.U.row_begin[i];
  }
  length[r] = entries;
}

template <class I> __global__ void fill_update_lists(Factor<I> F, const I* order, const I* position, I* index, I* row)
{
  const std::size_t r = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (r >= static_cast<std::size_t>(F.L.n)) return;
  const I i = order[r], lower = F.L.row_begin[i], lowers = F.L.row_begin[i + 1] - lower, upper = F.U.row_begin[i];
  for (I k = threadIdx.x % 32; k < position[r + 1] - position[r]; k += 32) {
    const I at = position[r] + k;
    row[at] = i;
    index[at] = k < lowers ? lower + k : k == lowers ? F.L.nnz + F.U.nnz + i : F.L.nnz + upper + (k - lowers - 1);
  }
}

/// Terms of an entry: each element of the shorter list is searched in the longer one.
template <class I> class Meeting {
public:
  __device__ Meeting(const Factor<I>& F, I row, I column)
      : F_(F), L_(F.lower_row(row)), U_(F.rows_in(column)), by_row_(L_.length() <= U_.length())
  {
  }
  __device__ I candidates() const { return min(L_.length(), U_.length()); }
  /// Searches the k-th element of the shorter list in the other. Returns whether it was found, and its entries of L and
  /// of U.
  __device__ bool find_pair(I k, I* lower, I* upper) const
  {
    const List<I>& from = by_row_ ? L_ : U_;
    const List<I>& in = by_row_ ? U_ : L_;
    const I found = find(in.key, in.begin, in.end, from.key[from.begin + k]);
    *lower = by_row_ ? from.begin + k : found;
    *upper = found < 0 ? found : F_.columns.entry[by_row_ ? found : from.begin + k];
    return found >= 0;
  }

private:
  const Factor<I>& F_;
  List<I> L_, U_;
  bool by_row_;
};

/// Counts the searches for the terms of all entries.
template <class I>
__global__ void add_up_work(Factor<I> F, std::size_t positions, const I* index, const I* row, unsigned long long* work)
{
  unsigned long long own = 0;
  for (std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; at < positions;
       at += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    own += static_cast<unsigned long long>(Meeting<I>(F, row[at], F.column_of(index[at], row[at])).candidates());
  for (int offset = 16; offset; offset /= 2) own += __shfl_xor_sync(~0u, own, offset);
  if (threadIdx.x % 32 == 0) red_add_relaxed(work, own);
}

/// Finds the terms, by a thread per entry or, if there are many searches, by its warp. fills: writes the terms, else
/// counts them.
template <class I, bool fills>
__global__ void find_terms(Factor<I> F, std::size_t positions, const I* index, const I* row, std::size_t* begin,
                           I* lower, I* upper)
{
  constexpr I little = 32;
  constexpr unsigned all = ~0u;
  const std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const bool mine = at < positions;
  const I own_row = mine ? row[at] : 0, own_index = mine ? index[at] : 0;
  const I own_column = F.column_of(own_index, own_row);
  const bool is_copy = mine && F.is_lower_of_ic(own_index);
  const Meeting<I> own(F, own_row, own_column);
  std::size_t to = fills && mine ? begin[at] : 0, count = 0;
  const auto put = [&](std::size_t position, I l, I u) {
    if constexpr (fills) lower[position] = l, upper[position] = u;
  };
  if (is_copy) {  // (p, i) of U
    const I p = own_column;
    put(to, I(-1), find(F.U.column, F.U.row_begin[p], F.U.row_begin[p + 1], own_row));
    count = 1;
  } else if (mine && own.candidates() <= little) {
    for (I k = 0; k < own.candidates(); ++k) {
      I l, u;
      if (own.find_pair(k, &l, &u)) put(to + count++, l, u);
    }
  }
  const bool is_much = mine && !is_copy && own.candidates() > little;
  const int lane = threadIdx.x % 32;
  for (unsigned left = __ballot_sync(all, is_much); left; left &= left - 1) {
    const int owner = __ffs(static_cast<int>(left)) - 1;
    const Meeting<I> meeting(F, __shfl_sync(all, own_row, owner), __shfl_sync(all, own_column, owner));
    std::size_t position = __shfl_sync(all, static_cast<unsigned long long>(to), owner), found = 0;
    for (I k = lane; k - lane < meeting.candidates(); k += 32) {
      I l, u;
      const bool meets = k < meeting.candidates() && meeting.find_pair(k, &l, &u);
      const unsigned who = __ballot_sync(all, meets);
      if (meets) put(position + found + static_cast<std::size_t>(__popc(who & ((1u << lane) - 1))), l, u);
      found += static_cast<std::size_t>(__popc(who));
    }
    if (lane == owner) count = found;
  }
  if (!fills && mine) begin[at] = count;
  if (!fills && at == positions) begin[at] = 0;
}

}  // namespace

template <class I>
UpdateLists<I>::UpdateLists(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels,
                            std::size_t number_bytes, double most_bytes)
{
  constexpr unsigned long long much_work = 1 << 24, work_of_entry = 256;
  constexpr std::size_t enough_memory = 256 << 20;
  const DevicePattern<I> L = pattern.lower(), U = pattern.upper();
  const std::size_t n = static_cast<std::size_t>(pattern.n);
  const std::size_t positions = n + static_cast<std::size_t>(L.nnz) + static_cast<std::size_t>(U.nnz);
  if (n == 0 || U.nnz == 0 || positions > static_cast<std::size_t>(std::numeric_limits<I>::max())) return;
  const Columns<I> columns(U);
  const Factor<I> F = {L, U, pattern.kind == Kind::ilu, columns.columns_view()};
  const DeviceArray<I> position(n + 1);
  launch(measure_rows_in_order<I>, {blocks_for(n + 1, threads_a_block), threads_a_block}, F, levels.row.data(),
         position.data());
  exclusive_sum_in_place(position);
  DeviceArray<I> index(positions), row(positions);
  launch(fill_update_lists<I>, {blocks_for(32 * n, threads_a_block), threads_a_block}, F, levels.row.data(),
         position.data(), index.data(), row.data());
  DeviceArray<unsigned long long> work(1);
  work.fill(0, nullptr);
  const unsigned blocks = blocks_for(positions + 1, threads_a_block);
  launch(add_up_work<I>, {std::min(blocks, 4096u), threads_a_block}, F, positions, index.data(), row.data(),
         work.data());
  unsigned long long looks;
  work.read(&looks, 0, 1, nullptr);
  if (looks > much_work + work_of_entry * positions) return;
  DeviceArray<std::size_t> begin(positions + 1);
  launch(find_terms<I, false>, {blocks, threads_a_block}, F, positions, index.data(), row.data(), begin.data(), nullptr,
                                                    nullptr);
  const std::size_t terms = add_up_and_read(begin), factor = positions * (number_bytes + sizeof(I));
  const std::size_t all = positions * (2 * sizeof(I) + sizeof(std::size_t)) + terms * 2 * sizeof(I);
  if (all > std::max(enough_memory, 4 * factor)) return;
  if (static_cast<double>(all) > most_bytes) {
    refused_bytes_ = all;
    return;
  }
  lower_ = DeviceArray<I>(terms), upper_ = DeviceArray<I>(terms);
  launch(find_terms<I, true>, {blocks, threads_a_block}, F, positions, index.data(), row.data(), begin.data(),
         lower_.data(), upper_.data());
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  lowers_ = L.nnz, uppers_ = U.nnz;
  index_ = std::move(index), row_ = std::move(row), begin_ = std::move(begin);
}

#define INSTANTIATE(I) template class UpdateLists<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
