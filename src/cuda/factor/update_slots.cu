/// Implements cuda/factor/update_slots.hpp: row offsets by a scan, slots by a warp per row.

#include "cuda/factor/update_slots.hpp"

#include <algorithm>
#include <cstdint>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/row_table.cuh"
#include "cuda/base/flag.cuh"
#include "cuda/base/scan.cuh"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr std::size_t most_shared_memory = 48 << 10;  ///< of a thread block of the factorization

/// updates[i] = sum of the lengths of the rows of U to which row i of L refers; updates[n] = 0
template <class I> __global__ void count_updates(DevicePattern<I> L, const I* upper_begin, std::size_t* updates)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i > static_cast<std::size_t>(L.n)) return;
  std::size_t sum = 0;
  if (i < static_cast<std::size_t>(L.n))
    for (I k = L.row_begin[i]; k < L.row_begin[i + 1]; ++k)
      sum += static_cast<std::size_t>(upper_begin[L.column[k] + 1] - upper_begin[L.column[k]]);
  updates[i] = sum;
}

/// Hash table in shared memory: the slots of a row by column.
template <class I> struct SlotTable {
  static constexpr unsigned most = 512;  ///< positions, for 255 entries
  I* column;                             ///< -1: empty
  unsigned char* slot;
  unsigned size = 32;

  /// Inserts row i, with L's entries only if they are updated too. Called by a warp.
  __device__ SlotTable(const DevicePattern<I>& L, const DevicePattern<I>& U, bool lu, I i, I* columns,
                       unsigned char* slots)
      : column(columns), slot(slots)
  {
    const I lane = static_cast<I>(threadIdx.x % 32), first = L.row_begin[i], lowers = L.row_begin[i + 1] - first;
    const I upper_first = U.row_begin[i], uppers = U.row_begin[i + 1] - upper_first;
    while (size < 2 * static_cast<unsigned>(lowers + 1 + uppers)) size *= 2;
    for (unsigned at = threadIdx.x % 32; at < size; at += 32) column[at] = -1;
    __syncwarp();
    for (I e = lane; lu && e < lowers; e += 32) insert_column(L.column[first + e], e);
    if (lane == 0) insert_column(i, lowers);
    for (I e = lane; e < uppers; e += 32) insert_column(U.column[upper_first + e], lowers + 1 + e);
    __syncwarp();
  }

  /// Returns the slot of column q, or `no_slot`.
  __device__ unsigned char operator[](I q) const
  {
    for (unsigned at = home_of(q, size);; at = (at + 1) & (size - 1)) {
      const I seen = column[at];
      if (seen == q) return slot[at];
      if (seen < 0) return no_slot;
    }
  }

private:
  __device__ void insert_column(I q, I number)
  {
    unsigned at = home_of(q, size);
    while (claim(column + at, q) != I(-1)) at = (at + 1) & (size - 1);
    slot[at] = static_cast<unsigned char>(number);
  }
};

/// Rows of U, one per lane: their offsets, lengths, and the sum of the lengths of earlier lanes.
template <class I> struct UpdatingRows {
  I from = 0, count = 0;
  unsigned before = 0;

  __device__ UpdatingRows(const DevicePattern<I>& U, bool is_live, I p)
  {
    if (is_live) from = U.row_begin[p], count = U.row_begin[p + 1] - from;
    before = warp_inclusive_sum(static_cast<unsigned>(count)) - static_cast<unsigned>(count);
  }
  __device__ unsigned sum() const { return __shfl_sync(~0u, before + static_cast<unsigned>(count), 31); }
};

