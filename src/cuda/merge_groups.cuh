#pragma once

/// Merge plans (core/merge_plan.hpp) on the device. What a row reads, inside its group and outside, is a set of bits,
/// and a row that reads others of its group has the union of their sets: words are put together, and columns appear
/// only when all groups are known.

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "core/merge_search.hpp"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

constexpr int choosing_threads = 1024, filling_threads = 512;

/// The threads of a cluster of blocks.
struct Team {
  unsigned blocks, rank = blockIdx.x % blocks;
  unsigned number = blockIdx.x / blocks;  ///< of the cluster

  __device__ explicit Team(unsigned count) : blocks(count) {}
  __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  __device__ unsigned threads() const { return blocks * blockDim.x; }
  __device__ unsigned warp() const { return thread() / 32; }
  __device__ unsigned warps() const { return threads() / 32; }
  __device__ void meet() const { meet_cluster(blocks); }
};

/// A triangle by places in the order of its levels.
///   row, place  of a place, of a row; nullptr: the same
template <class I> struct LevelledView {
  const I *begin, *column, *row, *place, *level_begin;
};

/// A row by places.
template <class I> struct RowReads {
  I begin, end;
  const I *column, *place;

  __device__ RowReads(const LevelledView<I>& T, I own) : column(T.column), place(T.place)
  {
    const I row = T.row ? T.row[own] : own;
    begin = T.begin[row];
    end = T.begin[row + 1];
  }
  __device__ I operator[](I k) const { return place ? place[column[k]] : column[k]; }
};

/// Where a row's bits begin and how many words they are: what it reads outside its group, then inside.
struct alignas(8) BitRow {
  std::uint32_t at;
  std::uint16_t outside, inside;
};

/// A group while levels join it.
///   first   place
///   number  by place outside: the number of its bit, counted from `base` + 1 on; what is not above `base` was not read
template <class I> struct GrowingGroup {
  I first;
  unsigned base;
  unsigned* number;
  BitRow* row;
  std::uint32_t* bits;

  __device__ unsigned number_of(I place) const { return number[place] - base - 1; }
  __device__ BitRow row_of(I place) const { return row[place]; }
};

/// A group that is known, with all rows of one shape.
///   marks, rank  bits of the places that its rows read outside, and how many stand in front of a word's
template <class I> struct KnownGroup {
  I first;
  BitRow shape;
  const std::uint32_t *marks, *rank, *bits;

  __device__ unsigned number_of(I place) const
  {
    return rank[place / 32] + __popc(marks[place / 32] & ((1u << place % 32) - 1));
  }
  __device__ BitRow row_of(I place) const
  {
    const unsigned words = shape.outside + static_cast<unsigned>(shape.inside);
    return {static_cast<std::uint32_t>(place - first) * words, shape.outside, shape.inside};
  }
};

/// A warp puts together a window of a row's words at once: so many for each lane. Where there are more warps than rows,
/// windows are small.
constexpr unsigned wide_window = 4, narrow_window = 1;

/// The windows of a level's rows, one after the other.
struct Windows {
  unsigned words;   ///< of a row
  unsigned lane;    ///< words of a lane
  unsigned row;     ///< windows of a row

  __device__ Windows(BitRow shape, std::uint64_t rows, unsigned warps)
      : words(shape.outside + static_cast<unsigned>(shape.inside)),
        lane(rows * ((words + 31) / 32) <= 2 * warps ? narrow_window : wide_window), row((words - 1) / (32 * lane) + 1)
  {
  }
  __device__ unsigned first_word(std::uint64_t at) const { return static_cast<unsigned>(at % row) * 32 * lane; }
};

