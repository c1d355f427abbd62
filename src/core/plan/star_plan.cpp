/// Implements star_plan.hpp.

#include "star_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

/// Tables of one kind, and the plan's data of a tile of that kind.
struct KindTables {
  std::vector<TileCell> place;
  std::vector<StarFields> field;
  std::vector<StarGhost> ghost;
  std::array<std::vector<std::uint16_t>, 3> face_exported;
  std::vector<std::uint32_t> step_end;
  std::uint32_t exports = 0;

  std::uint32_t kind_rows() const { return static_cast<std::uint32_t>(place.size()); }
  /// Width of a step; 0 after the last.
  std::uint32_t width_of(std::size_t step) const
  {
    return step < step_end.size() ? step_end[step] - (step ? step_end[step - 1] : 0) : 0;
  }
};

class KindMaker {
public:
  ///   is_cut  by axis: there are several tiles along it
  ///   slots   of the plan
  ///   warps   of a step
  KindMaker(const std::array<int, 3>& extent, const std::array<bool, 3>& is_cut, bool lower, std::uint32_t slots,
            int warps)
      : extent_(extent), is_cut_(is_cut), lower_(lower), slots_(slots), most_(32 * static_cast<std::uint32_t>(warps))
  {
  }

  ///   slot_of  slot_of(place) in a tile of this kind
  template <class SlotOf> KindTables make_kind(SlotOf slot_of)
  {
    for (int axis = 0; axis < 3; ++axis)
      if (is_cut_[axis]) kind_.face_exported[axis].resize(cells_of_face(axis));
    sort_by_level();
    find_slots(slot_of);
    kind_.field.resize(kind_.place.size());
    std::size_t step = 0;
    for (std::uint32_t p = 0; p < kind_.kind_rows(); ++p) {
      step += p >= kind_.step_end[step];
      write(kind_.place[p], &kind_.field[p]);
      write_end(kind_.place[p], step, &kind_.field[p]);
    }
    return std::move(kind_);
  }

private:
  std::uint32_t cells_of_face(int axis) const
  {
    const auto& e = extent_;
    return static_cast<std::uint32_t>(axis == 0 ? e[1] * e[2] : axis == 1 ? e[0] * e[2] : e[0] * e[1]);
  }
  std::uint32_t cell_of_face(int axis, const TileCell& p) const
  {
    const auto& e = extent_;
    return static_cast<std::uint32_t>(axis == 0   ? p.at[2] * e[1] + p.at[1]
                                      : axis == 1 ? p.at[2] * e[0] + p.at[0]
                                                  : p.at[1] * e[0] + p.at[0]);
  }

  /// Sorts positions by level and cuts levels into steps; within a level by plane, then by line.
  void sort_by_level()
  {
    const auto& e = extent_;
    kind_.place.reserve(static_cast<std::size_t>(e[0]) * e[1] * e[2]);
    for (int level = 0; level < e[0] + e[1] + e[2] - 2; ++level) {
      const std::uint32_t begin = kind_.kind_rows();
      for (int k = std::max(0, level - e[0] - e[1] + 2); k < e[2] && k <= level; ++k)
        for (int j = std::max(0, level - k - e[0] + 1); j < e[1] && j <= level - k; ++j)
          kind_.place.push_back({{static_cast<std::uint16_t>(level - k - j), static_cast<std::uint16_t>(j),
                                  static_cast<std::uint16_t>(k)}});
      for (std::uint32_t end = begin + most_; end < kind_.kind_rows(); end += most_) kind_.step_end.push_back(end);
      kind_.step_end.push_back(kind_.kind_rows());
    }
  }

