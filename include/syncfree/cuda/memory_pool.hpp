#pragma once

/// Memory of the device for arrays that come and go: cudaMalloc() and cudaFree() take 15 to 80 us each on an H200, and
/// an analysis makes more than a hundred arrays. A pool of CUDA's keeps what was freed. What is idle is at most a 32nd
/// of the device's memory at rest, and cudaMalloc() gets it where it finds no other. Who frees would have to wait for
/// the kernels that still use the array; small arrays are kept until there are many, and then one wait does for all.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

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
      (void)free_left();
      (void)cudaMemPoolTrimTo(pool_, 0);
      error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream_);
    }
    if (error != cudaSuccess) return error;
    count(static_cast<std::int64_t>(bytes));
    error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) free(*memory, bytes);
    return error;
  }

  /// Kernels may still use it. On whichever device the caller is.
  void free(void* memory, std::size_t bytes)
  {
    if (!pool_) return (void)cudaFree(memory);
    Batch full;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      left_.add({memory, bytes});
      if (left_.is_full()) full = std::exchange(left_, Batch());
    }
    if (full.count > 0 && free(full) != cudaSuccess) (void)cudaGetLastError();
  }

  /// Waits for the device, and then nothing that was freed is kept from others.
  cudaError_t free_left()
  {
    Batch all;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      all = std::exchange(left_, Batch());
    }
    return free(all);
  }

private:
  struct Piece {
    void* memory;
    std::size_t bytes;
  };
  /// Freed, and perhaps still in use.
  struct Batch {
    static constexpr std::size_t most = 64, most_bytes = 32 << 20;
    std::array<Piece, most> piece;
    std::size_t count = 0, bytes = 0;

    void add(const Piece& freed)
    {
      piece[count++] = freed;
      bytes += freed.bytes;
    }
    bool is_full() const { return count == most || bytes >= most_bytes; }
  };

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

  /// cudaDeviceSynchronize()'s error.
  cudaError_t free(const Batch& batch)
  {
    int current = device_;
    (void)cudaGetDevice(&current);
    if (current != device_) (void)cudaSetDevice(device_);
    const cudaError_t error = wait_for_device();
    for (std::size_t k = 0; k < batch.count; ++k) (void)cudaFreeAsync(batch.piece[k].memory, stream_);
    if (current != device_) (void)cudaSetDevice(current);
    if (batch.count > 0) count(-static_cast<std::int64_t>(batch.bytes));
    return error;
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
  Batch left_;
  std::int64_t used_ = 0, kept_ = -1, spare_ = 0;
};

}  // namespace syncfree::cuda
