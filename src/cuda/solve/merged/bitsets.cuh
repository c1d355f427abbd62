#pragma once

/// Merge plans (core/plan/merge_plan.hpp) on the device. What a row reads, inside and outside its group, is a bitset,
/// and a row that reads rows of its group has the union of their bitsets. So words are combined; column indices are
/// written only when all groups are known.

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {

constexpr int merging_threads = 1024;  ///< of a thread block that makes a plan

/// The threads of a cluster of thread blocks.
struct ClusterGroup {
  unsigned blocks, rank = blockIdx.x % blocks;
  unsigned number = blockIdx.x / blocks;  ///< index of the cluster

  __device__ explicit ClusterGroup(unsigned count) : blocks(count) {}
  __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  __device__ unsigned threads() const { return blocks * blockDim.x; }
  __device__ unsigned warp() const { return thread() / 32; }
  __device__ unsigned warps() const { return threads() / 32; }
  __device__ void meet() const { cluster_sync(blocks); }
};

/// A triangle by positions of its rows in the order of levels.
///   row, position  row of a position, position of a row; nullptr: the identity
template <class I> struct LevelledView {
  const I *begin, *column, *row, *position, *level_begin;
};

/// The entries of a row, as positions.
template <class I> struct RowReads {
  I begin, end;
  const I *column, *position;

  __device__ RowReads(const LevelledView<I>& T, I own) : column(T.column), position(T.position)
  {
    const I row = T.row ? T.row[own] : own;
    begin = T.begin[row];
    end = T.begin[row + 1];
  }
  __device__ I operator[](I k) const { return position ? position[column[k]] : column[k]; }
};

/// Location of a row's bitset: its first word, and its words for what it reads outside its group, then inside (without
/// the row itself).
struct alignas(8) BitsetRow {
  std::uint32_t at;
  std::uint16_t outside, inside;
};

/// Returns the words of a row for the rows of its group in earlier levels. At least one, so that each row has words.
SYNCFREE_HD inline std::int64_t inside_words(std::int64_t rows_before)
{
  return rows_before < 32 ? 1 : (rows_before + 31) / 32;
}

/// A complete group.
///   marks, rank  bits of the positions that its rows read outside; number of marks before each word
template <class I> struct KnownGroup {
  I first;
  const std::uint32_t *marks, *rank;
  BitsetRow* row;
  std::uint32_t* bits;

  __device__ unsigned number_of(I position) const
  {
    return rank[position / 32] + __popc(marks[position / 32] & ((1u << position % 32) - 1));
  }
  __device__ BitsetRow bitset_of(I position) const { return row[position]; }
};

/// A warp computes a window of a row's words at once, with this number of words per lane. If there are more warps than
/// rows, windows are small.
constexpr unsigned wide_window = 4, narrow_window = 1;

/// Iterates over the windows of a level's rows, which are strided over the warps.
class Windows {
public:
  __device__ Windows(BitsetRow shape, unsigned rows, unsigned warp, unsigned warps) : rows_(rows)
  {
    const unsigned words = shape.outside + static_cast<unsigned>(shape.inside);
    is_narrow_ = std::uint64_t{rows} * ((words + 31) / 32) <= 2 * warps;
    of_row_ = (words - 1) / (is_narrow_ ? 32 * narrow_window : 32 * wide_window) + 1;
    row_ = warp / of_row_, window_ = warp % of_row_;
    row_step_ = warps / of_row_, window_step_ = warps % of_row_;
  }
  __device__ bool is_narrow() const { return is_narrow_; }
  __device__ bool is_valid() const { return row_ < rows_; }
  __device__ unsigned row() const { return row_; }
  __device__ unsigned first_word() const { return window_ * 32 * (is_narrow_ ? narrow_window : wide_window); }
  __device__ void next_window()
  {
    row_ += row_step_, window_ += window_step_;
    if (window_ >= of_row_) window_ -= of_row_, ++row_;
  }

private:
  unsigned rows_, of_row_, row_, window_, row_step_, window_step_;
  bool is_narrow_;
};

/// Called by a warp: computes a window of a row's words from `first` on, those of what it reads outside its group and
/// then inside, and calls use(w, bits) with word w + k in lane k.
///   batch    words of a lane
///   scratch  32 * wide_window words in shared memory
template <unsigned batch, class I, class Group, class Use>
__device__ void union_row_bitsets(const RowReads<I>& row, const Group& group, I own, BitsetRow shape, unsigned first,
                      std::uint32_t* scratch, Use use)
{
  constexpr unsigned all = ~0u, window = 32 * batch, rows = batch == 1 ? 8 : 4;  // rows: number loaded at once
  const unsigned lane = threadIdx.x % 32, words = shape.outside + static_cast<unsigned>(shape.inside);
  for (unsigned w = lane; w < window; w += 32) scratch[w] = 0;
  __syncwarp();
  const auto set = [&](unsigned number) {
    const unsigned w = number / 32 - first;
    if (w < window) red_or_relaxed(scratch + w, 1u << number % 32);
  };
  std::uint32_t bits[batch] = {};
  for (I chunk = row.begin; chunk < row.end; chunk += 32) {
    const I k = chunk + static_cast<I>(lane);
    const bool is_entry = k < row.end;
    const I other = is_entry ? row[k] : own;
    const bool reads = is_entry && other >= group.first;
    if (reads) set(32u * shape.outside + static_cast<unsigned>(other - group.first));
    else if (is_entry && first < shape.outside) set(group.number_of(other));
    const BitsetRow theirs = reads ? group.bitset_of(other) : BitsetRow();
    const unsigned counts = theirs.outside | static_cast<unsigned>(theirs.inside) << 16;
    for (unsigned rest = __ballot_sync(all, reads); rest;) {
      std::uint32_t word[rows][batch] = {};
      const auto load = [&](unsigned r) {
        const int from = rest ? __ffs(rest) - 1 : 0;
        const unsigned at = __shfl_sync(all, theirs.at, from), shared_counts = __shfl_sync(all, counts, from);
        const unsigned outside = rest ? shared_counts & 0xffff : 0, inside = rest ? shared_counts >> 16 : 0;
        rest &= rest - 1;
#pragma unroll
        for (unsigned u = 0; u < batch; ++u) {
          const unsigned w = first + 32 * u + lane;
          const bool is_outside = w < shape.outside;
          const unsigned v = is_outside ? w : w - shape.outside;
          if (v < (is_outside ? outside : inside)) word[r][u] = group.bits[at + v + (is_outside ? 0 : outside)];
          if (first + 32 * (u + 1) >= words) break;
        }
      };
#pragma unroll
      for (unsigned r = 0; r < rows / 2; ++r) load(r);
      if (rest)
#pragma unroll
        for (unsigned r = rows / 2; r < rows; ++r) load(r);
#pragma unroll
      for (unsigned r = 0; r < rows; ++r)
#pragma unroll
        for (unsigned u = 0; u < batch; ++u) {
          bits[u] |= word[r][u];
          if (first + 32 * (u + 1) >= words) break;
        }
    }
  }
  __syncwarp();
#pragma unroll
  for (unsigned u = 0; u < batch; ++u)
    if (first + 32 * u < words) use(first + 32 * u, bits[u] | scratch[32 * u + lane]);
  __syncwarp();
}

/// Called by a cluster, one window per warp: calls use(own, w, bits) as above for the words of rows first..last - 1.
template <class I, class ClusterGroup, class Group, class Use>
__device__ void union_level_bitsets(const LevelledView<I>& T, const ClusterGroup& team, const Group& group, I first,
                                    I last, BitsetRow shape, Use use)
{
  __shared__ std::uint32_t scratch[merging_threads / 32][32 * wide_window];
  std::uint32_t* const mine = scratch[threadIdx.x / 32];
  for (Windows at(shape, static_cast<unsigned>(last - first), team.warp(), team.warps()); at.is_valid();
       at.next_window()) {
    const I own = first + static_cast<I>(at.row());
    const RowReads<I> row(T, own);
    const auto use_words = [&](unsigned w, std::uint32_t bits) { use(own, w, bits); };
    if (at.is_narrow()) union_row_bitsets<narrow_window>(row, group, own, shape, at.first_word(), mine, use_words);
    else union_row_bitsets<wide_window>(row, group, own, shape, at.first_word(), mine, use_words);
  }
}

/// Work space of fill_groups(): marks for each cluster, ranks and outside positions for each of its thread blocks, and
/// bitsets for each group. Sizes are in words.
///   bits_begin  by group
template <class I> struct FillingMemory {
  std::uint64_t marks, outside;
  std::uint32_t *team_marks, *bits;
  const std::uint32_t* bits_begin;
  BitsetRow* row;

  SYNCFREE_HD std::uint64_t team_words(unsigned blocks) const { return marks + blocks * (marks + outside); }
};

/// Groups first..last - 1; by group, its first position and its first level.
template <class I> struct GroupsToFill {
  I first, last;
  const I *begin, *level;
};

/// Columns of P and R, given the offsets of their rows.
template <class I> struct MergedColumns {
  const I *p_begin, *r_begin;
  I *p, *r;
  std::uint16_t *p_local, *r_local;
};

/// Computes the ranks of the marks and lists the marked positions; called by a thread block. Returns the number of
/// marks.
__device__ inline unsigned rank_marks(const std::uint32_t* marks, std::uint32_t* rank, std::uint32_t* outside,
                                      unsigned words)
{
  using Scan = cub::BlockScan<unsigned, merging_threads>;
  __shared__ typename Scan::TempStorage scratch;
  const unsigned part = (words + merging_threads - 1) / merging_threads;
  const unsigned begin = min(threadIdx.x * part, words), end = min(begin + part, words);
  unsigned count = 0, all;
  for (unsigned w = begin; w < end; ++w) count += __popc(marks[w]);
  Scan(scratch).ExclusiveSum(count, count, all);
  for (unsigned w = begin; w < end; ++w) {
    rank[w] = count;
    for (std::uint32_t rest = marks[w]; rest; rest &= rest - 1) outside[count++] = 32 * w + __ffs(rest) - 1;
  }
  __syncthreads();
  return all;
}

/// Called by a warp: put(k, number) for each bit, in ascending order of numbers; k counts from *at on, which advances.
template <class Put> __device__ void put_bits(std::uint32_t bits, unsigned first_number, unsigned* at, Put put)
{
  const unsigned own = __popc(bits), end = warp_inclusive_sum(own);
  unsigned k = *at + end - own;
  for (; bits; bits &= bits - 1) put(k++, first_number + __ffs(bits) - 1);
  *at += __shfl_sync(~0u, end, 31);
}

/// Writes the columns of a row of P and R from its bitset; called by a warp.
///   outside   positions by number
template <class I>
__device__ void name_columns(const KnownGroup<I>& group, I own, const std::uint32_t* outside,
                             const MergedColumns<I>& out)
{
  const BitsetRow row = group.bitset_of(own);
  const unsigned lane = threadIdx.x % 32;
  const I r_begin = out.r_begin[own], p_begin = out.p_begin[own];
  unsigned r = 0, p = 0;
  for (unsigned w = 0; w < row.outside; w += 32)
    put_bits(w + lane < row.outside ? group.bits[row.at + w + lane] : 0, 32 * (w + lane), &r,
             [&](unsigned k, unsigned number) {
               const I to = r_begin + static_cast<I>(k);
               out.r[to] = static_cast<I>(outside[number]);
               out.r_local[to] = static_cast<std::uint16_t>(number);
             });
  for (unsigned w = 0; w < row.inside; w += 32)
    put_bits(w + lane < row.inside ? group.bits[row.at + row.outside + w + lane] : 0, 32 * (w + lane), &p,
             [&](unsigned k, unsigned number) {
               const I to = p_begin + static_cast<I>(k);
               out.p[to] = group.first + static_cast<I>(number);
               out.p_local[to] = static_cast<std::uint16_t>(number);
             });
  if (lane != 0) return;
  out.p[p_begin + static_cast<I>(p)] = own;
  out.p_local[p_begin + static_cast<I>(p)] = static_cast<std::uint16_t>(own - group.first);
}

/// owns       a cluster owns a group, and further ones with the number of clusters as stride; a warp owns a row
/// waits      for its own cluster between levels
/// publishes  columns of P and R to later launches
/// order      barriers of the cluster; marks are set relaxed, before one
/// progress   no waits but barriers
/// result     reproducible
/// source     pattern of a partitioned inverse (Alvarado and Schreiber 1993), with fill; by bitsets: this library
template <class I>
__global__ void __launch_bounds__(merging_threads)
fill_groups(LevelledView<I> T, GroupsToFill<I> groups, FillingMemory<I> memory, unsigned blocks, MergedColumns<I> out)
{
  const ClusterGroup team(blocks);
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t* const marks = memory.team_marks + team.number * memory.team_words(blocks);
  std::uint32_t* const rank = marks + memory.marks + team.rank * (memory.marks + memory.outside);
  std::uint32_t* const outside = rank + memory.marks;
  const I step = static_cast<I>(gridDim.x / blocks);
  for (I g = groups.first + static_cast<I>(team.number); g < groups.last; g += step) {
    const I first = groups.begin[g], last = groups.begin[g + 1];
    const auto words = static_cast<unsigned>((static_cast<std::uint64_t>(first) + 31) / 32);
    for (unsigned w = team.thread(); w < words; w += team.threads()) marks[w] = 0;
    team.meet();
    for (I own = first + static_cast<I>(team.warp()); own < last; own += static_cast<I>(team.warps())) {
      const RowReads<I> row(T, own);
      for (I k = row.begin + static_cast<I>(lane); k < row.end; k += 32)
        if (const I other = row[k]; other < first) red_or_relaxed(marks + other / 32, 1u << other % 32);
    }
    team.meet();
    const unsigned span = rank_marks(marks, rank, outside, words);
    const KnownGroup<I> group = {first, marks, rank, memory.row, memory.bits + memory.bits_begin[g]};
    BitsetRow shape = {0, static_cast<std::uint16_t>((span + 31) / 32), 0};
    for (I level = groups.level[g]; T.level_begin[level] < last; ++level) {
      const I level_first = T.level_begin[level], level_last = T.level_begin[level + 1];
      shape.inside = static_cast<std::uint16_t>(inside_words(level_first - first));
      const unsigned of_row = shape.outside + static_cast<unsigned>(shape.inside);
      union_level_bitsets(T, team, group, level_first, level_last, shape, [&](I own, unsigned w, std::uint32_t some) {
        const std::uint32_t at = shape.at + static_cast<std::uint32_t>(own - level_first) * of_row;
        if (w + lane < of_row) group.bits[at + w + lane] = some;
        if (w + lane == 0) group.row[own] = {at, shape.outside, shape.inside};
      });
      shape.at += static_cast<std::uint32_t>(level_last - level_first) * of_row;
      team.meet();
    }
    for (I own = first + static_cast<I>(team.warp()); own < last; own += static_cast<I>(team.warps()))
      name_columns(group, own, outside, out);
    team.meet();
  }
}

}  // namespace syncfree::cuda
