#include "syncfree/cuda/detail/size_class_free_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace syncfree::cuda {
namespace {

void* piece(std::size_t name) { return reinterpret_cast<void*>(name); }

TEST(SizeClassFreeList, have_few_sizes_that_lose_an_eighth_at_most)
{
  std::set<std::size_t> sizes;
  std::size_t before = 0;
  for (std::size_t bytes = 1; bytes <= SizeClassFreeList::largest; bytes += 1 + bytes / 1000) {
    const std::size_t capacity = SizeClassFreeList::capacity_for(bytes);
    ASSERT_GE(capacity, std::max(bytes, before));
    ASSERT_LE(capacity, std::max<std::size_t>(256, bytes + bytes / 8)) << bytes;
    ASSERT_EQ(SizeClassFreeList::capacity_for(capacity), capacity);
    sizes.insert(before = capacity);
  }
  EXPECT_EQ(sizes.size(), 113u);
  EXPECT_EQ(SizeClassFreeList::capacity_for(SizeClassFreeList::largest + 1), SizeClassFreeList::largest + 1);
}

/// Each size class returns its own pieces only.
TEST(SizeClassFreeList, are_taken_by_size)
{
  SizeClassFreeList kept(std::size_t(1) << 40);
  std::set<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes <= SizeClassFreeList::largest; bytes += 1 + bytes / 100)
    sizes.insert(SizeClassFreeList::capacity_for(bytes));
  for (const std::size_t size : sizes) EXPECT_TRUE(kept.keep_piece(piece(size), size));
  for (const std::size_t size : sizes) {
    EXPECT_EQ(kept.take_piece(size), piece(size));
    EXPECT_EQ(kept.take_piece(size), nullptr);
  }
  EXPECT_FALSE(kept.keep_piece(piece(1), SizeClassFreeList::largest + 1));
  EXPECT_EQ(kept.take_piece(SizeClassFreeList::largest + 1), nullptr);
}

TEST(SizeClassFreeList, are_no_more_than_allowed)
{
  SizeClassFreeList kept(3000);
  EXPECT_TRUE(kept.keep_piece(piece(1), 1024));
  EXPECT_TRUE(kept.keep_piece(piece(2), 1024));
  EXPECT_FALSE(kept.keep_piece(piece(3), 1024));
  EXPECT_EQ(kept.take_piece(1024), piece(2));
  EXPECT_TRUE(kept.keep_piece(piece(3), 1024));
  kept.keep_at_most(0);
  EXPECT_FALSE(kept.keep_piece(piece(4), 256));
  std::vector<void*> given;
  EXPECT_EQ(kept.empty([&](void* p) { given.push_back(p); }), 2048u);
  EXPECT_EQ(given, (std::vector<void*>{piece(3), piece(1)}));
  EXPECT_EQ(kept.take_piece(1024), nullptr);
  kept.keep_at_most(256);
  EXPECT_TRUE(kept.keep_piece(piece(4), 256)) << "what was given away still counts";
}

/// The number of pieces of one size is limited.
TEST(SizeClassFreeList, of_one_size_are_few)
{
  SizeClassFreeList kept(std::size_t(1) << 40);
  std::size_t count = 0;
  while (count < 1000 && kept.keep_piece(piece(count + 1), 256)) ++count;
  EXPECT_EQ(count, 64u);
  EXPECT_EQ(kept.empty([](void*) {}), 64u * 256);
}

}  // namespace
}  // namespace syncfree::cuda
