/// Implements merge_plan.hpp and merge_search.hpp.

#include "merge_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "merge_search.hpp"

namespace syncfree {
namespace {

constexpr std::int64_t most_runs = 128;
constexpr double rows_like_a_level = 128;  ///< number of rows that take as long as a hop between levels

/// Patterns of rows, concatenated; ends are offsets into p and r.
template <class I> struct Patterns {
  std::vector<std::size_t> p_end, r_end;
  std::vector<I> p, r;

  void clear_patterns()
  {
    p_end.clear(), r_end.clear();
    p.clear(), r.clear();
  }
  std::size_t pattern_entries() const { return p.size() + r.size(); }
  void append(const Patterns& other)
  {
    for (const std::size_t end : other.p_end) p_end.push_back(p.size() + end);
    for (const std::size_t end : other.r_end) r_end.push_back(r.size() + end);
    p.insert(p.end(), other.p.begin(), other.p.end());
    r.insert(r.end(), other.r.begin(), other.r.end());
  }
};

/// Data shared by all runs.
template <class I> struct Task {
  PatternView<I> T;
  const LevelSets<I>& levels;
  const MergeRule& rule;
  std::vector<I> place;  ///< by row

  Task(PatternView<I> pattern, const LevelSets<I>& sets, const MergeRule& merge_rule)
      : T(pattern), levels(sets), rule(merge_rule), place(pattern.n)
  {
    for (I p = 0; p < T.n; ++p) place[levels.row[p]] = p;
  }
};

/// The groups of a run of levels.
template <class I> class Run {
public:
  Run(const Task<I>& task, LevelRange levels)
      : task_(&task), first_(static_cast<I>(levels.first)), last_(static_cast<I>(levels.last)),
        first_place_(task.levels.level_begin[first_])
  {
  }

  /// Finds the groups for one hop time; they may have more entries than the rule allows, but keep to the run's room.
  void merge(double hop, const RunRoom& room)
  {
    const MergeRule& rule = task_->rule;
    made_.clear_patterns(), depth_.clear(), group_.clear();
    counts_ = {};
    stamp_.assign(task_->T.n, 0), outside_stamp_.assign(task_->T.n, I(-1));
    row_at_hand_ = 0;
    GroupTimes times = {hop, rule.entry};
    for (int size = 0; size < GroupPrefixes::sizes; ++size)
      prefixes_[static_cast<std::size_t>(size)] = GroupPrefixes::of_size(size, hop, rule.entry);
    std::int64_t group_levels = 0;
    for (I level = first_; level < last_; ++level) {
      bool joins = level > first_ && group_levels < rule.most_levels;
      RunCounts own;
      if (joins) {
        own = merge_level(level, group_levels);
        RunCounts with = counts_;
        with.add_levels(own);
        joins = span_of(level) <= most_span && room.has_room(PlanBytes(rule), with) &&
                times.join(own.entries, own.plain);
      }
      if (!joins) {
        group_begin_ = task_->levels.level_begin[level];
        outside_ = 0;
        group_levels = 0;
        ++counts_.groups;
        own = merge_level(level, 0);
        times.start_group(own.plain);
      }
      append(level, static_cast<I>(group_levels++));
      counts_.add_levels(own);
      counts_.longest = std::max(counts_.longest, group_levels);
      for (GroupPrefixes& prefix : prefixes_) prefix.add_level(!joins, own);
    }
    std::vector<I>().swap(stamp_);
    std::vector<I>().swap(outside_stamp_);
  }

  const RunCounts& counts() const { return counts_; }
  const RunPrefixes& prefixes() const { return prefixes_; }
  I first_place() const { return first_place_; }
  const Patterns<I>& patterns() const { return made_; }
  const std::vector<I>& depth() const { return depth_; }  ///< by place, relative to the first
  const std::vector<I>& group() const { return group_; }  ///< the same; numbered from 0

private:
  std::int64_t plain_entries(I level) const
  {
    const PatternView<I>& T = task_->T;
    std::int64_t sum = 0;
    for (I place = task_->levels.level_begin[level]; place < task_->levels.level_begin[level + 1]; ++place) {
      const I row = task_->levels.row[place];
      sum += 1 + static_cast<std::int64_t>(T.row_begin[row + 1] - T.row_begin[row]);
    }
    return sum;
  }

  /// Returns the span of the current group with a level that merge_level() has looked at.
  std::int64_t span_of(I level) const
  {
    return static_cast<std::int64_t>(task_->levels.level_begin[level + 1]) - group_begin_ + outside_;
  }

  /// Computes the patterns of the level's rows in the current group; the level alone if the group begins with it.
  /// Returns the counts of the level.
  RunCounts merge_level(I level, std::int64_t depth)
  {
    const PatternView<I>& T = task_->T;
    level_.clear_patterns();
    for (I place = task_->levels.level_begin[level]; place < task_->levels.level_begin[level + 1]; ++place) {
      const std::size_t p_first = level_.p.size(), r_first = level_.r.size();
      const I row = task_->levels.row[place];
      next_row();
      inside_.clear();
      for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) {
        const I other = task_->place[T.column[k]];
        if (other >= group_begin_) {
          inside_.push_back(other);
          continue;
        }
        add_column(other, &level_.r);
        if (outside_stamp_[other] != group_begin_) outside_stamp_[other] = group_begin_, ++outside_;
      }
      /* the latest first: it already brings all that earlier rows which it reads would bring */
      std::sort(inside_.rbegin(), inside_.rend());
      for (const I other : inside_)
        if (stamp_[other] != row_at_hand_) add_pattern_of(other);
      std::sort(level_.p.begin() + static_cast<std::ptrdiff_t>(p_first), level_.p.end());
      std::sort(level_.r.begin() + static_cast<std::ptrdiff_t>(r_first), level_.r.end());
      level_.p.push_back(place);
      level_.p_end.push_back(level_.p.size());
      level_.r_end.push_back(level_.r.size());
    }
    RunCounts own;
    own.levels = 1;
    own.entries = static_cast<std::int64_t>(level_.pattern_entries()), own.plain = plain_entries(level);
    own.substitutions = rows_of(level) * count_substitutions(static_cast<std::uint64_t>(depth));
    return own;
  }

