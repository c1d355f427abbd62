/// What update_slots.hpp declares: row offsets by a scan, slots by a warp a row.

#include "update_slots.hpp"

#include <algorithm>
#include <cstdint>

#include "core/instantiate.hpp"
#include "find.cuh"
#include "flag.cuh"
#include "scan.cuh"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr std::size_t most_shared_memory = 48 << 10;  ///< of a block of the factorization

/// updates[i] = sum of the lengths of the rows of U that row i of L names; updates[n] = 0
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

/// A warp owns one row. `others` is raised where an entry off the diagonal is updated; partners are set where there
/// are.
template <class I>
__global__ void find_slots(DevicePattern<I> L, DevicePattern<I> U, bool lu, const std::size_t* begin,
                           unsigned char* slot, I* partner, unsigned* others)
{
  const std::size_t row = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (row >= static_cast<std::size_t>(L.n)) return;
  const I i = static_cast<I>(row), first = L.row_begin[i], last = L.row_begin[i + 1];
  const I upper_first = U.row_begin[i], upper_last = U.row_begin[i + 1];
  std::size_t to = begin[i];
  for (I k = first; k < last; ++k) {
    const I p = L.column[k], from = U.row_begin[p], count = U.row_begin[p + 1] - from;
    for (I j = threadIdx.x % 32; j < count; j += 32) {
      const I q = U.column[from + j];
      I found = -1;
      if (q == i) {
        found = last - first;
        partner[k] = from + j;
      } else if (q > i) {
        const I place = find(U.column, upper_first, upper_last, q);
        if (place >= 0) found = last - first + 1 + place - upper_first;
      } else if (lu) {
        const I place = find(L.column, k, last, q);
        if (place >= 0) found = place - first;
      }
      if (q != i && found >= 0) raise(others);
      slot[to + static_cast<std::size_t>(j)] = found < 0 ? no_slot : static_cast<unsigned char>(found);
    }
    to += static_cast<std::size_t>(count);
  }
}

/// A warp, as long as the device has one for each row of a level; else about as many as a row of U has entries.
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
  const int lanes = choose_lanes_of_factor(of_L, static_cast<double>(upper.nnz) / static_cast<double>(n));
  const std::size_t row_bytes = static_cast<std::size_t>(entries) * number_bytes +
                                3 * static_cast<std::size_t>(lowers) * sizeof(I);
  if (threads_a_block / lanes * row_bytes > most_shared_memory) return;

  DeviceArray<std::size_t> begin(n + 1);
  count_updates<I><<<blocks_for(n + 1, threads_a_block), threads_a_block>>>(lower, upper.row_begin, begin.data());
  check_launch("count_updates");
  const std::size_t total = add_up_and_read(begin);
  const std::size_t factor = (static_cast<std::size_t>(lower.nnz) + static_cast<std::size_t>(upper.nnz) + n) *
                             (number_bytes + sizeof(I));
  if (total > 2 * factor) return;

  slot_ = DeviceArray<unsigned char>(total);
  partner_ = DeviceArray<I>(static_cast<std::size_t>(lower.nnz));
  partner_.fill(0xff, nullptr);
  const Flag others;
  const bool lu = pattern.kind == Kind::ilu;
  find_slots<I><<<blocks_for(32 * n, threads_a_block), threads_a_block>>>(lower, upper, lu, begin.data(), slot_.data(),
                                                                          partner_.data(), others.data());
  check_launch("find_slots");
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
