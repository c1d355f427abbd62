/// Implements cuda/solve/merged/plan.hpp: a cluster for each run of levels chooses groups, then a cluster for each
/// group makes its columns.

#include "cuda/solve/merged/plan.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/base/stream.hpp"
#include "cuda/solve/merged/bitsets.cuh"
#include "cuda/solve/merged/choose_groups.cuh"

namespace syncfree::cuda {
namespace {

/// Thrown if a group, or the numbers of all runs, take too much memory.
struct GaveUp {};

constexpr std::uint64_t wanted_words = 1 << 24;  ///< for all groups that are searched or filled at once
constexpr std::int64_t most_words = 1 << 25;

/// Returns the number of runs that have room for their numbers, n for each run. These may take the memory of four such
/// triangles, at least 256 MB and at most 2 GB.
template <class I> std::size_t runs_with_room(const LevelledPattern<I>& triangle)
{
  constexpr double least = 256 << 20, most = 8 * least;
  const double triangles = 4 * (sizeof(double) + sizeof(I)) * triangle.plain_entries();
  const double of_run = sizeof(unsigned) * std::max(1.0, static_cast<double>(triangle.T.n));
  return static_cast<std::size_t>(std::clamp(triangles, least, most) / of_run);
}

/// Returns offsets that share out the words for the bitsets of a group among the runs.
///   all   words to share out
///   even  fraction of them that is divided equally: rows of hubs may read any position
///   much  1: enough for a group that is a whole run with rows of a grid or a mesh
template <class I>
std::vector<std::uint32_t> share_words(const std::vector<LevelRange>& runs, const std::vector<I>& level_begin,
                                       double all, double even, double much)
{
  constexpr double least = 64, few = 1 << 14;  // few: a run always receives its request up to this number
  const double each = least + all * even / static_cast<double>(runs.size());
  std::vector<double> wanted, most;  // most: with a bit for every position before a row's level
  for (const LevelRange& run : runs) {
    const auto rows = static_cast<double>(level_begin[run.last] - level_begin[run.first]);
    wanted.push_back(much * rows * (rows / 32 + 96));
    most.push_back(rows * (static_cast<double>(level_begin[run.last]) / 32 + 2));
  }
  const double part = std::min(1.0, all * (1 - even) / std::accumulate(wanted.begin(), wanted.end(), 0.0));
  std::vector<std::uint32_t> begin(1, 0);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double given = each + std::max(wanted[r] * part, std::min(wanted[r], few));
    begin.push_back(begin.back() + static_cast<std::uint32_t>(std::min(given, most[r])));
  }
  return begin;
}

/// True if a kernel runs in clusters of that size: not every device has large ones.
template <class... Parameters> bool runs_in_clusters(void (*kernel)(Parameters...), unsigned blocks)
{
  return cached_blocks_of_cluster(kernel, {blocks, merging_threads}, blocks) == blocks;
}

/// Returns the thread blocks of each of `teams` clusters, so that they fill the device; a power of two. Clusters are
/// large if those of both triangles fit.
template <class... Parameters> unsigned blocks_of_team(void (*kernel)(Parameters...), std::uint64_t teams)
{
  constexpr unsigned large = 16;
  const auto multiprocessors = static_cast<std::uint64_t>(device_attribute(cudaDevAttrMultiProcessorCount));
  if (2 * large * teams <= multiprocessors && runs_in_clusters(kernel, large)) return large;
  unsigned blocks = most_blocks_of_cluster();
  while (blocks > 1 && (blocks * teams > multiprocessors || !runs_in_clusters(kernel, blocks))) blocks /= 2;
  return blocks;
}

/// Work space of the group search, freed when the groups are known.
///   bits_begin  by run, and the end
///   rooms       by run, or empty
template <class I> struct SearchMemory {
  DeviceArray<unsigned> number;
  DeviceArray<std::uint32_t> bits_begin, bits;
  DeviceArray<RangeCounters> state;
  DeviceArray<RunRoom> rooms;
  DeviceArray<GroupPrefixes> prefixes;
};

/// The groups of some runs, and the counts of their rows.
template <class I> class ChosenGroups {
public:
  ChosenGroups(const LevelledPattern<I>& triangle, std::vector<LevelRange> runs, const MergeRule& rule)
      : triangle_(triangle), rule_(rule), runs_(std::move(runs)), device_runs_(runs_, stream_.get()),
        position_(triangle.row ? inverse_permutation(triangle.T.n, triangle.row, stream_.get()) : DeviceArray<I>()),
        level_begin_(triangle.level_begin, stream_.get()), group_(row_total()), depth_(row_total()),
        p_(row_total() + 1), r_(row_total() + 1), words_before_(triangle.level_begin.size()), bit_row_(row_total()),
        reports_(runs_.size()), blocks_(choose_blocks())
  {
    search_.number = DeviceArray<unsigned>(numbers());
    search_.state = DeviceArray<RangeCounters>(runs_.size());
    search_.prefixes = DeviceArray<GroupPrefixes>(runs_.size() * GroupPrefixes::sizes);
    make_bits();
    p_.fill(0, stream_.get());  // the scans also read the last one
    r_.fill(0, stream_.get());
  }

  /// Queues the first pass of choose().
  void begin_search()
  {
    begin_pass(rule_.hop);
    begun_ = true;
  }

  /// Chooses smaller and smaller groups until entries are few enough. Returns the hop time with which they were made.
  double choose()
  {
    const auto limit = static_cast<double>(std::numeric_limits<I>::max());
    const auto merge = [&](double hop, const std::vector<RunRoom>& rooms) {
      search_.rooms = DeviceArray<RunRoom>(rooms, stream_.get());
      if (!std::exchange(begun_, false)) begin_pass(hop);
      std::vector<RunCounts> counts;
      while (!end_pass(&counts)) {
        make_more_bits();
        begin_pass(hop);
      }
      return counts;
    };
    found_ = merge_until_few(rule_, triangle_.plain_entries(), limit, merge, [&] { return read_prefixes(); });
    search_ = {};
    return found_.hop;
  }

  MergeForecast make_forecast() const
  {
    const auto levels = static_cast<double>(triangle_.level_begin.size() - 1);
    return forecast_of(found_, levels, triangle_.plain_entries());
  }

  /// Queues the work that finish_plan() waits for, when groups have been chosen.
  void begin_columns()
  {
    DeviceMergePlan<I>& made = made_;
    for (const RunCounts& run : found_.counts) {
      made.groups += static_cast<I>(run.groups);
      made.longest = std::max(made.longest, run.longest);
    }
    made.span = span_;
    exclusive_sum_in_place(p_, stream_.get());
    exclusive_sum_in_place(r_, stream_.get());
    const std::vector<GroupBatch> fillings = divide();
    const DeviceArray<std::uint32_t> bits_begin = number_all(fillings, &made);
    made.p_column = DeviceArray<I>(static_cast<std::size_t>(read_total(p_, stream_.get())));
    made.r_column = DeviceArray<I>(static_cast<std::size_t>(read_total(r_, stream_.get())));
    made.p_local = DeviceArray<std::uint16_t>(made.p_column.size());
    made.r_local = DeviceArray<std::uint16_t>(made.r_column.size());
    fill(fillings, bits_begin);
    filled_ = true;
  }

  /// Returns the plan. Called once, and only if the runs are all levels.
  DeviceMergePlan<I> finish_plan()
  {
    if (!filled_) begin_columns();
    stream_.wait();
    DeviceMergePlan<I> made = std::move(made_);
    made.group = std::move(group_);
    made.depth = std::move(depth_);
    made.level_begin = std::move(level_begin_);
    made.p_begin = std::move(p_);
    made.r_begin = std::move(r_);
    return made;
  }

private:
  std::size_t row_total() const { return static_cast<std::size_t>(triangle_.T.n); }

  /// Allocates the words of bitsets. Twelve for each entry suffice except for small triangles, and if a few rows are
  /// much longer than others.
  void make_bits()
  {
    const double entries = triangle_.plain_entries(), mean = entries / static_cast<double>(row_total());
    const bool has_hubs = static_cast<double>(triangle_.longest) > 8 * mean;
    const double by_entries = (has_hubs ? 64 : 12) * entries;
    const double all = std::min<double>(most_words, much_ * std::max<double>(wanted_words, by_entries));
    const std::vector<std::uint32_t> begin =
        share_words(runs_, triangle_.level_begin, all, has_hubs ? 0.5 : 0.0, much_);
    search_.bits = {};
    search_.bits = DeviceArray<std::uint32_t>(begin.back());
    search_.bits_begin = DeviceArray<std::uint32_t>(begin, stream_.get());
  }

  /// Allocates four times as many. Throws GaveUp.
  void make_more_bits()
  {
    if (search_.bits.size() >= static_cast<std::size_t>(most_words) / 2) throw GaveUp();
    much_ *= 4;
    make_bits();
  }

  /// Returns the size of all runs' numbers. Throws GaveUp.
  std::size_t numbers() const
  {
    if (runs_.size() > runs_with_room(triangle_)) throw GaveUp();
    return runs_.size() * row_total();
  }

  /// Returns the thread blocks of a run: one if levels have, on average, at most two rows for each of its warps.
  unsigned choose_blocks() const
  {
    const std::size_t levels = triangle_.level_begin.size() - 1;
    const bool is_wide = row_total() > 2 * merging_threads / 32 * levels;
    return is_wide ? blocks_of_team(choose_groups<I>, runs_.size()) : 1;
  }

  /// Returns the lanes that read a row: eight for short rows.
  unsigned lanes() const { return triangle_.plain_entries() <= 16 * static_cast<double>(row_total()) ? 8 : 32; }

  LevelledView<I> levelled_view() const
  {
    return {triangle_.T.row_begin, triangle_.T.column, triangle_.row, triangle_.row ? position_.data() : nullptr,
            level_begin_.data()};
  }

  GroupedRows<I> grouped_rows()
  {
    return {group_.data(), depth_.data(), p_.data(), r_.data(), words_before_.data()};
  }

  void begin_pass(double hop)
  {
    const GroupSelectorInput<I> search = {hop,
                                   rule_.entry,
                                   rule_.most_levels,
                                   PlanBytes(rule_),
                                   search_.rooms.data(),
                                   triangle_.T.n,
                                   search_.bits_begin.data(),
                                   search_.number.data(),
                                   bit_row_.data(),
                                   search_.bits.data(),
                                   search_.state.data(),
                                   search_.prefixes.data(),
                                   blocks_,
                                   lanes()};
    search_.number.fill(0, stream_.get());
    search_.state.fill(0, stream_.get());
    reports_.fill(0, stream_.get());
    const LaunchParameters parameters = {
        blocks_ * static_cast<unsigned>(runs_.size()), merging_threads, 0, stream_.get(), false, blocks_};
    launch(choose_groups<I>, parameters, levelled_view(), device_runs_.data(), search, grouped_rows(), reports_.data());
  }

  /// Returns false if a run lacks words.
  bool end_pass(std::vector<RunCounts>* counts)
  {
    std::vector<RangeReport> reports(runs_.size());
    reports_.read(reports.data(), 0, reports.size(), stream_.get());
    counts->clear(), words_.clear();
    span_ = outside_ = 0;
    bool has_all = true;
    const std::int64_t most = std::max(most_words, static_cast<std::int64_t>(32 * triangle_.plain_entries()));
    for (const RangeReport& report : reports) {
      if (report.gave_up || report.words > std::min<std::int64_t>(most, ~0u)) throw GaveUp();
      has_all = has_all && !report.lacks_words;
      counts->push_back(report.counts);
      words_.push_back(static_cast<std::uint64_t>(report.words));
      span_ = std::max(span_, report.span), outside_ = std::max(outside_, report.outside);
    }
    return has_all;
  }

  /// Returns those of the last pass.
  std::vector<RunPrefixes> read_prefixes() const
  {
    std::vector<RunPrefixes> all(runs_.size());
    static_assert(sizeof(RunPrefixes) == GroupPrefixes::sizes * sizeof(GroupPrefixes));
    search_.prefixes.read(all.data()->data(), 0, search_.prefixes.size(), stream_.get());
    return all;
  }

  /// Runs first..last - 1, with groups that are filled in one launch, and the words of their bitsets.
  struct GroupBatch {
    std::size_t first, last;
    std::uint64_t words;
  };

  std::vector<GroupBatch> divide() const
  {
    std::vector<GroupBatch> all = {{0, 0, 0}};
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (all.back().words > 0 && all.back().words + words_[run] > wanted_words) all.push_back({run, run, 0});
      ++all.back().last;
      all.back().words += words_[run];
    }
    return all;
  }

