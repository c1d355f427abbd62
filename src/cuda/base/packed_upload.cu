/// Implements cuda/base/packed_upload.hpp.

#include "cuda/base/packed_upload.hpp"

#include <algorithm>
#include <cstdint>

#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads_a_block = 256;
constexpr std::size_t alignment = 16;
/// Larger fills take the device longer than a launch takes the host.
constexpr std::size_t largest_fill = 4 << 20;

/// from: nullptr: `to` is filled with `filling`
struct DevicePart {
  void* to;
  const void* from;
  std::size_t bytes;
  unsigned filling;
};

struct DeviceParts {
  static constexpr int most = 64;
  DevicePart part[most];
};

/// Copies or fills one part per blockIdx.y, in units of 16 bytes and then by bytes.
__global__ void __launch_bounds__(threads_a_block) process_parts(DeviceParts all)
{
  const DevicePart part = all.part[blockIdx.y];
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(threads_a_block) + threadIdx.x;
  const std::size_t threads = gridDim.x * static_cast<std::size_t>(threads_a_block), units = part.bytes / sizeof(uint4);
  const uint4 filling = {part.filling, part.filling, part.filling, part.filling};
  const auto* const from = static_cast<const uint4*>(part.from);
  auto* const to = static_cast<uint4*>(part.to);
  for (std::size_t k = first; k < units; k += threads) to[k] = from ? from[k] : filling;
  const std::size_t byte = units * sizeof(uint4) + first;
  if (byte >= part.bytes) return;
  static_cast<unsigned char*>(part.to)[byte] =
      from ? static_cast<const unsigned char*>(part.from)[byte] : static_cast<unsigned char>(part.filling);
}

}  // namespace

PinnedBlocks& PinnedBlocks::of_process()
{
  static PinnedBlocks& blocks = *new PinnedBlocks;
  return blocks;
}

char* PinnedBlocks::take_block()
{
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!idle_.empty()) {
    char* const block = idle_.back();
    idle_.pop_back();
    return block;
  }
  if (failed_ || made_ == most_blocks) return nullptr;
  idle_.reserve(most_blocks);
  void* block = nullptr;
  if (cudaHostAlloc(&block, bytes_of_block, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
    (void)cudaGetLastError();
    failed_ = true;
    return nullptr;
  }
  ++made_;
  return static_cast<char*>(block);
}

void PinnedBlocks::return_block(char* block)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(block);  // does not allocate: take_block() has reserved the memory
}

PackedUpload::~PackedUpload()
{
  if (sent_) (void)cudaStreamSynchronize(stream_);
  for (char* const block : block_) PinnedBlocks::of_process().return_block(block);
}

void* PackedUpload::add_bytes(void* to, std::size_t bytes)
{
  if (bytes == 0) return nullptr;
  const std::size_t taken = (bytes + alignment - 1) / alignment * alignment;
  if (taken <= PinnedBlocks::bytes_of_block && (block_.empty() || used_ + taken > PinnedBlocks::bytes_of_block)) {
    block_.reserve(block_.size() + 1);
    if (char* const block = PinnedBlocks::of_process().take_block()) block_.push_back(block), used_ = 0;
  }
  const bool pinned = !block_.empty() && used_ + taken <= PinnedBlocks::bytes_of_block;
  char* from = nullptr;
  if (pinned) from = block_.back() + used_, used_ += taken;
  else from = pageable_.emplace_back(bytes).data();
  parts_.push_back({to, from, bytes, 0, pinned});
  return from;
}

void PackedUpload::fill_bytes(void* to, std::size_t bytes, unsigned char byte)
{
  if (bytes > 0) parts_.push_back({to, nullptr, bytes, byte, bytes <= largest_fill});
}

void PackedUpload::send_all(cudaStream_t stream)
{
  stream_ = stream, sent_ = true;
  DeviceParts now = {};
  unsigned count = 0;
  std::size_t most = 0;
  const auto launch_now = [&] {
    const std::size_t units = most / (4 * sizeof(uint4));  // of four for each thread
    const unsigned blocks = std::min(32u, blocks_for(units, threads_a_block));
    if (count > 0) launch(process_parts, {dim3(blocks, count), threads_a_block, 0, stream}, now);
    count = 0, most = 0;
  };
  for (const Part& part : parts_) {
    if (!part.pinned) {  // pageable memory has been read on return
      if (part.from) SYNCFREE_CUDA(cudaMemcpyAsync(part.to, part.from, part.bytes, cudaMemcpyHostToDevice, stream));
      else SYNCFREE_CUDA(cudaMemsetAsync(part.to, part.byte, part.bytes, stream));
      continue;
    }
    now.part[count++] = {part.to, part.from, part.bytes, 0x01010101u * part.byte};
    most = std::max(most, part.bytes);
    if (count == DeviceParts::most) launch_now();
  }
  launch_now();
}

}  // namespace syncfree::cuda
