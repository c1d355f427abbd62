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

/// Entry of row r, column c of a block is where blocks.hpp says.
TYPED_TEST(Blocks, that_are_full_are_found_with_their_entries)
{
  using I = typename TypeParam::Index;
  const auto A = pattern_of<I>({{0, 1, 4, 5}, {0, 1, 4, 5}, {2, 3}, {2, 3}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}});
  for (const int threads : {1, 3}) {
    BlockPattern<I> full, padded;
    EXPECT_TRUE(find_full_blocks(A.view(), 2, threads, &full));
    EXPECT_TRUE(find_full_blocks<I>(A.view(), 2, threads, nullptr));
    ASSERT_TRUE(make_block_pattern(A.view(), 2, &padded).ok());
    EXPECT_EQ(full.row_begin, padded.row_begin);
    EXPECT_EQ(full.column, padded.column);
    EXPECT_TRUE(consists_of_blocks(A.view(), full, threads));
    for (I i = 0; i < full.n; ++i)
      for (I k = full.row_begin[i]; k < full.row_begin[i + 1]; ++k)
        for (I e = 0; e < 4; ++e) {
          const I r = e / 2, c = e % 2, m = k - full.row_begin[i], count = full.row_begin[i + 1] - full.row_begin[i];
          EXPECT_EQ(A.column[2 * (2 * full.row_begin[i] + r * count + m) + c], 2 * full.column[k] + c);
        }
  }
}

/// A missing entry, rows of other lengths, columns of two blocks, a size that does not divide n: none is full.
TYPED_TEST(Blocks, that_are_not_full_are_found_by_any_entry)
{
  using I = typename TypeParam::Index;
  BlockPattern<I> full;
  const auto A = pattern_of<I>({{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  ASSERT_TRUE(find_full_blocks(A.view(), 2, 1, &full));
  for (const auto& B : {pattern_of<I>({{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2}}),
                        pattern_of<I>({{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1}, {2, 3}}),
                        pattern_of<I>({{1, 2}, {1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3}}),
                        pattern_of<I>({{0, 1}, {0, 1}, {0, 2}, {0, 2}})}) {
    EXPECT_FALSE(find_full_blocks<I>(B.view(), 2, 1, nullptr));
    EXPECT_FALSE(consists_of_blocks(B.view(), full, 1));
  }
  EXPECT_FALSE(find_full_blocks<I>(A.view(), 3, 1, nullptr));
  const auto other = pattern_of<I>({{0, 1}, {0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  EXPECT_TRUE(find_full_blocks<I>(other.view(), 2, 1, nullptr));
  EXPECT_FALSE(consists_of_blocks(other.view(), full, 1));
}

TEST(BlockOrders, keep_the_rows_of_a_block_together_and_in_order)
{
  const std::vector<std::int32_t> together = {2, 3, 0, 1}, turned = {3, 2, 0, 1}, apart = {1, 2, 3, 0};
  EXPECT_TRUE(keeps_blocks<std::int32_t>(nullptr, 4, 2));
  EXPECT_TRUE(keeps_blocks<std::int32_t>(together.data(), 4, 2));
  EXPECT_FALSE(keeps_blocks<std::int32_t>(turned.data(), 4, 2));
  EXPECT_FALSE(keeps_blocks<std::int32_t>(apart.data(), 4, 2));
}

/// 60000 rows: more than one part of the copy.
TEST(BlockValuesOfEntries, are_the_same_copied_on_threads)
{
  std::vector<std::vector<std::int32_t>> rows(60000);
  for (std::int32_t i = 0; i < 60000; ++i) rows[static_cast<std::size_t>(i)] = {i / 4 * 4, i / 4 * 4 + 2};
  const auto A = pattern_of<std::int32_t>(rows);
  BlockPattern<std::int32_t> blocks;
  ASSERT_TRUE(make_block_pattern(A.view(), 4, &blocks).ok());
  std::vector<double> given(A.column.size()), one(blocks.values(), -1), three(blocks.values(), -2);
  for (std::size_t k = 0; k < given.size(); ++k) given[k] = static_cast<double>(1 + k);
  copy_to_blocks(blocks, given.data(), one.data(), 1);
  copy_to_blocks(blocks, given.data(), three.data(), 3);
  EXPECT_EQ(one, three);
  EXPECT_EQ(std::count(one.begin(), one.end(), 0.0), blocks.padding);
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