  /// Numbers all groups. Returns where their bitsets begin.
  DeviceArray<std::uint32_t> number_all(const std::vector<GroupBatch>& fillings, DeviceMergePlan<I>* made)
  {
    std::vector<RunsBefore<I>> before;
    I groups = 0;
    for (const GroupBatch& filling : fillings) {
      std::uint64_t words = 0;
      for (std::size_t run = filling.first; run < filling.last; ++run) {
        before.push_back({groups, static_cast<std::uint32_t>(words)});
        groups += static_cast<I>(found_.counts[run].groups);
        words += words_[run];
      }
    }
    const DeviceArray<RunsBefore<I>> device_before(before, stream_.get());
    DeviceArray<std::uint32_t> bits_begin(static_cast<std::size_t>(groups));
    made->group_begin = DeviceArray<I>(static_cast<std::size_t>(groups) + 1);
    made->group_level = DeviceArray<I>(static_cast<std::size_t>(groups));
    launch(number_groups<I>, {static_cast<unsigned>(runs_.size()), merging_threads, 0, stream_.get()},
        device_runs_.data(), device_before.data(), level_begin_.data(), grouped_rows(), made->group_begin.data(),
        made->group_level.data(), bits_begin.data(), groups, triangle_.T.n);
    return bits_begin;
  }

