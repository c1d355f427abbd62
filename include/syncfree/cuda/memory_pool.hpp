#pragma once

/// Memory of the device for arrays that come and go: cudaMalloc() and cudaFree() take 15 to 80 us each on an H200, and
/// an analysis makes more than a hundred arrays. A pool of CUDA's keeps what was freed. What is idle is at most a 32nd
/// of the device's memory at rest, and cudaMalloc() gets it where it finds no other.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace syncfree::cuda {

/// Of one device; lives as long as the process.
class MemoryPool {
public:
  /// Of the device at hand; nullptr where there is none.
  static MemoryPool* of_device()
  {
    static std::mutex& mutex = *new std::mutex;
    static auto& pools = *new std::map<int, MemoryPool*>;
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    MemoryPool*& pool = pools[device];
    if (!pool) pool = new MemoryPool(device);
    return pool;
  }

  /// While one lives, threads that want to free memory wait: the device must not be waited for while a stream is
  /// recorded, by whichever thread. A program that records solves itself must not make or destroy others meanwhile.
  class Keeping {
    std::lock_guard<std::mutex> lock_{mutex()};
    static std::mutex& mutex()
    {
      static std::mutex& all = *new std::mutex;
      return all;
    }
  };

  /// cudaDeviceSynchronize(), when nobody here records.
  static cudaError_t wait_for_device()
  {
    const Keeping all;
    return cudaDeviceSynchronize();
  }

  /// May be used in any stream on return.
  cudaError_t allocate(void** memory, std::size_t bytes)
  {
    if (!pool_) return cudaMalloc(memory, bytes);
    cudaError_t error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream_);
    if (error == cudaErrorMemoryAllocation) {  // what is idle may be in pieces
      (void)cudaGetLastError();
      (void)cudaMemPoolTrimTo(pool_, 0);
      error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream_);
    }
    if (error != cudaSuccess) return error;
    count(static_cast<std::int64_t>(bytes));
    error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) free(*memory, bytes);
    return error;
  }

  /// Waits for what still uses it, as cudaFree() does, on whichever device the caller is.
  void free(void* memory, std::size_t bytes)
  {
    if (pool_) {
      int current = device_;
      (void)cudaGetDevice(&current);
      if (current != device_) (void)cudaSetDevice(device_);
      if (wait_for_device() != cudaSuccess) (void)cudaGetLastError();
      if (current != device_) (void)cudaSetDevice(current);
      count(-static_cast<std::int64_t>(bytes));
    }
    (void)cudaFree(memory);
  }

private:
  explicit MemoryPool(int device) : device_(device)
  {
    int supported = 0;
    std::size_t free = 0, total = 0;
    (void)cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    cudaMemPoolProps of = {};
    of.allocType = cudaMemAllocationTypePinned;
    of.location.type = cudaMemLocationTypeDevice;
    of.location.id = device;
    if (!supported || cudaMemGetInfo(&free, &total) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMemPoolCreate(&pool_, &of) != cudaSuccess) {
      pool_ = nullptr;
      (void)cudaGetLastError();
      return;
    }
    spare_ = static_cast<std::int64_t>(total / 32);
    count(0);
  }

  /// CUDA keeps what is used and what `kept_` leaves, which is set anew when it has come to be far off.
  void count(std::int64_t bytes)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_ += bytes;
    if (used_ <= kept_ && kept_ <= used_ + spare_) return;
    kept_ = used_ + spare_ / 2;
    auto threshold = static_cast<std::uint64_t>(kept_);
    (void)cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
  }

  const int device_;
  cudaMemPool_t pool_ = nullptr;   ///< nullptr: the device has none
  cudaStream_t stream_ = nullptr;  ///< never at work
  std::mutex mutex_;
  std::int64_t used_ = 0, kept_ = -1, spare_ = 0;
};

}  // namespace syncfree::cuda
