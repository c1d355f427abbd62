#pragma once

/// A flag that kernels raise, and that is read when they have ended.

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// By any thread at any time. Who finds it raised leaves it alone: writes of many to one place queue up.
inline __device__ void set_flag_once(unsigned* flag)
{
  if (load_relaxed(flag) == 0) store_relaxed(flag, 1);
}

class Flag {
public:
  explicit Flag(cudaStream_t stream = nullptr) : word_(1), stream_(stream) { word_.fill(0, stream); }
  unsigned* data() const { return word_.data(); }
  /// Waits.
  bool is_raised() const
  {
    unsigned word;
    word_.read(&word, 0, 1, stream_);
    return word != 0;
  }

private:
  DeviceArray<unsigned> word_;
  cudaStream_t stream_;
};

}  // namespace syncfree::cuda