  std::int64_t rows_of(I level) const
  {
    return static_cast<std::int64_t>(task_->levels.level_begin[level + 1]) - task_->levels.level_begin[level];
  }

  /// Starts a new stamp. Levels are tried at most twice, so up to 2 n rows need distinct stamps.
  void next_row()
  {
    if (row_at_hand_ == std::numeric_limits<I>::max()) {
      std::fill(stamp_.begin(), stamp_.end(), I(0));
      row_at_hand_ = 0;
    }
    ++row_at_hand_;
  }

  /// Adds the pattern of a row of the group that the current row reads.
  void add_pattern_of(I place)
  {
    const std::size_t at = static_cast<std::size_t>(place - first_place_);
    for (std::size_t k = at ? made_.p_end[at - 1] : 0; k < made_.p_end[at]; ++k) add_column(made_.p[k], &level_.p);
    for (std::size_t k = at ? made_.r_end[at - 1] : 0; k < made_.r_end[at]; ++k) add_column(made_.r[k], &level_.r);
  }

  void add_column(I place, std::vector<I>* columns)
  {
    if (stamp_[place] == row_at_hand_) return;
    stamp_[place] = row_at_hand_;
    columns->push_back(place);
  }

  void append(I level, I depth)
  {
    made_.append(level_);
    const auto rows = static_cast<std::size_t>(rows_of(level));
    group_.insert(group_.end(), rows, static_cast<I>(counts_.groups - 1));
    depth_.insert(depth_.end(), rows, depth);
  }