  void fill(const std::vector<GroupBatch>& fillings, const DeviceArray<std::uint32_t>& bits_begin)
  {
    std::uint64_t words = 0;
    for (const GroupBatch& filling : fillings) words = std::max(words, filling.words);
    const auto groups = static_cast<std::uint64_t>(made_.groups);
    const unsigned team = blocks_of_team(fill_groups<I>, groups / 2);
    const auto multiprocessors = static_cast<std::uint64_t>(device_attribute(cudaDevAttrMultiProcessorCount));
    FillingMemory<I> memory = {row_total() / 32 + 1, static_cast<std::uint64_t>(outside_) + 1, nullptr, nullptr,
                               bits_begin.data(), bit_row_.data()};
    const std::uint64_t useful = std::min(groups, std::max<std::uint64_t>(multiprocessors / team, 1));
    const std::uint64_t teams = std::clamp<std::uint64_t>(wanted_words / memory.team_words(team), 1, useful);
    const DeviceArray<std::uint32_t> marks(teams * memory.team_words(team)), bits(words);
    memory.team_marks = marks.data(), memory.bits = bits.data();
    const LaunchParameters parameters = {
        static_cast<unsigned>(team * teams), merging_threads, 0, stream_.get(), false, team};
    const MergedColumns<I> columns = {p_.data(), r_.data(), made_.p_column.data(), made_.r_column.data(),
                                      made_.p_local.data(), made_.r_local.data()};
    GroupsToFill<I> to_fill = {0, 0, made_.group_begin.data(), made_.group_level.data()};
    for (const GroupBatch& filling : fillings) {
      to_fill.first = to_fill.last;
      for (std::size_t run = filling.first; run < filling.last; ++run)
        to_fill.last += static_cast<I>(found_.counts[run].groups);
      launch(fill_groups<I>, parameters, levelled_view(), to_fill, memory, team, columns);
    }
  }

