#include "core/pattern/pattern_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/patterns.hpp"

namespace syncfree {
namespace {

template <class I> class PatternCopies : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(PatternCopies, Indices);

/// The n + 1 row offsets are stored in addition, as indices.
TYPED_TEST(PatternCopies, take_four_bytes_an_entry)
{
  using I = TypeParam;
  const auto A = random_matrix<I>(1, 300, 5);
  PatternCopy<I> kept;
  EXPECT_EQ(kept.pattern_copy_bytes(), 0u);
  kept.keep_pattern(A.view());
  EXPECT_EQ(kept.pattern_copy_bytes(), 4 * A.column.size() + sizeof(I) * A.row_begin.size());
}

/// Compared by a word that is shorter than an index where all columns fit, else by the indices.
TYPED_TEST(PatternCopies, are_known_by_every_column_and_every_offset)
{
  using I = TypeParam;
  const auto expect_known = [](const auto& A, auto kept) {
    kept.keep_pattern(A.view());
    EXPECT_TRUE(kept.are(A.view()));
    for (std::size_t k = 0; k < A.column.size(); ++k)
      for (const std::int64_t difference : {std::int64_t{1}, std::int64_t{256}, std::int64_t{1} << 32}) {
        if (difference > std::numeric_limits<I>::max()) continue;
        auto other = A;
        other.column[k] += static_cast<I>(difference);
        EXPECT_FALSE(kept.are(other.view())) << k << " " << difference;
      }
    auto other = A;
    ++other.row_begin[7];
    EXPECT_FALSE(kept.are(other.view()));
    return kept.pattern_copy_bytes() - sizeof(I) * A.row_begin.size();
  };
  const auto fits = random_matrix<I>(1, 256, 1), exceeds = random_matrix<I>(1, 257, 1);
  EXPECT_EQ(expect_known(fits, PatternCopy<I>()), 4 * fits.column.size());
  EXPECT_EQ(expect_known(fits, PatternCopy<I, std::uint8_t>()), fits.column.size());
  EXPECT_EQ(expect_known(exceeds, PatternCopy<I, std::uint8_t>()), sizeof(I) * exceeds.column.size());
}

TEST(PatternCopy, have_words_of_32_bits_for_2_to_the_32_columns)
{
  constexpr std::int64_t most = std::int64_t{1} << 32;
  EXPECT_TRUE(are_copied_to_words<std::int64_t>(most));
  EXPECT_FALSE(are_copied_to_words<std::int64_t>(most + 1));
  EXPECT_FALSE(are_copied_to_words<std::int32_t>(1)) << "they are as short";
}

TEST(PatternCopy, of_no_row_are_those_of_no_row)
{
  PatternCopy<std::int64_t> kept;
  kept.keep_pattern({});
  EXPECT_TRUE(kept.are({}));
  EXPECT_EQ(kept.pattern_copy_bytes(), 0u);
}

}  // namespace
}  // namespace syncfree
