/// Arrays copied and filled by one launch.

#include "cuda/base/packed_upload.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "../device_patterns.hpp"

namespace syncfree::cuda {
namespace {

/// Uploads arrays of these sizes, every third of which is filled instead. The device has other values there before.
template <class V> void upload_and_compare(unsigned seed, const std::vector<std::size_t>& sizes)
{
  std::mt19937 random(seed);
  std::vector<std::vector<V>> truth;
  std::vector<DeviceArray<V>> arrays(sizes.size());
  for (const std::size_t size : sizes) DeviceArray<V>(size).fill(0x11, nullptr);
  ASSERT_EQ(MemoryPool::of_device()->flush_deferred_frees(), cudaSuccess);
  PackedUpload upload;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    truth.emplace_back(sizes[a]);
    if (a % 3 == 2) {
      const auto byte = static_cast<unsigned char>(random());
      std::memset(truth[a].data(), byte, sizes[a] * sizeof(V));
      arrays[a] = DeviceArray<V>(sizes[a]);
      upload.fill(arrays[a], byte);
      continue;
    }
    for (V& v : truth[a]) v = static_cast<V>(random());
    if (a % 3 == 0) {
      upload.add_copy(&arrays[a], truth[a]);
    } else {
      V* const packed = upload.add(&arrays[a], sizes[a]);
      for (std::size_t k = 0; k < sizes[a]; ++k) packed[k] = truth[a][k];
    }
  }
  upload.send_all(nullptr);
  for (std::size_t a = 0; a < sizes.size(); ++a) EXPECT_EQ(host(arrays[a]), truth[a]) << a << ": " << sizes[a];
}

TEST(PackedUploads, copy_and_fill_arrays_of_all_sizes)
{
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 80; ++size) sizes.push_back(size);
  for (const std::size_t size : {511, 512, 513, 4096, 100003}) sizes.insert(sizes.end(), 3, size);
  upload_and_compare<std::uint16_t>(1, sizes);
  upload_and_compare<std::int32_t>(2, sizes);
  upload_and_compare<std::int64_t>(3, sizes);
}

/// Three blocks, arrays larger than a block, and one that is larger than what a launch fills.
TEST(PackedUploads, copy_more_than_a_block)
{
  const std::size_t half = PinnedBlocks::bytes_of_block / 2 / sizeof(std::int32_t);
  upload_and_compare<std::int32_t>(4, {half, half + 1, 7, half - 1, half, 5, 2 * half, 2 * half + 1, 9, 3, 4, 4 * half,
                                       1, 2, 40 * half});
}

TEST(PackedUploads, serve_several_threads)
{
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (unsigned turn = 0; turn < 20; ++turn) upload_and_compare<std::int32_t>(10 * turn + t, {900, 31, 7, 5000, 1});
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(PackedUploads, of_nothing_launch_nothing)
{
  PackedUpload upload;
  DeviceArray<int> none;
  upload.add_copy(&none, std::vector<int>());
  upload.fill(none, 1);
  upload.send_all(nullptr);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

}  // namespace
}  // namespace syncfree::cuda