  const LevelledPattern<I>& triangle_;
  const MergeRule& rule_;
  Stream stream_{StreamPriority::first};  ///< concurrent with the other triangle's plan and the factorization
  std::vector<LevelRange> runs_;
  FoundGroups found_;
  std::int64_t span_ = 0, outside_ = 0;
  std::vector<std::uint64_t> words_;  ///< by run: of its groups' bitsets
  DeviceArray<LevelRange> device_runs_;
  DeviceArray<I> position_, level_begin_, group_;
  DeviceArray<unsigned> depth_;
  DeviceArray<I> p_, r_;  ///< counts by position, then offsets
  DeviceArray<std::uint32_t> words_before_;  ///< by level
  DeviceArray<BitsetRow> bit_row_;              ///< by position
  SearchMemory<I> search_;
  double much_ = 1;  ///< of share_words()
  DeviceArray<RangeReport> reports_;
  unsigned blocks_;      ///< thread blocks of a run
  bool begun_ = false;   ///< a pass is queued
  bool filled_ = false;  ///< columns are queued
  DeviceMergePlan<I> made_;
};

/// True if the triangle is too large for 32-bit positions, of which each entry takes three at most.
template <class I> bool is_too_large(const DevicePattern<I>& T)
{
  return static_cast<std::uint64_t>(T.n) >= ~0u || static_cast<std::uint64_t>(T.nnz) >= ~0u / 4;
}

