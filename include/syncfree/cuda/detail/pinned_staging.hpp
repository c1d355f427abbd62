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
  static constexpr std::size_t bytes_of_place = 4096;

  static PinnedStaging& all()
  {
    static PinnedStaging& places = *new PinnedStaging;
    return places;
  }

  /// Returns nullptr if all are in use, or none could be allocated.
  void* take()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!tried_) make();
    return count_ > 0 ? free_[--count_] : nullptr;
  }

  void put(void* place)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_[count_++] = place;
  }

private:
  PinnedStaging() = default;

  void make()
  {
    tried_ = true;
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, free_.size() * bytes_of_place, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    for (; count_ < free_.size(); ++count_) free_[count_] = static_cast<char*>(memory) + count_ * bytes_of_place;
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
      : place_(bytes <= PinnedStaging::bytes_of_place ? PinnedStaging::all().take() : nullptr)
  {
  }
  Landing(const Landing&) = delete;
  ~Landing()
  {
    if (place_) PinnedStaging::all().put(place_);
  }
  void* place() const { return place_; }

private:
  void* place_;
};

}  // namespace syncfree::cuda
