#pragma once

/// A stream of one's own, which waits for no other.

#include "syncfree/cuda/device.hpp"

namespace syncfree::cuda {

class Stream {
public:
  Stream() { SYNCFREE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }
  void wait() const { SYNCFREE_CUDA(cudaStreamSynchronize(stream_)); }

private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace syncfree::cuda
