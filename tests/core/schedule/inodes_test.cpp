/// Inodes of a triangle, compared with those found by brute force.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/inode_patterns.hpp"
#include "core/schedule/inodes.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {
namespace {

template <class I> class FoundInodes : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(FoundInodes, Indices);

template <class I> void expect_inodes(const PatternView<I>& T, bool lower, int size)
{
  SCOPED_TRACE(std::to_string(T.n) + (lower ? " rows, lower" : " rows, upper"));
  const InodesByForce<I> truth(T, lower);
  const Inodes<I> found = find_inodes(T, lower);
  EXPECT_EQ(truth.size, size >= 0 ? size : truth.size);
  ASSERT_EQ(found.size, truth.size);
  EXPECT_EQ(found.first, truth.first);
  EXPECT_EQ(found.before, truth.before);
  EXPECT_EQ(found.levels.row, truth.row);
  EXPECT_EQ(found.levels.level_begin, truth.level_begin);
  if (found.size == 0) {
    EXPECT_EQ(found.count, 0);
    EXPECT_TRUE(found.begin.empty() && found.column.empty());
    return;
  }
  ASSERT_EQ(found.begin.size(), static_cast<std::size_t>(found.count) + 1);
  EXPECT_EQ(found.begin[0], 0);
  EXPECT_EQ(found.begin[found.count], static_cast<I>(found.column.size()));
  for (I v = 0; v < found.count; ++v) {
    const I step = truth.first[v], row = lower ? step : T.n - 1 - step;
    std::set<I> read;
    for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) {
      const I of_step = lower ? T.column[k] : T.n - 1 - T.column[k];
      read.insert(truth.before[of_step + 1] - 1);
    }
    const auto begin = found.column.begin();
    EXPECT_EQ(std::vector<I>(begin + found.begin[v], begin + found.begin[v + 1]),
              std::vector<I>(read.begin(), read.end()))
        << v;
  }
}

TYPED_TEST(FoundInodes, are_those_of_the_definition)
{
  using I = TypeParam;
  for (const auto& of : patterns_with_inodes<I>()) {
    FactorPattern<I> made;
    ASSERT_TRUE(make_factor_pattern(of.first.view(), {}, &made).ok());
    expect_inodes(made.lower(), true, of.second);
    expect_inodes(made.upper(), false, of.second);
  }
}

TYPED_TEST(FoundInodes, are_those_of_the_definition_on_random_triangles)
{
  using I = TypeParam;
  for (const bool lower : {true, false})
    for (unsigned seed = 0; seed < 60; ++seed) {
      expect_inodes(random_triangle<I>(seed, 1 + seed % 40, 1 + seed % 30, lower).view(), lower, -1);
      expect_inodes(random_deep_triangle<I>(seed, 1 + seed % 40, 1 + seed % 90, lower).view(), lower, -1);
      expect_inodes(random_triangle<I>(seed, 1 + seed % 9, 96, lower).view(), lower, -1);
    }
}

TYPED_TEST(FoundInodes, are_none_of_no_rows)
{
  using I = TypeParam;
  const I begin = 0;
  EXPECT_EQ(find_inodes<I>({0, &begin, nullptr}, true).size, 0);
}

}  // namespace
}  // namespace syncfree
