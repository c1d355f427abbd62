#include "core/plan/tile_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/patterns.hpp"
#include "core/plan/star_plan.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Plan = TilePlan<I>;

struct Planned {
  OwnedPattern<I> T;
  LevelSets<I> levels;
  std::vector<I> depth;
  Plan plan;

  Planned(OwnedPattern<I> pattern, bool lower, const TileRule& rule) : T(std::move(pattern)), depth(T.n)
  {
    EXPECT_TRUE(make_level_sets(T.view(), lower, &levels).ok());
    find_levels(T.view(), lower, depth.data());
    EXPECT_TRUE(make_tile_plan(T.view(), lower, levels, rule, &plan).ok());
  }

  /// Returns the rows of a tile by position.
  std::vector<I> rows(const Tile& tile) const
  {
    const I* first = plan.row.data() + tile.first_panel * panel_rows;
    return {first, first + tile.rows};
  }
  /// Returns the row of a slot, -1 if it has none.
  I row_of_slot(const Tile& tile, std::uint32_t slot) const
  {
    for (std::uint32_t r = 0; r < tile.runs; ++r) {
      const RowSegment& run = plan.run[tile.first_run + r];
      if (slot >= run.slot && slot < run.slot + run.rows) return static_cast<I>(run.first_row + slot - run.slot);
    }
    return -1;
  }
  /// Returns the number of slots of a tile's segments, each counted once if segments overlap.
  std::size_t slots(const Tile& tile) const
  {
    std::set<std::uint32_t> all;
    for (std::uint32_t r = 0; r < tile.runs; ++r)
      for (std::uint32_t k = 0; k < plan.run[tile.first_run + r].rows; ++k)
        all.insert(plan.run[tile.first_run + r].slot + k);
    return all.size();
  }
  /// Returns the first position of a step; the number of rows for the step after the last.
  std::uint32_t step_begin(const Tile& tile, std::uint32_t step) const
  {
    return step ? plan.step_end[tile.first_step + step - 1] : 0;
  }
  static std::int64_t position(const Tile& tile, std::uint32_t p) { return tile.first_panel * panel_rows + p; }
  /// Returns the tile of each row; a row is in exactly one tile.
  std::vector<std::size_t> owners() const
  {
    std::vector<std::size_t> owner(T.n, plan.tiles.size());
    for (std::size_t t = 0; t < plan.tiles.size(); ++t)
      for (const I row : rows(plan.tiles[t])) {
        EXPECT_EQ(owner[row], plan.tiles.size()) << "row " << row << " twice";
        owner[row] = t;
      }
    return owner;
  }
  /// Returns the slot of the value at a position. own_row_of_slot() returns the row of a slot.
  std::uint32_t own_slot(const Tile& tile, std::uint32_t p) const
  {
    return plan.alias_shift ? p : plan.own_slot(position(tile, p));
  }
  I own_row_of_slot(const Tile& tile, std::uint32_t slot) const
  {
    return plan.alias_shift ? rows(tile)[slot] : row_of_slot(tile, slot);
  }
  std::uint32_t exported(const Tile& tile, std::uint32_t p) const
  {
    return plan.exported_of(tile, position(tile, p));
  }
  /// Returns the row whose value is in a slot as a ghost, -1 if there is none.
  ///   sender  rows by index in the mailbox
  I sender_of_ghost(const Tile& tile, std::uint32_t slot, const std::vector<I>& sender) const
  {
    for (std::uint32_t k = 0; k < tile.ghosts; ++k)
      if (plan.ghost_slot(tile, k) == slot) return sender[plan.ghost_place[tile.first_ghost + k]];
    return -1;
  }
  /// Returns the near entries of the triangle at a position.
  std::vector<I> near_entries(const Tile& tile, std::uint32_t p) const
  {
    std::vector<I> entries;
    for (int j = 0; j < plan.row_capacity; ++j) {
      const I k = plan.source[plan.near_place(position(tile, p), j)];
      if (k >= 0) entries.push_back(k);
    }
    return entries;
  }
  I row_of(I entry) const
  {
    return static_cast<I>(std::upper_bound(T.row_begin.begin(), T.row_begin.end(), entry) - T.row_begin.begin() - 1);
  }
};

