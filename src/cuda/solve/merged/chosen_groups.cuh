#pragma once

/// The groups of a merge plan on the device: a cluster for each run of levels chooses them, then a cluster for each
/// group makes its columns.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/base/launch.hpp"
#include "cuda/base/packed_upload.hpp"
#include "cuda/base/scan.cuh"
#include "cuda/base/stream.hpp"
#include "cuda/solve/merged/bitsets.cuh"
#include "cuda/solve/merged/choose_groups.cuh"
#include "cuda/solve/merged/doubling.cuh"
#include "cuda/solve/merged/plan.hpp"
#include "syncfree/cuda/detail/mapped_word.hpp"

namespace syncfree::cuda {

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
      : triangle_(triangle), rule_(rule), runs_(std::move(runs)),
        position_(triangle.row ? inverse_permutation(triangle.T.n, triangle.row, stream_.get()) : DeviceArray<I>()),
        group_(row_total()), depth_(row_total()), p_(row_total() + 1), r_(row_total() + 1),
        words_before_(triangle.level_begin.size()), bit_row_(row_total()), reports_(runs_.size()),
        blocks_(choose_blocks())
  {
    if (!has_numbers_of_block()) search_.number = DeviceArray<unsigned>(numbers());
    search_.state = DeviceArray<RangeCounters>(runs_.size());
    search_.prefixes = DeviceArray<GroupPrefixes>(runs_.size() * GroupPrefixes::sizes);
    PackedUpload& upload = upload_.emplace();
    upload.add_copy(&device_runs_, runs_);
    upload.add_copy(&level_begin_, triangle.level_begin);
    upload.fill(p_, 0);  // the sums also read the last one
    upload.fill(r_, 0);
    make_bits(&upload);
  }
  ChosenGroups(const ChosenGroups&) = delete;
  ~ChosenGroups()
  {
    if (tells_) (void)cudaStreamSynchronize(stream_.get());
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
        make_more_bits(&upload_.emplace());
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

  /// Queues the work that begin_columns() waits for, when groups have been chosen.
  void begin_offsets()
  {
    for (const RunCounts& run : found_.counts) {
      made_.groups += static_cast<I>(run.groups);
      made_.longest = std::max(made_.longest, run.longest);
    }
    made_.span = span_;
    exclusive_sums_in_place(p_, r_, stream_.get());
    number_all();
    has_offsets_ = true;
  }

  /// Queues the work that finish_plan() waits for.
  void begin_columns()
  {
    if (!has_offsets_) begin_offsets();
    stream_.wait();
    tells_ = false;
    made_.p_column = DeviceArray<I>(static_cast<std::size_t>(told_p_.get()));
    made_.r_column = DeviceArray<I>(static_cast<std::size_t>(told_r_.get()));
    made_.p_local = DeviceArray<std::uint16_t>(made_.p_column.size());
    made_.r_local = DeviceArray<std::uint16_t>(made_.r_column.size());
    fill();
    made_.step_counts = count_reads<I>({triangle_.T.n, depth_.data(), group_.data(), made_.group_level.data(),
                                        level_begin_.data(), p_.data(), made_.p_column.data(), r_.data()},
                                       made_.longest, stream_.get());
    filled_ = true;
  }

  /// Returns the plan. Called once, and only if the runs are all levels.
  DeviceMergePlan<I> finish_plan()
  {
    if (!filled_) begin_columns();
    made_.step_counts.read(&made_.counted, 0, 1, stream_.get());  // the last in the stream
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
  void make_bits(PackedUpload* upload)
  {
    const double entries = triangle_.plain_entries(), mean = entries / static_cast<double>(row_total());
    const bool has_hubs = static_cast<double>(triangle_.longest) > 8 * mean;
    const double by_entries = (has_hubs ? 64 : 12) * entries;
    const double all = std::min<double>(most_words, much_ * std::max<double>(wanted_words, by_entries));
    const std::vector<std::uint32_t> begin =
        share_words(runs_, triangle_.level_begin, all, has_hubs ? 0.5 : 0.0, much_);
    search_.bits = {};
    search_.bits = DeviceArray<std::uint32_t>(begin.back());
    upload->add_copy(&search_.bits_begin, begin);
  }

  /// Allocates four times as many. Throws GaveUp.
  void make_more_bits(PackedUpload* upload)
  {
    if (search_.bits.size() >= static_cast<std::size_t>(most_words) / 2) throw GaveUp();
    much_ *= 4;
    make_bits(upload);
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

  bool has_numbers_of_block() const { return blocks_ == 1 && row_total() <= most_numbers_of_block; }

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

  /// As fill(): if a cluster is refused, runs have one thread block each from then on.
  void begin_pass(double hop)
  {
    if (!upload_) upload_.emplace();
    upload_->fill(search_.number, 0);
    upload_->fill(search_.state, 0);
    upload_->fill(reports_, 0);
    upload_->send_all(stream_.get());
    const cudaError_t error = try_choose(hop);
    if (error == cudaSuccess) return;
    if (blocks_ == 1 || !may_be_of_cluster(error)) check(error, "choose_groups");
    (void)cudaGetLastError();
    blocks_ = 1;
    check(try_choose(hop), "choose_groups");
  }

  cudaError_t try_choose(double hop)
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
    const LaunchParameters parameters = {
        blocks_ * static_cast<unsigned>(runs_.size()), merging_threads,
        has_numbers_of_block() ? row_total() * sizeof(unsigned) : 0, stream_.get(), false, blocks_};
    return try_launch(choose_groups<I>, parameters, levelled_view(), device_runs_.data(), search, grouped_rows(),
                      reports_.data());
  }

  /// Returns false if a run lacks words.
  bool end_pass(std::vector<RunCounts>* counts)
  {
    std::vector<RangeReport> reports(runs_.size());
    reports_.read(reports.data(), 0, reports.size(), stream_.get());
    upload_->note_end();
    upload_.reset();
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

  /// Numbers all groups, when p_ and r_ are offsets, and tells these arrays' last entries.
  void number_all()
  {
    const std::size_t groups = static_cast<std::size_t>(made_.groups);
    bits_begin_ = DeviceArray<std::uint32_t>(groups);
    made_.group_begin = DeviceArray<I>(groups + 1);
    made_.group_level = DeviceArray<I>(groups);
    const OffsetTotals<I> totals = {p_.data() + row_total(), r_.data() + row_total(), told_p_.device_pointer(),
                                    told_r_.device_pointer()};
    tells_ = true;
    for (const GroupBatch& filling : divide())
      launch(number_groups<I>,
             {static_cast<unsigned>(filling.last - filling.first), merging_threads, 0, stream_.get()},
             device_runs_.data(), reports_.data(), filling.first, level_begin_.data(), grouped_rows(),
             made_.group_begin.data(), made_.group_level.data(), bits_begin_.data(), made_.groups, triangle_.T.n,
             totals);
  }

  /// In a green context a cluster may be refused that was said to run.
  void fill()
  {
    const unsigned team = blocks_of_team(fill_groups<I>, static_cast<std::uint64_t>(made_.groups) / 2);
    const cudaError_t error = try_fill(team);
    if (error == cudaSuccess) return;
    if (team == 1 || !may_be_of_cluster(error)) check(error, "fill_groups");
    (void)cudaGetLastError();
    check(try_fill(1), "fill_groups");
  }

  ///   team  thread blocks of a cluster, which fills a group
  cudaError_t try_fill(unsigned team)
  {
    const std::vector<GroupBatch> fillings = divide();
    std::uint64_t words = 0;
    for (const GroupBatch& filling : fillings) words = std::max(words, filling.words);
    const auto groups = static_cast<std::uint64_t>(made_.groups);
    const auto multiprocessors = static_cast<std::uint64_t>(device_attribute(cudaDevAttrMultiProcessorCount));
    FillingMemory<I> memory = {row_total() / 32 + 1, static_cast<std::uint64_t>(outside_) + 1, nullptr, nullptr,
                               bits_begin_.data(), bit_row_.data()};
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
      const cudaError_t error = try_launch(fill_groups<I>, parameters, levelled_view(), to_fill, memory, team, columns);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
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
  std::optional<PackedUpload> upload_;  ///< of the pass that is queued, or before the first
  double much_ = 1;  ///< of share_words()
  DeviceArray<RangeReport> reports_;
  unsigned blocks_;      ///< thread blocks of a run
  bool begun_ = false;   ///< a pass is queued
  DeviceArray<std::uint32_t> bits_begin_;  ///< by group
  Mapped<unsigned long long> told_p_, told_r_;  ///< entries of P and of R
  bool tells_ = false;        ///< a launch that writes these may be running
  bool has_offsets_ = false;  ///< offsets are queued
  bool filled_ = false;       ///< columns are queued
  DeviceMergePlan<I> made_;
};

}  // namespace syncfree::cuda