template <class I> bool is_worth_a_look(const LevelledPattern<I>& triangle)
{
  return may_merge(triangle.T.n, static_cast<std::int64_t>(triangle.level_begin.size()) - 1);
}

}  // namespace

template <class I> class MergePlanner<I>::Work {
public:
  Work(LevelledPattern<I> triangle, const MergeRule& rule) : triangle_(std::move(triangle)), rule_(rule) {}

  const LevelledPattern<I>& triangle() const { return triangle_; }
  void begin_search()
  {
    if (groups_ || looked_) return;
    std::vector<LevelRange> sample = sample_of_runs(triangle_.level_begin);
    sampled_ = !sample.empty();
    make_groups(sampled_ ? std::move(sample) : all_runs());
    groups_->begin_search();
  }
  void limit_bytes(std::int64_t most) { rule_.most_bytes = most; }
  MergeForecast forecast()
  {
    examine_levels();
    return forecast_;
  }
  /// Begins the groups of all levels, if those of the forecast were a sample's.
  void begin_groups()
  {
    examine_levels();
    if (groups_) return;
    make_groups(all_runs());
    groups_->begin_search();
  }
  void begin_columns()
  {
    end_groups();
    groups_->begin_columns();
  }
  DeviceMergePlan<I> finish_plan()
  {
    end_groups();
    DeviceMergePlan<I> made = groups_->finish_plan();
    groups_.reset();
    return made;
  }

private:
  /// Returns the runs of all levels, but no more than have room.
  std::vector<LevelRange> all_runs() const
  {
    const std::size_t room = std::max<std::size_t>(runs_with_room(triangle_), 1);
    std::vector<LevelRange> runs = cut_into_runs(triangle_.level_begin, rule_);
    if (runs.size() <= room) return runs;
    MergeRule rule = rule_;
    rule.run_levels = static_cast<std::int64_t>(triangle_.level_begin.size() / room + 1);
    rule.wanted_runs = 1;
    return cut_into_runs(triangle_.level_begin, rule);
  }

  /// Examines all levels, or a sample if there are many, to bound the group size.
  void examine_levels()
  {
    if (gave_up_) throw GaveUp();
    if (looked_) return;
    begin_search();
    const double hop = choose();
    forecast_ = groups_->make_forecast();
    looked_ = true;
    if (!sampled_) return;
    groups_.reset();
    rule_.hop = hop;
  }

  void end_groups()
  {
    begin_groups();
    if (sampled_) choose();
    sampled_ = false;
  }

  /// If this throws, gave_up_ stays set and the search is not repeated.
  void make_groups(std::vector<LevelRange> runs)
  {
    gave_up_ = true;
    groups_ = std::make_unique<ChosenGroups<I>>(triangle_, std::move(runs), rule_);
    gave_up_ = false;
  }

  double choose()
  {
    gave_up_ = true;
    auto groups = std::move(groups_);
    const double hop = groups->choose();
    groups_ = std::move(groups);
    gave_up_ = false;
    return hop;
  }

  LevelledPattern<I> triangle_;
  MergeRule rule_;
  bool looked_ = false, gave_up_ = false;
  bool sampled_ = false;  ///< a sample was examined, and groups of all levels have not been chosen yet
  MergeForecast forecast_;
  std::unique_ptr<ChosenGroups<I>> groups_;  ///< of the examined runs, later of all levels; may be null
};

