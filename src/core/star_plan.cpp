/// What star_plan.hpp declares.

#include "star_plan.hpp"

#include <algorithm>
#include <atomic>

#include "instantiate.hpp"
#include "parallel.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

constexpr int star_near = ghost_near[0];
static_assert(star_near == 3 && CourierPlan<int>::units_of(star_near, true) == 1);

/// The tables of one kind.
class KindMaker {
public:
  ///   is_cut  along which axes there are several tiles
  ///   slots   of the plan
  ///   warps   of a step
  KindMaker(const StarPlace& extent, const std::array<bool, 3>& is_cut, bool lower, std::uint32_t slots, int warps)
      : is_cut_(is_cut), lower_(lower), slots_(slots), most_(32 * static_cast<std::uint32_t>(warps))
  {
    kind_.extent = extent;
  }

  ///   slot_of  slot_of(place) in a tile of this kind
  template <class SlotOf> StarKind run(SlotOf slot_of)
  {
    for (int axis = 0; axis < 3; ++axis)
      if (is_cut_[axis]) kind_.face_mail[axis].resize(cells_of_face(axis));
    sort_by_level();
    kind_.field.resize(kind_.place.size());
    std::size_t step = 0;
    for (std::uint32_t p = 0; p < kind_.rows(); ++p) {
      step += p >= kind_.step_end[step];
      write(kind_.place[p], slot_of, &kind_.field[p]);
      write_end(kind_.place[p], step, &kind_.field[p]);
    }
    return std::move(kind_);
  }

  /// 0 behind the last step.
  static std::uint32_t width_of(const StarKind& kind, std::size_t step)
  {
    return step < kind.step_end.size() ? kind.step_end[step] - (step ? kind.step_end[step - 1] : 0) : 0;
  }

private:
  using Fields = std::array<std::uint16_t, courier_fields>;

  std::uint32_t cells_of_face(int axis) const
  {
    const StarPlace& e = kind_.extent;
    return axis == 0 ? e[1] * e[2] : axis == 1 ? e[0] * e[2] : e[0] * e[1];
  }
  std::uint32_t cell_of_face(int axis, const StarPlace& at) const
  {
    const StarPlace& e = kind_.extent;
    return axis == 0 ? at[2] * e[1] + at[1] : axis == 1 ? at[2] * e[0] + at[0] : at[1] * e[0] + at[0];
  }

  /// Levels, and their steps; of one level plane by plane, and line by line.
  void sort_by_level()
  {
    const StarPlace& e = kind_.extent;
    for (int level = 0; level < e[0] + e[1] + e[2] - 2; ++level) {
      const std::uint32_t begin = kind_.rows();
      for (int k = std::max(0, level - e[0] - e[1] + 2); k < e[2] && k <= level; ++k)
        for (int j = std::max(0, level - k - e[0] + 1); j < e[1] && j <= level - k; ++j)
          kind_.place.push_back({static_cast<std::uint16_t>(level - k - j), static_cast<std::uint16_t>(j),
                                 static_cast<std::uint16_t>(k)});
      for (std::uint32_t end = begin + most_; end < kind_.rows(); end += most_) kind_.step_end.push_back(end);
      kind_.step_end.push_back(kind_.rows());
    }
  }

  template <class SlotOf> void write(const StarPlace& at, SlotOf slot_of, Fields* field)
  {
    (*field)[0] = static_cast<std::uint16_t>(slot_of(at));
    for (int turn = 0; turn < 3; ++turn) {
      const int axis = lower_ ? 2 - turn : turn;  // as entries stand in a row
      StarPlace before = at;
      --before[axis];
      std::uint32_t slot = slots_;
      if (at[axis] > 0) slot = slot_of(before);
      else if (is_cut_[axis]) slot = slots_ + 1 + add_ghost(axis, at);
      (*field)[1 + axis] = static_cast<std::uint16_t>(slot);
    }
  }

