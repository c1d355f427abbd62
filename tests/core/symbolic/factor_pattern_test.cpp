/// Patterns of ILU(k) and IC(k) against the theorem on fill paths.
///
/// Entry (i, j) has level l where l + 1 is the length of the shortest path i -> ... -> j in the graph of the permuted
/// matrix whose inner vertices are all below min(i, j) (Hysom & Pothen 2001). One oracle searches a path for each pair
/// of indices of small matrices; the other, for larger ones, merges rows and does not use paths.

#include <gtest/gtest.h>

#include <map>

#include "core/symbolic/fill_elimination.hpp"
#include "core/patterns.hpp"
#include "syncfree/factor.hpp"
#include "watchdog.hpp"

namespace syncfree {
namespace {

/// adjacent[i][j] of the permuted matrix; for IC its upper triangle mirrored.
using Adjacency = std::vector<std::vector<bool>>;

template <class I> struct Task {
  OwnedPattern<I> A;
  Kind kind = Kind::ilu;
  int levels = 0;
  bool diagonal_fill = false;
  std::vector<I> row_order, column_order;

  SymbolicOptions<I> options() const
  {
    SymbolicOptions<I> o;
    o.kind = kind;
    o.levels = levels;
    o.diagonal_fill = diagonal_fill;
    if (!row_order.empty()) o.row_order = row_order.data();
    if (!column_order.empty()) o.column_order = column_order.data();
    return o;
  }
  Status run(FactorPattern<I>* out, int threads = 1) const
  {
    return make_factor_pattern(A.view(), options(), out, threads);
  }
  void reorder(unsigned seed) { row_order = column_order = random_order<I>(seed, A.n); }
};

template <class I> bool has_entry(const OwnedPattern<I>& A, I i, I j)
{
  const auto begin = A.column.begin();
  return std::find(begin + A.row_begin[i], begin + A.row_begin[i + 1], j) != begin + A.row_begin[i + 1];
}

template <class I> Adjacency graph_of(const Task<I>& task)
{
  const I n = task.A.n;
  Adjacency adjacent(n, std::vector<bool>(n, false));
  for (I i = 0; i < n; ++i)
    for (I j = 0; j < n; ++j) {
      const I row = task.row_order.empty() ? i : task.row_order[i];
      const I column = task.column_order.empty() ? j : task.column_order[j];
      if (!has_entry(task.A, row, column) || (task.kind == Kind::icc && j < i)) continue;
      adjacent[i][j] = true;
      if (task.kind == Kind::icc) adjacent[j][i] = true;
    }
  return adjacent;
}

/// Returns true if there is a path from i to j of at most `longest` steps through vertices below min(i, j).
bool has_fill_path(const Adjacency& adjacent, std::size_t i, std::size_t j, int longest)
{
  std::vector<std::size_t> front = {i};
  std::vector<bool> seen(adjacent.size(), false);
  for (int length = 1; length <= longest; ++length) {
    std::vector<std::size_t> next;
    for (std::size_t v : front) {
      if (adjacent[v][j]) return true;
      for (std::size_t w = 0; w < std::min(i, j); ++w)
        if (adjacent[v][w] && !seen[w]) {
          seen[w] = true;
          next.push_back(w);
        }
    }
    front = next;
  }
  return false;
}

/// Both triangles, columns ascending in each row; diagonal[i] is true if (i, i) is an entry.
template <class I> struct Expected {
  OwnedPattern<I> lower, upper;
  std::vector<bool> diagonal;
};

template <class I> Expected<I> expected_of(const Task<I>& task)
{
  const Adjacency adjacent = graph_of(task);
  const I n = task.A.n;
  std::vector<std::vector<I>> lower(n), upper(n);
  Expected<I> expected;
  for (I i = 0; i < n; ++i) {
    for (I j = 0; j < n; ++j)
      if (j != i && has_fill_path(adjacent, i, j, task.levels + 1)) (j < i ? lower : upper)[i].push_back(j);
    expected.diagonal.push_back(has_fill_path(adjacent, i, i, task.levels + 1));
  }
  expected.lower = pattern_of(lower);
  expected.upper = pattern_of(upper);
  return expected;
}

/// Levels by elimination, row by row: lev(i, j) = min over p of lev(i, p) + lev(p, j) + 1 (Saad 2003, algorithm 10.6).
template <class I> Expected<I> merged_rows(const Task<I>& task)
{
  const Adjacency adjacent = graph_of(task);
  const I n = task.A.n;
  std::vector<std::vector<I>> lower(n), upper(n);
  std::vector<std::map<I, int>> level(n);
  Expected<I> expected;
  for (I i = 0; i < n; ++i) {
    std::map<I, int>& row = level[i];
    for (I j = 0; j < n; ++j)
      if (adjacent[i][j]) row[j] = 0;
    for (auto p = row.begin(); p != row.end() && p->first < i; ++p)
      for (auto q = level[p->first].upper_bound(p->first); q != level[p->first].end(); ++q) {
        const int fill = p->second + q->second + 1;
        if (fill > task.levels) continue;
        int& now = row.emplace(q->first, fill).first->second;
        now = std::min(now, fill);
      }
    for (const auto& entry : row)
      if (entry.first != i) (entry.first < i ? lower : upper)[i].push_back(entry.first);
    expected.diagonal.push_back(row.count(i) > 0);
  }
  expected.lower = pattern_of(lower);
  expected.upper = pattern_of(upper);
  return expected;
}

template <class I> void expect_equal(const FactorPattern<I>& made, const Expected<I>& expected)
{
  EXPECT_EQ(made.lower_begin, expected.lower.row_begin);
  EXPECT_EQ(made.lower_column, expected.lower.column);
  EXPECT_EQ(made.upper_begin, expected.upper.row_begin);
  EXPECT_EQ(made.upper_column, expected.upper.column);
}

template <class I> void compare(const Task<I>& task)
{
  FactorPattern<I> made;
  const Status status = task.run(&made);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(made.kind, task.kind);
  EXPECT_EQ(made.n, task.A.n);
  EXPECT_EQ(made.levels, task.levels);
  EXPECT_EQ(made.row_order, task.row_order);
  EXPECT_EQ(made.column_order, task.column_order);
  expect_equal(made, expected_of(task));
}

/// Calls use(task) for random matrices of several sizes and densities and k = 0 .. 3.
template <class I, class Use> void for_random_tasks(Kind kind, Use use)
{
  for (unsigned seed = 0; seed < 24; ++seed)
    for (int levels = 0; levels <= 3; ++levels) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " levels " + std::to_string(levels));
      Task<I> task;
      task.A = random_matrix<I>(seed, 1 + 3 * (seed % 9), 3 + 3 * (seed % 5));
      task.kind = kind;
      task.levels = levels;
      use(seed, task);
    }
}

