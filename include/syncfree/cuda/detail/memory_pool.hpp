#pragma once

/// Device memory for short-lived arrays: cudaMalloc() and cudaFree() take 15 to 80 us each on an H200, and an
/// analysis makes more than a hundred arrays. A CUDA memory pool keeps freed memory. Idle memory is at most 1/32 of
/// the device's memory when nothing runs, and cudaMalloc() can take it if no other is left; small arrays, at most 64
/// MB and 1/1024 of the memory in total, are not even returned to that pool. Freeing has to wait for the kernels that
/// still use the array, so frees are deferred until there are many, and one wait serves all of them.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "syncfree/cuda/detail/context.hpp"
#include "syncfree/cuda/detail/size_class_free_list.hpp"

namespace syncfree::cuda {

/// The pool of one device; lives as long as the process.
class MemoryPool {
public:
  /// Returns the pool of the current device; nullptr if there is no device.
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

  /// While one exists, threads that free memory block: no thread may wait for the device while a stream is being
  /// captured. A program that captures solves itself must not create other objects meanwhile, destroy them or refresh
  /// them for the first time.
  class CaptureGuard {
    std::lock_guard<std::mutex> lock_{mutex()};
    static std::mutex& mutex()
    {
      static std::mutex& all = *new std::mutex;
      return all;
    }
  };

  /// cudaDeviceSynchronize() once the library captures nothing; for all contexts of the device, whichever is current.
  static cudaError_t wait_for_device()
  {
    const CaptureGuard all;
    int device = 0;
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaGetDevice(&device);
    if (error != cudaSuccess) return error;
    const InPrimaryContext primary(device);
    return primary.came_from_another() ? cudaDeviceSynchronize() : cudaSuccess;
  }

  /// Returns the bytes of all arrays; peak() reports the most bytes at once from now on.
  std::int64_t begin_peak()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_held_ = held_;
  }
  std::int64_t peak()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_held_;
  }

  /// Allocates memory that may be used in any stream on return.
  cudaError_t allocate(void** memory, std::size_t bytes)
  {
    const cudaError_t error = pool_ ? allocate_from_pool(memory, bytes) : cudaMalloc(memory, bytes);
    if (error != cudaSuccess) return error;
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ += static_cast<std::int64_t>(bytes);
    most_held_ = std::max(most_held_, held_);
    return error;
  }

  /// Frees memory that kernels may still use. Any device may be current.
  void free(void* memory, std::size_t bytes)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      held_ -= static_cast<std::int64_t>(bytes);
    }
    if (pool_) return defer_free(memory, bytes);
    (void)cudaFree(memory);
  }

  /// Waits for the device and completes all deferred frees.
  cudaError_t flush_deferred_frees()
  {
    Batch all;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      all = std::exchange(left_, Batch());
    }
    return free(all);
  }

  /// Returns all idle memory to CUDA, for other users. Waits for the device.
  cudaError_t trim()
  {
    const cudaError_t error = flush_deferred_frees();
    if (!pool_) return error;
    std::size_t bytes;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      bytes = kept_.empty([&](void* piece) { (void)cudaFreeAsync(piece, stream_); });
    }
    add_used_bytes(-static_cast<std::int64_t>(bytes));
    (void)cudaStreamSynchronize(stream_);  // after it all memory has been freed
    (void)cudaMemPoolTrimTo(pool_, 0);
    return error;
  }

  /// Limits the bytes of small pieces kept outside CUDA's pool. With 0 every array comes from that pool, for memory
  /// tools.
  void keep_at_most(std::size_t bytes)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      kept_.keep_at_most(bytes);
    }
    (void)trim();
  }

