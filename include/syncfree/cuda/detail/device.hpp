#pragma once

/// Device memory, and CUDA errors as exceptions inside the library; public functions convert them to Status.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "syncfree/cuda/detail/memory_pool.hpp"
#include "syncfree/cuda/detail/pinned_staging.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// The exception type inside the library.
struct Failure {
  Status status;
};

inline void check(cudaError_t error, const char* call)
{
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next launch reports it again
  throw Failure{failed(Code::device_failure, std::string(call) + ": " + cudaGetErrorString(error))};
}

#define SYNCFREE_CUDA(call) ::syncfree::cuda::check(call, #call)

/// Returns an attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute)
{
  int device = 0, value = 0;
  SYNCFREE_CUDA(cudaGetDevice(&device));
  SYNCFREE_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Copies device memory to host memory. Waits for the stream, without blocking CUDA calls of other threads meanwhile.
/// Throws Failure.
inline void read_bytes(void* to, const void* from, std::size_t bytes, cudaStream_t stream)
{
  const Landing landing(bytes);
  if (!landing.slot()) SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  void* const landed = landing.slot() ? landing.slot() : to;
  SYNCFREE_CUDA(cudaMemcpyAsync(landed, from, bytes, cudaMemcpyDeviceToHost, stream));
  SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  if (landing.slot()) std::memcpy(to, landing.slot(), bytes);
}

/// An array in device memory, initially without values. Throws Failure(out_of_memory), which states the bytes.
template <class V> class DeviceArray {
public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size)
  {
    if (size == 0) return;
    void* memory = nullptr;
    pool_ = MemoryPool::of_device();
    const cudaError_t error = pool_ ? pool_->allocate(&memory, bytes()) : cudaErrorNoDevice;
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw Failure{failed(Code::out_of_memory, "the device has no " + std::to_string(bytes()) + " bytes left")};
    }
    check(error, "cudaMallocFromPoolAsync");
    data_ = static_cast<V*>(memory);
  }
  /// Copies host memory; the copy is complete on return.
  DeviceArray(const V* from, std::size_t size) : DeviceArray(size)
  {
    if (size) SYNCFREE_CUDA(cudaMemcpy(data_, from, bytes(), cudaMemcpyHostToDevice));
  }
  template <class A> explicit DeviceArray(const std::vector<V, A>& from) : DeviceArray(from.data(), from.size()) {}
  /// Copies host memory for use on `stream`; waits for that stream only.
  template <class A> DeviceArray(const std::vector<V, A>& from, cudaStream_t stream) : DeviceArray(from.size())
  {
    if (!size_) return;
    SYNCFREE_CUDA(cudaMemcpyAsync(data_, from.data(), bytes(), cudaMemcpyHostToDevice, stream));
    SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept
  {
    swap(other);
    return *this;
  }
  ~DeviceArray()  // the memory is reused only after the work that still uses it
  {
    if (data_) pool_->free(data_, bytes());
  }

  V* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(V); }
  bool empty() const { return size_ == 0; }

  void fill(int byte, cudaStream_t stream)
  {
    if (size_) SYNCFREE_CUDA(cudaMemsetAsync(data_, byte, bytes(), stream));
  }
  /// Copies to host memory; waits.
  void read(V* to, std::size_t first, std::size_t count, cudaStream_t stream) const
  {
    if (count > 0) read_bytes(to, data_ + first, count * sizeof(V), stream);
  }

private:
  void swap(DeviceArray& other) noexcept
  {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(pool_, other.pool_);
  }

  V* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryPool* pool_ = nullptr;
};

/// Copies an array of device memory on the null stream.
template <class V> DeviceArray<V> copy_of(const V* from, std::size_t size)
{
  DeviceArray<V> copy(size);
  if (size) SYNCFREE_CUDA(cudaMemcpyAsync(copy.data(), from, copy.bytes(), cudaMemcpyDeviceToDevice));
  return copy;
}
template <class V> DeviceArray<V> copy_of(const DeviceArray<V>& from) { return copy_of(from.data(), from.size()); }

/// Copies device memory to host memory on the null stream; waits.
template <class V> void copy_to_host(V* to, const V* from, std::size_t count)
{
  if (count > 0) read_bytes(to, from, count * sizeof(V), nullptr);
}

/// Returns the number of thread blocks of `threads` threads for `count` threads, at least one.
inline unsigned blocks_for(std::size_t count, unsigned threads)
{
  return static_cast<unsigned>(count == 0 ? 1 : (count + threads - 1) / threads);
}

}  // namespace syncfree::cuda
