/// Levels of a triangle, compared with the longest path to each row, which is found by brute force.

#include <gtest/gtest.h>

#include "core/patterns.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

template <class I> class Levels : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Levels, Indices);

/// Raises depths until every row is deeper than the rows it reads. Does not distinguish lower from upper.
template <class I> std::vector<I> brute_force(const OwnedPattern<I>& T)
{
  std::vector<I> depth(T.n, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (I i = 0; i < T.n; ++i)
      for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k)
        if (depth[i] <= depth[T.column[k]]) {
          depth[i] = depth[T.column[k]] + 1;
          changed = true;
        }
  }
  return depth;
}

template <class I> void compare(const OwnedPattern<I>& T, bool lower)
{
  const std::vector<I> expected = brute_force(T);
  const I count = T.n > 0 ? 1 + *std::max_element(expected.begin(), expected.end()) : 0;
  std::vector<I> depth(T.n, -1);
  EXPECT_EQ(find_levels(T.view(), lower, depth.data()), count);
  EXPECT_EQ(depth, expected);

  LevelSets<I> sets;
  ASSERT_TRUE(make_level_sets(T.view(), lower, &sets).ok());
  EXPECT_EQ(sets.count, count);
  ASSERT_EQ(sets.level_begin.size(), static_cast<std::size_t>(count) + 1);
  Array<I> row(T.n);
  std::iota(row.begin(), row.end(), I(0));
  std::stable_sort(row.begin(), row.end(), [&](I a, I b) { return expected[a] < expected[b]; });
  EXPECT_EQ(sets.row, row);
  for (I d = 0; d <= count; ++d)
    EXPECT_EQ(sets.level_begin[d], std::count_if(expected.begin(), expected.end(), [d](I e) { return e < d; }));
}

TYPED_TEST(Levels, are_longest_paths_on_random_triangles)
{
  for (const bool lower : {true, false})
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(lower ? "lower " : "upper ") + std::to_string(seed));
      compare(random_triangle<TypeParam>(seed, 1 + seed % 40, 1 + seed % 30, lower), lower);
    }
}

template <class I> void compare_with_serial(const OwnedPattern<I>& T, bool lower)
{
  std::vector<I> depth(T.n);
  const I count = find_levels(T.view(), lower, depth.data());
  for (const int threads : {1, 3}) {
    LevelSets<I> sets, expected;
    expected.count = count;
    sort_by_depth(depth.data(), T.n, 1, &expected);
    ASSERT_TRUE(make_level_sets(T.view(), lower, &sets, threads).ok());
    EXPECT_EQ(sets.count, count);
    EXPECT_EQ(sets.level_begin, expected.level_begin);
    EXPECT_EQ(sets.row, expected.row);
  }
}

/// Grids, whose levels are guessed from the pattern.
TYPED_TEST(Levels, of_grids_are_those_of_a_serial_search)
{
  using I = TypeParam;
  for (const bool lower : {true, false})
    for (const bool box : {true, false})
      for (const auto& [x, y, z] : {std::tuple<I, I, I>{40, 30, 15}, {23, 21, 18}, {150, 2, 29}, {2, 150, 29}}) {
        SCOPED_TRACE(testing::Message() << x << " x " << y << " x " << z << (lower ? " lower" : " upper"));
        compare_with_serial(stencil_triangle<I>(x, y, z, box, lower), lower);
      }
  compare_with_serial(grid_triangle<I>(200, 300, true), true);  // several chunks of rows
}

/// Flaws: a row that reads no row, the first row of a line that reads the row before it, a row with an entry less, a
/// last line cut short.
TYPED_TEST(Levels, of_grids_with_flaws_are_those_of_a_serial_search)
{
  using I = TypeParam;
  const OwnedPattern<I> whole = stencil_triangle<I>(40, 30, 30, false, true);
  for (int flaw = 0; flaw < 4; ++flaw) {
    SCOPED_TRACE(flaw);
    std::vector<std::vector<I>> rows(whole.n);
    for (I i = 0; i < whole.n; ++i)
      rows[i].assign(whole.column.begin() + whole.row_begin[i], whole.column.begin() + whole.row_begin[i + 1]);
    const I row = 20021;
    if (flaw == 0) rows[row].clear();
    if (flaw == 1) rows[40 * 421] = {40 * 421 - 1};
    if (flaw == 2) rows[row].erase(rows[row].begin());
    if (flaw == 3) rows.resize(35995);
    compare_with_serial(pattern_of(rows), true);
  }
}

/// Few levels with many rows, so that each thread sorts its own, and as many levels as rows, which one thread sorts.
TYPED_TEST(Levels, are_sorted_alike_by_several_threads)
{
  using I = TypeParam;
  for (const I length : {I(7), I(150000)}) {
    OwnedPattern<I> T;
    T.n = 150000;
    for (I i = 0; i < T.n; ++i) {
      if (i % length) T.column.push_back(i - 1);
      T.row_begin.push_back(static_cast<I>(T.column.size()));
    }
    LevelSets<I> one, three;
    ASSERT_TRUE(make_level_sets(T.view(), true, &one).ok());
    ASSERT_TRUE(make_level_sets(T.view(), true, &three, 3).ok());
    EXPECT_EQ(three.count, length);
    EXPECT_EQ(one.level_begin, three.level_begin);
    EXPECT_EQ(one.row, three.row);
    EXPECT_TRUE(std::is_sorted(three.row.begin(), three.row.begin() + three.level_begin[1]));
  }
}

TYPED_TEST(Levels, of_no_rows_are_none)
{
  compare(OwnedPattern<TypeParam>(), true);
  compare(OwnedPattern<TypeParam>(), false);
}

TYPED_TEST(Levels, of_free_rows_are_one)
{
  const OwnedPattern<TypeParam> T = random_triangle<TypeParam>(0, 17, 0, true);
  std::vector<TypeParam> depth(17);
  EXPECT_EQ(find_levels(T.view(), true, depth.data()), 1);
  compare(T, true);
  compare(T, false);
}

/// The anti-diagonals of an x by y grid are its x + y - 1 levels.
TYPED_TEST(Levels, of_a_grid_are_its_antidiagonals)
{
  for (const bool lower : {true, false}) {
    const auto T = grid_triangle<TypeParam>(13, 8, lower);
    std::vector<TypeParam> depth(T.n);
    EXPECT_EQ(find_levels(T.view(), lower, depth.data()), 20);
    for (TypeParam i = 0; i < T.n; ++i) {
      const TypeParam antidiagonal = i % 13 + i / 13;
      EXPECT_EQ(depth[i], lower ? antidiagonal : 19 - antidiagonal);
    }
  }
}

}  // namespace
}  // namespace syncfree
