#pragma once

/// Chooses the groups of a merge plan (core/plan/merge_search.hpp): a cluster processes a run of levels, level by
/// level, and decides by the entries that the rows of each level would have as part of the current group.

#include <cstdint>
#include <new>

#include "core/plan/merge_search.hpp"
#include "cuda/solve/merged/bitsets.cuh"

namespace syncfree::cuda {

/// A group to which levels are added.
///   first   position of its first row
///   number  by outside position: index of its bit, counted from `base` + 1 on; at most `base`: not read by the group
template <class I> struct GrowingGroup {
  I first;
  unsigned base;
  unsigned* number;
  BitsetRow* row;
  std::uint32_t* bits;

  __device__ unsigned number_of(I position) const { return number[position] - base - 1; }
  __device__ BitsetRow bitset_of(I position) const { return row[position]; }
};

/// Counts of a level by all thread blocks of a run: numbers that its rows assign; its entries without and with merging.
struct LevelCount {
  unsigned numbers;
  unsigned long long plain, made;
};

/// Counters of consecutive levels, used cyclically.
struct RangeCounters {
  static constexpr unsigned counts = 4;
  LevelCount count[counts];
};

/// Most rows whose numbers are in shared memory, if a thread block alone searches a run: there they are claimed in a
/// tenth of the time.
constexpr std::size_t most_numbers_of_block = 4096;

/// Parameters and work space of the group search: by run, n numbers and words of bitsets.
///   number      nullptr: in dynamic shared memory
///   rooms       by run, or nullptr: groups may be of any size
///   bits_begin  runs + 1 offsets
///   prefixes    [out] GroupPrefixes::sizes of each run
template <class I> struct GroupSelectorInput {
  double hop, entry;
  std::int64_t most_levels;
  PlanBytes bytes;
  const RunRoom* rooms;
  I n;
  const std::uint32_t* bits_begin;
  unsigned* number;
  BitsetRow* row;
  std::uint32_t* bits;
  RangeCounters* state;
  GroupPrefixes* prefixes;
  unsigned blocks;  ///< thread blocks of a run
  unsigned lanes;   ///< that read a row's entries together
};

/// By position: index of the group in its run, depth from 1 on, entries of P and R.
///   words_before  by first level of a group: words of bitsets of the run's earlier groups
template <class I> struct GroupedRows {
  I* group;
  unsigned* depth;
  I *p_count, *r_count;
  std::uint32_t* words_before;
};

/// Result of a run.
///   span         largest of a group of several levels
///   outside      most rows that a group reads outside
///   words        of bitsets, with the final numbers of outside positions of each group
///   lacks_words  the search of a group takes more words than the run has
///   gave_up      a row takes more words than can be counted
struct RangeReport {
  RunCounts counts;
  std::int64_t span = 0, outside = 0, words = 0;
  std::int64_t lacks_words = 0, gave_up = 0;
};

/// Assigns numbers from `given` + 1 on to those positions outside the group that a level's rows read and that have none
/// yet. Sets the rows' counts to 0.
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

/// Computes the bitsets of a level's rows.
///   at, shape   first word of the first row's, and the words of each
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

/// First positions of a run's levels, and the end of the last one: in shared memory if there is room.
template <class I> struct RunLevels {
  static constexpr std::int64_t room = 1024;
  const I* from;
  std::int64_t first;

  /// Called by all threads of a thread block; may be read after a barrier.
  __device__ RunLevels(const I* level_begin, LevelRange run, I* memory) : from(level_begin), first(0)
  {
    if (run.last - run.first >= room) return;
    from = memory, first = run.first;
    for (std::int64_t k = threadIdx.x; k <= run.last - run.first; k += blockDim.x) memory[k] = level_begin[first + k];
  }
  __device__ I operator[](std::int64_t level) const { return from[level - first]; }
};

/// The work of a run's thread blocks between two barriers: bitsets for the rows of `level`, unless it only begins a
/// group, and numbers for those of the next level, as if it belonged to the group; group and depth for the rows of
/// `known`. Level -1: none.
///   first, base   of the current group
///   given         numbers assigned before the step
///   at, shape     of the level's bitsets
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

/// Decides from the counts. Run by one thread of each thread block of a run; all decide alike.
template <class I> class GroupSelector {
public:
  ///   words  available for the bitsets of a group
  __device__ GroupSelector(const RunLevels<I>& level_begin, const GroupSelectorInput<I>& search, LevelRange run,
                           const RunRoom& room, std::uint32_t words)
      : level_begin_(level_begin),
        most_levels_(search.most_levels),
        bytes_(search.bytes),
        room_(room),
        words_of_group_(words),
        run_(run),
        times_{search.hop, search.entry}
  {
    step_.known = -1;
    begin_group(run.first);
  }

  __device__ const SelectionStep<I>& step() const { return step_; }
  __device__ const RangeReport& report() const { return report_; }
  /// Returns the counts of the level `known` of the step.
  __device__ const RunCounts& known_counts() const { return of_known_; }

  /// Called after a step.
  ///   numbers      assigned in it
  ///   plain, made  entries of its level
  __device__ void end_step(unsigned numbers, std::int64_t plain, std::int64_t made)
  {
    step_.known = -1;
    const unsigned of_level = step_.given;
    step_.given += numbers;
    if (step_.begins) return take_bits(step_.level);
    RunCounts level;
    level.levels = 1;
    level.entries = made, level.plain = plain;
    level.substitutions = rows_of(step_.level) * count_substitutions(levels_);
    if (fresh_) times_.start_group(plain);
    if (!fresh_ && !joins(of_level, level)) return begin_group(step_.level);
    take_level(of_level, level);
    const std::int64_t next = step_.level + 1;
    fresh_ = false;
    if (next == run_.last) step_.level = -1;
    else if (levels_ >= most_levels_) begin_group(next);
    else take_bits(next);
  }

private:
  /// Returns the number of the current group's rows before a level.
  __device__ std::int64_t rows_before(std::int64_t level) const
  {
    return static_cast<std::int64_t>(level_begin_[level] - step_.first);
  }

  __device__ std::int64_t rows_of(std::int64_t level) const { return rows_before(level + 1) - rows_before(level); }

  __device__ bool joins(unsigned numbers, const RunCounts& level)
  {
    const std::int64_t span = rows_before(step_.level + 1) + static_cast<std::int64_t>(numbers - step_.base);
    RunCounts with = report_.counts;
    with.add_levels(level);
    return span <= most_span && room_.has_room(bytes_, with) && times_.join(level.entries, level.plain);
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

  __device__ void take_level(unsigned numbers, const RunCounts& level)
  {
    used_ += static_cast<std::uint32_t>(words_);
    step_.known = step_.level;
    step_.depth = ++levels_;
    step_.group = static_cast<I>(report_.counts.groups - 1);
    of_known_ = level;
    report_.counts.add_levels(level);
    report_.counts.longest = max(report_.counts.longest, static_cast<std::int64_t>(levels_));
    const std::int64_t rows = rows_before(step_.level + 1), outside = static_cast<std::int64_t>(numbers - step_.base);
    if (levels_ > 1) report_.span = max(report_.span, rows + outside);
    report_.outside = max(report_.outside, outside);
    inside_ += rows_of(step_.level) * step_.shape.inside;
    report_.words = words_before_ + inside_ + rows * step_.shape.outside;
    step_.words_before = words_before_;
  }

  const RunLevels<I> level_begin_;
  const std::int64_t most_levels_;
  const PlanBytes bytes_;
  const RunRoom room_;
  const std::uint32_t words_of_group_;
  const LevelRange run_;
  SelectionStep<I> step_ = {};
  GroupTimes times_;
  RangeReport report_;
  RunCounts of_known_;
  std::uint32_t used_ = 0;
  unsigned levels_ = 0;                  ///< of the current group
  std::int64_t inside_ = 0, words_ = 0;  ///< inside words of the current group; all words of the current level
  std::int64_t words_before_ = 0;        ///< of the earlier groups
  bool fresh_ = true;       ///< the level begins its group
};

/// owns       a cluster owns a run of levels, a warp a row of each
/// waits      for its own cluster between steps
/// publishes  groups, depths and counts to later launches
/// order      barriers of the cluster; numbers are claimed by relaxed compare-exchange, sums are relaxed. A step's
///            counts are read after its barrier, and their slot is cleared two steps later, when all have read it
/// progress   no waits but barriers
/// result     reproducible: the number that a position gets is not, but how many there are is
/// source     this library; what is chosen is the partition of a partitioned inverse (Alvarado and Schreiber 1993)
template <class I>
__global__ void __launch_bounds__(merging_threads)
choose_groups(LevelledView<I> T, const LevelRange* runs, GroupSelectorInput<I> search, GroupedRows<I> out,
              RangeReport* reports)
{
  __shared__ RangeCounters of_block;
  __shared__ alignas(GroupSelector<I>) unsigned char memory[sizeof(GroupSelector<I>)];
  __shared__ alignas(GroupPrefixes) unsigned char prefix_memory[GroupPrefixes::sizes * sizeof(GroupPrefixes)];
  __shared__ I begins[RunLevels<I>::room];
  extern __shared__ unsigned numbers_of_block[];
  auto& choosing = reinterpret_cast<GroupSelector<I>&>(memory);
  const ClusterGroup team(search.blocks);
  const LevelRange run = runs[team.number];
  const RunLevels<I> level_begin(T.level_begin, run, begins);
  RangeCounters& state = team.blocks == 1 ? of_block : search.state[team.number];
  if (threadIdx.x == 0) of_block = RangeCounters();
  unsigned* const number =
      search.number ? search.number + team.number * static_cast<std::size_t>(search.n) : numbers_of_block;
  for (I k = static_cast<I>(threadIdx.x); !search.number && k < search.n; k += static_cast<I>(blockDim.x))
    number[k] = 0;
  __syncthreads();
  const std::uint32_t bits_begin = search.bits_begin[team.number];
  const std::uint32_t words = search.bits_begin[team.number + 1] - bits_begin;
  const RunRoom room = search.rooms ? search.rooms[team.number] : RunRoom();
  if (threadIdx.x == 0) new (&choosing) GroupSelector<I>(level_begin, search, run, room, words);
  /* a warp of its own adds up the prefixes, while others process the next level */
  const int size = static_cast<int>(threadIdx.x) - 32;
  const bool has_prefix = team.rank == 0 && size >= 0 && size < GroupPrefixes::sizes;
  GroupPrefixes* const prefix = reinterpret_cast<GroupPrefixes*>(prefix_memory) + (has_prefix ? size : 0);
  if (has_prefix) new (prefix) GroupPrefixes(GroupPrefixes::of_size(size, search.hop, search.entry));
  __syncthreads();
  for (unsigned turn = 0;; ++turn) {
    const SelectionStep<I> step = choosing.step();
    if (step.known >= 0) {
      if (has_prefix) prefix->add_level(step.depth == 1, choosing.known_counts());
      const I last = level_begin[step.known + 1];
      if (team.thread() == 0 && step.depth == 1)
        out.words_before[step.known] = static_cast<std::uint32_t>(step.words_before);
      for (I position = level_begin[step.known] + static_cast<I>(team.thread()); position < last;
           position += static_cast<I>(team.threads()))
        out.group[position] = step.group, out.depth[position] = step.depth;
    }
    if (step.level < 0) break;
    const GrowingGroup<I> group = {step.first, step.base, number, search.row, search.bits + bits_begin};
    LevelCount *own = state.count + turn % RangeCounters::counts,
               *next = state.count + (turn + 1) % RangeCounters::counts;
    if (team.thread() == 0) state.count[(turn + 2) % RangeCounters::counts] = LevelCount();
    const std::int64_t numbered = step.begins ? step.level : step.level + 1;
    const I first = level_begin[step.level], last = level_begin[step.level + 1];
    if (!step.begins) make_bits(T, team, group, first, last, step.at, step.shape, out, own);
    if (numbered < run.last)
      number_outside(T, team, group, search.lanes, step.begins ? first : last, level_begin[numbered + 1], step.given,
                     out, next);
    team.meet();
    if (threadIdx.x == 0)
      choosing.end_step(load_relaxed(&next->numbers), static_cast<std::int64_t>(load_relaxed(&own->plain)),
                       static_cast<std::int64_t>(load_relaxed(&own->made)));
    __syncthreads();
  }
  if (team.thread() == 0) reports[team.number] = choosing.report();
  if (has_prefix) search.prefixes[team.number * GroupPrefixes::sizes + static_cast<unsigned>(size)] = *prefix;
}

/// The last offsets of P and R in device memory, and the words of the host to which they are copied.
template <class I> struct OffsetTotals {
  const I *p, *r;
  unsigned long long *told_p, *told_r;
};

/// Numbers the groups of runs first..first + gridDim.x - 1 after those of earlier runs, and stores where they begin,
/// and where their words do among those of these runs, which are filled in one launch; one thread block per run.
///   reports  of all runs
template <class I>
__global__ void number_groups(const LevelRange* runs, const RangeReport* reports, std::size_t first,
                              const I* level_begin, GroupedRows<I> rows, I* group_begin, I* group_level,
                              std::uint32_t* bits_begin, I groups, I n, OffsetTotals<I> totals)
{
  __shared__ unsigned long long groups_before, words_before;
  const std::size_t number = first + blockIdx.x;
  const LevelRange run = runs[number];
  if (threadIdx.x == 0) groups_before = words_before = 0;
  __syncthreads();
  unsigned long long earlier_groups = 0, earlier_words = 0;
  for (std::size_t earlier = threadIdx.x; earlier < number; earlier += blockDim.x) {
    earlier_groups += static_cast<unsigned long long>(reports[earlier].counts.groups);
    if (earlier >= first) earlier_words += static_cast<unsigned long long>(reports[earlier].words);
  }
  if (earlier_groups) red_add_relaxed(&groups_before, earlier_groups);
  if (earlier_words) red_add_relaxed(&words_before, earlier_words);
  __syncthreads();
  const I before = static_cast<I>(groups_before);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    group_begin[groups] = n;
    *totals.told_p = static_cast<unsigned long long>(*totals.p);
    *totals.told_r = static_cast<unsigned long long>(*totals.r);
  }
  for (std::int64_t level = run.first + threadIdx.x; level < run.last; level += blockDim.x) {
    const I begin = level_begin[level];
    if (rows.depth[begin] != 1) continue;
    const I own = before + rows.group[begin];
    group_begin[own] = begin;
    group_level[own] = static_cast<I>(level);
    bits_begin[own] = static_cast<std::uint32_t>(words_before) + rows.words_before[level];
  }
  __syncthreads();
  const I end = level_begin[run.last];
  const I step = static_cast<I>(blockDim.x);
  for (I position = level_begin[run.first] + static_cast<I>(threadIdx.x); position < end; position += step)
    rows.group[position] += before;
}

}  // namespace syncfree::cuda