template <class I> class Symbolic : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Symbolic, Indices);

TYPED_TEST(Symbolic, ilu_has_the_entries_with_short_fill_paths)
{
  for_random_tasks<TypeParam>(Kind::ilu, [](unsigned, Task<TypeParam>& task) { compare(task); });
}

TYPED_TEST(Symbolic, icc_has_the_entries_with_short_fill_paths_above_the_diagonal)
{
  for_random_tasks<TypeParam>(Kind::icc, [](unsigned, Task<TypeParam>& task) { compare(task); });
}

TYPED_TEST(Symbolic, orders_are_applied_before_fill_is_found)
{
  for (Kind kind : {Kind::ilu, Kind::icc})
    for_random_tasks<TypeParam>(kind, [](unsigned seed, Task<TypeParam>& task) {
      task.reorder(seed + 99);
      compare(task);
    });
}

TYPED_TEST(Symbolic, column_place_is_the_inverse_of_column_order)
{
  Task<TypeParam> task;
  task.A = random_matrix<TypeParam>(5, 20, 10);
  task.reorder(6);
  FactorPattern<TypeParam> made;
  ASSERT_TRUE(task.run(&made).ok());
  for (TypeParam j = 0; j < 20; ++j) EXPECT_EQ(made.column_place[made.column_order[j]], j);
}

