/// check_pattern: accepts CSR patterns, and reports the offending entry of anything else.

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "core/patterns.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {
namespace {

template <class I> class CheckPattern : public testing::Test {
protected:
  static void expect(const OwnedPattern<I>& A, Code code, std::int64_t row, std::int64_t column)
  {
    const Status status = check_pattern(A.view());
    EXPECT_EQ(to_string(status.code), std::string(to_string(code)));
    EXPECT_EQ(status.row, row);
    EXPECT_EQ(status.column, column);
  }
};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(CheckPattern, Indices);

TYPED_TEST(CheckPattern, accepts_ascending_distinct_columns_and_empty_rows)
{
  using I = TypeParam;
  this->expect(pattern_of<I>({{0, 2}, {}, {0, 1, 2}}), Code::ok, -1, -1);
  for (unsigned seed = 0; seed < 20; ++seed) this->expect(random_matrix<I>(seed, 30, 20), Code::ok, -1, -1);
}

TYPED_TEST(CheckPattern, accepts_a_matrix_without_rows_and_without_arrays)
{
  this->expect(OwnedPattern<TypeParam>(), Code::ok, -1, -1);
  EXPECT_TRUE(check_pattern(PatternView<TypeParam>()).ok());
}

TYPED_TEST(CheckPattern, sees_the_same_on_several_threads)
{
  using I = TypeParam;
  auto A = line_pattern<I>(150000);
  EXPECT_TRUE(check_pattern(A.view(), 3).ok());
  for (const I row : {I(140001), I(100001)}) {
    std::swap(A.column[A.row_begin[row]], A.column[A.row_begin[row] + 1]);
    const Status status = check_pattern(A.view(), 3);
    EXPECT_EQ(status.code, Code::unsorted_columns);
    EXPECT_EQ(status.row, row) << "the first one";
  }
}

TYPED_TEST(CheckPattern, names_the_row_of_a_duplicate)
{
  this->expect(pattern_of<TypeParam>({{0}, {0, 1}, {0, 2, 2}}), Code::duplicate_column, 2, 2);
}

TYPED_TEST(CheckPattern, names_the_first_entry_that_is_out_of_order)
{
  this->expect(pattern_of<TypeParam>({{0}, {2, 1, 0}, {2, 0}}), Code::unsorted_columns, 1, 1);
}

TYPED_TEST(CheckPattern, names_columns_on_either_side_of_the_matrix)
{
  this->expect(pattern_of<TypeParam>({{0}, {0, 2}}), Code::column_out_of_range, 1, 2);
  this->expect(pattern_of<TypeParam>({{-1, 0}, {1}}), Code::column_out_of_range, 0, -1);
  const TypeParam huge = std::numeric_limits<TypeParam>::max();
  this->expect(pattern_of<TypeParam>({{0, huge}, {1}}), Code::column_out_of_range, 0, huge);
}

TYPED_TEST(CheckPattern, names_the_row_whose_offsets_descend)
{
  auto A = pattern_of<TypeParam>({{0}, {1}, {2}});
  A.row_begin = {0, 2, 1, 3};
  this->expect(A, Code::bad_row_offsets, 1, -1);
}

TYPED_TEST(CheckPattern, wants_offsets_from_0_and_no_negative_size)
{
  auto A = pattern_of<TypeParam>({{0}, {1}});
  A.row_begin = {1, 1, 2};
  this->expect(A, Code::bad_row_offsets, 0, -1);
  A.n = -1;
  this->expect(A, Code::bad_row_offsets, 0, -1);
}

/// The number of columns is the last offset. The check must not read beyond it (the values -7), even if an earlier
/// offset points there.
TYPED_TEST(CheckPattern, reads_no_column_behind_the_last_offset)
{
  using I = TypeParam;
  const std::vector<I> row_begin = {0, 6, 2};
  const std::unique_ptr<I[]> column(new I[6]{0, 1, -7, -7, -7, -7});
  const Status status = check_pattern(PatternView<I>{2, row_begin.data(), column.get()});
  EXPECT_EQ(status.code, Code::bad_row_offsets);
  EXPECT_EQ(status.row, 1);
}

}  // namespace
}  // namespace syncfree
