/// Implements tile_plan.hpp.

#include "tile_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "tile_cut.hpp"
#include "ghost_table.hpp"
#include "star_plan.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

/// What a tile adds to the plan's arrays.
template <class I> struct Part {
  std::vector<std::uint32_t> step_end;
  GhostTable<I> ghosts;
};

template <class I> class Planner {
public:
  ///   longest  entries of the longest row
  Planner(PatternView<I> T, bool lower, const LevelSets<I>& levels, I longest, const TileRule& rule,
          TilePlan<I>* plan)
      : T_(T), lower_(lower), levels_(levels), longest_(longest), rule_(rule), plan_(*plan), depth_(T.n),
        size_(size_of_ghosts(longest, rule)), wanted_(T.n), mail_(T.n)
  {
  }

  /// False if tiles wait for later tiles or have too many ghosts; then the plan is unusable.
  bool suits() const { return suits_.load(unordered); }
  bool has_tiles() const { return has_tiles_; }
  std::int64_t room() const { return rule_.ghost_slots[size_]; }  ///< slots of a tile
  bool is_overlaid() const { return overlaid_; }

  void make_tiles()
  {
    find_depth();
    plan_.row_capacity = row_capacities[size_];
    cut_rows();
    part_.resize(plan_.tiles.size());
    for_tiles([this](std::size_t t) { sort_rows(plan_.tiles[t]); });
    if (overlaid_) find_alias_shift();
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    plan_.warps = std::min(plan_.warps, rule_.most_warps_of(plan_.row_capacity));
    plan_.source = Array<I>(plan_.row.size() * plan_.pairs() * 2);
    plan_.index = Array<std::uint16_t>(plan_.row.size() * plan_.units() * fields_per_unit);
    for_tiles([this](std::size_t t) {
      make_steps(plan_.tiles[t], &part_[t]);
      choose_near_entries(t);
    });
    count_ghosts();
    if (!suits()) return;
    number_mail();
    for_tiles([this](std::size_t t) { write(t); });
    concatenate_parts();
  }

private:
  template <class Body> void for_tiles(Body body) const { for_parts(rule_.threads, plan_.tiles.size(), body); }

  std::int64_t first_position(const Tile& tile) const { return tile.first_panel * panel_rows; }

  void find_depth()
  {
    for_parts(rule_.threads, static_cast<std::size_t>(levels_.count), [this](std::size_t level) {
      for (I k = levels_.level_begin[level]; k < levels_.level_begin[level + 1]; ++k)
        depth_[levels_.row[k]] = static_cast<I>(level);
    });
  }

  void cut_rows()
  {
    if (T_.n == 0) return;
    CutInput<I> in = {T_.n, T_.nnz(), lower_, levels_.count, typical_row_bandwidth(T_, lower_), longest_, {}};
    if (rule_.tiles && rule_.rows == 0) in.grid = find_grid(T_, lower_);
    measure_levels([this](std::int64_t row) { return depth_[row]; }, T_.n, lower_, &in.grid);
    TileCut<I> made = cut(in, size_, rule_);
    tiling_ = std::move(made.tiling);
    has_tiles_ = made.has_tiles;
    overlaid_ = made.aliased;
    plan_.row = Array<I>(static_cast<std::size_t>(cut_into_tiles(tiling_, &plan_)) * panel_rows);
  }

  template <class Body> void for_runs(const Tile& tile, Body body) const
  {
    for (std::uint32_t r = 0; r < tile.runs; ++r) body(plan_.run[tile.first_run + r]);
  }

  void count_ghosts()
  {
    std::int64_t ghosts = 0;
    for (std::size_t t = 0; t < part_.size(); ++t) {
      plan_.tiles[t].first_ghost = ghosts;
      plan_.tiles[t].ghosts = static_cast<std::uint32_t>(part_[t].ghosts.ghost_rows().size());
      plan_.most_ghosts = std::max(plan_.most_ghosts, plan_.tiles[t].ghosts);
      ghosts += plan_.tiles[t].ghosts;
    }
    plan_.ghost_place.resize(static_cast<std::size_t>(ghosts));
    if (plan_.numbers() > (overlaid_ ? rule_.alias_slots : rule_.ghost_slots[size_])) suits_ = false;
    if (overlaid_ && !is_chain_.load(unordered)) suits_ = false;
  }

  /// Finds the smallest shift with which a ghost's slot is overwritten only after the levels of all rows that read it.
  void find_alias_shift()
  {
    plan_.position = Array<std::uint16_t>(T_.n);
    std::uint32_t most = 0;
    for (const Tile& tile : plan_.tiles) {
      most = std::max(most, tile.rows);
      for (std::uint32_t p = 0; p < tile.rows; ++p)
        plan_.position[plan_.row[first_position(tile) + p]] = static_cast<std::uint16_t>(p);
    }
    std::atomic<std::uint32_t> distance{1};
    for_tiles([&](std::size_t t) {
      std::uint32_t own = distance_in(t), seen = distance.load(unordered);
      while (seen < own && !distance.compare_exchange_weak(seen, own, unordered)) {}
    });
    plan_.set_alias_shift(distance.load(unordered), most);
  }
  std::uint32_t distance_in(std::size_t t) const
  {
    const Tile& tile = plan_.tiles[t];
    const I* row = plan_.row.data() + first_position(tile);
    std::int64_t most = 1;
    for (std::uint32_t end = tile.rows, p = end; p-- > 0;) {
      if (depth_[row[p]] != depth_[row[end - 1]]) end = p + 1;
      for (I k = T_.row_begin[row[p]]; k < T_.row_begin[row[p] + 1]; ++k)
        if (tiling_.locate_row(T_.column[k]).tile != t)
          most = std::max(most, std::int64_t{end} - plan_.position[T_.column[k]]);
    }
    return static_cast<std::uint32_t>(most);
  }

  /// Sorts a tile's rows by level; rows of one level stay in the order of the runs.
  void sort_rows(const Tile& tile)
  {
    std::vector<I> own;
    for_runs(tile, [&](const RowSegment& run) {
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
    I* row = plan_.row.data() + first_position(tile);
    for (const I r : own) row[next[depth_[r] - least]++] = r;
    std::fill(row + tile.rows, row + tile.panels * panel_rows, I(-1));
  }

  int choose_warps() const
  {
    std::vector<std::uint32_t> levels(plan_.tiles.size(), 1), widest(plan_.tiles.size(), 0);
    for_tiles([&](std::size_t t) {
      const Tile& tile = plan_.tiles[t];
      const I* row = plan_.row.data() + first_position(tile);
      std::uint32_t begin = 0;
      for (std::uint32_t p = 1; p <= tile.rows; ++p) {
        if (p < tile.rows && depth_[row[p]] == depth_[row[begin]]) continue;
        widest[t] = std::max(widest[t], p - begin);
        levels[t] += p < tile.rows;
        begin = p;
      }
    });
    const std::uint32_t all = widest.empty() ? 0 : *std::max_element(widest.begin(), widest.end());
    return warps_for(plan_.tiles, levels, all, rule_.most_warps, rule_.rows_a_warp);
  }

  void make_steps(Tile& tile, Part<I>* part)
  {
    const I* row = plan_.row.data() + first_position(tile);
    const std::uint32_t most = static_cast<std::uint32_t>(rule_.rows_a_warp * plan_.warps);
    std::uint32_t begin = 0;
    for (std::uint32_t p = 1; p <= tile.rows; ++p) {
      if (p < tile.rows && depth_[row[p]] == depth_[row[begin]] && p - begin < most) continue;
      part->step_end.push_back(p);
      begin = p;
    }
    tile.steps = static_cast<std::uint32_t>(part->step_end.size());
    for (std::size_t s = 0; s < compute_groups; ++s) tile.width[s] = width_of(part->step_end, s);
  }

  /// An entry, the level of its column, and the slot of its value in the tile.
  struct NearEntry {
    I entry, depth;
    std::uint32_t slot;
  };
  using NearEntries = std::array<NearEntry, row_capacities[ghost_sizes - 1]>;

  /// For each position collects all entries, the one of the deepest column last. Rows that other tiles read are
  /// exported.
  void choose_near_entries(std::size_t t)
  {
    const Tile& tile = plan_.tiles[t];
    bool in_order = true, next_only = true;
    for (std::int64_t at = first_position(tile); at < first_position(tile) + tile.panels * panel_rows; ++at) {
      const I row = plan_.row[at];
      NearEntries entries;
      int count = 0;
      for (I k = row < 0 ? 0 : T_.row_begin[row]; k < (row < 0 ? 0 : T_.row_begin[row + 1]); ++k) {
        const I column = T_.column[k];
        const RowLocation place = tiling_.locate_row(column);
        const bool is_own = place.tile == t;
        NearEntry entry = {k, depth_[column], overlaid_ ? plan_.position[column] : place.slot};
        if (!is_own) {
          const std::uint32_t number = part_[t].ghosts.insert_row(column);
          entry.slot = plan_.first_ghost_slot() + (overlaid_ ? plan_.position[column] : number);
          wanted_[column].store(1, unordered);
        }
        insert(&entries, &count, entry);
        in_order = in_order && place.tile <= t;
        next_only = next_only && (is_own || place.tile + 1 == t);
      }
      write_near(tile, at, entries, count);
    }
    if (!in_order) suits_.store(false, unordered);
    if (!next_only) is_chain_.store(false, unordered);
  }

  /// Inserts by level.
  static void insert(NearEntries* entries, int* count, const NearEntry& entry)
  {
    int j = (*count)++;
    for (; j > 0 && (*entries)[j - 1].depth > entry.depth; --j) (*entries)[j] = (*entries)[j - 1];
    (*entries)[j] = entry;
  }

  std::uint32_t own_field(const Tile& tile, I row) const
  {
    if (overlaid_) return row < 0 ? 0 : static_cast<std::uint32_t>(row - tile.first_row);
    return row < 0 ? plan_.zero_slot() : tiling_.locate_row(row).slot;
  }

  void write_near(const Tile& tile, std::int64_t at, const NearEntries& entries, int count)
  {
    std::array<std::uint16_t, 32> field = {};
    field[0] = static_cast<std::uint16_t>(own_field(tile, plan_.row[at]));
    for (int j = 0; j < plan_.row_capacity; ++j)
      field[j + 1] = static_cast<std::uint16_t>(j < count ? entries[j].slot : plan_.zero_slot());
    for (int u = 0; u < plan_.units(); ++u)
      std::copy_n(&field[u * fields_per_unit], fields_per_unit,
                  &plan_.index[plan_.field_place(at, u * fields_per_unit)]);
    for (int j = 0; j < 2 * plan_.pairs(); ++j)
      plan_.source[plan_.near_place(at, j)] = j < count ? entries[j].entry : I(-1);
  }

  void number_mail()
  {
    for_tiles([this](std::size_t t) {
      Tile& tile = plan_.tiles[t];
      for (std::int64_t at = first_position(tile); at < first_position(tile) + tile.rows; ++at)
        tile.exports += overlaid_ || wanted_[plan_.row[at]].load(unordered);
    });
    for (Tile& tile : plan_.tiles) {
      tile.first_exported = plan_.exports;
      plan_.exports += tile.exports;
    }
    plan_.is_chain = plan_.tiles.size() > 1 && is_chain_.load(unordered);
    for_tiles([this](std::size_t t) {
      const Tile& tile = plan_.tiles[t];
      std::uint32_t place = tile.first_exported;
      for (std::int64_t at = first_position(tile); at < first_position(tile) + tile.rows; ++at) {
        const I row = plan_.row[at];
        const bool wanted = wanted_[row].load(unordered);
        mail_[row] = wanted ? place : not_exported;
        place += wanted || overlaid_;
      }
      if (!plan_.is_chain || overlaid_ || t + 1 == plan_.tiles.size()) return;
      place = tile.first_exported;
      for (const I row : part_[t + 1].ghosts.ghost_rows()) mail_[row] = place++;
    });
  }

  /// Writes the fields that choose_near_entries() leaves.
  void write(std::size_t t)
  {
    const Tile& tile = plan_.tiles[t];
    const std::vector<std::uint32_t>& step_end = part_[t].step_end;
    std::size_t step = 0;
    for (std::uint32_t p = 0; p < tile.panels * panel_rows; ++p) {
      while (step + 1 < step_end.size() && p >= step_end[step]) ++step;
      write_end(tile, first_position(tile) + p, step_end, step);
    }
  }

  void set(std::int64_t at, int field, std::uint32_t v)
  {
    plan_.index[plan_.field_place(at, field)] = static_cast<std::uint16_t>(v);
  }

  /// Width of a step; 0 after the last.
  static std::uint32_t width_of(const std::vector<std::uint32_t>& step_end, std::size_t step)
  {
    return step < step_end.size() ? step_end[step] - (step ? step_end[step - 1] : 0) : 0;
  }

  void write_end(const Tile& tile, std::int64_t at, const std::vector<std::uint32_t>& step_end, std::size_t step)
  {
    const I row = plan_.row[at];
    const std::uint32_t exported = row < 0 ? not_exported : mail_[row];
    const int last = plan_.units() * fields_per_unit - 1;
    std::uint32_t begin = 0;
    for (std::size_t s = step; s < step + compute_groups; ++s) begin += width_of(step_end, s);
    const std::uint32_t width = width_of(step_end, step + compute_groups);
    set(at, last - 1, begin | (width ? width - 1 : 0) << 9);
    set(at, last, exported == not_exported ? no_ghost : exported - tile.first_exported);
  }

  /// Concatenates the tiles' parts.
  void concatenate_parts()
  {
    std::int64_t steps = 0;
    for (Tile& tile : plan_.tiles) {
      tile.first_step = steps;
      steps += tile.steps;
    }
    plan_.step_end.resize(static_cast<std::size_t>(steps));
    for_tiles([&](std::size_t t) {
      const Tile& tile = plan_.tiles[t];
      const Part<I>& part = part_[t];
      std::copy(part.step_end.begin(), part.step_end.end(), plan_.step_end.begin() + tile.first_step);
      for (std::uint32_t k = 0; k < tile.ghosts; ++k)
        plan_.ghost_place[tile.first_ghost + k] = mail_[part.ghosts.ghost_rows()[k]];
    });
  }

  PatternView<I> T_;
  bool lower_;
  const LevelSets<I>& levels_;
  const I longest_;
  const TileRule& rule_;
  TilePlan<I>& plan_;
  Tiling<I> tiling_;
  Array<I> depth_;
  const int size_;                 ///< index in row_capacities
  bool has_tiles_ = false, overlaid_ = false;
  std::atomic<bool> suits_{true}, is_chain_{true};
  std::vector<std::atomic<unsigned char>> wanted_;  ///< by row: 1 if another tile reads it
  Array<std::uint32_t> mail_;                       ///< by row: index in the mailbox
  std::vector<Part<I>> part_;                       ///< by tile
};

}  // namespace

template <class I>
Status make_tile_plan(PatternView<I> T, bool lower, const LevelSets<I>& levels, const TileRule& rule,
                         TilePlan<I>* out)
try {
  if (static_cast<std::uint64_t>(T.n) >= not_exported)
    return failed(Code::no_plan, "2^32 or more rows");
  /* in order of preference: tiles, planes with aliasing, parts of planes, runs */
  TileRule now = rule;
  now.threads = worthwhile_threads(T.nnz() + static_cast<std::int64_t>(T.n), rule.threads);
  const I longest = longest_of(T, now.threads);
  if (size_of_ghosts(longest, rule) < 0) return no_tiles_for_rows(longest, rule);
  TilePlan<I> by_arithmetic;
  if (make_star_plan(T, lower, now, &by_arithmetic)) {
    *out = std::move(by_arithmetic);
    return {};
  }
  for (;;) {
    TilePlan<I> plan;
    Planner<I> planner(T, lower, levels, longest, now, &plan);
    planner.make_tiles();
    if (planner.suits()) {
      *out = std::move(plan);
      return {};
    }
    if (planner.is_overlaid()) now.alias_slots = 0;
    else if (planner.has_tiles()) now.tiles = false;
    else return no_tiles_for_ghosts(plan.slots, planner.room(), rule);
  }
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I)                                                                              \
  template Status make_tile_plan<I>(PatternView<I>, bool, const LevelSets<I>&, const TileRule&, \
                                       TilePlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
