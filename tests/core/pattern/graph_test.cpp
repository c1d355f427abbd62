/// Properties of patterns that are found in one pass over all rows.

#include "core/pattern/graph.hpp"

#include <gtest/gtest.h>

#include "core/patterns.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using Rows = std::vector<std::vector<I>>;

/// Rows for more than two chunks of the parallel loop. Row i has neighbours nearby and in other chunks; some rows have
/// more than 32.
Rows symmetric_rows()
{
  constexpr I n = 3 * static_cast<I>(rows_of_part) - 100;
  Rows rows(n);
  std::mt19937 random(1);
  for (I i = 0; i < n; ++i) {
    rows[i].push_back(i);
    for (const I reach : {2, 50, 20000}) {
      const I j = i + 1 + static_cast<I>(random() % static_cast<unsigned>(reach));
      if (j >= n) continue;
      rows[i].push_back(j);
      rows[j].push_back(i);
    }
    if (i % 1000 || !i) continue;
    rows[0].push_back(i);
    rows[i].push_back(0);
  }
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return rows;
}

bool symmetric(const Rows& rows, int threads)
{
  const OwnedPattern<I> G = pattern_of(rows);
  return Survey<I>(G.view(), threads).symmetric();
}

void erase(Rows* rows, I i, I j)
{
  auto& row = (*rows)[i];
  const auto at = std::find(row.begin(), row.end(), j);
  ASSERT_NE(at, row.end());
  row.erase(at);
}

TEST(Survey, sees_one_entry_without_its_mirror_image)
{
  const Rows rows = symmetric_rows();
  const I n = static_cast<I>(rows.size());
  std::mt19937 random(2);
  for (const int threads : {1, 3}) EXPECT_TRUE(symmetric(rows, threads));
  for (int k = 0; k < 24; ++k) {
    const I i = k == 0 ? 0 : k == 1 ? n - 1 : static_cast<I>(random() % static_cast<unsigned>(n));
    const I j = rows[i].front() == i ? rows[i].back() : rows[i].front();
    Rows less = rows;
    erase(&less, i, j);
    EXPECT_FALSE(symmetric(less, 1 + k % 3)) << i << ' ' << j;
  }
}

/// Unsymmetric patterns, most of them with equal counts: as many entries above the diagonal as below it, or rows as
/// long as columns.
TEST(Survey, is_not_deceived_by_equal_counts)
{
  for (const auto& rows : {Rows{{0, 1}, {1, 2}, {0, 2}}, Rows{{0, 1, 3}, {0, 1}, {1, 2}, {0, 3}},
                           Rows{{0, 2}, {1, 3}, {1, 2}, {0, 3}}, Rows{{0}, {0, 1, 2}, {2}}, Rows{{0, 1}, {1}}}) {
    EXPECT_FALSE(symmetric(rows, 1));
  }
  EXPECT_TRUE(symmetric({{0, 2}, {1, 3}, {0, 2}, {1, 3}}, 1));
  EXPECT_TRUE(symmetric({{2}, {}, {0, 2}}, 1)) << "diagonals do not matter";
  EXPECT_TRUE(symmetric({}, 1));
}

TEST(Survey, names_the_first_missing_diagonal_in_patterns_of_any_shape)
{
  for (const bool mirrored : {true, false}) {
    Rows rows = symmetric_rows();
    if (!mirrored) rows[1] = {1};
    const I n = static_cast<I>(rows.size());
    EXPECT_EQ(Survey<I>(pattern_of(rows).view(), 3).missing(), -1);
    for (const I row : {n - 1, 2 * static_cast<I>(rows_of_part) + 5, static_cast<I>(rows_of_part) - 1, I(0)}) {
      erase(&rows, row, row);
      EXPECT_EQ(Survey<I>(pattern_of(rows).view(), 3).missing(), row);
      EXPECT_EQ(symmetric(rows, 2), mirrored);
    }
  }
}

}  // namespace
}  // namespace syncfree