  std::uint32_t add_ghost(int axis, const StarPlace& at)
  {
    kind_.ghost.push_back({static_cast<std::uint32_t>(axis), cell_of_face(axis, at)});
    return static_cast<std::uint32_t>(kind_.ghost.size() - 1);
  }

  /// The fields at the end: the next step of the group, and the row's mail.
  void write_end(const StarPlace& at, std::size_t step, Fields* field)
  {
    std::uint32_t begin = 0;
    for (std::size_t s = step; s < step + courier_groups; ++s) begin += width_of(kind_, s);
    const std::uint32_t width = width_of(kind_, step + courier_groups);
    (*field)[courier_fields - 2] = static_cast<std::uint16_t>(begin | (width ? width - 1 : 0) << 9);
    std::uint16_t mail = courier_no_ghost;
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_cut_[axis] || at[axis] + 1 < kind_.extent[axis]) continue;
      if (mail == courier_no_ghost) mail = static_cast<std::uint16_t>(kind_.mails++);
      kind_.face_mail[axis][cell_of_face(axis, at)] = mail;
    }
    (*field)[courier_fields - 1] = mail;
  }

  const std::array<bool, 3> is_cut_;
  const bool lower_;
  const std::uint32_t slots_, most_;
  StarKind kind_;
};

template <class I> class StarPlanner {
public:
  StarPlanner(PatternView<I> T, bool lower, const Grid<I>& grid, const TileShape& shape, const CourierRule& rule,
              CourierPlan<I>* plan)
      : T_(T), lower_(lower), rule_(rule), axis_{AxisParts(grid.line, shape.cells), AxisParts(grid.lines, shape.lines),
                                                 AxisParts(grid.planes, shape.planes)},
        tiling_(T.n, lower, grid, shape), plan_(*plan),
        stride_{1, grid.line, static_cast<std::int64_t>(grid.line) * grid.lines}
  {
  }

  bool run()
  {
    plan_.has_ghosts = true;
    plan_.near = star_near;
    plan_.run = tiling_.runs();
    plan_.slots = tiling_.most_slots();
    if (plan_.slots >= rule_.ghost_slots[0]) return false;
    plan_.warps = rule_.warps ? rule_.warps : choose_warps();
    make_kinds();
    make_blocks();
    if (std::int64_t{plan_.slots} + 1 + plan_.most_ghosts > rule_.ghost_slots[0]) return false;
    plan_.row = Array<I>(static_cast<std::size_t>(pages_) * courier_page);
    plan_.source = Array<I>(plan_.row.size() * plan_.pairs() * 2);
    plan_.index = Array<std::uint16_t>(plan_.row.size() * courier_fields);
    std::atomic<bool> is_star{true};
    for_parts(rule_.threads, plan_.block.size(), [&](std::size_t t) {
      if (!fill_block(t)) is_star.store(false, unordered);
    });
    return is_star.load(unordered);
  }

private:
  using Tile = std::array<std::int64_t, 3>;

  /// As they follow each other: parts of a line, of a plane, of all planes.
  Tile tile(std::size_t t) const
  {
    const auto number = static_cast<std::int64_t>(t);
    return {number % axis_[0].count, number / axis_[0].count % axis_[1].count,
            number / (axis_[0].count * axis_[1].count)};
  }
  std::size_t tiles_along(int axis) const
  {
    const std::int64_t all = axis == 0 ? 1 : axis == 1 ? axis_[0].count : axis_[0].count * axis_[1].count;
    return static_cast<std::size_t>(all);
  }
  std::int64_t extent(int axis, std::int64_t part) const
  {
    return axis_[axis].begin(part + 1) - axis_[axis].begin(part);
  }
  std::size_t kind_of(const Tile& tile) const
  {
    std::size_t kind = 0;
    for (int axis = 0; axis < 3; ++axis) kind = 2 * kind + (extent(axis, tile[axis]) < axis_[axis].largest());
    return kind;
  }

  std::int64_t row_of(const Tile& tile, const StarPlace& at) const
  {
    std::int64_t serial = 0;
    for (int axis = 0; axis < 3; ++axis) serial += (axis_[axis].begin(tile[axis]) + at[axis]) * stride_[axis];
    return lower_ ? serial : T_.n - 1 - serial;
  }

  /// For twice the mean width of a level of the largest tile, as far as levels are so wide.
  int choose_warps() const
  {
    const std::int64_t e[3] = {axis_[0].largest(), axis_[1].largest(), axis_[2].largest()};
    const std::int64_t mean = e[0] * e[1] * e[2] / (e[0] + e[1] + e[2] - 2);
    const std::int64_t widest = std::min({e[0] * e[1], e[0] * e[2], e[1] * e[2], 2 * mean + 1});
    return static_cast<int>(std::clamp<std::int64_t>((widest + 31) / 32, 1,
                                                     std::min(rule_.most_warps, ghost_warps(star_near))));
  }

  void make_kinds()
  {
    std::array<Tile, 8> first;
    std::vector<std::size_t> kinds;
    std::array<bool, 8> seen = {};
    for (std::size_t t = 0; t < tiling_.count(); ++t) {
      const std::size_t kind = kind_of(tile(t));
      if (seen[kind]) continue;
      seen[kind] = true;
      first[kind] = tile(t);
      kinds.push_back(kind);
    }
    const std::array<bool, 3> is_cut = {axis_[0].count > 1, axis_[1].count > 1, axis_[2].count > 1};
    for_parts(rule_.threads, kinds.size(), [&](std::size_t k) {
      const Tile& some = first[kinds[k]];
      StarPlace extents;
      for (int axis = 0; axis < 3; ++axis) extents[axis] = static_cast<std::uint16_t>(extent(axis, some[axis]));
      kind_[kinds[k]] = KindMaker(extents, is_cut, lower_, plan_.slots, plan_.warps).run([&](const StarPlace& at) {
        return tiling_.place_of(static_cast<I>(row_of(some, at))).slot;
      });
    });
  }

  void make_blocks()
  {
    std::int64_t ghosts = 0;
    for (std::size_t t = 0; t < tiling_.count(); ++t) {
      const StarKind& kind = kind_[kind_of(tile(t))];
      RowBlock block;
      block.first_run = tiling_.runs_begin()[t];
      block.runs = static_cast<std::uint32_t>(tiling_.runs_begin()[t + 1] - block.first_run);
      block.first_row = plan_.run[block.first_run].first_row;
      block.rows = kind.rows();
      block.first_page = pages_;
      block.pages = (block.rows + courier_page - 1) / courier_page;
      block.first_step = static_cast<std::int64_t>(plan_.step_end.size());
      block.steps = static_cast<std::uint32_t>(kind.step_end.size());
      for (std::size_t s = 0; s < courier_groups; ++s) block.width[s] = KindMaker::width_of(kind, s);
      block.first_mail = plan_.mails;
      block.mails = kind.mails;
      block.first_ghost = ghosts;
      block.ghosts = t == 0 ? 0 : static_cast<std::uint32_t>(kind.ghost.size());
      pages_ += block.pages;
      plan_.mails += block.mails;
      ghosts += block.ghosts;
      plan_.most_ghosts = std::max(plan_.most_ghosts, block.ghosts);
      plan_.step_end.insert(plan_.step_end.end(), kind.step_end.begin(), kind.step_end.end());
      plan_.block.push_back(block);
    }
    plan_.ghost_place.resize(static_cast<std::size_t>(ghosts));
  }

  bool fill_block(std::size_t t)
  {
    const RowBlock& block = plan_.block[t];
    const Tile own = tile(t);
    const StarKind& kind = kind_[kind_of(own)];
    for (std::uint32_t g = 0; g < block.ghosts; ++g)
      plan_.ghost_place[block.first_ghost + g] = place_of_ghost(t, own, kind.ghost[g]);
    const std::int64_t first = block.first_page * courier_page;
    for (std::uint32_t p = 0; p < block.rows; ++p)
      if (!fill_position(first + p, own, kind.place[p], kind.field[p])) return false;
    for (std::uint32_t p = block.rows; p < block.pages * courier_page; ++p) fill_nothing(first + p);
    return true;
  }

  /// In the mailbox. At the grid's border nobody reads the ghost: it is another, which does come, from the first
  /// axis along which there is an earlier tile.
  std::uint32_t place_of_ghost(std::size_t t, const Tile& own, const StarGhost& ghost) const
  {
    int axis = static_cast<int>(ghost.axis);
    std::uint32_t cell = ghost.cell;
    if (own[axis] == 0)
      for (axis = cell = 0; own[axis] == 0;) ++axis;
    const std::size_t from = t - tiles_along(axis);
    return plan_.block[from].first_mail + kind_[kind_of(tile(from))].face_mail[axis][cell];
  }

  /// False where a row reads somebody else than its neighbours.
  bool fill_position(std::int64_t at, const Tile& own, const StarPlace& place,
                     const std::array<std::uint16_t, courier_fields>& of_kind)
  {
    const std::int64_t row = row_of(own, place);
    std::array<std::uint16_t, courier_fields> field = of_kind;
    std::fill_n(field.begin() + 1, star_near, static_cast<std::uint16_t>(plan_.slots));
    std::array<I, star_near + 1> source;
    source.fill(I(-1));
    int count = 0;
    for (I k = T_.row_begin[row]; k < T_.row_begin[row + 1]; ++k, ++count) {
      const int axis = axis_of(lower_ ? row - T_.column[k] : T_.column[k] - row);
      if (axis < 0 || axis_[axis].begin(own[axis]) + place[axis] == 0) return false;
      field[1 + count] = of_kind[1 + axis];
      source[count] = k;
    }
    plan_.row[at] = static_cast<I>(row);
    write(at, field, source);
    return true;
  }

  void fill_nothing(std::int64_t at)
  {
    std::array<std::uint16_t, courier_fields> field = {};
    std::fill_n(field.begin(), star_near + 1, static_cast<std::uint16_t>(plan_.slots));
    field[courier_fields - 1] = courier_no_ghost;
    std::array<I, star_near + 1> source;
    source.fill(I(-1));
    plan_.row[at] = I(-1);
    write(at, field, source);
  }

  void write(std::int64_t at, const std::array<std::uint16_t, courier_fields>& field,
             const std::array<I, star_near + 1>& source)
  {
    std::copy(field.begin(), field.end(), &plan_.index[plan_.field_place(at, 0)]);
    for (int j = 0; j <= star_near; j += 2) std::copy_n(&source[j], 2, &plan_.source[plan_.near_place(at, j)]);
  }

  int axis_of(std::int64_t distance) const
  {
    for (int axis = 0; axis < 3; ++axis)
      if (distance == stride_[axis]) return axis;
    return -1;
  }

  PatternView<I> T_;
  bool lower_;
  const CourierRule& rule_;
  const std::array<AxisParts, 3> axis_;
  const Tiling<I> tiling_;
  CourierPlan<I>& plan_;
  const std::int64_t stride_[3];  ///< rows to the neighbour along an axis
  std::array<StarKind, 8> kind_;
  std::int64_t pages_ = 0;
};

}  // namespace

template <class I> bool make_star_plan(PatternView<I> T, bool lower, const CourierRule& rule, CourierPlan<I>* plan)
{
  if (!rule.tiles || rule.rows > 0 || rule.near > 0 || rule.ghost_slots[0] == 0) return false;
  const Grid<I> grid = find_grid(T);
  if (!grid.star || grid.next_line > 1 || grid.next_plane > 1) return false;
  TileShape shape = rule.shape;
  if (shape.cells == 0) shape = choose_tile(grid, rule.ghost_slots[0] - 1, rule.multiprocessors).shape;
  *plan = {};
  return shape.cells > 0 && StarPlanner<I>(T, lower, grid, shape, rule, plan).run();
}

#define INSTANTIATE(I) \
  template bool make_star_plan<I>(PatternView<I>, bool, const CourierRule&, CourierPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
