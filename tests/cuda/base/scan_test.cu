/// Sums of the entries before each entry, by one thread block and by CUB.

#include "cuda/base/scan.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "../device_patterns.hpp"

namespace syncfree::cuda {
namespace {

template <class N> std::vector<N> random_lengths(std::size_t size)
{
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<N> lengths(size);
  for (N& length : lengths) length = static_cast<N>(random() % 100);
  return lengths;
}

template <class N> std::vector<N> sums(std::vector<N> lengths)
{
  std::exclusive_scan(lengths.begin(), lengths.end(), lengths.begin(), N(0));
  return lengths;
}

template <class N> class Sums : public testing::Test {};
using Numbers = testing::Types<std::int32_t, std::int64_t, unsigned, std::size_t>;
TYPED_TEST_SUITE(Sums, Numbers);

TYPED_TEST(Sums, are_those_of_the_host)
{
  using N = TypeParam;
  const std::vector<std::size_t> sizes = {1, 2, 7, 8, 9, 1023, 1024, 8191, 8192, 8193, most_summed_by_block - 1,
                                          most_summed_by_block, most_summed_by_block + 1, 100003};
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    const std::vector<N> lengths = random_lengths<N>(size);
    const DeviceArray<N> alone(lengths);
    exclusive_sum_in_place(alone);
    EXPECT_EQ(host(alone), sums(lengths));
    for (const std::size_t other : {std::size_t{1}, size / 2 + 1, size + 5, 2 * most_summed_by_block}) {
      const std::vector<N> others = random_lengths<N>(other);
      const DeviceArray<N> first(lengths), second(others);
      exclusive_sums_in_place(first, second);
      EXPECT_EQ(host(first), sums(lengths));
      EXPECT_EQ(host(second), sums(others));
    }
  }
}

TYPED_TEST(Sums, of_no_entries_are_none)
{
  const DeviceArray<TypeParam> none;
  exclusive_sum_in_place(none);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

}  // namespace
}  // namespace syncfree::cuda