/// Makes a star, except that the row that is solved last reads the last but one of its neighbours instead of the last.
OwnedPattern<I> odd_star(I x, I y, I z, bool lower)
{
  OwnedPattern<I> T = stencil_triangle<I>(x, y, z, false, lower);
  if (lower) T.column.back() = T.n - 3;
  else T.column.front() = 2;
  return T;
}

std::vector<TileRule> rules()
{
  return {{1000}, {60, 60, 1}, {7, 7, 2}, {1, 1, 1, 1}, {400, 100, 0, 2}, {90, 0, 0, 4, 3}};
}

/// Rules of tiles of several shapes; host memory is not limited.
std::vector<TileRule> tile_rules()
{
  std::vector<TileRule> all;
  for (const TileShape& shape : {TileShape(), TileShape{11, 3, 2}, TileShape{4, 2, 3}, TileShape{1, 1, 1}}) {
    TileRule rule;
    rule.shape = shape;
    all.push_back(rule);
  }
  all.back().warps = 3;
  return all;
}

/// Makes a copy in which rows with row % stride == 3 read no row, like boundary rows.
OwnedPattern<I> without_rows_at(const OwnedPattern<I>& T, I stride)
{
  std::vector<std::vector<I>> rows(T.n);
  for (I row = 0; row < T.n; ++row)
    if (row % stride != 3) rows[row].assign(&T.column[T.row_begin[row]], &T.column[T.row_begin[row + 1]]);
  return pattern_of(rows);
}

/// Makes a rule for boxes in which two planes do not fit next to each other in shared memory.
TileRule overlaid_rule()
{
  TileRule rule;
  rule.ghost_slots[ghost_sizes - 1] = 80;
  return rule;
}

template <class Look> void for_each_plan(Look look)
{
  for (const bool lower : {true, false}) {
    const auto one = [&](OwnedPattern<I> T, const TileRule& rule, const char* name) {
      const Planned p(std::move(T), lower, rule);
      SCOPED_TRACE(testing::Message() << name << (lower ? " lower " : " upper ") << rule.most_slots
                                      << " slots, tiles of " << rule.shape.cells << " x " << rule.shape.lines << " x "
                                      << rule.shape.planes);
      look(p, lower, rule);
    };
    for (const TileRule& rule : rules())
      for (const unsigned percent : {1u, 2u})
        one(random_deep_triangle<I>(percent, 300, percent, lower), rule, percent == 1 ? "sparse" : "dense");
    for (const TileRule& rule : tile_rules()) {
      one(stencil_triangle<I>(11, 7, 6, false, lower), rule, "star");
      one(stencil_triangle<I>(24, 18, 1, false, lower), rule, "flat star");
      one(odd_star(11, 7, 6, lower), rule, "odd star");
      one(stencil_triangle<I>(9, 7, 6, true, lower), rule, "box");
    }
    one(stencil_triangle<I>(9, 7, 6, true, lower), overlaid_rule(), "box, overlaid");
    one(stencil_triangle<I>(8, 12, 5, true, lower), overlaid_rule(), "box, overlaid, even lines");
  }
}

/// Row, slot, slots of the values that it reads, index in the mailbox.
using Position = std::tuple<I, std::uint32_t, std::vector<std::uint32_t>, std::uint32_t>;

std::vector<Position> positions(const Planned& p, const Tile& tile)
{
  std::vector<Position> all;
  for (std::uint32_t at = 0; at < tile.rows; ++at) {
    std::vector<std::uint32_t> near;
    for (int j = 0; j < p.plan.row_capacity; ++j) near.push_back(p.plan.near_slot(Planned::position(tile, at), j));
    all.push_back({p.rows(tile)[at], p.own_slot(tile, at), near, p.exported(tile, at)});
  }
  return all;
}

TileRule three_rows_a_tile()
{
  TileRule rule;
  rule.rows = rule.most_slots = 3;
  return rule;
}

