/// Which triangles have tiles, and why others have none.

#include "core/plan/tile_cut.hpp"

#include <gtest/gtest.h>

#include "core/patterns.hpp"
#include "core/schedule/bandwidth.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;

Status planned(const OwnedPattern<I>& T, const TileRule& rule)
{
  LevelSets<I> levels;
  TilePlan<I> plan;
  EXPECT_TRUE(make_level_sets(T.view(), true, &levels).ok());
  const Status status = make_tile_plan(T.view(), true, levels, rule, &plan);
  EXPECT_EQ(status.ok(), !plan.tiles.empty()) << "nothing is left of a plan that failed";
  return status;
}

TEST(TileCuts, are_refused_in_words_where_a_row_is_too_long)
{
  for (const I entries : {13, 14}) {
    std::vector<std::vector<I>> rows(40);
    for (I i = 1; i < 40; ++i) rows[i] = {i - 1};
    for (I k = 38 - entries + 1; k < 38; ++k) rows[39].insert(rows[39].end() - 1, k);
    const Status status = planned(pattern_of(rows), TileRule());
    EXPECT_EQ(status.message(), entries == 13 ? "success"
                                              : "no plan: a row of a triangle has 14 entries, but a tile allows at "
                                                "most 13; use level_order (on a GPU), merged or auto");
  }
  TileRule none;
  none.ghost_slots[2] = 0;
  EXPECT_EQ(planned(stencil_triangle<I>(9, 7, 6, true, true), none).detail,
            "shared memory has no room for rows of 13 entries");
  EXPECT_TRUE(planned(stencil_triangle<I>(9, 7, 6, false, true), none).ok()) << "shorter rows have room";
}

TEST(TileCuts, are_refused_in_words_where_ghosts_have_no_room)
{
  TileRule rule;
  rule.rows = 60;
  rule.ghost_slots[2] = 70;
  const OwnedPattern<I> box = stencil_triangle<I>(9, 7, 6, true, true);
  const Status status = planned(box, rule);
  EXPECT_EQ(status.code, Code::no_plan);
  EXPECT_EQ(status.detail, "tiles of 60 rows need more than the 9 values of other tiles that fit in shared memory");
  rule.rows_a_warp = 3;
  EXPECT_EQ(planned(box, rule).detail.rfind("tiles of 60 nodes ", 0), 0u);
  rule.ghost_slots[2] = 200;
  EXPECT_EQ(planned(box, rule).message(), "success");
}

/// Square grids of nodes, with room for up to 6737 of their values next to the ring.
TEST(TileCuts, know_before_whether_ghosts_of_runs_have_room)
{
  for (const I edge : {100, 300, 600, 700, 3000})
    for (const std::int64_t room : {200, 1276, 6737}) {
      SCOPED_TRACE(testing::Message() << edge << " x " << edge << " in " << room);
      TileRule rule;
      rule.ghost_slots[0] = rule.ghost_slots[1] = 0;
      rule.ghost_slots[2] = rule.most_slots = room;
      rule.rows_a_warp = 3;
      CutInput<I> in = {edge * edge, 4 * edge * edge, true, 3 * edge, edge, 13, {}};
      in.grid.line = in.grid.lines = edge;
      const TileCut<I> made = cut(in, 2, rule);
      const std::int64_t numbers = made.tiling.most_slots() + 1 + edge + 1;
      const std::int64_t left = room - 1 - edge - edge / 32 - 64;
      EXPECT_EQ(made.has_room, 2 * left >= room) << numbers << " numbers";
      if (made.has_room) {
        EXPECT_LE(numbers, room);
      }
    }
}

TEST(TileCuts, of_a_pattern_without_a_grid_are_those_of_one_line)
{
  TileRule rule;
  rule.ghost_slots[2] = rule.most_slots = 200;
  CutInput<I> in = {1000, 6000, true, 40, 30, 13, {}};
  const TileCut<I> made = cut(in, 2, rule);
  in.grid.line = 1000;
  const TileCut<I> of_line = cut(in, 2, rule);
  ASSERT_GT(made.tiling.count_tiles(), 1u);
  EXPECT_EQ(made.tiling.runs_begin(), of_line.tiling.runs_begin());
  EXPECT_EQ(made.tiling.most_slots(), of_line.tiling.most_slots());
  EXPECT_EQ(made.has_room, of_line.has_room);
}

TEST(TileCuts, tell_grids_from_meshes)
{
  EXPECT_TRUE(reaches_regularly(grid_triangle<I>(40, 30, true).view(), true));
  EXPECT_TRUE(reaches_regularly(grid_triangle<I>(40, 30, false).view(), false));
  EXPECT_FALSE(reaches_regularly(random_deep_triangle<I>(8, 1200, 1, true).view(), true));
}

/// 64 % of the rows read the line before, and 10 % the line before that.
TEST(TileCuts, take_grids_that_lack_neighbours_for_grids_unless_some_reach_further)
{
  constexpr I m = 80, n = 80 * m;
  for (const bool further : {false, true}) {
    std::vector<std::vector<I>> rows(n);
    for (I p = 1; p < n; ++p) {
      const I draw = p * 37 % 100;
      if (further && draw >= 90 && p >= 2 * m) rows[p].push_back(p - 2 * m);
      if (draw < 64 && p >= m) rows[p].push_back(p - m);
      rows[p].push_back(p - 1);
    }
    EXPECT_EQ(reaches_regularly(pattern_of(rows).view(), true), !further);
  }
}

}  // namespace
}  // namespace syncfree