/// By a warp: use(w, bits) with lane k's word w + k of a row, for the words of a window from `first` on: what it reads
/// outside its group, then inside.
///   batch    words of a lane
///   scratch  32 * wide_window words in shared memory
template <unsigned batch, class I, class Group, class Use>
__device__ void unite(const RowReads<I>& row, const Group& group, I own, BitRow shape, unsigned first,
                      std::uint32_t* scratch, Use use)
{
  constexpr unsigned all = ~0u, window = 32 * batch, rows = batch == 1 ? 8 : 4;  // rows whose words are on their way
  const unsigned lane = threadIdx.x % 32, words = shape.outside + static_cast<unsigned>(shape.inside);
  for (unsigned w = lane; w < window; w += 32) scratch[w] = 0;
  __syncwarp();
  const auto set = [&](unsigned number) {
    const unsigned w = number / 32 - first;
    if (w < window) set_bits(scratch + w, 1u << number % 32);
  };
  if (lane == 0) set(32u * shape.outside + static_cast<unsigned>(own - group.first));
  std::uint32_t bits[batch] = {};
  for (I chunk = row.begin; chunk < row.end; chunk += 32) {
    const I k = chunk + static_cast<I>(lane);
    const bool is_entry = k < row.end;
    const I other = is_entry ? row[k] : own;
    const bool reads = is_entry && other >= group.first;
    if (is_entry && !reads && first < shape.outside) set(group.number_of(other));
    const BitRow theirs = reads ? group.row_of(other) : BitRow();
    const unsigned counts = theirs.outside | static_cast<unsigned>(theirs.inside) << 16;
    for (unsigned rest = __ballot_sync(all, reads); rest;) {
      std::uint32_t word[rows][batch];
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        const int from = rest ? __ffs(rest) - 1 : 0;
        const unsigned at = __shfl_sync(all, theirs.at, from), shared_counts = __shfl_sync(all, counts, from);
        const unsigned outside = rest ? shared_counts & 0xffff : 0, inside = rest ? shared_counts >> 16 : 0;
        rest &= rest - 1;
#pragma unroll
        for (unsigned u = 0; u < batch; ++u) {
          const unsigned w = first + 32 * u + lane;
          const bool is_outside = w < shape.outside;
          const unsigned v = is_outside ? w : w - shape.outside;
          word[r][u] = v < (is_outside ? outside : inside) ? group.bits[at + v + (is_outside ? 0 : outside)] : 0;
          if (first + 32 * (u + 1) >= words) break;
        }
      }
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

/// By a team, a window a warp: use(own, w, bits) as above for the words of the rows first..last - 1.
template <class I, class Team, class Group, class Use>
__device__ void unite_level(const LevelledView<I>& T, const Team& team, const Group& group, I first, I last,
                            BitRow shape, Use use)
{
  __shared__ std::uint32_t scratch[choosing_threads / 32][32 * wide_window];
  const auto rows = static_cast<std::uint64_t>(last - first);
  const Windows windows(shape, rows, team.warps());
  for (std::uint64_t at = team.warp(); at < rows * windows.row; at += team.warps()) {
    const I own = first + static_cast<I>(at / windows.row);
    const unsigned word = windows.first_word(at);
    const RowReads<I> row(T, own);
    const auto use_words = [&](unsigned w, std::uint32_t bits) { use(own, w, bits); };
    std::uint32_t* const mine = scratch[threadIdx.x / 32];
    if (windows.lane == narrow_window) unite<narrow_window>(row, group, own, shape, word, mine, use_words);
    else unite<wide_window>(row, group, own, shape, word, mine, use_words);
  }
}

/// What the blocks of a run count together: numbers given so far, and entries of the level at hand (in turn), plain and
/// made.
struct RunState {
  unsigned next;
  unsigned long long plain[2], made[2];
};

/// What decides where groups end, and what it is found in: by run, n numbers and `words` words of bits.
template <class I> struct GroupSearch {
  double hop, entry;
  std::int64_t most_levels;
  I n;
  std::uint32_t words;
  unsigned* number;
  BitRow* row;
  std::uint32_t* bits;
  RunState* state;
  unsigned blocks;  ///< of a run
};

/// By place: number of the group in its run, depth from 1 on, entries of P and R.
template <class I> struct GroupedRows {
  I* group;
  unsigned* depth;
  I *p_count, *r_count;
};

/// span and words are those of the group that needs most.
struct RunReport {
  RunCounts counts;
  std::int64_t span = 0, words = 0;
  std::int64_t gave_up = 0;
};

/// What a level's rows read outside the group gets numbers, if it has none yet; state->plain[turn] grows by the level's
/// entries. The rows' counts begin at 0.
template <class I>
__device__ void number_outside(const LevelledView<I>& T, const Team& team, const GrowingGroup<I>& group, I first,
                               I last, const GroupedRows<I>& out, RunState* state, int turn)
{
  unsigned long long entries = 0;
  for (I own = first + static_cast<I>(team.warp()); own < last; own += static_cast<I>(team.warps())) {
    const RowReads<I> row(T, own);
    entries += 1 + static_cast<unsigned long long>(row.end - row.begin);
    if (threadIdx.x % 32 == 0) out.p_count[own] = out.r_count[own] = 0;
    for (I k = row.begin + static_cast<I>(threadIdx.x % 32); k < row.end; k += 32) {
      const I other = row[k];
      if (other >= group.first) continue;
      unsigned* const number = group.number + other;
      const unsigned seen = look_at(number);
      if (seen <= group.base && replace(number, seen, ~0u)) tell(number, 1 + take_number(&state->next));
    }
  }
  if (threadIdx.x % 32 == 0 && entries) add_to(state->plain + turn, entries);
}

/// The bits of a level's rows; state->made[turn] grows by their entries of P and R.
///   at, shape   where the first row's stand, and how many words there are of each
template <class I>
__device__ void make_bits(const LevelledView<I>& T, const Team& team, const GrowingGroup<I>& group, I first, I last,
                          std::uint32_t at, BitRow shape, const GroupedRows<I>& out, RunState* state, int turn)
{
  const unsigned lane = threadIdx.x % 32, words = shape.outside + static_cast<unsigned>(shape.inside);
  unsigned long long entries = 0;
  unite_level(T, team, group, first, last, shape, [&](I own, unsigned w, std::uint32_t bits) {
    const std::uint32_t begin = at + static_cast<std::uint32_t>(own - first) * words;
    if (w + lane < words) group.bits[begin + w + lane] = bits;
    if (w + lane == 0) group.row[own] = {begin, shape.outside, shape.inside};
    const unsigned count = __popc(bits);
    const bool is_outside = w + lane < shape.outside;
    const unsigned r = __reduce_add_sync(~0u, is_outside ? count : 0), p = __reduce_add_sync(~0u, count) - r;
    entries += r + p;
    if (lane == 0 && r) add_to(out.r_count + own, static_cast<I>(r));
    if (lane == 0 && p) add_to(out.p_count + own, static_cast<I>(p));
  });
  if (lane == 0 && entries) add_to(state->made + turn, entries);
}

/// owns       a cluster of blocks owns a run of levels, a warp a row of each
/// waits      for its own cluster between steps
/// publishes  groups, depths and counts to the launches behind this one
/// order      barriers of the cluster; numbers are taken by relaxed replacement, sums are relaxed
/// progress   no waits but barriers
/// result     reproducible: which number a place gets is not, but how many there are is
/// source     level merging, design notes 8
template <class I>
__global__ void __launch_bounds__(choosing_threads)
choose_groups(LevelledView<I> T, const LevelRun* runs, GroupSearch<I> search, GroupedRows<I> out, RunReport* reports)
{
  __shared__ RunState of_block;
  const Team team(search.blocks);
  const LevelRun run = runs[team.number];
  unsigned* const number = search.number + static_cast<std::size_t>(team.number) * static_cast<std::size_t>(search.n);
  std::uint32_t* const bits = search.bits + static_cast<std::size_t>(team.number) * search.words;
  RunState& state = team.blocks == 1 ? of_block : search.state[team.number];
  if (threadIdx.x == 0) of_block = RunState();
  __syncthreads();
  GrowingGroup<I> group = {0, 0, number, search.row, bits};
  GroupTimes times = {search.hop, search.entry};
  RunReport report;
  unsigned numbers = 0;  // `next` behind the last barrier
  std::uint32_t used = 0;
  std::int64_t group_levels = 0;
  int turn = 0;
  for (std::int64_t level = run.first; level < run.last; ++level) {
    const I first = T.level_begin[level], last = T.level_begin[level + 1];
    const auto rows = static_cast<std::uint64_t>(last - first);
    bool fresh = level == run.first || group_levels >= search.most_levels;
    for (bool done = false; !done; turn ^= 1) {
      if (fresh) {
        group.first = first, group.base = numbers;
        used = 0, group_levels = 0;
        ++report.counts.groups;
      }
      number_outside(T, team, group, first, last, out, &state, turn);
      team.meet();
      numbers = look_at(&state.next);
      const auto alone = static_cast<std::int64_t>(look_at(state.plain + turn));
      if (team.thread() == 0) state.plain[turn ^ 1] = state.made[turn ^ 1] = 0;
      const std::uint64_t outside = (numbers - group.base + 31ull) / 32;
      const std::uint64_t inside = (static_cast<std::uint64_t>(last - group.first) + 31) / 32;
      if (outside > 0xffff || inside > 0xffff || used + rows * (outside + inside) > search.words) {
        if (team.thread() == 0) reports[team.number].gave_up = 1;
        return;
      }
      const BitRow shape = {0, static_cast<std::uint16_t>(outside), static_cast<std::uint16_t>(inside)};
      make_bits(T, team, group, first, last, used, shape, out, &state, turn);
      team.meet();
      const auto together = static_cast<std::int64_t>(look_at(state.made + turn));
      if (fresh) times.begin(alone);
      done = fresh || times.join(together, alone);
      fresh = true;
      if (!done) continue;
      used += static_cast<std::uint32_t>(rows * (outside + inside));
      report.counts.entries += together;
      report.counts.plain += alone;
      const auto group_rows = static_cast<std::int64_t>(last - group.first);
      report.span = max(report.span, group_rows + static_cast<std::int64_t>(numbers - group.base));
      report.words = max(report.words, group_rows * static_cast<std::int64_t>(outside + inside));
    }
    for (I place = first + static_cast<I>(team.thread()); place < last; place += static_cast<I>(team.threads())) {
      out.group[place] = static_cast<I>(report.counts.groups - 1);
      out.depth[place] = static_cast<unsigned>(group_levels + 1);
    }
    report.counts.longest = max(report.counts.longest, ++group_levels);
  }
  if (team.thread() == 0) reports[team.number] = report;
}

/// A block a run: groups of all runs are numbered on, and told where they begin.
///   before   groups of the runs before
template <class I>
__global__ void number_groups(const LevelRun* runs, const I* before, const I* level_begin, const unsigned* depth,
                              I* group, I* group_begin, I* group_level, I groups, I n)
{
  const LevelRun run = runs[blockIdx.x];
  if (blockIdx.x == 0 && threadIdx.x == 0) group_begin[groups] = n;
  for (std::int64_t level = run.first + threadIdx.x; level < run.last; level += blockDim.x) {
    const I first = level_begin[level];
    if (depth[first] != 1) continue;
    const I own = before[blockIdx.x] + group[first];
    group_begin[own] = first;
    group_level[own] = static_cast<I>(level);
  }
  __syncthreads();
  const I end = level_begin[run.last];
  const I step = static_cast<I>(blockDim.x);
  for (I place = level_begin[run.first] + static_cast<I>(threadIdx.x); place < end; place += step)
    group[place] += before[blockIdx.x];
}

/// Where a cluster of blocks keeps what it knows of a group: marks and bits together, each block ranks and places for
/// itself. In words.
struct FillingMemory {
  std::uint64_t marks, bits, outside;

  SYNCFREE_HD std::uint64_t words(unsigned blocks) const { return marks + bits + blocks * (marks + outside); }
};

/// Columns of P and R, where the offsets of rows are known.
///   r_local   or nullptr
template <class I> struct MergedColumns {
  const I *p_begin, *r_begin;
  I *p, *r;
  std::uint16_t* r_local;
};

/// Ranks of the marks, and the places that are marked one after the other; by the block.
__device__ inline unsigned rank_marks(const std::uint32_t* marks, std::uint32_t* rank, std::uint32_t* outside,
                                      unsigned words)
{
  using Scan = cub::BlockScan<unsigned, filling_threads>;
  __shared__ typename Scan::TempStorage scratch;
  const unsigned part = (words + filling_threads - 1) / filling_threads;
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

/// By a warp: put(k, number) for each bit, k from *at on, numbers ascending.
template <class Put> __device__ void put_bits(std::uint32_t bits, unsigned first_number, unsigned* at, Put put)
{
  const unsigned lane = threadIdx.x % 32, own = __popc(bits);
  unsigned end = own;
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned before = __shfl_up_sync(~0u, end, offset);
    if (lane >= offset) end += before;
  }
  unsigned k = *at + end - own;
  for (; bits; bits &= bits - 1) put(k++, first_number + __ffs(bits) - 1);
  *at += __shfl_sync(~0u, end, 31);
}

/// The columns of a row of P and R from its bits; by a warp.
///   outside   places by number
template <class I>
__device__ void name_columns(const KnownGroup<I>& group, I own, const std::uint32_t* outside,
                             const MergedColumns<I>& out)
{
  const BitRow row = group.row_of(own);
  const unsigned lane = threadIdx.x % 32;
  const I r_begin = out.r_begin[own], p_begin = out.p_begin[own];
  unsigned r = 0, p = 0;
  for (unsigned w = 0; w < row.outside; w += 32)
    put_bits(w + lane < row.outside ? group.bits[row.at + w + lane] : 0, 32 * (w + lane), &r,
             [&](unsigned k, unsigned number) {
               const I to = r_begin + static_cast<I>(k);
               out.r[to] = static_cast<I>(outside[number]);
               if (out.r_local) out.r_local[to] = static_cast<std::uint16_t>(number);
             });
  for (unsigned w = 0; w < row.inside; w += 32)
    put_bits(w + lane < row.inside ? group.bits[row.at + row.outside + w + lane] : 0, 32 * (w + lane), &p,
             [&](unsigned k, unsigned number) {
               out.p[p_begin + static_cast<I>(k)] = group.first + static_cast<I>(number);
             });
}

/// owns       a cluster of blocks owns a group, and the next but as many as there are clusters; a warp a row
/// waits      for its own cluster between levels
/// publishes  columns of P and R to the launches behind this one
/// order      barriers of the cluster; marks are set relaxed, in front of one
/// progress   no waits but barriers
/// result     reproducible
/// source     level merging, design notes 8
template <class I>
__global__ void __launch_bounds__(filling_threads)
fill_groups(LevelledView<I> T, I groups, const I* group_begin, const I* group_level, FillingMemory memory,
            std::uint32_t* all_memory, unsigned blocks, MergedColumns<I> out)
{
  const Team team(blocks);
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t* const marks = all_memory + team.number * memory.words(blocks);
  std::uint32_t* const bits = marks + memory.marks;
  std::uint32_t* const rank = bits + memory.bits + team.rank * (memory.marks + memory.outside);
  std::uint32_t* const outside = rank + memory.marks;
  for (I g = static_cast<I>(team.number); g < groups; g += static_cast<I>(gridDim.x / blocks)) {
    const I first = group_begin[g], last = group_begin[g + 1];
    const auto words = static_cast<unsigned>((static_cast<std::uint64_t>(first) + 31) / 32);
    for (unsigned w = team.thread(); w < words; w += team.threads()) marks[w] = 0;
    team.meet();
    for (I own = first + static_cast<I>(team.warp()); own < last; own += static_cast<I>(team.warps())) {
      const RowReads<I> row(T, own);
      for (I k = row.begin + static_cast<I>(lane); k < row.end; k += 32)
        if (const I other = row[k]; other < first) set_bits(marks + other / 32, 1u << other % 32);
    }
    team.meet();
    const unsigned span = rank_marks(marks, rank, outside, words);
    const BitRow shape = {0, static_cast<std::uint16_t>((span + 31) / 32),
                          static_cast<std::uint16_t>((static_cast<std::uint64_t>(last - first) + 31) / 32)};
    const KnownGroup<I> group = {first, shape, marks, rank, bits};
    const unsigned all_words = shape.outside + static_cast<unsigned>(shape.inside);
    for (I level = group_level[g]; T.level_begin[level] < last; ++level) {
      unite_level(T, team, group, T.level_begin[level], T.level_begin[level + 1], shape,
                  [&](I own, unsigned w, std::uint32_t some) {
                    if (w + lane < all_words) bits[group.row_of(own).at + w + lane] = some;
                  });
      team.meet();
    }
    for (I own = first + static_cast<I>(team.warp()); own < last; own += static_cast<I>(team.warps()))
      name_columns(group, own, outside, out);
    team.meet();
  }
}

}  // namespace syncfree::cuda