/// Rows 3 and 5 read rows 1 and 2 of the tile before: slots 4 and 5, after that of the zero.
TEST(TilePlans, of_a_lower_triangle_of_six_rows)
{
  const Planned p(pattern_of<I>({{}, {0}, {0}, {1, 2}, {3}, {2, 4}}), true, three_rows_a_tile());
  ASSERT_EQ(p.plan.tiles.size(), 2u);
  EXPECT_EQ(p.plan.zero_slot(), 3u);
  EXPECT_EQ(p.plan.step_end, (std::vector<std::uint32_t>{1, 3, 1, 2, 3}));
  EXPECT_EQ(positions(p, p.plan.tiles[0]), (std::vector<Position>{{0, 0, {3, 3, 3}, not_exported},
                                                                  {1, 1, {0, 3, 3}, 0},
                                                                  {2, 2, {0, 3, 3}, 1}}));
  EXPECT_EQ(positions(p, p.plan.tiles[1]), (std::vector<Position>{{3, 0, {4, 5, 3}, not_exported},
                                                                  {4, 1, {0, 3, 3}, not_exported},
                                                                  {5, 2, {5, 1, 3}, not_exported}}));
  EXPECT_EQ(p.plan.ghost_place, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(p.near_entries(p.plan.tiles[1], 2), (std::vector<I>{5, 6})) << "the latest last";
}

/// The first tile has the last rows; slots ascend with the rows, positions with the levels.
TEST(TilePlans, of_an_upper_triangle_of_six_rows)
{
  const Planned p(pattern_of<I>({{1, 2}, {3}, {3, 5}, {4}, {5}, {}}), false, three_rows_a_tile());
  ASSERT_EQ(p.plan.tiles.size(), 2u);
  EXPECT_EQ(p.plan.step_end, (std::vector<std::uint32_t>{1, 2, 3, 2, 3}));
  EXPECT_EQ(positions(p, p.plan.tiles[0]), (std::vector<Position>{{5, 2, {3, 3, 3}, 1},
                                                                  {4, 1, {2, 3, 3}, not_exported},
                                                                  {3, 0, {1, 3, 3}, 0}}));
  EXPECT_EQ(positions(p, p.plan.tiles[1]), (std::vector<Position>{{1, 1, {4, 3, 3}, not_exported},
                                                                  {2, 2, {5, 4, 3}, not_exported},
                                                                  {0, 0, {1, 2, 3}, not_exported}}));
  EXPECT_EQ(p.plan.ghost_place, (std::vector<std::uint32_t>{0, 1}));
}

TEST(TilePlans, give_every_row_to_one_block_that_waits_for_none_behind_it)
{
  for_each_plan([](const Planned& p, bool, const TileRule& rule) {
    EXPECT_LE(p.plan.numbers(), *std::max_element(rule.ghost_slots, rule.ghost_slots + ghost_sizes));
    const std::vector<std::size_t> owner = p.owners();
    for (I row = 0; row < p.T.n; ++row) {
      ASSERT_LT(owner[row], p.plan.tiles.size()) << "row " << row;
      for (I k = p.T.row_begin[row]; k < p.T.row_begin[row + 1]; ++k)
        EXPECT_LE(owner[p.T.column[k]], owner[row]) << "row " << row;
    }
    for (const Tile& tile : p.plan.tiles) {
      EXPECT_LE(tile.rows, p.plan.slots);
      EXPECT_EQ(p.slots(tile), tile.rows) << "each row has a place of its own";
      EXPECT_LE(tile.ghosts, p.plan.most_ghosts);
    }
  });
}

/// Expects positions of a step to name begin and width of the step that their group of warps solves next.
void expect_next_step(const Planned& p, const Tile& tile, std::uint32_t step)
{
  const std::uint32_t begin = p.step_begin(tile, step), end = p.step_begin(tile, step + 1);
  if (step < compute_groups) {
    EXPECT_EQ(tile.width[step], end - begin);
  }
  const std::uint32_t next = step + compute_groups;
  for (std::uint32_t at = begin; next < tile.steps && at < end; ++at) {
    const std::int64_t position = Planned::position(tile, at);
    EXPECT_EQ(p.plan.group_begin(position), p.step_begin(tile, next) - begin);
    EXPECT_EQ(p.plan.group_width(position), p.step_begin(tile, next + 1) - p.step_begin(tile, next));
  }
}

TEST(TilePlans, take_rows_by_level_in_steps_that_the_warps_hold)
{
  for_each_plan([](const Planned& p, bool, const TileRule& rule) {
    EXPECT_LE(p.plan.warps, rule.most_warps);
    for (const Tile& tile : p.plan.tiles) {
      EXPECT_EQ(p.step_begin(tile, tile.steps), tile.rows);
      const std::vector<I> rows = p.rows(tile);
      for (std::uint32_t at = 1; at < tile.rows; ++at) EXPECT_GE(p.depth[rows[at]], p.depth[rows[at - 1]]);
      for (std::uint32_t step = 0; step < tile.steps; ++step) {
        const std::uint32_t begin = p.step_begin(tile, step), end = p.step_begin(tile, step + 1);
        ASSERT_GT(end, begin);
        EXPECT_LE(end - begin, 32u * p.plan.warps);
        EXPECT_EQ(p.depth[rows[begin]], p.depth[rows[end - 1]]);
        expect_next_step(p, tile, step);
      }
    }
  });
}

/// Returns the row of each index in the mailbox.
std::vector<I> senders(const Planned& p)
{
  std::vector<I> sender(p.plan.exports, I(-1));
  for (const Tile& tile : p.plan.tiles)
    for (std::uint32_t at = 0; at < tile.rows; ++at) {
      const std::uint32_t exported = p.exported(tile, at);
      if (exported == not_exported) continue;
      EXPECT_GE(exported, tile.first_exported);
      EXPECT_LT(exported, tile.first_exported + tile.exports);
      sender[exported] = p.rows(tile)[at];
    }
  return sender;
}

/// Expects a position to read its row's entries, of earlier levels, from the slots with their columns' values.
void expect_entries(const Planned& p, const Tile& tile, std::uint32_t at, const std::vector<std::size_t>& owner,
                    const std::vector<I>& sender)
{
  const I row = p.rows(tile)[at];
  const std::vector<I> near = p.near_entries(tile, at);
  for (int j = 0; j < p.plan.row_capacity; ++j) {
    const std::uint32_t slot = p.plan.near_slot(Planned::position(tile, at), j);
    if (j >= static_cast<int>(near.size())) {
      EXPECT_EQ(slot, p.plan.zero_slot());
      continue;
    }
    const I column = p.T.column[near[j]], before = p.T.column[near[std::max(j - 1, 0)]];
    const bool is_ghost = owner[column] != owner[row];
    EXPECT_EQ(is_ghost ? p.sender_of_ghost(tile, slot, sender) : p.own_row_of_slot(tile, slot), column);
    EXPECT_EQ(p.row_of(near[j]), row);
    EXPECT_LT(p.depth[column], p.depth[row]);
    EXPECT_GE(p.depth[column], p.depth[before]) << "the latest last";
  }
}

/// Each entry occurs once: from an earlier step of the same tile, or as a ghost that its row exports.
TEST(TilePlans, give_every_entry_a_way)
{
  for_each_plan([](const Planned& p, bool, const TileRule&) {
    const std::vector<std::size_t> owner = p.owners();
    const std::vector<I> sender = senders(p);
    std::vector<int> seen(p.T.view().nnz(), 0);
    for (const Tile& tile : p.plan.tiles)
      for (std::uint32_t at = 0; at < tile.rows; ++at) {
        EXPECT_EQ(p.own_row_of_slot(tile, p.own_slot(tile, at)), p.rows(tile)[at]);
        expect_entries(p, tile, at, owner, sender);
        for (const I entry : p.near_entries(tile, at)) ++seen[entry];
      }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
  });
}

TEST(TilePlans, choose_near_and_warps_by_the_triangle)
{
  std::vector<std::vector<I>> chain(500), wide(500);
  for (I i = 1; i < 500; ++i) chain[i] = {i - 1};
  for (I i = 100; i < 500; ++i)
    for (I j = 5; j > 0; --j) wide[i].push_back(i - 100 + j < i ? i - 100 - j + 6 : i - j);
  for (auto& row : wide) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    while (!row.empty() && row.back() >= &row - wide.data()) row.pop_back();
  }
  const TileRule rule = {10000, 500};
  const Planned narrow(pattern_of(chain), true, rule), broad(pattern_of(wide), true, rule);
  EXPECT_EQ(narrow.plan.row_capacity, 3);
  EXPECT_EQ(narrow.plan.warps, 1);
  EXPECT_EQ(broad.plan.row_capacity, 5);
  EXPECT_GT(broad.plan.warps, 1);
}