  /// Computes each slot once: it is used by its own row and by three others.
  template <class SlotOf> void find_slots(SlotOf slot_of)
  {
    slot_.resize(kind_.place.size());
    for (const TileCell& place : kind_.place) slot_[cell_of(place)] = static_cast<std::uint16_t>(slot_of(place));
  }
  std::uint32_t slot_at(const TileCell& place) const { return slot_[cell_of(place)]; }
  std::size_t cell_of(const TileCell& p) const
  {
    const std::size_t line = static_cast<std::size_t>(p.at[2]) * extent_[1] + p.at[1];
    return line * extent_[0] + p.at[0];
  }

  void write(const TileCell& place, StarFields* field)
  {
    field->of[0] = static_cast<std::uint16_t>(slot_at(place));
    for (int turn = 0; turn < 3; ++turn) {
      const int axis = lower_ ? 2 - turn : turn;  // the order of the entries in a row
      TileCell before = place;
      --before.at[axis];
      std::uint32_t slot = slots_;
      if (place.at[axis] > 0) slot = slot_at(before);
      else if (is_cut_[axis]) slot = slots_ + 1 + add_ghost(axis, place);
      field->of[1 + axis] = static_cast<std::uint16_t>(slot);
    }
  }

  std::uint32_t add_ghost(int axis, const TileCell& place)
  {
    kind_.ghost.push_back({static_cast<std::uint32_t>(axis), cell_of_face(axis, place)});
    return static_cast<std::uint32_t>(kind_.ghost.size() - 1);
  }

  /// Writes the last fields: the next step of the group, and the row's index among the exported values.
  void write_end(const TileCell& place, std::size_t step, StarFields* field)
  {
    std::uint32_t begin = 0;
    for (std::size_t s = step; s < step + compute_groups; ++s) begin += kind_.width_of(s);
    const std::uint32_t width = kind_.width_of(step + compute_groups);
    field->of[fields_per_unit - 2] = static_cast<std::uint16_t>(begin | (width ? width - 1 : 0) << 9);
    std::uint16_t exported = no_ghost;
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_cut_[axis] || place.at[axis] + 1 < extent_[axis]) continue;
      if (exported == no_ghost) exported = static_cast<std::uint16_t>(kind_.exports++);
      kind_.face_exported[axis][cell_of_face(axis, place)] = exported;
    }
    field->of[fields_per_unit - 1] = exported;
  }

  const std::array<int, 3> extent_;
  const std::array<bool, 3> is_cut_;
  const bool lower_;
  const std::uint32_t slots_, most_;
  std::vector<std::uint16_t> slot_;  ///< by cell, line by line and plane by plane
  KindTables kind_;
};

