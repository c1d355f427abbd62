#pragma once

/// A private stream, which waits for no other. Creating a stream waits for the device, so unused streams are kept.

#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "syncfree/cuda/detail/context.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// `first`: work in the stream starts before work that others have queued and that has not started; otherwise the
/// remaining thread blocks of a kernel larger than the device would come first.
enum class StreamPriority { ordinary, first };

/// Unused streams by context and priority, for the lifetime of the process.
class IdleStreams {
public:
  static IdleStreams& of_process()
  {
    static IdleStreams& streams = *new IdleStreams;
    return streams;
  }

  cudaStream_t take_stream(unsigned long long context, StreamPriority urgency)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::vector<cudaStream_t>& idle = idle_[{context, urgency}];
      if (!idle.empty()) {
        const cudaStream_t stream = idle.back();
        idle.pop_back();
        return stream;
      }
    }
    int least, greatest;
    cudaStream_t stream;
    SYNCFREE_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    const int priority = urgency == StreamPriority::first ? greatest : least;
    SYNCFREE_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
    return stream;
  }

  void return_stream(unsigned long long context, StreamPriority urgency, cudaStream_t stream) noexcept
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_[{context, urgency}].push_back(stream);
  } catch (const std::bad_alloc&) {
    (void)cudaStreamDestroy(stream);
  }

private:
  IdleStreams() = default;

  std::mutex mutex_;
  std::map<std::pair<unsigned long long, StreamPriority>, std::vector<cudaStream_t>> idle_;
};

class Stream {
public:
  explicit Stream(StreamPriority urgency = StreamPriority::ordinary)
      : context_(context_at_hand()), urgency_(urgency),
        stream_(IdleStreams::of_process().take_stream(context_, urgency_))
  {
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { IdleStreams::of_process().return_stream(context_, urgency_, stream_); }
  cudaStream_t get() const { return stream_; }
  void wait() const { SYNCFREE_CUDA(cudaStreamSynchronize(stream_)); }

private:
  unsigned long long context_;
  StreamPriority urgency_;
  cudaStream_t stream_;
};

class StreamEvent {
public:
  StreamEvent() { SYNCFREE_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  StreamEvent(const StreamEvent&) = delete;
  ~StreamEvent() { (void)cudaEventDestroy(event_); }
  void record(cudaStream_t stream) const { SYNCFREE_CUDA(cudaEventRecord(event_, stream)); }
  void await_in(cudaStream_t stream) const { SYNCFREE_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }

private:
  cudaEvent_t event_ = nullptr;
};

/// What is queued in `second` from now on waits for what is queued in `first`.
inline void follow_stream(cudaStream_t first, cudaStream_t second)
{
  const StreamEvent passed;
  passed.record(first);
  passed.await_in(second);
}

/// A branch: continues from the current end of another stream and runs concurrently with it, until that stream waits
/// in join() or the branch is destroyed.
class ForkedStream {
public:
  explicit ForkedStream(cudaStream_t trunk) : trunk_(trunk) { follow(trunk_, own_.get()); }
  ForkedStream(const ForkedStream&) = delete;
  ~ForkedStream()
  {
    if (joined_) return;
    try {
      join();
    } catch (const Failure&) {
    }
  }
  cudaStream_t get() const { return own_.get(); }
  void join()
  {
    joined_ = true;
    follow(own_.get(), trunk_);
  }

private:
  void follow(cudaStream_t first, cudaStream_t second) const
  {
    passed_.record(first);
    passed_.await_in(second);
  }

  Stream own_;
  StreamEvent passed_;
  cudaStream_t trunk_;
  bool joined_ = false;
};

}  // namespace syncfree::cuda
