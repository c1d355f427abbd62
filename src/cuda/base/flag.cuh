#pragma once

/// A flag that kernels set and the host reads after they have ended.

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {

/// Sets the flag; called by any thread at any time. No store if it is already set: many stores to one address
/// serialize.
inline __device__ void set_flag_once(unsigned* flag)
{
  if (load_relaxed(flag) == 0) store_relaxed(flag, 1);
}

class Flag {
public:
  explicit Flag(cudaStream_t stream = nullptr) : word_(1), stream_(stream) { word_.fill(0, stream); }
  unsigned* data() const { return word_.data(); }
  /// Waits for the stream.
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
