/// What merge_plan.hpp declares.

#include "merge_plan.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "instantiate.hpp"

namespace syncfree {
namespace {

/// Times that the groups are made, the last time without merging.
constexpr int turns = 9;

/// Patterns of the rows of one level, one after the other.
template <class I> struct LevelPatterns {
  std::vector<I> p_end, r_end, p, r;

  void clear()
  {
    for (std::vector<I>* v : {&p_end, &r_end, &p, &r}) v->clear();
  }
  std::size_t entries() const { return p.size() + r.size(); }
};

template <class I> class Merger {
public:
  Merger(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule)
      : T_(T), levels_(levels), rule_(rule), place_(T.n), stamp_(T.n, I(-1))
  {
    for (I p = 0; p < T.n; ++p) place_[levels.row[p]] = p;
  }

  /// The groups of one hop time; entries may be more than the rule allows. False if they do not fit the index type.
  bool run(double hop, MergePlan<I>* plan)
  {
    plan_ = plan;
    *plan_ = MergePlan<I>();
    plan_->row = levels_.row;
    plan_->p_begin = {0};
    plan_->r_begin = {0};
    std::fill(stamp_.begin(), stamp_.end(), I(-1));
    double merged_time = 0, plain_time = 0;  // of the group at hand, and of its levels without merging
    std::int64_t group_levels = 0;
    bool fits = true;
    for (I level = 0; fits && level < levels_.count; ++level) {
      const double plain = hop + rule_.entry * plain_entries(level);
      if (level > 0 && group_levels < rule_.most_levels) {
        merge(level);
        const double merged = rule_.entry * static_cast<double>(merged_.entries());
        if (merged * plain_time < plain * merged_time) {
          fits = append(level, static_cast<I>(group_levels++));
          merged_time += merged;
          plain_time += plain;
          continue;
        }
      }
      first_of_group_ = levels_.level_begin[level];
      ++plan_->groups;
      merge(level);
      fits = append(level, 0);
      group_levels = 1;
      merged_time = plain_time = plain;
    }
    return fits;
  }

private:
  double plain_entries(I level) const
  {
    double sum = 0;
    for (I place = levels_.level_begin[level]; place < levels_.level_begin[level + 1]; ++place)
      sum += 1 + static_cast<double>(T_.row_begin[levels_.row[place] + 1] - T_.row_begin[levels_.row[place]]);
    return sum;
  }

  /// The patterns that the level's rows have in the group at hand; alone if the group begins with them.
  void merge(I level)
  {
    merged_.clear();
    for (I place = levels_.level_begin[level]; place < levels_.level_begin[level + 1]; ++place) {
      const std::size_t p_first = merged_.p.size(), r_first = merged_.r.size();
      const I row = levels_.row[place];
      ++stamp_of_row_;
      for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k) read(place_[T_.column[k]]);
      std::sort(merged_.p.begin() + p_first, merged_.p.end());
      std::sort(merged_.r.begin() + r_first, merged_.r.end());
      merged_.p.push_back(place);
      merged_.p_end.push_back(static_cast<I>(merged_.p.size()));
      merged_.r_end.push_back(static_cast<I>(merged_.r.size()));
    }
  }

  /// The row at hand reads x at that place.
  void read(I place)
  {
    if (place < first_of_group_) return add(place, &merged_.r);
    for (I k = plan_->p_begin[place]; k < plan_->p_begin[place + 1]; ++k) add(plan_->p_column[k], &merged_.p);
    for (I k = plan_->r_begin[place]; k < plan_->r_begin[place + 1]; ++k) add(plan_->r_column[k], &merged_.r);
  }

  void add(I place, std::vector<I>* columns)
  {
    if (stamp_[place] == stamp_of_row_) return;
    stamp_[place] = stamp_of_row_;
    columns->push_back(place);
  }

  bool append(I level, I depth)
  {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<I>::max());
    const std::size_t p_before = plan_->p_column.size(), r_before = plan_->r_column.size();
    if (p_before + merged_.p.size() > most || r_before + merged_.r.size() > most) return false;
    plan_->p_column.insert(plan_->p_column.end(), merged_.p.begin(), merged_.p.end());
    plan_->r_column.insert(plan_->r_column.end(), merged_.r.begin(), merged_.r.end());
    for (const I end : merged_.p_end) plan_->p_begin.push_back(static_cast<I>(p_before) + end);
    for (const I end : merged_.r_end) plan_->r_begin.push_back(static_cast<I>(r_before) + end);
    const std::size_t rows = static_cast<std::size_t>(levels_.level_begin[level + 1] - levels_.level_begin[level]);
    plan_->group.insert(plan_->group.end(), rows, plan_->groups - 1);
    plan_->depth.insert(plan_->depth.end(), rows, depth);
    return true;
  }

  PatternView<I> T_;
  const LevelSets<I>& levels_;
  MergeRule rule_;
  MergePlan<I>* plan_ = nullptr;
  std::vector<I> place_;  ///< of a row
  std::vector<std::int64_t> stamp_;
  std::int64_t stamp_of_row_ = 0;
  I first_of_group_ = 0;  ///< place
  LevelPatterns<I> merged_;
};

}  // namespace

template <class I>
Status make_merge_plan(PatternView<I> T, const LevelSets<I>& levels, const MergeRule& rule, MergePlan<I>* out)
try {
  const double most = rule.most_fill * (static_cast<double>(T.nnz()) + static_cast<double>(T.n));
  Merger<I> merger(T, levels, rule);
  MergePlan<I> plan;
  double hop = rule.hop;
  for (int turn = 0; turn < turns; ++turn, hop /= 4) {
    const bool last = turn + 1 == turns;
    if (merger.run(last ? 0 : hop, &plan) && static_cast<double>(plan.entries()) <= most) break;
  }
  *out = std::move(plan);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status make_merge_plan<I>(PatternView<I>, const LevelSets<I>&, const MergeRule&, MergePlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