TYPED_TEST(Symbolic, identity_orders_give_the_natural_pattern)
{
  for (Kind kind : {Kind::ilu, Kind::icc})
    for_random_tasks<TypeParam>(kind, [](unsigned, Task<TypeParam>& task) {
      FactorPattern<TypeParam> natural, ordered;
      ASSERT_TRUE(task.run(&natural).ok());
      task.row_order.resize(task.A.n);
      std::iota(task.row_order.begin(), task.row_order.end(), TypeParam(0));
      task.column_order = task.row_order;
      ASSERT_TRUE(task.run(&ordered).ok());
      EXPECT_EQ(ordered.lower_column, natural.lower_column);
      EXPECT_EQ(ordered.upper_column, natural.upper_column);
    });
}

/// Unrelated orders of rows and columns, as nonzeros_along_diagonal may give them: a row of the permuted matrix may
/// lack its diagonal. It is missing in the factor unless fill or diagonal_fill adds it.
TYPED_TEST(Symbolic, unequal_orders_miss_a_diagonal_unless_fill_brings_it)
{
  int missing = 0, brought = 0;
  for_random_tasks<TypeParam>(Kind::ilu, [&](unsigned seed, Task<TypeParam>& task) {
    task.reorder(seed);
    task.column_order = random_order<TypeParam>(seed + 500, task.A.n);
    const Expected<TypeParam> expected = expected_of(task);
    const auto hole = std::find(expected.diagonal.begin(), expected.diagonal.end(), false);
    FactorPattern<TypeParam> made;
    const Status status = task.run(&made);
    if (hole == expected.diagonal.end()) {
      ASSERT_TRUE(status.ok()) << status.message();
      expect_equal(made, expected);
      brought += !has_entry(task.A, task.row_order[0], task.column_order[0]) || task.levels > 0;
      return;
    }
    ++missing;
    EXPECT_EQ(status.code, Code::missing_diagonal);
    EXPECT_EQ(status.row, task.row_order[hole - expected.diagonal.begin()]);
    EXPECT_TRUE(made.lower_begin.empty() && made.row_order.empty()) << "a failure leaves the result alone";
  });
  EXPECT_GT(missing, 0);
  EXPECT_GT(brought, 0);
}

TYPED_TEST(Symbolic, diagonal_fill_inserts_the_missing_diagonal_and_nothing_else)
{
  for_random_tasks<TypeParam>(Kind::ilu, [](unsigned seed, Task<TypeParam>& task) {
    task.reorder(seed);
    task.column_order = random_order<TypeParam>(seed + 500, task.A.n);
    task.diagonal_fill = true;
    compare(task);
  });
}

/// PETSc checks A itself, before the permutation and before any fill.
TYPED_TEST(Symbolic, a_diagonal_missing_in_A_is_named_in_any_order_and_never_filled)
{
  using I = TypeParam;
  for (Kind kind : {Kind::ilu, Kind::icc})
    for (int levels : {0, 2})
      for (bool permuted : {false, true})
        for (bool diagonal_fill : {false, true}) {
          Task<I> task;
          task.A = pattern_of<I>({{0, 1, 2}, {0, 1, 3}, {0, 1, 3}, {0, 1, 2, 3}});
          task.kind = kind;
          task.levels = levels;
          task.diagonal_fill = diagonal_fill;
          if (permuted) task.row_order = task.column_order = {3, 2, 1, 0};
          FactorPattern<I> made;
          const Status status = task.run(&made);
          EXPECT_EQ(status.code, Code::missing_diagonal);
          EXPECT_EQ(status.row, 2);
        }
}

/// Row 0 of the 2 x 2 grid's matrix reads 1 and 2; its elimination connects them.
TYPED_TEST(Symbolic, of_a_small_grid_is_what_one_finds_by_hand)
{
  using I = TypeParam;
  Task<I> task;
  task.A = pattern_of<I>({{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}});
  FactorPattern<I> made;
  ASSERT_TRUE(task.run(&made).ok());
  EXPECT_EQ(made.lower_column, (std::vector<I>{0, 0, 1, 2}));
  EXPECT_EQ(made.upper_column, (std::vector<I>{1, 2, 3, 3}));
  task.levels = 1;
  ASSERT_TRUE(task.run(&made).ok());
  EXPECT_EQ(made.lower_column, (std::vector<I>{0, 0, 1, 1, 2}));
  EXPECT_EQ(made.upper_column, (std::vector<I>{1, 2, 2, 3, 3}));
}

