#pragma once

/// How the groups of a merge plan are chosen (core/plan/merge_search.hpp): a run of levels by a cluster of blocks,
/// level by level, from what the rows of each come to as a part of the group at hand.

#include <cstdint>
#include <new>

#include "core/plan/merge_search.hpp"
#include "cuda/solve/merged/bitsets.cuh"

namespace syncfree::cuda {

/// A group while levels join it.
///   first   place
///   number  by place outside: the number of its bit, counted from `base` + 1 on; what is not above `base` was not read
template <class I> struct GrowingGroup {
  I first;
  unsigned base;
  unsigned* number;
  BitsetRow* row;
  std::uint32_t* bits;

  __device__ unsigned number_of(I place) const { return number[place] - base - 1; }
  __device__ BitsetRow row_of(I place) const { return row[place]; }
};

/// What the blocks of a run count together of a level: numbers that its rows give, and its entries, plain and made.
struct LevelCount {
  unsigned numbers;
  unsigned long long plain, made;
};

/// Of levels in turn.
struct RangeCounters {
  static constexpr unsigned places = 4;
  LevelCount count[places];
};

/// What decides where groups end, and what it is found in: by run, n numbers and words of bits.
///   bits_begin  runs + 1 offsets
template <class I> struct GroupSelectorInput {
  double hop, entry;
  std::int64_t most_levels;
  I n;
  const std::uint32_t* bits_begin;
  unsigned* number;
  BitsetRow* row;
  std::uint32_t* bits;
  RangeCounters* state;
  unsigned blocks;  ///< of a run
  unsigned lanes;   ///< that look at a row's entries together
};

/// By place: number of the group in its run, depth from 1 on, entries of P and R.
///   words_before  by level, where a group begins: words of bits of the groups before it in its run
template <class I> struct GroupedRows {
  I* group;
  unsigned* depth;
  I *p_count, *r_count;
  std::uint32_t* words_before;
};

/// What a run's groups come to.
///   span         of the one that has most
///   words        of bits, when all that rows of a group read outside have numbers
///   lacks_words  a group took more words than there are while it was looked for
///   gave_up      or more than can be counted
struct RangeReport {
  RunCounts counts;
  std::int64_t span = 0, words = 0;
  std::int64_t lacks_words = 0, gave_up = 0;
};

/// What a level's rows read outside the group gets numbers from `given` + 1 on, if it has none yet. The rows' counts
/// begin at 0.
template <class I>
__device__ void number_outside(const LevelledView<I>& T, const ClusterGroup& team, const GrowingGroup<I>& group,
                               unsigned lanes, I first, I last, unsigned given, const GroupedRows<I>& out,
                               LevelCount* count)
{
  const unsigned lane = threadIdx.x % lanes;
  unsigned entries = 0;
  const I begin = first + static_cast<I>(team.thread() / lanes), step = static_cast<I>(team.threads() / lanes);
  for (I own = begin; own < last; own += step) {
    const RowReads<I> row(T, own);
    if (lane == 0) {
      entries += 1 + static_cast<unsigned>(row.end - row.begin);
      out.p_count[own] = out.r_count[own] = 0;
    }
    for (I k = row.begin + static_cast<I>(lane); k < row.end; k += static_cast<I>(lanes)) {
      const I other = row[k];
      if (other >= group.first) continue;
      unsigned* const number = group.number + other;
      const unsigned seen = load_relaxed(number);
      if (seen <= group.base && compare_exchange_relaxed(number, seen, ~0u))
        store_relaxed(number, given + 1 + fetch_increment_relaxed(&count->numbers));
    }
  }
  __syncwarp();
  entries = __reduce_add_sync(~0u, entries);
  if (threadIdx.x % 32 == 0 && entries) red_add_relaxed(&count->plain, static_cast<unsigned long long>(entries));
}

/// The bits of a level's rows.
///   at, shape   where the first row's stand, and how many words there are of each
template <class I>
__device__ void make_bits(const LevelledView<I>& T, const ClusterGroup& team, const GrowingGroup<I>& group, I first,
                          I last, std::uint32_t at, BitsetRow shape, const GroupedRows<I>& out, LevelCount* count)
{
  const unsigned lane = threadIdx.x % 32, words = shape.outside + static_cast<unsigned>(shape.inside);
  unsigned long long entries = 0;
  union_level_bitsets(T, team, group, first, last, shape, [&](I own, unsigned w, std::uint32_t bits) {
    const std::uint32_t begin = at + static_cast<std::uint32_t>(own - first) * words;
    if (w + lane < words) group.bits[begin + w + lane] = bits;
    if (w + lane == 0) group.row[own] = {begin, shape.outside, shape.inside};
    const unsigned own_bits = __popc(bits);
    const bool is_outside = w + lane < shape.outside;
    const unsigned itself = w == 0, r = __reduce_add_sync(~0u, is_outside ? own_bits : 0);
    const unsigned p = __reduce_add_sync(~0u, own_bits) - r + itself;
    entries += r + p;
    if (lane == 0 && r) red_add_relaxed(out.r_count + own, static_cast<I>(r));
    if (lane == 0 && p) red_add_relaxed(out.p_count + own, static_cast<I>(p));
  });
  if (lane == 0 && entries) red_add_relaxed(&count->made, entries);
}

/// Places where the levels of a run begin, and its last one ends: in shared memory where there is room.
template <class I> struct RunLevels {
  static constexpr std::int64_t room = 1024;
  const I* from;
  std::int64_t first;

  /// By all threads of a block; behind a barrier all may read.
  __device__ RunLevels(const I* level_begin, LevelRange run, I* memory) : from(level_begin), first(0)
  {
    if (run.last - run.first >= room) return;
    from = memory, first = run.first;
    for (std::int64_t k = threadIdx.x; k <= run.last - run.first; k += blockDim.x) memory[k] = level_begin[first + k];
  }
  __device__ I operator[](std::int64_t level) const { return from[level - first]; }
};

/// What a run's blocks do between two barriers: the rows of `level` get their bits, unless it only begins a group, and
/// those of the level behind it their numbers, as if the level belonged to the group; and the rows of `known` get their
/// group and depth. A level of -1 is none.
///   first, base   of the group at hand
///   given         numbers before the step
///   at, shape     of the level's bits
///   words_before  words of the groups before that of `known`
template <class I> struct SelectionStep {
  std::int64_t level, known;
  I first, group;
  unsigned base, given, depth;
  std::uint32_t at;
  BitsetRow shape;
  bool begins;
  std::int64_t words_before;
};

/// Decides from what was counted. By one thread of each block of a run, all of which decide alike.
template <class I> class GroupSelector {
public:
  ///   words  for the bits of a group
  __device__ GroupSelector(const RunLevels<I>& level_begin, const GroupSelectorInput<I>& search, LevelRange run,
                           std::uint32_t words)
      : level_begin_(level_begin),
        most_levels_(search.most_levels),
        words_of_group_(words),
        run_(run),
        times_{search.hop, search.entry}
  {
    step_.known = -1;
    begin_group(run.first);
  }

  __device__ const SelectionStep<I>& step() const { return step_; }
  __device__ const RangeReport& report() const { return report_; }

  /// Behind a step.
  ///   numbers      that it gave
  ///   plain, made  entries of its level
  __device__ void advance(unsigned numbers, std::int64_t plain, std::int64_t made)
  {
    step_.known = -1;
    const unsigned of_level = step_.given;
    step_.given += numbers;
    if (step_.begins) return take_bits(step_.level);
    if (fresh_) times_.begin(plain);
    if (!fresh_ && !times_.join(made, plain)) return begin_group(step_.level);
    take_level(of_level, plain, made);
    const std::int64_t next = step_.level + 1;
    fresh_ = false;
    if (next == run_.last) step_.level = -1;
    else if (levels_ >= most_levels_) begin_group(next);
    else take_bits(next);
  }

private:
  /// Rows of the group at hand in front of a level.
  __device__ std::int64_t rows_before(std::int64_t level) const
  {
    return static_cast<std::int64_t>(level_begin_[level] - step_.first);
  }

  __device__ void begin_group(std::int64_t level)
  {
    ++report_.counts.groups;
    used_ = 0, levels_ = 0, inside_ = 0, fresh_ = true;
    words_before_ = report_.words;
    step_.level = level, step_.begins = true;
    step_.first = level_begin_[level], step_.base = step_.given;
  }

  __device__ void take_bits(std::int64_t level)
  {
    const std::int64_t rows = level_begin_[level + 1] - level_begin_[level];
    const std::int64_t outside = (step_.given - step_.base + 31ll) / 32;
    const std::int64_t inside = inside_words(rows_before(level));
    step_.level = level, step_.begins = false;
    step_.at = used_;
    step_.shape = {0, static_cast<std::uint16_t>(outside), static_cast<std::uint16_t>(inside)};
    words_ = rows * (outside + inside);
    report_.gave_up = outside > 0xffff || inside > 0xffff;
    report_.lacks_words = used_ + words_ > words_of_group_;
    if (report_.gave_up || report_.lacks_words) step_.level = -1;
  }

  __device__ void take_level(unsigned numbers, std::int64_t plain, std::int64_t made)
  {
    used_ += static_cast<std::uint32_t>(words_);
    step_.known = step_.level;
    step_.depth = ++levels_;
    step_.group = static_cast<I>(report_.counts.groups - 1);
    report_.counts.entries += made;
    report_.counts.plain += plain;
    report_.counts.longest = max(report_.counts.longest, static_cast<std::int64_t>(levels_));
    const std::int64_t rows = rows_before(step_.level + 1);
    report_.span = max(report_.span, rows + static_cast<std::int64_t>(numbers - step_.base));
    inside_ += (rows - rows_before(step_.level)) * step_.shape.inside;
    report_.words = words_before_ + inside_ + rows * step_.shape.outside;
    step_.words_before = words_before_;
  }

  const RunLevels<I> level_begin_;
  const std::int64_t most_levels_;
  const std::uint32_t words_of_group_;
  const LevelRange run_;
  SelectionStep<I> step_ = {};
  GroupTimes times_;
  RangeReport report_;
  std::uint32_t used_ = 0;
  unsigned levels_ = 0;                  ///< of the group at hand
  std::int64_t inside_ = 0, words_ = 0;  ///< inside words of the group at hand, all of the level at hand
  std::int64_t words_before_ = 0;        ///< of the groups before
  bool fresh_ = true;       ///< it begins its group
};

/// owns       a cluster of blocks owns a run of levels, a warp a row of each
/// waits      for its own cluster between steps
/// publishes  groups, depths and counts to the launches behind this one
/// order      barriers of the cluster; numbers are taken by relaxed replacement, sums are relaxed. What a step counts
///            is read behind its barrier, and the place is cleared two steps later, when all have read it
/// progress   no waits but barriers
/// result     reproducible: which number a place gets is not, but how many there are is
/// source     level merging, design notes 8
template <class I>
__global__ void __launch_bounds__(merging_threads)
choose_groups(LevelledView<I> T, const LevelRange* runs, GroupSelectorInput<I> search, GroupedRows<I> out,
              RangeReport* reports)
{
  __shared__ RangeCounters of_block;
  __shared__ alignas(GroupSelector<I>) unsigned char memory[sizeof(GroupSelector<I>)];
  __shared__ I begins[RunLevels<I>::room];
  auto& choosing = reinterpret_cast<GroupSelector<I>&>(memory);
  const ClusterGroup team(search.blocks);
  const LevelRange run = runs[team.number];
  const RunLevels<I> level_begin(T.level_begin, run, begins);
  RangeCounters& state = team.blocks == 1 ? of_block : search.state[team.number];
  if (threadIdx.x == 0) of_block = RangeCounters();
  __syncthreads();
  const std::uint32_t bits_begin = search.bits_begin[team.number];
  const std::uint32_t words = search.bits_begin[team.number + 1] - bits_begin;
  if (threadIdx.x == 0) new (&choosing) GroupSelector<I>(level_begin, search, run, words);
  __syncthreads();
  for (unsigned turn = 0;; ++turn) {
    const SelectionStep<I> step = choosing.step();
    if (step.known >= 0) {
      const I last = level_begin[step.known + 1];
      if (team.thread() == 0 && step.depth == 1)
        out.words_before[step.known] = static_cast<std::uint32_t>(step.words_before);
      for (I place = level_begin[step.known] + static_cast<I>(team.thread()); place < last;
           place += static_cast<I>(team.threads()))
        out.group[place] = step.group, out.depth[place] = step.depth;
    }
    if (step.level < 0) break;
    const std::size_t number = team.number, n = static_cast<std::size_t>(search.n);
    const GrowingGroup<I> group = {step.first, step.base, search.number + number * n, search.row,
                                   search.bits + bits_begin};
    LevelCount *own = state.count + turn % RangeCounters::places,
               *next = state.count + (turn + 1) % RangeCounters::places;
    if (team.thread() == 0) state.count[(turn + 2) % RangeCounters::places] = LevelCount();
    const std::int64_t numbered = step.begins ? step.level : step.level + 1;
    const I first = level_begin[step.level], last = level_begin[step.level + 1];
    if (!step.begins) make_bits(T, team, group, first, last, step.at, step.shape, out, own);
    if (numbered < run.last)
      number_outside(T, team, group, search.lanes, step.begins ? first : last, level_begin[numbered + 1], step.given,
                     out, next);
    team.meet();
    if (threadIdx.x == 0)
      choosing.advance(load_relaxed(&next->numbers), static_cast<std::int64_t>(load_relaxed(&own->plain)),
                       static_cast<std::int64_t>(load_relaxed(&own->made)));
    __syncthreads();
  }
  if (team.thread() == 0) reports[team.number] = choosing.report();
}

/// Of the runs before one: groups, and words of bits of those that are filled with it.
template <class I> struct RunsBefore {
  I groups;
  std::uint32_t words;
};

/// A block a run: groups of all runs are numbered on, and told where they and their words begin.
template <class I>
__global__ void number_groups(const LevelRange* runs, const RunsBefore<I>* before, const I* level_begin,
                              GroupedRows<I> rows, I* group_begin, I* group_level, std::uint32_t* bits_begin, I groups,
                              I n)
{
  const LevelRange run = runs[blockIdx.x];
  if (blockIdx.x == 0 && threadIdx.x == 0) group_begin[groups] = n;
  for (std::int64_t level = run.first + threadIdx.x; level < run.last; level += blockDim.x) {
    const I first = level_begin[level];
    if (rows.depth[first] != 1) continue;
    const I own = before[blockIdx.x].groups + rows.group[first];
    group_begin[own] = first;
    group_level[own] = static_cast<I>(level);
    bits_begin[own] = before[blockIdx.x].words + rows.words_before[level];
  }
  __syncthreads();
  const I end = level_begin[run.last];
  const I step = static_cast<I>(blockDim.x);
  for (I place = level_begin[run.first] + static_cast<I>(threadIdx.x); place < end; place += step)
    rows.group[place] += before[blockIdx.x].groups;
}

}  // namespace syncfree::cuda
