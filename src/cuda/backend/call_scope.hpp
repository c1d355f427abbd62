#pragma once

/// Common handling of calls to the objects of this backend: order between streams, failures as Status, waits of kernels
/// that were given up, copies for callers with host memory.

#include <cuda_runtime_api.h>

#include <memory>
#include <new>

#include "cuda/base/captured_solves.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// Orders calls on different streams. Calls that are captured are not ordered: the caller arranges when a graph runs.
/// Streams are compared by their ids, because CUDA reuses handles.
class StreamOrder {
public:
  StreamOrder() = default;
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  ~StreamOrder() { forget(); }

  void begin_call(cudaStream_t stream)
  {
    captured_ = false;
    cudaStreamCaptureStatus status;
    SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &status));
    captured_ = status != cudaStreamCaptureStatusNone;
    if (captured_) return;
    SYNCFREE_CUDA(cudaStreamGetId(stream, &now_));
    if (event_ && now_ != last_) SYNCFREE_CUDA(cudaStreamWaitEvent(stream, event_, 0));
  }
  void end_call(cudaStream_t stream)
  {
    if (captured_) return;
    if (!event_) SYNCFREE_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    last_ = now_;
    if (cudaEventRecord(event_, stream) == cudaSuccess) return;
    (void)cudaGetLastError();  // the stream may belong to another context than the event: then wait instead
    forget();
    SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  }
  /// Calls end_call() after a call that failed; its own errors are dropped, as the first one is the cause.
  void end_failed(cudaStream_t stream)
  {
    try {
      end_call(stream);
    } catch (const Failure&) {
    }
  }
  /// True if the stream of the current call is being captured.
  bool captured() const { return captured_; }

private:
  void forget()
  {
    if (event_) (void)cudaEventDestroy(event_);
    event_ = nullptr;
  }

  cudaEvent_t event_ = nullptr;
  unsigned long long last_ = 0, now_ = 0;
  bool captured_ = false;
};

/// Device arrays for callers with host memory, allocated when first needed.
template <class T> struct Copies {
  DeviceArray<T> A_value, b, x;

  std::size_t copied_bytes() const { return A_value.bytes() + b.bytes() + x.bytes(); }
};

/// Memory type and stream of the following calls, and the checks before and after each call.
class CallScope {
public:
  /// Sets both. Rejected while a call is in progress; the next one reports it.
  void use(Memory memory, void* stream)
  {
    busy_.set_alone([&] {
      memory_ = memory;
      stream_ = static_cast<cudaStream_t>(stream);
    });
  }
  cudaStream_t stream() const { return stream_; }
  bool on_device() const { return memory_ == Memory::device; }

  /// Sets the wait limit, in seconds, of the kernels of plans made from now on. Call it in a body of in_order().
  void limit_waits(double seconds) { watch_->set_limit(seconds); }

  /// Rows of kernels are those of dense blocks.
  void count_block_rows() { block_rows_ = true; }

  CapturedSolves& captures() { return captures_; }
  const CapturedSolves& captures() const { return captures_; }

  /// Runs the body for one thread at a time. Before it does anything, it reports a concurrent call, or a replay that
  /// was void. Otherwise returns the body's Status.
  template <class Body> Status alone(Body body)
  {
    return busy_.execute_alone([&]() -> Status {
      const Status stale = captures_.check_captures();
      return stale.ok() ? body() : stale;
    });
  }

  /// Runs the body in stream order and converts what it throws to a Status; fails if the stream is being captured.
  template <class Body> Status in_order(Body body)
  {
    return watched([&]() -> Status {
      if (order_.captured()) return failed(Code::invalid_argument, "only solves and sweeps can be captured");
      return body();
    });
  }

  template <class Body> Status execute(Body body)
  {
    return alone([&] { return in_order(body); });
  }

  /// As execute(), for a solve or a sweep, which may be captured; the body ends with end_solve().
  template <class Body> Status execute_solve(Body body)
  {
    return alone([&] {
      return watched([&]() -> Status {
        if (order_.captured() && !on_device())
          return failed(Code::invalid_argument, "only calls with device memory can be captured");
        return body();
      });
    });
  }
  /// Marks the values as valid for replays. Called after a refresh in stream order.
  Status bring_numbers()
  try {
    captures_.bring_numbers(stream_);
    return {};
  } catch (const Failure& failure) {
    return failure.status;
  }

  /// Called after x has been filled: `columns` columns of n entries, `leading` entries apart.
  template <class T> Status end_solve(T* x, std::size_t n, std::size_t leading = 0, int columns = 1)
  {
    if (order_.captured()) captures_.end_captured({x, n, leading, columns, sizeof(T)}, stream_);
    return {};
  }

  /// Returns the values of A in device memory.
  template <class T> const T* values(Copies<T>* copies, const T* value, std::size_t nnz) const
  {
    return memory_ == Memory::device ? value : to_device(&copies->A_value, value, nnz);
  }

  /// Calls body(b, x) with device pointers to n > 0 values each. Host vectors are copied to the device and back; x is
  /// copied to the device only if the body reads it.
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
  /// If a wait of an earlier call was given up, the body is not run; if one of this call is known to have been given
  /// up, that is reported.
  template <class Body> Status watched(Body body)
  {
    Status status = in_order_or_captured([&]() -> Status {
      if (!watch_) watch_ = std::make_shared<WaitMonitor>();
      if (watch_->has_failed()) return take_failure();
      const WaitMonitor::Use use(watch_);
      return body();
    });
    const bool failed_now = watch_ && watch_->has_failed() && status.code != Code::wait_expired;
    return failed_now ? take_failure() : status;
  }

  Status take_failure()
  {
    Status status = watch_->take_failure(stream_);
    status.block_row = block_rows_ && status.row >= 0;
    return status;
  }

  template <class Body> Status in_order_or_captured(Body body)
  try {
    order_.begin_call(stream_);
    Status status = body();
    order_.end_call(stream_);
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
  std::shared_ptr<WaitMonitor> watch_;  ///< made when first needed: it uses the device
  CapturedSolves captures_;
  CallGuard busy_;
  bool block_rows_ = false;
};

}  // namespace syncfree::cuda