/// Ghosts are numbered in the order in which rows read them; at the border of a grid some are not read. Each belongs to
/// an earlier tile, and its row exports its value.
TEST(TilePlans, number_ghosts_as_they_are_read)
{
  for (const OwnedPattern<I>& T : {stencil_triangle<I>(20, 12, 15, false, true), odd_star(20, 12, 15, true)}) {
    const Planned p(T, true, tile_rules()[2]);
    EXPECT_EQ(p.plan.row_capacity, 3);
    std::set<std::uint32_t> sent;
    for (const Tile& tile : p.plan.tiles) {
      std::uint32_t last = p.plan.slots;
      std::set<std::uint32_t> seen;
      for (std::uint32_t at = 0; at < tile.rows; ++at)
        for (int j = 0; j < p.plan.row_capacity; ++j) {
          const std::uint32_t slot = p.plan.near_slot(Planned::position(tile, at), j);
          if (slot <= p.plan.slots || !seen.insert(slot).second) continue;
          EXPECT_GT(slot, last);
          last = slot;
        }
      EXPECT_LE(last, p.plan.slots + tile.ghosts);
      for (std::uint32_t g = 0; g < tile.ghosts; ++g)
        EXPECT_EQ(sent.count(p.plan.ghost_place[tile.first_ghost + g]), 1u);
      for (std::uint32_t at = 0; at < tile.rows; ++at)
        if (p.exported(tile, at) != not_exported) sent.insert(p.exported(tile, at));
    }
  }
}

