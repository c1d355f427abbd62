/// What courier_plan.hpp declares.

#include "courier_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "courier_cut.hpp"
#include "ghost_table.hpp"
#include "instantiate.hpp"
#include "parallel.hpp"
#include "row_reach.hpp"
#include "star_plan.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

/// An entry of the own block whose row is so many levels back has long been computed: it may as well come by mail.
constexpr std::int64_t recent_levels = 12;
/// Part of the rows that may have more recent entries than `near`.
constexpr double most_crowded = 0.05;
/// What a block adds to the plan's arrays.
template <class I> struct Part {
  std::vector<std::uint32_t> step_end, bundle_begin, bundle_position, far_place;
  std::vector<I> far_source;
  GhostTable<I> ghosts;
};

template <class I> class Planner {
public:
  Planner(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule, CourierPlan<I>* plan)
      : T_(T), lower_(lower), levels_(levels), rule_(rule),
        plan_(*plan), depth_(T.n), wanted_(T.n), mail_(T.n)
  {
  }

  /// False where blocks wait for later blocks or have too many ghosts; the plan is of no use then.
  bool suits() const { return suits_.load(unordered); }
  bool has_tiles() const { return has_tiles_; }
  bool is_overlaid() const { return overlaid_; }

  Status run()
  {
    find_depth();
    const I longest = longest_of(T_, rule_.threads);
    size_ = size_of_ghosts(longest, rule_);
    plan_.has_ghosts = size_ >= 0;
    if (plan_.has_ghosts) plan_.near = ghost_near[size_];
    cut_rows(longest);
    part_.resize(plan_.block.size());
    if (!plan_.has_ghosts) plan_.near = rule_.near ? rule_.near : choose_near();
    for_blocks([this](std::size_t t) { sort_rows(plan_.block[t]); });
    if (overlaid_) find_overlay();
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    if (plan_.has_ghosts) plan_.warps = std::min(plan_.warps, rule_.most_warps_with_ghosts(plan_.near));
    plan_.source = Array<I>(plan_.row.size() * plan_.pairs() * 2);
    plan_.index = Array<std::uint16_t>(plan_.row.size() * plan_.units() * courier_fields);
    for_blocks([this](std::size_t t) {
      make_steps(plan_.block[t], &part_[t]);
      choose_near_entries(t);
    });
    if (plan_.has_ghosts) count_ghosts();
    if (!suits()) return {};
    number_mail();
    plan_.far_lanes = choose_far_lanes();
    for_blocks([this](std::size_t t) {
      write(t);
      bundle(&plan_.block[t], &part_[t]);
    });
    return gather();
  }

private:
  template <class Body> void for_blocks(Body body) const { for_parts(rule_.threads, plan_.block.size(), body); }

  std::int64_t first(const RowBlock& block) const { return block.first_page * courier_page; }

  void find_depth()
  {
    for_parts(rule_.threads, static_cast<std::size_t>(levels_.count), [this](std::size_t level) {
      for (I k = levels_.level_begin[level]; k < levels_.level_begin[level + 1]; ++k)
        depth_[levels_.row[k]] = static_cast<I>(level);
    });
  }

  void cut_rows(I longest)
  {
    if (T_.n == 0) return;
    CutInput<I> in = {T_.n, T_.nnz(), lower_, levels_.count, typical_reach(T_, lower_), longest, {}};
    in.grid.line = T_.n;
    if (rule_.tiles && rule_.rows == 0) in.grid = find_grid(T_, lower_);
    measure_levels([this](std::int64_t row) { return depth_[row]; }, T_.n, lower_, &in.grid);
    CourierCut<I> made = cut(in, size_, rule_);
    tiling_ = std::move(made.tiling);
    has_tiles_ = made.has_tiles;
    overlaid_ = made.overlaid;
    plan_.row = Array<I>(static_cast<std::size_t>(take_blocks(tiling_, &plan_)) * courier_page);
  }

  template <class Body> void for_runs(const RowBlock& block, Body body) const
  {
    for (std::uint32_t r = 0; r < block.runs; ++r) body(plan_.run[block.first_run + r]);
  }

  void count_ghosts()
  {
    std::int64_t ghosts = 0;
    for (std::size_t t = 0; t < part_.size(); ++t) {
      plan_.block[t].first_ghost = ghosts;
      plan_.block[t].ghosts = static_cast<std::uint32_t>(part_[t].ghosts.rows().size());
      plan_.most_ghosts = std::max(plan_.most_ghosts, plan_.block[t].ghosts);
      ghosts += plan_.block[t].ghosts;
    }
    plan_.ghost_place.resize(static_cast<std::size_t>(ghosts));
    if (plan_.numbers() > (overlaid_ ? rule_.overlay_slots : rule_.ghost_slots[size_])) suits_ = false;
    if (overlaid_ && !is_chain_.load(unordered)) suits_ = false;
  }

  /// The least distance with which a ghost's slot is taken behind the levels of all rows that read it.
  void find_overlay()
  {
    plan_.position = Array<std::uint16_t>(T_.n);
    std::uint32_t most = 0;
    for (const RowBlock& block : plan_.block) {
      most = std::max(most, block.rows);
      for (std::uint32_t p = 0; p < block.rows; ++p)
        plan_.position[plan_.row[first(block) + p]] = static_cast<std::uint16_t>(p);
    }
    std::atomic<std::uint32_t> distance{1};
    for_blocks([&](std::size_t t) {
      std::uint32_t own = distance_in(t), seen = distance.load(unordered);
      while (seen < own && !distance.compare_exchange_weak(seen, own, unordered)) {}
    });
    plan_.lay_over(distance.load(unordered), most);
  }
  std::uint32_t distance_in(std::size_t t) const
  {
    const RowBlock& block = plan_.block[t];
    const I* row = plan_.row.data() + first(block);
    std::int64_t most = 1;
    for (std::uint32_t end = block.rows, p = end; p-- > 0;) {
      if (depth_[row[p]] != depth_[row[end - 1]]) end = p + 1;
      for (I k = T_.row_begin[row[p]]; k < T_.row_begin[row[p] + 1]; ++k)
        if (tiling_.place_of(T_.column[k]).tile != t)
          most = std::max(most, std::int64_t{end} - plan_.position[T_.column[k]]);
    }
    return static_cast<std::uint32_t>(most);
  }

  /// The least number for which few rows have more recent entries in their block.
  int choose_near() const
  {
    static constexpr int sizes[] = {2, 4, 8, 16};
    std::int64_t crowded[4] = {}, rows = 0;
    for_sample(T_.n, [&](I row) {
      std::int64_t recent = 0;
      for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k)
        recent += tiling_.place_of(row).tile == tiling_.place_of(T_.column[k]).tile &&
                  depth_[T_.column[k]] + recent_levels >= depth_[row];
      for (int s = 0; s < 4; ++s) crowded[s] += recent > sizes[s];
      ++rows;
    });
    int s = 0;
    const double most = most_crowded * static_cast<double>(rows);
    while (sizes[s] < rule_.most_near && static_cast<double>(crowded[s]) > most) ++s;
    return sizes[s];
  }

  /// By level, those of one level in the order of the runs.
  void sort_rows(const RowBlock& block)
  {
    std::vector<I> own;
    for_runs(block, [&](const RowRun& run) {
      for (std::uint32_t k = 0; k < run.rows; ++k) own.push_back(static_cast<I>(run.first_row + k));
    });
    I least = depth_[own[0]], most = least;
    for (const I r : own) {
      least = std::min(least, depth_[r]);
      most = std::max(most, depth_[r]);
    }
    std::vector<std::uint32_t> next(static_cast<std::size_t>(most - least) + 2, 0);
    for (const I r : own) ++next[depth_[r] - least + 1];
    for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
    I* row = plan_.row.data() + first(block);
    for (const I r : own) row[next[depth_[r] - least]++] = r;
    std::fill(row + block.rows, row + block.pages * courier_page, I(-1));
  }

  int choose_warps() const
  {
    std::vector<std::uint32_t> levels(plan_.block.size(), 1), widest(plan_.block.size(), 0);
    for_blocks([&](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      const I* row = plan_.row.data() + first(block);
      std::uint32_t begin = 0;
      for (std::uint32_t p = 1; p <= block.rows; ++p) {
        if (p < block.rows && depth_[row[p]] == depth_[row[begin]]) continue;
        widest[t] = std::max(widest[t], p - begin);
        levels[t] += p < block.rows;
        begin = p;
      }
    });
    const bool is_long = !plan_.has_ghosts && plan_.near == rule_.most_near;
    const std::uint32_t all = widest.empty() ? 0 : *std::max_element(widest.begin(), widest.end());
    const int most = is_long ? rule_.most_warps_of_long : rule_.most_warps;
    return warps_for(plan_.block, levels, all, most, rule_.rows_a_warp);
  }

  void make_steps(RowBlock& block, Part<I>* part)
  {
    const I* row = plan_.row.data() + first(block);
    const std::uint32_t most = static_cast<std::uint32_t>(rule_.rows_a_warp * plan_.warps);
    std::uint32_t begin = 0;
    for (std::uint32_t p = 1; p <= block.rows; ++p) {
      if (p < block.rows && depth_[row[p]] == depth_[row[begin]] && p - begin < most) continue;
      part->step_end.push_back(p);
      begin = p;
    }
    block.steps = static_cast<std::uint32_t>(part->step_end.size());
    for (std::size_t s = 0; s < courier_groups; ++s) block.width[s] = width_of(part->step_end, s);
  }

  /// An entry, the level of its column, and where the block finds its number.
  struct NearEntry {
    I entry, depth;
    std::uint32_t slot;
  };
  using NearEntries = std::array<NearEntry, 16>;

  /// Of each position the latest entries of its own block, or all, the last one last. Who is read otherwise, or by
  /// other blocks, has to send mail.
  void choose_near_entries(std::size_t t)
  {
    const RowBlock& block = plan_.block[t];
    bool in_order = true, next_only = true;
    for (std::int64_t at = first(block); at < first(block) + block.pages * courier_page; ++at) {
      const I row = plan_.row[at];
      NearEntries near;
      int count = 0;
      for (I k = row < 0 ? 0 : T_.row_begin[row]; k < (row < 0 ? 0 : T_.row_begin[row + 1]); ++k) {
        const I column = T_.column[k];
        const RowPlace place = tiling_.place_of(column);
        const bool is_own = place.tile == t;
        NearEntry entry = {k, depth_[column], overlaid_ ? plan_.position[column] : place.slot};
        if (!is_own && plan_.has_ghosts) {
          const std::uint32_t number = part_[t].ghosts.add(column);
          entry.slot = plan_.first_ghost_slot() + (overlaid_ ? plan_.position[column] : number);
        }
        const I out = is_own || plan_.has_ghosts ? keep(&near, &count, entry) : k;
        if (out >= 0) want(T_.column[out]);
        if (!is_own) want(column);
        in_order = in_order && place.tile <= t;
        next_only = next_only && (is_own || place.tile + 1 == t);
      }
      write_near(block, at, near, count);
    }
    if (!in_order) suits_.store(false, unordered);
    if (!next_only) is_chain_.store(false, unordered);
  }

  void want(I row) { wanted_[row].store(1, unordered); }

  /// Puts an entry among the latest; returns the one that has to go, or -1.
  I keep(NearEntries* near, int* count, const NearEntry& entry) const
  {
    I out = -1;
    if (*count == plan_.near) {
      if (entry.depth < (*near)[0].depth) return entry.entry;
      out = (*near)[0].entry;
      std::copy(near->begin() + 1, near->begin() + *count, near->begin());
      --*count;
    }
    int j = (*count)++;
    for (; j > 0 && (*near)[j - 1].depth > entry.depth; --j) (*near)[j] = (*near)[j - 1];
    (*near)[j] = entry;
    return out;
  }

  std::uint32_t own_field(const RowBlock& block, I row) const
  {
    if (overlaid_) return row < 0 ? 0 : static_cast<std::uint32_t>(row - block.first_row);
    return row < 0 ? plan_.zero_slot() : tiling_.place_of(row).slot;
  }

  void write_near(const RowBlock& block, std::int64_t at, const NearEntries& near, int count)
  {
    std::array<std::uint16_t, 32> field = {};
    field[0] = static_cast<std::uint16_t>(own_field(block, plan_.row[at]));
    for (int j = 0; j < plan_.near; ++j)
      field[j + 1] = static_cast<std::uint16_t>(j < count ? near[j].slot : plan_.zero_slot());
    for (int u = 0; u < plan_.units(); ++u)
      std::copy_n(&field[u * courier_fields], courier_fields, &plan_.index[plan_.field_place(at, u * courier_fields)]);
    for (int j = 0; j < 2 * plan_.pairs(); ++j)
      plan_.source[plan_.near_place(at, j)] = j < count ? near[j].entry : I(-1);
  }

  void number_mail()
  {
    for_blocks([this](std::size_t t) {
      RowBlock& block = plan_.block[t];
      for (std::int64_t at = first(block); at < first(block) + block.rows; ++at)
        block.mails += overlaid_ || wanted_[plan_.row[at]].load(unordered);
    });
    for (RowBlock& block : plan_.block) {
      block.first_mail = plan_.mails;
      plan_.mails += block.mails;
    }
    plan_.is_chain = plan_.has_ghosts && plan_.block.size() > 1 && is_chain_.load(unordered);
    for_blocks([this](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      std::uint32_t place = block.first_mail;
      for (std::int64_t at = first(block); at < first(block) + block.rows; ++at) {
        const I row = plan_.row[at];
        const bool wanted = wanted_[row].load(unordered);
        mail_[row] = wanted ? place : courier_no_mail;
        place += wanted || overlaid_;
      }
      if (!plan_.is_chain || overlaid_ || t + 1 == plan_.block.size()) return;
      place = block.first_mail;
      for (const I row : part_[t + 1].ghosts.rows()) mail_[row] = place++;
    });
  }

  I near_entries(std::int64_t at) const
  {
    I count = 0;
    for (int j = 0; j < plan_.near; ++j) count += plan_.source[plan_.near_place(at, j)] >= 0;
    return count;
  }
  I far_entries(std::int64_t at) const
  {
    const I row = plan_.row[at];
    return row < 0 ? 0 : T_.row_begin[row + 1] - T_.row_begin[row] - near_entries(at);
  }

  int choose_far_lanes() const
  {
    std::int64_t rows = 0, far = 0;
    for_sample(static_cast<std::int64_t>(plan_.row.size()), [&](std::int64_t at) {
      rows += far_entries(at) > 0;
      far += far_entries(at);
    });
    return far <= 10 * rows ? 1 : far <= 40 * rows ? 4 : 32;
  }

  /// The fields that choose_near_entries() leaves.
  void write(std::size_t t)
  {
    const RowBlock& block = plan_.block[t];
    const std::vector<std::uint32_t>& step_end = part_[t].step_end;
    std::size_t step = 0;
    for (std::uint32_t p = 0; p < block.pages * courier_page; ++p) {
      while (step + 1 < step_end.size() && p >= step_end[step]) ++step;
      write_end(block, first(block) + p, step_end, step);
    }
  }

  void set(std::int64_t at, int field, std::uint32_t v)
  {
    plan_.index[plan_.field_place(at, field)] = static_cast<std::uint16_t>(v);
  }

  /// 0 behind the last step.
  static std::uint32_t width_of(const std::vector<std::uint32_t>& step_end, std::size_t step)
  {
    return step < step_end.size() ? step_end[step] - (step ? step_end[step - 1] : 0) : 0;
  }

  void write_end(const RowBlock& block, std::int64_t at, const std::vector<std::uint32_t>& step_end, std::size_t step)
  {
    const I row = plan_.row[at];
    const std::uint32_t mail = row < 0 ? courier_no_mail : mail_[row];
    const int last = plan_.units() * courier_fields - 1;
    if (plan_.has_ghosts) {
      std::uint32_t begin = 0;
      for (std::size_t s = step; s < step + courier_groups; ++s) begin += width_of(step_end, s);
      const std::uint32_t width = width_of(step_end, step + courier_groups);
      set(at, last - 1, begin | (width ? width - 1 : 0) << 9);
      set(at, last, mail == courier_no_mail ? courier_no_ghost : mail - block.first_mail);
    } else {
      if (far_entries(at) > 0) set(at, 0, plan_.index[plan_.field_place(at, 0)] | courier_far);
      set(at, last - 2, row < 0 ? 0 : width_of(step_end, step + 1));
      set(at, last - 1, mail);
      set(at, last, mail >> 16);
    }
  }

  void bundle(RowBlock* block, Part<I>* part) const
  {
    int lane = 32;
    for (std::uint32_t p = 0; p < block->rows; ++p) {
      const std::int64_t at = first(*block) + p;
      if (!plan_.reads_mail(at)) continue;
      if (lane == 32) {
        lane = 0;
        ++block->bundles;
        part->bundle_begin.push_back(static_cast<std::uint32_t>(part->far_place.size() / 32));
        part->bundle_position.resize(part->bundle_position.size() + 32, ~0u);
      }
      put_into_bundle(p, at, lane, part);
      lane += plan_.far_lanes;
    }
  }

  void put_into_bundle(std::uint32_t position, std::int64_t at, int lane, Part<I>* part) const
  {
    const std::size_t lanes = static_cast<std::size_t>(plan_.far_lanes), begin = part->bundle_begin.back();
    const std::size_t layers = (static_cast<std::size_t>(far_entries(at)) + lanes - 1) / lanes;
    if ((begin + layers) * 32 > part->far_place.size()) {
      part->far_place.resize((begin + layers) * 32, courier_no_mail);
      part->far_source.resize((begin + layers) * 32, I(-1));
    }
    for (std::size_t l = 0; l < lanes; ++l) *(part->bundle_position.end() - 32 + lane + l) = position;
    const I row = plan_.row[at];
    std::size_t e = 0;
    for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k) {
      bool near = false;
      for (int j = 0; j < plan_.near; ++j) near = near || plan_.source[plan_.near_place(at, j)] == k;
      if (near) continue;
      const std::size_t to = (begin + e / lanes) * 32 + lane + e % lanes;
      part->far_place[to] = mail_[T_.column[k]];
      part->far_source[to] = k;
      ++e;
    }
  }

  /// The parts one behind the other.
  Status gather()
  {
    std::int64_t steps = 0, bundles = 0;
    std::vector<std::size_t> layers(plan_.block.size() + 1, 0);
    for (std::size_t t = 0; t < plan_.block.size(); ++t) {
      plan_.block[t].first_step = steps;
      plan_.block[t].first_bundle = bundles;
      steps += plan_.block[t].steps;
      bundles += plan_.block[t].bundles;
      layers[t + 1] = layers[t] + part_[t].far_place.size() / 32;
    }
    if (layers.back() >= courier_no_mail)
      return failed(Code::invalid_argument, "2^32 layers of mail; take level_order");
    plan_.step_end.resize(steps);
    if (plan_.block.empty()) return {};
    plan_.bundle_begin.resize(bundles + 1, static_cast<std::uint32_t>(layers.back()));
    plan_.bundle_position.resize(32 * bundles);
    plan_.far_place = Array<std::uint32_t>(32 * layers.back());
    plan_.far_source = Array<I>(32 * layers.back());
    for_blocks([&](std::size_t t) {
      const RowBlock& block = plan_.block[t];
      const Part<I>& part = part_[t];
      std::copy(part.step_end.begin(), part.step_end.end(), plan_.step_end.begin() + block.first_step);
      for (std::uint32_t k = 0; k < block.ghosts; ++k)
        plan_.ghost_place[block.first_ghost + k] = mail_[part.ghosts.rows()[k]];
      std::copy(part.bundle_position.begin(), part.bundle_position.end(),
                plan_.bundle_position.begin() + 32 * block.first_bundle);
      std::copy(part.far_place.begin(), part.far_place.end(), plan_.far_place.begin() + 32 * layers[t]);
      std::copy(part.far_source.begin(), part.far_source.end(), plan_.far_source.begin() + 32 * layers[t]);
      for (std::uint32_t k = 0; k < block.bundles; ++k)
        plan_.bundle_begin[block.first_bundle + k] = part.bundle_begin[k] + static_cast<std::uint32_t>(layers[t]);
    });
    return {};
  }

  PatternView<I> T_;
  bool lower_;
  const LevelSets<I>& levels_;
  const CourierRule& rule_;
  CourierPlan<I>& plan_;
  Tiling<I> tiling_;
  Array<I> depth_;
  int size_ = 0;                   ///< of ghost_near
  bool has_tiles_ = false, overlaid_ = false;
  std::atomic<bool> suits_{true}, is_chain_{true};
  std::vector<std::atomic<unsigned char>> wanted_;  ///< by row: does somebody read it by mail?
  Array<std::uint32_t> mail_;                       ///< by row: place in the mailbox
  std::vector<Part<I>> part_;                       ///< by block
};

}  // namespace