  const Task<I>* task_;
  I first_, last_, first_place_;
  RunCounts counts_;
  RunPrefixes prefixes_;
  I group_begin_ = 0;           ///< place where the current group begins
  std::int64_t outside_ = 0;    ///< places outside that it reads
  std::vector<I> stamp_;        ///< by place: the last row (row_at_hand_) that has read it
  std::vector<I> outside_stamp_;  ///< by place: where the last group that has read it from outside begins
  I row_at_hand_ = 0;           ///< from 1 on
  std::vector<I> inside_;       ///< places of its group that the current row reads
  Patterns<I> level_, made_;
  std::vector<I> depth_, group_;
};

/// Concatenates the runs.
template <class I> void concatenate_runs(const Task<I>& task, const std::vector<Run<I>>& runs, MergePlan<I>* plan)
{
  std::vector<std::size_t> p(1, 0), r(1, 0);
  std::vector<I> groups(1, 0);
  for (const Run<I>& run : runs) {
    p.push_back(p.back() + run.patterns().p.size());
    r.push_back(r.back() + run.patterns().r.size());
    groups.push_back(groups.back() + static_cast<I>(run.counts().groups));
  }
  const auto n = static_cast<std::size_t>(task.T.n);
  plan->groups = groups.back();
  plan->row.assign(task.levels.row.begin(), task.levels.row.end());
  plan->group.resize(n), plan->depth.resize(n);
  plan->p_begin.resize(n + 1), plan->r_begin.resize(n + 1);
  plan->p_begin[0] = plan->r_begin[0] = 0;
  plan->p_column.resize(p.back()), plan->r_column.resize(r.back());
  for_parts(task.rule.threads, runs.size(), [&](std::size_t t) {
    const Run<I>& run = runs[t];
    const Patterns<I>& from = run.patterns();
    for (std::size_t k = 0; k < run.group().size(); ++k) {
      const std::size_t place = static_cast<std::size_t>(run.first_place()) + k;
      plan->group[place] = groups[t] + run.group()[k];
      plan->depth[place] = run.depth()[k];
      plan->p_begin[place + 1] = static_cast<I>(p[t] + from.p_end[k]);
      plan->r_begin[place + 1] = static_cast<I>(r[t] + from.r_end[k]);
    }
    std::copy(from.p.begin(), from.p.end(), plan->p_column.begin() + static_cast<std::ptrdiff_t>(p[t]));
    std::copy(from.r.begin(), from.r.end(), plan->r_column.begin() + static_cast<std::ptrdiff_t>(r[t]));
  });
}

/// Numbers the columns outside each group in ascending order.
template <class I> class Numbering {
public:
  explicit Numbering(MergePlan<I>* plan)
      : plan_(*plan), group_of_(plan->row.size(), I(-1)), number_(plan->row.size())
  {
  }

  /// Returns the span of a group of several levels, else 0.
  std::int64_t number_group(I group)
  {
    const I first = plan_.group_begin[group], last = plan_.group_begin[group + 1];
    const I begin = plan_.r_begin[first], end = plan_.r_begin[last];
    outside_.clear();
    for (I k = begin; k < end; ++k) {
      const I column = plan_.r_column[k];
      if (group_of_[column] != group) outside_.push_back(column), group_of_[column] = group;
    }
    std::sort(outside_.begin(), outside_.end());
    for (std::size_t at = 0; at < outside_.size(); ++at) number_[outside_[at]] = static_cast<std::uint16_t>(at);
    for (I k = begin; k < end; ++k) plan_.r_local[k] = number_[plan_.r_column[k]];
    if (plan_.depth[last - 1] == 0) return 0;
    return static_cast<std::int64_t>(last) - first + static_cast<std::int64_t>(outside_.size());
  }

private:
  MergePlan<I>& plan_;
  std::vector<I> group_of_, outside_;
  std::vector<std::uint16_t> number_;  ///< by place
};

template <class I> void number_outside(const MergeRule& rule, MergePlan<I>* plan)
{
  const I n = static_cast<I>(plan->row.size());
  plan->group_begin.assign(1, 0);
  for (I place = 1; place <= n; ++place)
    if (place == n || plan->group[place] != plan->group[place - 1]) plan->group_begin.push_back(place);
  if (n == 0) plan->group_begin.clear();
  plan->r_local.resize(plan->r_column.size());
  const auto groups = static_cast<std::size_t>(plan->groups);
  const std::size_t parts = std::min<std::size_t>(groups, static_cast<std::size_t>(std::max(rule.threads, 1)));
  std::vector<std::int64_t> span(parts, 0);
  for_parts(rule.threads, parts, [&](std::size_t t) {
    Numbering<I> numbering(plan);
    for (std::size_t g = t; g < groups; g += parts)
      span[t] = std::max(span[t], numbering.number_group(static_cast<I>(g)));
  });
  for (const std::int64_t s : span) plan->span = std::max(plan->span, s);
}

/// Rows that a forecast examines, in how many samples, and the level width above which it examines none.
constexpr std::int64_t sample = 6000, samples = 3, widest = 1500, least_levels_of_sample = 8;
constexpr std::int64_t few_rows = 48000;      ///< take no longer than a sample on a device
constexpr std::int64_t longest_merged = 8192;  ///< entries of a row

template <class I> std::vector<Run<I>> make_runs(const Task<I>& task, const std::vector<LevelRange>& levels)
{
  std::vector<Run<I>> runs;
  for (const LevelRange& run : levels) runs.emplace_back(task, run);
  return runs;
}

template <class I> double plain_entries(PatternView<I> T)
{
  return static_cast<double>(T.nnz()) + static_cast<double>(T.n);
}

template <class I> FoundGroups merge_runs(const Task<I>& task, std::vector<Run<I>>* runs)
{
  const auto merge = [&](double hop, const std::vector<RunRoom>& rooms) {
    for_parts(task.rule.threads, runs->size(),
              [&](std::size_t t) { (*runs)[t].merge(hop, rooms.empty() ? RunRoom() : rooms[t]); });
    std::vector<RunCounts> counts;
    for (const Run<I>& run : *runs) counts.push_back(run.counts());
    return counts;
  };
  const auto prefixes = [&] {
    std::vector<RunPrefixes> all;
    for (const Run<I>& run : *runs) all.push_back(run.prefixes());
    return all;
  };
  const auto limit = static_cast<double>(std::numeric_limits<I>::max());
  return merge_until_few(task.rule, plain_entries(task.T), limit, merge, prefixes);
}

/// Returns the counts of a run whose groups are their prefixes, if there were such a prefix at each level.
RunCounts counts_of(const RunCounts& run, const GroupPrefixes& prefix)
{
  const double times = static_cast<double>(run.plain) / std::max(static_cast<double>(prefix.plain), 1.0);
  const double of_levels = static_cast<double>(run.levels) / std::max(static_cast<double>(prefix.levels), 1.0);
  const auto scaled = [](double by, std::int64_t count) {
    return static_cast<std::int64_t>(std::llround(by * static_cast<double>(count)));
  };
  RunCounts made = run;
  made.entries = scaled(times, prefix.entries), made.substitutions = scaled(times, prefix.substitutions);
  made.groups = scaled(of_levels, run.groups);
  made.longest = scaled(1 / of_levels, run.longest);
  return made;
}

RunCounts unmerged(const RunCounts& run)
{
  RunCounts made = run;
  made.groups = run.levels, made.entries = run.plain, made.substitutions = 0, made.longest = 1;
  return made;
}

/// Returns a + t (b - a).
RunCounts between(const RunCounts& a, const RunCounts& b, double t)
{
  const auto at = [&](std::int64_t RunCounts::*count) {
    return a.*count + static_cast<std::int64_t>(t * static_cast<double>(b.*count - a.*count));
  };
  RunCounts made = a;
  for (const auto count : {&RunCounts::groups, &RunCounts::entries, &RunCounts::substitutions, &RunCounts::longest})
    made.*count = at(count);
  return made;
}

double bytes_of(const MergeRule& rule, const std::vector<RunCounts>& runs)
{
  const RunCounts sum = sum_of(runs);
  return static_cast<double>(PlanBytes(rule).sum(sum.entries, sum.substitutions));
}

}  // namespace

