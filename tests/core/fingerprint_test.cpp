#include "syncfree/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "patterns.hpp"

namespace syncfree {
namespace {

template <class I> class Fingerprints : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Fingerprints, Indices);

/// One number more or less, or changed by one, or two exchanged: all differ, and each half of the bits does, too.
TYPED_TEST(Fingerprints, tell_small_changes)
{
  using I = TypeParam;
  std::vector<I> numbers(300);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<I>(k * k % 277);
  std::set<std::uint64_t> low, high;
  std::size_t count = 0;
  const auto look = [&] {
    const Fingerprint f = fingerprint(numbers.data(), numbers.size(), 1);
    low.insert(f.low), high.insert(f.high), ++count;
  };
  look();
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    ++numbers[k];
    look();
    --numbers[k];
  }
  for (std::size_t k = 0; k + 1 < numbers.size(); ++k) {
    if (numbers[k] == numbers[k + 1]) continue;
    std::swap(numbers[k], numbers[k + 1]);
    look();
    std::swap(numbers[k], numbers[k + 1]);
  }
  for (; !numbers.empty(); numbers.pop_back()) look();
  EXPECT_EQ(low.size() + 1, count) << "only the whole is seen twice";
  EXPECT_EQ(high.size() + 1, count);
}

/// Zeros count, and so does where a row ends.
TYPED_TEST(Fingerprints, tell_patterns)
{
  using I = TypeParam;
  const OwnedPattern<I> some = pattern_of<I>({{0, 1}, {1}, {2}}), other = pattern_of<I>({{0}, {0, 1}, {2}}),
                        empty = pattern_of<I>({{}, {}, {}}), none = pattern_of<I>({});
  std::set<std::uint64_t> seen;
  for (const OwnedPattern<I>* p : {&some, &other, &empty, &none}) seen.insert(fingerprint(p->view(), 1).low);
  EXPECT_EQ(seen.size(), 4u);
  const std::vector<I> zeros(3, 0);
  EXPECT_NE(fingerprint(zeros.data(), 2, 1), fingerprint(zeros.data(), 3, 1));
}

TYPED_TEST(Fingerprints, are_the_same_on_several_threads)
{
  using I = TypeParam;
  const OwnedPattern<I> T = stencil_triangle<I>(30, 30, 25, true, true);
  const Fingerprint one = fingerprint(T.view(), 1);
  for (const int threads : {2, 3, 16}) EXPECT_EQ(fingerprint(T.view(), threads), one);
}

}  // namespace
}  // namespace syncfree