private:
  cudaError_t allocate_from_pool(void** memory, std::size_t bytes)
  {
    const std::size_t capacity = SizeClassFreeList::capacity_for(bytes);
    if ((*memory = take_kept(capacity)) != nullptr) return cudaSuccess;
    cudaError_t error = cudaMallocFromPoolAsync(memory, capacity, pool_, stream_);
    if (error == cudaErrorMemoryAllocation) {  // idle memory may be fragmented
      (void)cudaGetLastError();
      (void)trim();
      error = cudaMallocFromPoolAsync(memory, capacity, pool_, stream_);
    }
    if (error != cudaSuccess) return error;
    add_used_bytes(static_cast<std::int64_t>(capacity));
    error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) defer_free(*memory, bytes);
    return error;
  }

  void defer_free(void* memory, std::size_t bytes)
  {
    Batch full;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      left_.add_piece({memory, SizeClassFreeList::capacity_for(bytes)});
      if (left_.is_full(most_left_)) full = std::exchange(left_, Batch());
    }
    if (full.count > 0 && free(full) != cudaSuccess) (void)cudaGetLastError();
  }

  static constexpr std::size_t most_kept = 64 << 20, least_left = 32 << 20;  ///< bytes
  struct Piece {
    void* memory;
    std::size_t bytes;
  };
  /// Freed arrays that may still be in use.
  struct Batch {
    static constexpr std::size_t most = 128;  ///< a set-up of a small system and the end of the one before have fewer
    std::array<Piece, most> piece;
    std::size_t count = 0, bytes = 0;

    void add_piece(const Piece& freed)
    {
      piece[count++] = freed;
      bytes += freed.bytes;
    }
    bool is_full(std::size_t most_bytes) const { return count == most || bytes >= most_bytes; }
  };

  /// Returns the bytes of the current device; 0 if unknown.
  static std::size_t memory_of_device()
  {
    std::size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? total : 0;
  }

  explicit MemoryPool(int device) : MemoryPool(device, memory_of_device()) {}

  MemoryPool(int device, std::size_t total)
      : device_(device), most_left_(std::max(least_left, total / 512)), kept_(std::min(most_kept, total / 1024))
  {
    int supported = 0;
    (void)cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    cudaMemPoolProps of = {};
    of.allocType = cudaMemAllocationTypePinned;
    of.location.type = cudaMemLocationTypeDevice;
    of.location.id = device;
    const InPrimaryContext lasting(device);
    if (!supported || total == 0 || cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMemPoolCreate(&pool_, &of) != cudaSuccess) {
      pool_ = nullptr;
      (void)cudaGetLastError();
      return;
    }
    spare_ = static_cast<std::int64_t>(total / 32);
    add_used_bytes(0);
  }

  /// Frees a batch; returns the error of cudaDeviceSynchronize().
  cudaError_t free(const Batch& batch)
  {
    int current = device_;
    (void)cudaGetDevice(&current);
    if (current != device_) (void)cudaSetDevice(device_);
    const cudaError_t error = wait_for_device();
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < batch.count; ++k)
      if (!keep_idle(batch.piece[k])) {
        (void)cudaFreeAsync(batch.piece[k].memory, stream_);
        bytes += batch.piece[k].bytes;
      }
    if (bytes > 0) {
      (void)cudaStreamSynchronize(stream_);  // otherwise the memory is not yet available to other allocations
      add_used_bytes(-static_cast<std::int64_t>(bytes));
    }
    if (current != device_) (void)cudaSetDevice(current);
    return error;
  }

  void* take_kept(std::size_t capacity)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_.take_piece(capacity);
  }

  bool keep_idle(const Piece& idle)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_.keep_piece(idle.memory, idle.bytes);
  }

  /// Sets the release threshold of CUDA's pool to the used bytes plus spare, when it has moved too far from that.
  void add_used_bytes(std::int64_t bytes)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_ += bytes;
    if (used_ <= threshold_ && threshold_ <= used_ + spare_) return;
    threshold_ = used_ + spare_ / 2;
    auto threshold = static_cast<std::uint64_t>(threshold_);
    (void)cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
  }

  const int device_;
  const std::size_t most_left_;    ///< bytes
  cudaMemPool_t pool_ = nullptr;   ///< nullptr: the device has none
  cudaStream_t stream_ = nullptr;  ///< has no pending work
  std::mutex mutex_;
  Batch left_;
  SizeClassFreeList kept_;
  std::int64_t used_ = 0, threshold_ = -1, spare_ = 0;  ///< bytes; kept pieces count as used
  std::int64_t held_ = 0, most_held_ = 0;               ///< bytes of arrays
};

}  // namespace syncfree::cuda