template <class I> class StarPlanner {
public:
  StarPlanner(I rows, bool lower, const Grid<I>& grid, const TileShape& shape, const TileRule& rule,
              StarPlan<I>* out)
      : rule_(rule), tiling_(rows, lower, grid, shape), out_(*out), plan_(out->frame), view_(out->view)
  {
    view_.rows = rows;
    view_.lower = lower;
    view_.axis[0] = AxisParts(grid.line, shape.cells);
    view_.axis[1] = AxisParts(grid.lines, shape.lines);
    view_.axis[2] = AxisParts(grid.planes, shape.planes);
  }

  bool plan_tiles()
  {
    plan_.row_capacity = star_row_capacity;
    plan_.run = tiling_.runs();
    plan_.slots = view_.slots = tiling_.most_slots();
    if (plan_.slots >= rule_.ghost_slots[0]) return false;
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    make_kinds();
    make_tiles();
    join_kinds();
    return std::int64_t{plan_.slots} + 1 + plan_.most_ghosts <= rule_.ghost_slots[0];
  }

private:
  StarTile<I> tile(std::size_t t) const { return {view_, static_cast<std::int64_t>(t)}; }

  /// Enough warps for twice the mean width of a level of the largest tile, but no more than the widest level needs.
  int choose_warps() const
  {
    const std::int64_t e[3] = {view_.axis[0].largest(), view_.axis[1].largest(), view_.axis[2].largest()};
    const std::int64_t mean = e[0] * e[1] * e[2] / (e[0] + e[1] + e[2] - 2);
    const std::int64_t widest = std::min({e[0] * e[1], e[0] * e[2], e[1] * e[2], 2 * mean + 1});
    return static_cast<int>(std::clamp<std::int64_t>((widest + 31) / 32, 1,
                                                     rule_.most_warps_of(star_row_capacity)));
  }

  void make_kinds()
  {
    std::vector<StarTile<I>> first;
    std::array<bool, 8> seen = {};
    for (std::size_t t = 0; t < tiling_.count_tiles(); ++t) {
      const StarTile<I> own = tile(t);
      if (!seen[own.kind()]) first.push_back(own);
      seen[own.kind()] = true;
    }
    const AxisParts* axis = view_.axis;
    const std::array<bool, 3> is_cut = {axis[0].count > 1, axis[1].count > 1, axis[2].count > 1};
    const std::int64_t rows = axis[0].largest() * axis[1].largest() * axis[2].largest();
    const int threads = worthwhile_threads(rows * static_cast<std::int64_t>(first.size()), rule_.threads);
    for_parts(threads, first.size(), [&](std::size_t k) {
      const StarTile<I>& some = first[k];
      std::array<int, 3> extent;
      for (int a = 0; a < 3; ++a) extent[a] = static_cast<int>(some.extent(a));
      KindMaker maker(extent, is_cut, view_.lower, plan_.slots, plan_.warps);
      kind_[some.kind()] = maker.make_kind([&](const TileCell& place) {
        return tiling_.locate_row(static_cast<I>(some.row_of_cell(place))).slot;
      });
    });
  }

  void make_tiles()
  {
    for (std::size_t t = 0; t < tiling_.count_tiles(); ++t) {
      const KindTables& kind = kind_[tile(t).kind()];
      Tile tile;
      tile.first_run = tiling_.runs_begin()[t];
      tile.runs = static_cast<std::uint32_t>(tiling_.runs_begin()[t + 1] - tile.first_run);
      tile.first_row = plan_.run[tile.first_run].first_row;
      tile.rows = kind.kind_rows();
      tile.first_panel = out_.panels;
      tile.panels = (tile.rows + panel_rows - 1) / panel_rows;
      tile.first_step = static_cast<std::int64_t>(plan_.step_end.size());
      tile.steps = static_cast<std::uint32_t>(kind.step_end.size());
      for (std::size_t s = 0; s < compute_groups; ++s) tile.width[s] = kind.width_of(s);
      tile.first_exported = plan_.exports;
      tile.exports = kind.exports;
      tile.first_ghost = out_.ghosts;
      tile.ghosts = t == 0 ? 0 : static_cast<std::uint32_t>(kind.ghost.size());
      out_.panels += tile.panels;
      plan_.exports += tile.exports;
      out_.ghosts += tile.ghosts;
      plan_.most_ghosts = std::max(plan_.most_ghosts, tile.ghosts);
      plan_.step_end.insert(plan_.step_end.end(), kind.step_end.begin(), kind.step_end.end());
      plan_.tiles.push_back(tile);
    }
    view_.tiles = plan_.tiles.data();
  }

  void join_kinds()
  {
    StarTables& all = out_.tables;
    std::size_t places = 0, ghosts = 0;
    for (const KindTables& kind : kind_) places += kind.place.size(), ghosts += kind.ghost.size();
    all.place.reserve(places), all.field.reserve(places), all.ghost.reserve(ghosts);
    const auto append = [](auto* to, const auto& from) {
      const auto begin = static_cast<std::uint32_t>(to->size());
      to->insert(to->end(), from.begin(), from.end());
      return begin;
    };
    for (std::size_t k = 0; k < kind_.size(); ++k) {
      view_.kind[k].position = append(&all.place, kind_[k].place);
      append(&all.field, kind_[k].field);
      view_.kind[k].ghost = append(&all.ghost, kind_[k].ghost);
      for (int a = 0; a < 3; ++a) view_.kind[k].face[a] = append(&all.face_exported, kind_[k].face_exported[a]);
    }
    view_.place = all.place.data();
    view_.field = all.field.data();
    view_.ghost = all.ghost.data();
    view_.face_exported = all.face_exported.data();
  }

  const TileRule& rule_;
  const Tiling<I> tiling_;
  StarPlan<I>& out_;
  TilePlan<I>& plan_;
  StarView<I>& view_;
  std::array<KindTables, 8> kind_;
};