template <class I>
Status make_courier_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const CourierRule& rule,
                         CourierPlan<I>* out)
try {
  if (static_cast<std::uint64_t>(T.n) >= courier_no_mail)
    return failed(Code::invalid_argument, "courier takes less than 2^32 rows; take level_order");
  /* the best first: tiles with ghosts, planes over each other, runs with ghosts, then mail, which always suits */
  CourierRule now = rule;
  now.threads = worthwhile_threads(T.nnz() + static_cast<std::int64_t>(T.n), rule.threads);
  CourierPlan<I> by_arithmetic;
  if (make_star_plan(T, lower, now, &by_arithmetic)) {
    *out = std::move(by_arithmetic);
    return {};
  }
  for (;;) {
    CourierPlan<I> plan;
    Planner<I> planner(T, lower, levels, now, &plan);
    const Status status = planner.run();
    if (status.ok() && planner.suits()) *out = std::move(plan);
    if (!status.ok() || planner.suits()) return status;
    if (planner.is_overlaid()) {
      now.overlay_slots = 0;
      continue;
    }
    if (!planner.has_tiles()) std::fill(now.ghost_slots, now.ghost_slots + ghost_sizes, 0);
    now.tiles = !planner.has_tiles();
  }
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I)                                                                              \
  template Status make_courier_plan<I>(PatternView<I>, bool, const LevelSets<I>&, const CourierRule&, \
                                       CourierPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