/// Where each tile reads only the one before it, exported values are numbered like the next tile's ghosts.
TEST(TilePlans, of_chains_number_mail_as_it_is_read)
{
  TileRule lines, parts, few;
  lines.rows = 3 * 20;
  parts.rows = 12;
  few.rows_a_warp = 3;
  for (const bool lower : {true, false}) {
    const OwnedPattern<I> box = stencil_triangle<I>(20, 12, 1, true, lower);
    for (const TileRule& rule : {lines, few}) {
      const Planned p(box, lower, rule);
      ASSERT_TRUE(p.plan.is_chain);
      for (std::size_t t = 1; t < p.plan.tiles.size(); ++t) {
        const Tile &own = p.plan.tiles[t], &before = p.plan.tiles[t - 1];
        ASSERT_GT(own.ghosts, 0u);
        EXPECT_EQ(own.ghosts, before.exports);
        for (std::uint32_t g = 0; g < own.ghosts; ++g)
          EXPECT_EQ(p.plan.ghost_place[own.first_ghost + g], before.first_exported + g);
      }
      for (const Tile& tile : p.plan.tiles) EXPECT_LE(tile.width[1], rule.rows_a_warp * p.plan.warps);
    }
    EXPECT_FALSE(Planned(box, lower, parts).plan.is_chain) << "a tile reads several";
    EXPECT_FALSE(Planned(box, lower, TileRule{1000, 240}).plan.is_chain) << "alone";
    EXPECT_FALSE(Planned(odd_star(20, 12, 15, lower), lower, tile_rules()[2]).plan.is_chain) << "tiles";
  }
}

/// The rows whose values are in the slots of a tile with aliases, as it is solved.
struct HeldRows {
  const Planned& p;
  const Tile& tile;
  std::vector<I> held;
  std::set<std::uint32_t> unread;  ///< slots of ghosts

  HeldRows(const Planned& planned, const Tile& of, const std::vector<I>& sender)
      : p(planned), tile(of), held(planned.plan.numbers(), I(-1))
  {
    for (std::uint32_t k = 0; k < tile.ghosts; ++k) {
      held[p.plan.ghost_slot(tile, k)] = sender[p.plan.ghost_place[tile.first_ghost + k]];
      unread.insert(p.plan.ghost_slot(tile, k));
    }
  }