/// With k >= n nothing is dropped: the complete factor.
TYPED_TEST(Symbolic, of_an_arrow_fills_up_one_level_above_0)
{
  using I = TypeParam;
  constexpr I n = 30;
  Task<I> task;
  task.A = random_pattern<I>(0, n, 0, [](I, I) { return false; }, [](I i, I j) { return i == j || !i || !j; });
  for (int levels : {1, 1000000000}) {
    task.levels = levels;
    for (Kind kind : {Kind::ilu, Kind::icc}) {
      task.kind = kind;
      FactorPattern<I> made;
      ASSERT_TRUE(task.run(&made).ok());
      EXPECT_EQ(made.lower_begin.back(), n * (n - 1) / 2);
      EXPECT_EQ(made.upper_begin.back(), n * (n - 1) / 2);
    }
  }
}

/// A band with a density of a third, and a few rows and columns with many entries.
template <class I> OwnedPattern<I> band_with_hubs(unsigned seed, I n, bool symmetric)
{
  std::mt19937 random(seed);
  std::vector<std::vector<bool>> has(n, std::vector<bool>(n, false));
  for (I i = 0; i < n; ++i) {
    has[i][i] = true;
    for (I j = std::max<I>(i - 5, 0); j < std::min<I>(i + 6, n); ++j) has[i][j] = has[i][j] || random() % 3 == 0;
    for (const I hub : {I(n / 3), I(n - 2)}) {
      if (random() % 20 == 0) has[i][hub] = true;
      if (random() % 20 == 0) has[hub][i] = true;
    }
  }
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i)
    for (I j = 0; j < n; ++j)
      if (has[i][j] || (symmetric && has[j][i])) rows[i].push_back(j);
  return pattern_of(rows);
}

/// Every row moves by a few positions only, so that fill stays moderate.
template <class I> std::vector<I> nearby_order(unsigned seed, I n)
{
  std::mt19937 random(seed);
  std::vector<I> order(n);
  std::iota(order.begin(), order.end(), I(0));
  for (I i = 0; i + 4 < n; ++i) std::swap(order[i], order[i + random() % 4]);
  return order;
}

template <class I> void compare_on_threads(const Task<I>& task)
{
  const Expected<I> expected = merged_rows(task);
  const auto hole = std::find(expected.diagonal.begin(), expected.diagonal.end(), false);
  for (const int threads : {1, 2, 3}) {
    FactorPattern<I> made;
    const Status status = task.run(&made, threads);
    if (hole == expected.diagonal.end() || task.diagonal_fill) {
      ASSERT_TRUE(status.ok()) << status.message();
      expect_equal(made, expected);
    } else {
      EXPECT_EQ(status.code, Code::missing_diagonal);
      EXPECT_EQ(status.row, task.row_order[hole - expected.diagonal.begin()]);
    }
  }
}

/// 1100 rows: the searches have three parts.
TYPED_TEST(Symbolic, large_patterns_on_threads_are_what_merging_rows_finds)
{
  using I = TypeParam;
  constexpr I n = 1100;
  for (const bool symmetric : {false, true})
    for (int levels = 0; levels <= 4; ++levels) {
      if (short_run() && symmetric == (levels % 2 == 0)) continue;  // each level once
      SCOPED_TRACE("symmetric " + std::to_string(symmetric) + " levels " + std::to_string(levels));
      Task<I> task;
      task.A = band_with_hubs<I>(7, n, symmetric);
      task.levels = levels;
      compare_on_threads(task);
      task.row_order = task.column_order = nearby_order<I>(8, n);
      compare_on_threads(task);
      task.kind = Kind::icc;
      compare_on_threads(task);
      task.kind = Kind::ilu;
      task.column_order = nearby_order<I>(9, n);
      compare_on_threads(task);
      task.diagonal_fill = true;
      compare_on_threads(task);
    }
}