template <class I>
MergePlanner<I>::MergePlanner(const DevicePattern<I>& T, const I* row, std::vector<I> level_begin,
                              const MergeRule& rule, std::int64_t longest)
    : work_(std::make_unique<Work>(LevelledPattern<I>{T, row, std::move(level_begin), longest}, rule))
{
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // until the triangle is complete
}
template <class I> MergePlanner<I>::MergePlanner(MergePlanner&&) noexcept = default;
template <class I> MergePlanner<I>::~MergePlanner() = default;

template <class I> void MergePlanner<I>::begin_search()
try {
  const LevelledPattern<I>& triangle = work_->triangle();
  if (is_worth_a_look(triangle) && !is_too_large(triangle.T)) work_->begin_search();
} catch (const GaveUp&) {
}

template <class I> void MergePlanner<I>::limit_bytes(std::int64_t most) { work_->limit_bytes(most); }

template <class I>
bool MergePlanner<I>::forecast(MergeForecast* out)
try {
  *out = {};
  const LevelledPattern<I>& triangle = work_->triangle();
  if (!is_worth_a_look(triangle)) return true;
  if (is_too_large(triangle.T)) return false;
  *out = work_->forecast();
  return true;
} catch (const GaveUp&) {
  return false;
}

template <class I>
template <class Body>
void MergePlanner<I>::prepare_part(const Body& body)
try {
  if (!failure_ && !is_too_large(work_->triangle().T)) body();
} catch (const GaveUp&) {
} catch (const Failure& failure) {
  failure_ = std::make_unique<Failure>(failure);
} catch (const std::bad_alloc&) {
  failure_ = std::make_unique<Failure>(Failure{failed(Code::out_of_memory)});
}

template <class I> void MergePlanner<I>::begin_groups()
{
  prepare_part([this] { work_->begin_groups(); });
}

template <class I> void MergePlanner<I>::begin_columns()
{
  prepare_part([this] { work_->begin_columns(); });
}

template <class I>
bool MergePlanner<I>::finish_plan(DeviceMergePlan<I>* out)
try {
  if (failure_) throw *failure_;
  if (work_->triangle().T.n == 0 || is_too_large(work_->triangle().T)) return false;
  *out = work_->finish_plan();
  return true;
} catch (const GaveUp&) {
  return false;
}

template <class I> DeviceMergePlan<I> upload_merge_plan(const MergePlan<I>& plan, const std::vector<I>& level_begin)
{
  std::vector<unsigned> depth(plan.depth.size());
  std::transform(plan.depth.begin(), plan.depth.end(), depth.begin(), [](I d) { return static_cast<unsigned>(d) + 1; });
  std::vector<I> group_level;
  for (std::size_t level = 0; level + 1 < level_begin.size(); ++level)
    if (plan.depth[level_begin[level]] == 0) group_level.push_back(static_cast<I>(level));
  DeviceMergePlan<I> made;
  made.groups = plan.groups;
  made.span = plan.span;
  if (!depth.empty()) made.longest = *std::max_element(depth.begin(), depth.end());
  made.depth = DeviceArray<unsigned>(depth);
  made.group = DeviceArray<I>(plan.group);
  made.group_begin = DeviceArray<I>(plan.group_begin);
  made.group_level = DeviceArray<I>(group_level);
  made.level_begin = DeviceArray<I>(level_begin);
  made.p_begin = DeviceArray<I>(plan.p_begin);
  made.p_column = DeviceArray<I>(plan.p_column);
  std::vector<std::uint16_t> p_local;
  for (std::size_t place = 0; place < plan.group.size(); ++place)
    for (I k = plan.p_begin[place]; k < plan.p_begin[place + 1]; ++k)
      p_local.push_back(static_cast<std::uint16_t>(plan.p_column[k] - plan.group_begin[plan.group[place]]));
  made.p_local = DeviceArray<std::uint16_t>(p_local);
  made.r_begin = DeviceArray<I>(plan.r_begin);
  made.r_column = DeviceArray<I>(plan.r_column);
  made.r_local = DeviceArray<std::uint16_t>(plan.r_local);
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // until all copies have ended
  return made;
}

#define INSTANTIATE(I)        \
  template class MergePlanner<I>; \
  template DeviceMergePlan<I> upload_merge_plan<I>(const MergePlan<I>&, const std::vector<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
