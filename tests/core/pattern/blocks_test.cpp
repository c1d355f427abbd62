/// Dense blocks of a matrix that is given by entries: their pattern, the place of every value, the padding, and the
/// sizes that are refused.

#include "syncfree/blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/patterns.hpp"
#include "syncfree/factor.hpp"
#include "types.hpp"

namespace syncfree {
namespace {

template <class P> class Blocks : public testing::Test {};
TYPED_TEST_SUITE(Blocks, AllTypes);

/// The value (row, column) of a matrix of blocks, 0 outside of its pattern.
template <class T, class I> T entry(const BlockPattern<I>& blocks, const std::vector<T>& value, I row, I column)
{
  const I size = static_cast<I>(blocks.size);
  for (I k = blocks.row_begin[row / size]; k < blocks.row_begin[row / size + 1]; ++k)
    if (blocks.column[k] == column / size) return value[(k * size + column % size) * size + row % size];
  return T(0);
}

TYPED_TEST(Blocks, hold_every_entry_and_zeros_elsewhere)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = random_matrix<I>(3, 60, 7);
  for (const int size : {1, 2, 3, 4, 5, 6, 10, 12, 60}) {
    BlockPattern<I> blocks;
    ASSERT_EQ(make_block_pattern(A.view(), size, &blocks).message(), "success");
    EXPECT_EQ(blocks.n, A.n / size);
    EXPECT_TRUE(check_pattern(blocks.view()).ok()) << size;
    std::vector<T> given(A.column.size()), value(blocks.values(), T(-1)), dense(A.n * A.n, T(0));
    for (std::size_t k = 0; k < given.size(); ++k) given[k] = T(static_cast<float>(1 + k));
    copy_to_blocks(blocks, given.data(), value.data());
    for (I i = 0; i < A.n; ++i)
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) dense[i * A.n + A.column[k]] = given[k];
    for (I i = 0; i < A.n; ++i)
      for (I j = 0; j < A.n; ++j) ASSERT_EQ(entry(blocks, value, i, j), dense[i * A.n + j]) << size;
    EXPECT_EQ(blocks.padding, std::count(value.begin(), value.end(), T(0)));
  }
}

/// Only blocks with an entry are stored.
TYPED_TEST(Blocks, need_no_padding_where_they_are_full)
{
  using I = typename TypeParam::Index;
  const auto A = pattern_of<I>({{0, 1}, {0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  BlockPattern<I> blocks;
  ASSERT_EQ(make_block_pattern(A.view(), 2, &blocks).message(), "success");
  EXPECT_EQ(blocks.padding, 0);
  EXPECT_EQ(blocks.column, (std::vector<I>{0, 0, 1}));
  ASSERT_EQ(make_block_pattern(A.view(), 4, &blocks).message(), "success");
  EXPECT_EQ(blocks.padding, 4);
}

TYPED_TEST(Blocks, of_a_size_that_does_not_divide_the_rows_are_refused_with_both_numbers)
{
  using I = typename TypeParam::Index;
  const auto A = random_matrix<I>(3, 10, 20);
  BlockPattern<I> blocks;
  blocks.n = 77;
  const Status status = make_block_pattern(A.view(), 3, &blocks);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_NE(status.message().find("block size 3"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("10"), std::string::npos) << status.message();
  EXPECT_EQ(make_block_pattern(A.view(), 0, &blocks).code, Code::invalid_argument);
  EXPECT_EQ(make_block_pattern(A.view(), -2, &blocks).code, Code::invalid_argument);
  EXPECT_EQ(blocks.n, 77);
}

/// One block of 2^16 x 2^16 values: a diagonal matrix of which only the pattern is stored.
TEST(BlocksOfShortIndices, whose_values_do_not_fit_an_index_are_refused)
{
  std::vector<std::vector<std::int32_t>> rows(std::size_t(1) << 16);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {static_cast<std::int32_t>(i)};
  const auto A = pattern_of(rows);
  BlockPattern<std::int32_t> blocks;
  const Status status = make_block_pattern(A.view(), 1 << 16, &blocks);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_NE(status.message().find("64-bit"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace syncfree