  /// Expects the slots to hold what a position of the step [begin, end) reads, whichever rows of the step have been
  /// solved, and its own slot to hold no ghost that is still to be read.
  void expect_read(std::uint32_t at, std::uint32_t begin, std::uint32_t end) const
  {
    EXPECT_EQ(unread.count(at), 0u) << "a ghost could come later";
    const std::vector<I> near = p.near_entries(tile, at);
    for (std::size_t j = 0; j < near.size(); ++j) {
      const std::uint32_t slot = p.plan.near_slot(Planned::position(tile, at), static_cast<int>(j));
      EXPECT_EQ(held[slot], p.T.column[near[j]]);
      EXPECT_TRUE(slot < begin || slot >= end) << "a row of the same step writes it";
    }
  }

  void store(std::uint32_t at)
  {
    held[at] = p.rows(tile)[at];
    for (int j = 0; j < p.plan.row_capacity; ++j) unread.erase(p.plan.near_slot(Planned::position(tile, at), j));
  }
};

/// Solves step by step: a row finds all values it reads, and its value replaces only values that are no longer read.
TEST(TilePlans, with_aliases_put_numbers_where_ghosts_are_done_with)
{
  for (const bool lower : {true, false})
    for (const bool whole : {true, false}) {
      SCOPED_TRACE(testing::Message() << whole << (lower ? " lower" : " upper"));
      const OwnedPattern<I> box = stencil_triangle<I>(9, 11, 6, true, lower);
      const Planned p(whole ? box : without_rows_at(box, 7), lower, overlaid_rule());
      ASSERT_GT(p.plan.alias_shift, 0u);
      ASSERT_TRUE(p.plan.is_chain);
      ASSERT_EQ(p.plan.tiles.size(), 6u);
      EXPECT_TRUE(!whole || p.plan.alias_shift <= 4u * 5) << "levels of up to five rows";
      const std::vector<I> sender = senders(p);
      for (const Tile& tile : p.plan.tiles) {
        HeldRows rows(p, tile, sender);
        for (std::uint32_t step = 0; step < tile.steps; ++step) {
          const std::uint32_t begin = p.step_begin(tile, step), end = p.step_begin(tile, step + 1);
          for (std::uint32_t at = begin; at < end; ++at) rows.expect_read(at, begin, end);
          for (std::uint32_t at = begin; at < end; ++at) rows.store(at);
        }
        EXPECT_TRUE(rows.unread.empty());
      }
    }
}

/// A row that reads a late value of the previous plane would need more slots: planes are cut as without aliases.
TEST(TilePlans, have_no_aliases_where_ghosts_are_read_late)
{
  for (const bool lower : {true, false}) {
    const OwnedPattern<I> box = stencil_triangle<I>(9, 7, 6, true, lower);
    std::vector<std::vector<I>> rows(box.n);
    for (I row = 0; row < box.n; ++row)
      rows[row].assign(&box.column[box.row_begin[row]], &box.column[box.row_begin[row + 1]]);
    const I first = lower ? 63 : box.n - 64;  // of the second plane
    rows[lower ? first + 62 : first - 62] = {lower ? 0 : box.n - 1};
    const OwnedPattern<I> late = pattern_of(rows);
    TileRule none = overlaid_rule();
    none.alias_slots = 0;
    TileRule tight = overlaid_rule();
    tight.alias_slots = 100;
    const Planned without(late, lower, tight), expected(late, lower, none), with(late, lower, overlaid_rule());
    EXPECT_EQ(without.plan.alias_shift, 0u);
    EXPECT_EQ(without.plan.tiles.size(), expected.plan.tiles.size());
    EXPECT_EQ(without.plan.numbers(), expected.plan.numbers());
    EXPECT_GT(with.plan.alias_shift, 50u);
    EXPECT_GT(Planned(box, lower, tight).plan.alias_shift, 0u);
  }
}

template <class Array> bool are_same(const Array& a, const Array& b, std::size_t from, std::size_t to)
{
  return std::equal(a.begin() + from, a.begin() + to, b.begin() + from);
}

std::vector<I> columns_at(const Planned& p, const Tile& tile, std::uint32_t at)
{
  std::vector<I> columns;
  for (const I entry : p.near_entries(tile, at)) columns.push_back(p.T.column[entry]);
  return columns;
}

