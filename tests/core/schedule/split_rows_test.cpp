#include "core/schedule/split_rows.hpp"

#include <gtest/gtest.h>

#include "core/patterns.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;

/// Solves x_i = b_i - sum_k value_k x_k in the order of the entries. Partial rows have b = 0; the entry for a partial
/// row is -1.
std::vector<double> solve(const SplitRows<I>& rows, bool lower, const std::vector<double>& value,
                          const std::vector<double>& b)
{
  const I n = static_cast<I>(rows.row.size());
  std::vector<double> x(n), result(b.size());
  for (I step = 0; step < n; ++step) {
    const I r = lower ? step : n - 1 - step;
    x[r] = rows.row[r] < 0 ? 0 : b[rows.row[r]];
    for (I k = rows.row_begin[r]; k < rows.row_begin[r + 1]; ++k)
      x[r] -= (rows.source[k] < 0 ? -1 : value[rows.source[k]]) * x[rows.column[k]];
    if (rows.row[r] >= 0) result[rows.row[r]] = x[r];
  }
  return result;
}

/// Values that are small powers of two, so that sums are exact in every order of additions.
struct Problem {
  OwnedPattern<I> T;
  std::vector<double> value, b;

  explicit Problem(bool lower, unsigned seed)
      : T(random_pattern<I>(
            seed, 60, 70, [=](I i, I j) { return lower ? j < i : j > i; }, [](I, I) { return false; }))
  {
    for (std::size_t k = 0; k < T.column.size(); ++k) value.push_back(k % 7 == 0 ? 1 : 0);
    for (I i = 0; i < T.n; ++i) b.push_back(i % 5 - 2);
  }
};

TEST(SplitRows, solve_as_the_whole_rows_do)
{
  for (const bool lower : {true, false})
    for (const unsigned seed : {1u, 2u, 3u}) {
      const Problem p(lower, seed);
      SplitRows<I> whole;
      ASSERT_TRUE(split_long_rows(p.T.view(), lower, I(1000), &whole).ok());
      EXPECT_EQ(whole.row.size(), 60u);
      const auto truth = solve(whole, lower, p.value, p.b);
      for (const I most : {2, 3, 7, 30}) {
        SplitRows<I> split;
        ASSERT_TRUE(split_long_rows(p.T.view(), lower, most, &split).ok());
        EXPECT_EQ(solve(split, lower, p.value, p.b), truth) << most;
        EXPECT_GT(split.row.size(), 60u);
      }
    }
}

TEST(SplitRows, keep_no_row_longer_than_asked_and_wait_for_earlier_rows_only)
{
  for (const bool lower : {true, false}) {
    const Problem p(lower, 4);
    for (const I most : {2, 5, 16}) {
      SplitRows<I> split;
      ASSERT_TRUE(split_long_rows(p.T.view(), lower, most, &split).ok());
      const auto view = split.pattern_view();
      std::vector<int> seen(p.T.column.size(), 0);
      for (I r = 0; r < view.n; ++r) {
        ASSERT_LE(view.row_begin[r + 1] - view.row_begin[r], most);
        for (I k = view.row_begin[r]; k < view.row_begin[r + 1]; ++k) {
          ASSERT_TRUE(lower ? view.column[k] < r : view.column[k] > r);
          if (split.source[k] >= 0) ++seen[split.source[k]];
          else EXPECT_LT(split.row[view.column[k]], 0);
        }
      }
      EXPECT_EQ(seen, std::vector<int>(p.T.column.size(), 1)) << "an entry is lost or doubled";
    }
  }
}

/// Several chunks of rows; some rows are long.
TEST(SplitRows, do_not_depend_on_threads)
{
  for (const bool lower : {true, false}) {
    std::vector<std::vector<I>> rows(50000);
    for (I i = 0; i < 50000; ++i) {
      const I reach = i % 10007 == 0 ? 4000 : 3;
      for (I k = lower ? std::max(0, i - reach) : i + 1; k < (lower ? i : std::min(50000, i + 1 + reach)); ++k)
        rows[i].push_back(k);
    }
    const OwnedPattern<I> T = pattern_of(rows);
    SplitRows<I> one, four;
    ASSERT_TRUE(split_long_rows(T.view(), lower, I(30), &one).ok());
    ASSERT_TRUE(split_long_rows(T.view(), lower, I(30), &four, 4).ok());
    EXPECT_EQ(one.row, four.row);
    EXPECT_EQ(one.row_begin, four.row_begin);
    EXPECT_EQ(one.column, four.column);
    EXPECT_EQ(one.source, four.source);
    EXPECT_GT(one.row.size(), 50000u);
  }
}

TEST(SplitRows, of_an_empty_triangle_are_none)
{
  SplitRows<I> split;
  const OwnedPattern<I> none;
  ASSERT_TRUE(split_long_rows(none.view(), true, I(2), &split).ok());
  EXPECT_EQ(split.pattern_view().n, 0);
}

}  // namespace
}  // namespace syncfree