/// Fills the data of one tile's positions and ghosts. Returns false if a row reads others than its neighbours.
template <class I> bool fill_tile(const PatternView<I>& T, const StarView<I>& S, std::size_t t, TilePlan<I>* plan)
{
  const Tile& tile = plan->tiles[t];
  const StarTile<I> star(S, static_cast<std::int64_t>(t));
  for (std::uint32_t g = 0; g < tile.ghosts; ++g)
    plan->ghost_place[tile.first_ghost + g] = star.place_of_ghost(g);
  for (std::uint32_t p = 0; p < tile.panels * panel_rows; ++p) {
    StarPosition<I> made;
    if (p >= tile.rows) star.fill_nothing(&made);
    else if (!star.fill_position(T, p, &made)) return false;
    const std::int64_t at = tile.first_panel * panel_rows + p;
    std::copy_n(made.field.of, fields_per_unit, &plan->index[plan->field_place(at, 0)]);
    for (int j = 0; j <= star_row_capacity; j += 2)
      std::copy_n(&made.source[j], 2, &plan->source[plan->near_place(at, j)]);
    plan->row[at] = made.row;
  }
  return true;
}

}  // namespace

template <class I>
bool make_star_tables(I rows, bool lower, const Grid<I>& grid, const TileRule& rule, StarPlan<I>* out)
{
  if (!rule.tiles || rule.rows > 0 || rule.ghost_slots[0] == 0) return false;
  if (!grid.star || grid.next_line > 1 || grid.next_plane > 1) return false;
  TileShape shape = rule.shape;
  if (shape.cells == 0) shape = choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors).shape;
  *out = {};
  if (shape.cells == 0 || !StarPlanner<I>(rows, lower, grid, shape, rule, out).plan_tiles()) return false;
  out->order = tiles_by_begin(grid, shape);
  return true;
}

template <class I> std::vector<Tile> StarPlan<I>::tiles_in_order() const
{
  std::vector<Tile> tiles;
  for (const std::uint32_t tile : order) tiles.push_back(frame.tiles[tile]);
  return tiles;
}

template <class I> bool make_star_plan(PatternView<I> T, bool lower, const TileRule& rule, TilePlan<I>* plan)
{
  StarPlan<I> star;
  if (!make_star_tables(T.n, lower, find_grid(T, lower), rule, &star)) return false;
  std::vector<Tile> in_order = star.tiles_in_order();
  *plan = std::move(star.frame);
  star.view.tiles = plan->tiles.data();
  plan->ghost_place.resize(static_cast<std::size_t>(star.ghosts));
  plan->row = Array<I>(static_cast<std::size_t>(star.panels) * panel_rows);
  plan->source = Array<I>(plan->row.size() * plan->pairs() * 2);
  plan->index = Array<std::uint16_t>(plan->row.size() * fields_per_unit);
  std::atomic<bool> is_star{true};
  for_parts(rule.threads, plan->tiles.size(), [&](std::size_t t) {
    if (!fill_tile(T, star.view, t, plan)) is_star.store(false, unordered);
  });
  plan->tiles = std::move(in_order);
  return is_star.load(unordered);
}

#define INSTANTIATE(I)                                                                                    \
  template struct StarPlan<I>; \
  template bool make_star_tables<I>(I, bool, const Grid<I>&, const TileRule&, StarPlan<I>*); \
  template bool make_star_plan<I>(PatternView<I>, bool, const TileRule&, TilePlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