void expect_same_tile(const Planned& a, const Tile& of_a, const Planned& b, const Tile& of_b)
{
  EXPECT_EQ(std::tie(of_a.ghosts, of_a.exports, of_a.panels), std::tie(of_b.ghosts, of_b.exports, of_b.panels));
  const std::size_t first = of_a.first_panel * panel_rows;
  EXPECT_TRUE(are_same(a.plan.index, b.plan.index, 8 * first, 8 * (first + of_a.rows)));
  for (std::uint32_t at = 0; at < of_a.rows; ++at) EXPECT_EQ(columns_at(a, of_a, at), columns_at(b, of_b, at));
}

/// Interior tiles are made by arithmetic, and must equal those made by examining all rows.
TEST(TilePlans, of_stars_are_those_of_other_triangles)
{
  for (const bool lower : {true, false}) {
    TileRule rule = tile_rules()[2];
    rule.warps = 1;  // some levels take two steps
    rule.shape = {4, 6, 7};
    const OwnedPattern<I> T = stencil_triangle<I>(20, 24, 15, false, lower), odd = odd_star(20, 24, 15, lower);
    Plan unused;
    ASSERT_TRUE(make_star_plan(T.view(), lower, rule, &unused));
    ASSERT_FALSE(make_star_plan(odd.view(), lower, rule, &unused));
    const Planned star(T, lower, rule), other(odd, lower, rule);
    ASSERT_EQ(star.plan.tiles.size(), 5u * 4 * 3);
    ASSERT_EQ(other.plan.tiles.size(), star.plan.tiles.size());
    EXPECT_EQ(star.plan.slots, other.plan.slots);
    EXPECT_EQ(star.plan.step_end, other.plan.step_end);
    EXPECT_TRUE(are_same(star.plan.row, other.plan.row, 0, star.plan.row.size()));
    std::vector<Tile> tiles = star.plan.tiles;  // in the order in which they begin
    const auto by_panel = [](const Tile& a, const Tile& b) { return a.first_panel < b.first_panel; };
    std::sort(tiles.begin(), tiles.end(), by_panel);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      if (t % 5 % 4 == 0 || t / 5 % 4 % 3 == 0 || t / 20 != 1) continue;  // at the border
      SCOPED_TRACE(t);
      expect_same_tile(star, tiles[t], other, other.plan.tiles[t]);
    }
  }
}

/// A pattern similar to a star on a grid, in which some rows read against the order of the tiles: no tiles of a grid,
/// but still a plan.
TEST(TilePlans, do_without_tiles_that_would_wait_for_each_other)
{
  const I x = 11, y = 8, z = 8;
  const OwnedPattern<I> star = stencil_triangle<I>(x, y, z, false, true);
  std::vector<std::vector<I>> rows(star.n);
  for (I row = 0; row < star.n; ++row) {
    for (I k = star.row_begin[row]; k < star.row_begin[row + 1]; ++k) rows[row].push_back(star.column[k]);
    const I q = row / x % y;
    if (row >= x * y && q + 1 < y && row % 40 == 0) rows[row].push_back(row - x * y + x);
    std::sort(rows[row].begin(), rows[row].end());
  }
  TileRule rule;
  rule.shape = {11, 2, 2};
  const Planned p(pattern_of(rows), true, rule);
  const std::vector<std::size_t> owner = p.owners();
  for (I row = 0; row < p.T.n; ++row)
    for (const I column : rows[row]) EXPECT_LE(owner[column], owner[row]);
}

TEST(TilePlans, are_the_same_on_several_threads)
{
  const auto T = stencil_triangle<I>(30, 30, 20, true, true);  // enough rows for four threads
  const Planned one(T, true, {70}), four(T, true, {70, 0, 0, 4, 4});
  EXPECT_EQ(one.plan.step_end, four.plan.step_end);
  EXPECT_EQ(one.plan.ghost_place, four.plan.ghost_place);
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  };
  EXPECT_TRUE(same(one.plan.index, four.plan.index));
  EXPECT_TRUE(same(one.plan.source, four.plan.source));
}

TEST(TilePlans, of_nothing_are_empty)
{
  const Planned p(pattern_of(std::vector<std::vector<I>>()), true, TileRule());
  EXPECT_TRUE(p.plan.tiles.empty());
  EXPECT_EQ(p.plan.exports, 0u);
}

}  // namespace
}  // namespace syncfree
