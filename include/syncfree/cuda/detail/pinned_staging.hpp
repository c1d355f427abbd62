#pragma once

/// Pinned host memory in small pieces, which the device can write to directly: a copy to pageable memory waits inside
/// CUDA, takes 8 us more on an H200, and blocks other threads' calls of CUDA meanwhile.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <mutex>

namespace syncfree::cuda {

/// Lives as long as the process, for all devices.
class PinnedStaging {
public:
  static constexpr std::size_t bytes_of_slot = 4096;

  static PinnedStaging& of_process()
  {
    static PinnedStaging& staging = *new PinnedStaging;
    return staging;
  }

  /// Returns nullptr if all are in use, or none could be allocated.
  void* take_slot()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!tried_) make();
    return count_ > 0 ? free_[--count_] : nullptr;
  }

  void return_slot(void* slot)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_[count_++] = slot;
  }

private:
  PinnedStaging() = default;

  void make()
  {
    tried_ = true;
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, free_.size() * bytes_of_slot, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    for (; count_ < free_.size(); ++count_) free_[count_] = static_cast<char*>(memory) + count_ * bytes_of_slot;
  }

  std::mutex mutex_;
  bool tried_ = false;
  std::array<void*, 16> free_;
  std::size_t count_ = 0;
};

/// Owns one of them for its lifetime, or none.
class Landing {
public:
  explicit Landing(std::size_t bytes)
      : slot_(bytes <= PinnedStaging::bytes_of_slot ? PinnedStaging::of_process().take_slot() : nullptr)
  {
  }
  Landing(const Landing&) = delete;
  ~Landing()
  {
    if (slot_) PinnedStaging::of_process().return_slot(slot_);
  }
  void* slot() const { return slot_; }

private:
  void* slot_;
};

}  // namespace syncfree::cuda
