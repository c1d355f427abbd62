/// Implements cuda/solve/merged/plan.hpp.

#include "cuda/solve/merged/plan.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/support/instantiate.hpp"
#include "cuda/solve/merged/chosen_groups.cuh"

namespace syncfree::cuda {
namespace {

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
  bool has_groups() const { return looked_ && groups_ && !sampled_; }
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
  void begin_offsets()
  {
    end_groups();
    groups_->begin_offsets();
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

template <class I> bool MergePlanner<I>::has_groups() const { return !failure_ && work_->has_groups(); }

template <class I> void MergePlanner<I>::begin_groups()
{
  prepare_part([this] { work_->begin_groups(); });
}

template <class I> void MergePlanner<I>::begin_offsets()
{
  prepare_part([this] { work_->begin_offsets(); });
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
