#pragma once

/// What every object that callers hold does around its calls: order between streams, failures as Status, waits of
/// kernels that were given up, copies for callers with host memory.

#include <cuda_runtime_api.h>

#include <memory>
#include <new>

#include "syncfree/cuda.hpp"
#include "syncfree/cuda/device.hpp"
#include "syncfree/cuda/wait_watch.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// Puts calls on different streams in order. Calls that are captured have no place in that order: when a graph runs is
/// for the caller to arrange.
class StreamOrder {
public:
  ~StreamOrder()
  {
    if (event_) (void)cudaEventDestroy(event_);
  }
  void begin(cudaStream_t stream)
  {
    if (event_ && stream != last_ && !captured(stream)) SYNCFREE_CUDA(cudaStreamWaitEvent(stream, event_, 0));
  }
  void end(cudaStream_t stream)
  {
    if (captured(stream)) return;
    if (!event_) SYNCFREE_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    SYNCFREE_CUDA(cudaEventRecord(event_, stream));
    last_ = stream;
  }
  /// Behind a failure, of which the first tells most.
  void end_failed(cudaStream_t stream)
  {
    try {
      end(stream);
    } catch (const Failure&) {
    }
  }

private:
  static bool captured(cudaStream_t stream)
  {
    cudaStreamCaptureStatus status;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &status));
    return status != cudaStreamCaptureStatusNone;
  }

  cudaEvent_t event_ = nullptr;
  cudaStream_t last_ = nullptr;
};

/// Arrays of the device for callers with host memory, made when first needed.
template <class T> struct Copies {
  DeviceArray<T> A_value, b, x;

  std::size_t bytes() const { return A_value.bytes() + b.bytes() + x.bytes(); }
};

/// Where the arrays of the calls to come are.
class Calls {
public:
  void use(Memory memory, void* stream)
  {
    memory_ = memory;
    stream_ = static_cast<cudaStream_t>(stream);
  }
  cudaStream_t stream() const { return stream_; }
  bool on_device() const { return memory_ == Memory::device; }

  /// Of the kernels of plans that are made from now on, in seconds; in a body of run().
  void limit_waits(double seconds) { watch_->set_limit(seconds); }

  /// Runs the body in the stream's order and turns what it throws into a Status. Where a wait of an earlier call was
  /// given up the body is not run, and where one of this call is known to have been, that is what it reports.
  template <class Body> Status run(Body body)
  {
    Status status = run_unwatched([&]() -> Status {
      if (!watch_) watch_ = std::make_shared<WaitWatch>();
      if (watch_->has_failed()) return watch_->take_failure(stream_);
      const WaitWatch::Use use(watch_);
      return body();
    });
    return watch_ && watch_->has_failed() && status.code != Code::wait_expired ? watch_->take_failure(stream_) : status;
  }

  /// The values of A in device memory.
  template <class T> const T* values(Copies<T>* copies, const T* value, std::size_t nnz) const
  {
    return memory_ == Memory::device ? value : to_device(&copies->A_value, value, nnz);
  }

  /// body(b, x) with device pointers to n > 0 numbers each; host vectors are copied there and back, x only back unless
  /// the body reads it.
  template <class T, class Body>
  void with_vectors(Copies<T>* copies, std::size_t n, bool reads_x, const T* b, T* x, Body body) const
  {
    if (memory_ == Memory::device) return body(b, x);
    const T* from = to_device(&copies->b, b, n);
    if (reads_x) to_device(&copies->x, x, n);
    if (copies->x.empty()) copies->x = DeviceArray<T>(n);
    body(from, copies->x.data());
    copies->x.read(x, 0, n, stream_);
  }

private:
  template <class Body> Status run_unwatched(Body body)
  try {
    order_.begin(stream_);
    Status status = body();
    order_.end(stream_);
    return status;
  } catch (const Failure& failure) {
    order_.end_failed(stream_);
    return failure.status;
  } catch (const std::bad_alloc&) {
    order_.end_failed(stream_);
    return failed(Code::out_of_memory);
  }

  template <class T> const T* to_device(DeviceArray<T>* array, const T* from, std::size_t size) const
  {
    if (array->empty()) *array = DeviceArray<T>(size);
    if (size) SYNCFREE_CUDA(cudaMemcpyAsync(array->data(), from, array->bytes(), cudaMemcpyHostToDevice, stream_));
    return array->data();
  }

  Memory memory_ = Memory::host;
  cudaStream_t stream_ = nullptr;
  StreamOrder order_;
  std::shared_ptr<WaitWatch> watch_;  ///< when first needed: it touches the device
};

}  // namespace syncfree::cuda