/// A warp owns one row, `lanes` of its lanes an entry of L. Raises `others` if an entry off the diagonal is updated;
/// sets the partners that exist.
template <class I, int lanes>
__global__ void __launch_bounds__(threads_a_block)
find_slots(DevicePattern<I> L, DevicePattern<I> U, bool lu, const std::size_t* begin, unsigned char* slot, I* partner,
           unsigned* others)
{
  using Table = SlotTable<I>;
  __shared__ I columns[threads_a_block / 32][Table::most];
  __shared__ unsigned char slots[threads_a_block / 32][Table::most];
  const std::size_t number = this_thread() / 32;
  if (number >= static_cast<std::size_t>(L.n)) return;
  const I i = static_cast<I>(number), first = L.row_begin[i], last = L.row_begin[i + 1];
  const Table table(L, U, lu, i, columns[threadIdx.x / 32], slots[threadIdx.x / 32]);
  const int lane = threadIdx.x % 32;
  bool has_others = false;
  std::size_t to = begin[i];
  for (I chunk = first; chunk < last; chunk += 32) {
    const I here = min(I(32), last - chunk);
    const UpdatingRows<I> rows(U, lane < here, lane < here ? L.column[chunk + lane] : 0);
    for (int turn = 0; turn < here; turn += 32 / lanes) {
      const int k = turn + lane / lanes;
      const I from = __shfl_sync(~0u, rows.from, k % 32), count = __shfl_sync(~0u, rows.count, k % 32);
      const std::size_t at = to + __shfl_sync(~0u, rows.before, k % 32);
      for (I j = lane % lanes; k < here && j < count; j += lanes) {
        const I q = U.column[from + j];
        const unsigned char found = table[q];
        if (q == i) partner[chunk + k] = from + j;
        else has_others = has_others || found != no_slot;
        slot[at + static_cast<std::size_t>(j)] = found;
      }
    }
    to += rows.sum();
  }
  if (has_others) set_flag_once(others);
}

template <class I> auto choose_find_slots(double entries_of_U_a_row)
{
  if (entries_of_U_a_row <= 4) return find_slots<I, 4>;
  if (entries_of_U_a_row <= 8) return find_slots<I, 8>;
  return entries_of_U_a_row <= 16 ? find_slots<I, 16> : find_slots<I, 32>;
}

/// Lanes per row: a warp if the device can hold one for each row of a level, else about the number of entries of a row
/// of U.
int choose_lanes_of_factor(const Granularity& of_L, double entries_of_U_a_row)
{
  if (levels_that_fit(of_L, 32, threads_a_block) >= 1) return 32;
  for (const int lanes : {4, 8, 16})
    if (entries_of_U_a_row <= lanes) return lanes;
  return 32;
}

}  // namespace

template <class I>
UpdateSlots<I>::UpdateSlots(const DeviceFactorPattern<I>& pattern, const Granularity& of_L, std::size_t number_bytes)
{
  const DevicePattern<I> lower = pattern.lower(), upper = pattern.upper();
  const std::size_t n = static_cast<std::size_t>(pattern.n);
  const std::int64_t lowers = pattern.counts.most_lower, entries = pattern.counts.most;
  if (n == 0 || entries > no_slot) return;
  const double of_U_a_row = static_cast<double>(upper.nnz) / static_cast<double>(n);
  const int lanes = choose_lanes_of_factor(of_L, of_U_a_row);
  const std::size_t row_bytes = static_cast<std::size_t>(entries) * number_bytes +
                                3 * static_cast<std::size_t>(lowers) * sizeof(I);
  if (threads_a_block / lanes * row_bytes > most_shared_memory) return;

  DeviceArray<std::size_t> begin(n + 1);
  launch(count_updates<I>, {blocks_for(n + 1, threads_a_block), threads_a_block}, lower, upper.row_begin, begin.data());
  const std::size_t total = add_up_and_read(begin);
  const std::size_t factor = (static_cast<std::size_t>(lower.nnz) + static_cast<std::size_t>(upper.nnz) + n) *
                             (number_bytes + sizeof(I));
  if (total > 2 * factor) return;

  slot_ = DeviceArray<unsigned char>(total);
  partner_ = DeviceArray<I>(static_cast<std::size_t>(lower.nnz));
  partner_.fill(0xff, nullptr);
  const Flag others;
  const bool lu = pattern.kind == Kind::ilu;
  const auto find_all = choose_find_slots<I>(of_U_a_row);
  launch(find_all, {blocks_for(32 * n, threads_a_block), threads_a_block}, lower, upper, lu, begin.data(), slot_.data(),
                                                                     partner_.data(), others.data());
  only_pivots_ = !others.is_raised();
  if (lu && !only_pivots_) partner_ = DeviceArray<I>();
  begin_ = std::move(begin);
  lowers_ = static_cast<int>(lowers);
  entries_ = static_cast<int>(entries);
  lanes_ = lanes;
}

#define INSTANTIATE(I) template class UpdateSlots<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