template <class I> OwnedPattern<I> rows_of(const Adjacency& adjacent)
{
  const I n = static_cast<I>(adjacent.size());
  return random_pattern<I>(0, n, 0, [](I, I) { return false; }, [&](I i, I j) { return adjacent[i][j]; });
}

/// Expects the same failure, or none, and the same first row without a diagonal entry.
void expect_diagonals(const Status& status, const std::vector<bool>& diagonal)
{
  const auto hole = std::find(diagonal.begin(), diagonal.end(), false);
  ASSERT_EQ(status.code, hole == diagonal.end() ? Code::ok : Code::missing_diagonal);
  if (!status.ok()) {
    EXPECT_EQ(status.row, hole - diagonal.begin());
  }
}

/// Compares merged rows and U by searches with the oracle, whichever make_factor_pattern would choose.
template <class I> void compare_both_ways(const Task<I>& task)
{
  const OwnedPattern<I> G = rows_of<I>(graph_of(task));
  const Expected<I> expected = merged_rows(task);
  FactorPattern<I> made;
  expect_diagonals(RowMerging<I>(G.view(), task.levels, true).eliminate_rows(&made), expected.diagonal);
  expect_equal(made, expected);
  if (task.levels == 0) return;
  Array<I> row_begin, column;
  expect_diagonals(FillSearch<I>(G.view(), task.levels, true, 2).search_rows(&row_begin, &column), expected.diagonal);
  ASSERT_TRUE(FillSearch<I>(G.view(), task.levels, false, 2).search_rows(&row_begin, &column).ok());
  EXPECT_EQ(row_begin, expected.upper.row_begin);
  EXPECT_EQ(column, expected.upper.column);
}

TYPED_TEST(Symbolic, searches_and_merged_rows_find_the_same_at_all_levels)
{
  for (unsigned seed = 0; seed < 24; ++seed)
    for (const int levels : {0, 1, 2, 3, 4, 12, 13, 20})
      for (const Kind kind : {Kind::ilu, Kind::icc}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " levels " + std::to_string(levels));
        Task<TypeParam> task;
        task.A = random_matrix<TypeParam>(seed, 1 + 3 * (seed % 9), 3 + 3 * (seed % 5));
        task.kind = kind;
        task.levels = levels;
        task.reorder(seed + 99);
        compare_both_ways(task);
        compare(task);
        if (kind == Kind::icc) continue;
        task.column_order = random_order<TypeParam>(seed + 500, task.A.n);
        compare_both_ways(task);
        compare_on_threads(task);
        task.diagonal_fill = true;
        compare(task);
      }
}

/// The searches' bound on the length of paths stops at a fixed length, or earlier where no path is longer.
TYPED_TEST(Symbolic, long_paths_are_found)
{
  using I = TypeParam;
  constexpr I n = 120;
  const auto none = [](I, I) { return false; };
  Task<I> task;
  for (const auto& A : {band_with_hubs<I>(3, n, false), band_with_hubs<I>(4, n, true), line_pattern<I>(n),
                        random_pattern<I>(5, n, 10, [](I i, I j) { return j < i; }, [](I i, I j) { return i == j; }),
                        random_pattern<I>(6, n, 0, none, [](I i, I j) { return i == j || j == (i + n / 2 + 1) % n; })})
    for (const int levels : {5, 12, 13, 14, 15, 16, 17, 18, 60, 1000000000}) {
      SCOPED_TRACE("levels " + std::to_string(levels));
      task = Task<I>();
      task.A = A;
      task.levels = levels;
      compare_on_threads(task);
      task.row_order = nearby_order<I>(8, n);
      task.column_order = nearby_order<I>(9, n);
      compare_on_threads(task);
      compare_both_ways(task);
    }
}