FoundGroups smaller_groups(const MergeRule& rule, const FoundGroups& found, const std::vector<RunPrefixes>& prefixes,
                           double most)
{
  FoundGroups made = found;
  made.hop = 0;
  for (RunCounts& run : made.counts) run = unmerged(run);
  if (bytes_of(rule, made.counts) > most) return made;
  std::vector<RunCounts> larger = found.counts, smaller = larger;
  for (std::size_t size = 0; size < GroupPrefixes::sizes; ++size, larger.swap(smaller)) {
    for (std::size_t r = 0; r < smaller.size(); ++r) smaller[r] = counts_of(found.counts[r], prefixes[r][size]);
    const double few = bytes_of(rule, smaller), many = bytes_of(rule, larger);
    if (few > most) continue;
    const double t = many > few ? std::clamp((many - most) / (many - few), 0.0, 1.0) : 1.0;
    for (std::size_t r = 0; r < smaller.size(); ++r) made.counts[r] = between(larger[r], smaller[r], t);
    made.hop = found.hop * std::pow(GroupPrefixes::ratio, static_cast<double>(size) + t);
    break;
  }
  return made;
}

std::vector<RunRoom> share_room(const MergeRule& rule, const FoundGroups& foreseen, double most)
{
  constexpr double reserved = 0.9;  // of a run's mean: what earlier levels leave to later ones
  const auto of_entry = static_cast<double>(rule.entry_bytes);
  const auto plain_of = [&](const RunCounts& run) { return of_entry * static_cast<double>(run.plain); };
  const auto more_of = [&](const RunCounts& run) { return std::max(0.0, bytes_of(rule, {run}) - plain_of(run)); };
  double plain = 0, more = 0;
  for (const RunCounts& run : foreseen.counts) plain += plain_of(run), more += more_of(run);
  std::vector<RunRoom> rooms;
  for (const RunCounts& run : foreseen.counts) {
    const double share = more > 0 ? more_of(run) / more : plain_of(run) / plain;
    const double bytes = plain_of(run) + (most - plain) * share;
    const double mean = bytes / std::max(static_cast<double>(run.plain), 1.0);
    const double reserve = std::max(of_entry, reserved * mean);
    rooms.push_back({static_cast<std::int64_t>(bytes), run.plain, static_cast<std::int64_t>(reserve)});
  }
  return rooms;
}

