#pragma once

/// CUDA contexts. A program has one per device that the runtime creates (the primary context), and may have others,
/// for example green contexts with a part of the multiprocessors. Kernel attributes, the clusters that can run and
/// streams belong to a context. Memory belongs to the device.

#include <cuda_runtime_api.h>

namespace syncfree::cuda {

/// Returns a function of the driver, which is not linked, in the given version; nullptr if the driver does not have
/// it.
template <class Function> Function driver_function(const char* name, [[maybe_unused]] unsigned version = 12000)
{
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
}

/// Returns an id of the current context, unique in this process.
inline unsigned long long context_at_hand()
{
  using GetId = int (*)(void* context, unsigned long long* id);
  static const auto get_id = driver_function<GetId>("cuCtxGetId");
  unsigned long long id = 0;
  if (get_id && get_id(nullptr, &id) == 0) return id;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) (void)cudaGetLastError();
  /* a thread has no context before its first call of the runtime */
  if (get_id && cudaSetDevice(device) == cudaSuccess && get_id(nullptr, &id) == 0) return id;
  return static_cast<unsigned long long>(device);
}

/// Makes the device's primary context current for its lifetime. A synchronization of the primary context also waits
/// for the other contexts of the device.
class InPrimaryContext {
public:
  explicit InPrimaryContext(int device)
  {
    using Get = int (*)(void** context);
    static const auto get = driver_function<Get>("cuCtxGetCurrent");
    if (!get || get(&before_) != 0) before_ = nullptr;
    if (!before_ && cudaGetDevice(&device_before_) != cudaSuccess) device_before_ = -1;
    if (cudaSetDevice(device) != cudaSuccess) (void)cudaGetLastError();
    void* now = nullptr;
    came_from_another_ = before_ && get(&now) == 0 && now != before_;
  }
  bool came_from_another() const { return came_from_another_; }
  InPrimaryContext(const InPrimaryContext&) = delete;
  InPrimaryContext& operator=(const InPrimaryContext&) = delete;
  ~InPrimaryContext()
  {
    using Set = int (*)(void* context);
    static const auto set = driver_function<Set>("cuCtxSetCurrent");
    if (before_ && set) (void)set(before_);
    else if (device_before_ >= 0) (void)cudaSetDevice(device_before_);
  }

private:
  void* before_ = nullptr;
  int device_before_ = -1;
  bool came_from_another_ = false;
};

}  // namespace syncfree::cuda