/// Rows exchanged in pairs: the pattern is symmetric, but the exchanged rows lack their diagonals, and fill does not
/// add that of the first.
TYPED_TEST(Symbolic, symmetric_after_unequal_orders_does_not_mean_that_diagonals_are_there)
{
  using I = TypeParam;
  Task<I> task;
  task.A = pattern_of<I>({{0}, {1}, {2, 3}, {2, 3}});
  task.row_order = {1, 0, 2, 3};
  task.column_order = {0, 1, 2, 3};
  for (const int levels : {0, 1, 3}) {
    task.levels = levels;
    FactorPattern<I> made;
    const Status status = task.run(&made);
    EXPECT_EQ(status.code, Code::missing_diagonal);
    EXPECT_EQ(status.row, 1);
  }
}

/// Orders longer than one chunk of rows, on several threads.
TYPED_TEST(Symbolic, long_orders_are_inverted_and_checked_on_threads)
{
  using I = TypeParam;
  constexpr I n = 150000;
  Task<I> task;
  task.A = line_pattern<I>(n);
  task.reorder(3);
  FactorPattern<I> one, three;
  for (const int levels : {0, 2}) {
    task.levels = levels;
    ASSERT_TRUE(task.run(&one).ok());
    ASSERT_TRUE(task.run(&three, 3).ok());
    EXPECT_EQ(one.lower_column, three.lower_column);
    EXPECT_EQ(one.upper_column, three.upper_column);
    EXPECT_EQ(one.column_place, three.column_place);
  }
  for (const I wrong : {I(-1), n, task.row_order[140000]}) {
    task.row_order[5] = task.column_order[5] = wrong;
    EXPECT_EQ(task.run(&one, 3).code, Code::invalid_argument);
  }
}

TYPED_TEST(Symbolic, is_the_same_on_several_threads)
{
  using I = TypeParam;
  auto A = line_pattern<I>(150000);
  for (Kind kind : {Kind::ilu, Kind::icc}) {
    SymbolicOptions<I> options;
    options.kind = kind;
    FactorPattern<I> one, three;
    ASSERT_TRUE(make_factor_pattern(A.view(), options, &one).ok());
    ASSERT_TRUE(make_factor_pattern(A.view(), options, &three, 3).ok());
    EXPECT_EQ(one.lower_begin, three.lower_begin);
    EXPECT_EQ(one.lower_column, three.lower_column);
    EXPECT_EQ(one.upper_begin, three.upper_begin);
    EXPECT_EQ(one.upper_column, three.upper_column);
  }
  for (const I row : {I(140000), I(70001)}) {  // the first bad row is reported
    A.column[A.row_begin[row] + 1] = row + 1;
    A.column[A.row_begin[row + 1] - 1] = row + 2;
    FactorPattern<I> none;
    const Status status = make_factor_pattern(A.view(), SymbolicOptions<I>(), &none, 3);
    EXPECT_EQ(status.code, Code::missing_diagonal);
    EXPECT_EQ(status.row, row);
  }
}

TYPED_TEST(Symbolic, of_no_rows_has_offsets_and_no_entries)
{
  for (Kind kind : {Kind::ilu, Kind::icc})
    for (int levels : {0, 1}) {
      Task<TypeParam> task;
      task.kind = kind;
      task.levels = levels;
      compare(task);
    }
}

TYPED_TEST(Symbolic, refuses_calls_that_make_no_sense_and_leaves_the_result_alone)
{
  using I = TypeParam;
  Task<I> good;
  good.A = random_matrix<I>(1, 4, 50);
  std::vector<Task<I>> bad(7, good);
  bad[0].levels = -1;
  bad[1].row_order = {0, 1, 2, 3};
  bad[2].column_order = {0, 1, 2, 3};
  bad[3].row_order = bad[3].column_order = {0, 1, 2, 2};
  bad[4].row_order = bad[4].column_order = {0, 1, 2, 4};
  bad[5].row_order = bad[5].column_order = {0, -1, 2, 3};
  bad[6].kind = Kind::icc;
  bad[6].row_order = {0, 1, 2, 3};
  bad[6].column_order = {1, 0, 2, 3};
  for (const Task<I>& task : bad) {
    FactorPattern<I> made;
    made.levels = 77;
    const Status status = task.run(&made);
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_NE(status.detail, "");
    EXPECT_EQ(made.levels, 77);
  }
}

}  // namespace
}  // namespace syncfree