bool may_merge(std::int64_t rows, std::int64_t levels, std::int64_t longest)
{
  const double most = static_cast<double>(widest) * static_cast<double>(levels);
  return rows > 0 && longest <= longest_merged && static_cast<double>(rows) <= most;
}

template <class I> std::vector<LevelRange> cut_into_runs(const std::vector<I>& level_begin, const MergeRule& rule)
{
  const auto levels = static_cast<std::int64_t>(level_begin.size()) - 1;
  const std::int64_t wanted = std::min(rule.wanted_runs, 2 * levels / rule.run_levels);
  const std::int64_t count = std::clamp<std::int64_t>(std::max(levels / rule.run_levels, wanted), 1, most_runs);
  const auto work_before = [&](std::int64_t level) {
    return static_cast<double>(level) + static_cast<double>(level_begin[level]) / rows_like_a_level;
  };
  std::vector<LevelRange> runs;
  std::int64_t first = 0, last = 0;
  for (std::int64_t r = 1; r <= count && first < levels; ++r, first = last) {
    const double end = work_before(levels) * static_cast<double>(r) / static_cast<double>(count);
    for (last = first + 1; last < levels && (r == count || work_before(last) < end);) ++last;
    runs.push_back({first, last});
  }
  return runs;
}

template <class I> std::vector<LevelRange> sample_of_runs(const std::vector<I>& level_begin)
{
  const std::int64_t count = static_cast<std::int64_t>(level_begin.size()) - 1, n = level_begin.back();
  if (n <= few_rows) return {};
  const std::int64_t size = std::max(least_levels_of_sample, sample * count / (samples * n));
  if (2 * samples * size >= count) return {};
  std::vector<LevelRange> runs;
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t first = (2 * s + 1) * count / (2 * samples) - size / 2;
    runs.push_back({first, first + size});
  }
  return runs;
}

MergeForecast forecast_of(const FoundGroups& found, double levels, double plain)
{
  const RunCounts seen = sum_of(found.counts);
  const auto looked_at = static_cast<double>(seen.levels);
  MergeForecast all;
  all.groups = static_cast<double>(seen.groups) * levels / std::max(looked_at, 1.0);
  all.entries = static_cast<double>(seen.entries) * plain / std::max(static_cast<double>(seen.plain), 1.0);
  all.longest = seen.longest;
  all.of_all = looked_at >= levels;
  all.short_of_memory = found.short_of_memory;
  return all;
}

template <class I>
Status forecast_merge(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergeForecast* out)
try {
  *out = {};
  if (!may_merge(T.n, levels.count)) return {};
  const Task<I> task(T, levels, rule);
  std::vector<LevelRange> sample = sample_of_runs(levels.level_begin);
  if (sample.empty()) sample = cut_into_runs(levels.level_begin, rule);
  std::vector<Run<I>> runs = make_runs(task, sample);
  const FoundGroups found = merge_runs(task, &runs);
  *out = forecast_of(found, static_cast<double>(levels.count), plain_entries(T));
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

template <class I>
Status make_merge_plan(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergePlan<I>* out)
try {
  MergeRule near = rule;
  const Task<I> task(T, levels, near);
  MergePlan<I> plan;
  if (T.n > 0) {
    const std::vector<LevelRange> sample = sample_of_runs(levels.level_begin);
    std::vector<Run<I>> some = make_runs(task, sample);
    if (!sample.empty()) near.hop = merge_runs(task, &some).hop;
    std::vector<Run<I>> runs = make_runs(task, cut_into_runs(levels.level_begin, rule));
    merge_runs(task, &runs);
    concatenate_runs(task, runs, &plan);
    number_outside(rule, &plan);
  }
  *out = std::move(plan);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I)                                                                                            \
  template std::vector<LevelRange> cut_into_runs<I>(const std::vector<I>&, const MergeRule&);                     \
  template std::vector<LevelRange> sample_of_runs<I>(const std::vector<I>&);                                      \
  template Status forecast_merge<I>(PatternView<I>, const LevelSets<I>&, const MergeRule&, MergeForecast*); \
  template Status make_merge_plan<I>(PatternView<I>, const LevelSets<I>&, const MergeRule&, MergePlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
