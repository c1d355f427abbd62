#pragma once

/// The host's side of waits on the device: their limit, whether a launch gave up (syncfree/cuda/ready/ticket.cuh),
/// and the memory that must then be reset to its state before the first launch.

#include <cuda_runtime_api.h>

#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/mapped_word.hpp"
#include "syncfree/cuda/detail/ticket_counter.hpp"
#include "syncfree/ready.hpp"
#include "syncfree/status.hpp"
#include "syncfree/wait_limit.hpp"

namespace syncfree::cuda {

/// The waits of an object of the public interface. Its parts, when they are constructed, get it with at_hand() from
/// the constructing thread and keep it alive.
class WaitMonitor {
public:
  WaitMonitor() : record_(take_record())
  {
    const std::lock_guard<std::mutex> lock(all_monitors().mutex);
    at_ = all_monitors().watches.insert(all_monitors().watches.end(), this);
  }
  WaitMonitor(const WaitMonitor&) = delete;
  ~WaitMonitor()
  {
    {
      const std::lock_guard<std::mutex> lock(all_monitors().mutex);
      all_monitors().watches.erase(at_);
    }
    if (record_) MappedLinePool::of_process().return_line(record_);
  }

  /// Returns the monitor of this thread's current call, otherwise a new one.
  static std::shared_ptr<WaitMonitor> at_hand()
  {
    return current() ? *current() : std::make_shared<WaitMonitor>();
  }

  /// Makes a monitor the current one of this thread for its lifetime.
  class Use {
  public:
    explicit Use(const std::shared_ptr<WaitMonitor>& watch) : before_(std::exchange(current(), &watch)) {}
    Use(const Use&) = delete;
    ~Use() { current() = before_; }

  private:
    const std::shared_ptr<WaitMonitor>* const before_;
  };

  /// Sets the limit of counters made from now on, in seconds; 0: no limit. SYNCFREE_WAIT_LIMIT overrides it
  /// (wait_limit.hpp); both throw Failure if that is not a number.
  void set_limit(double seconds)
  {
    limit_ = seconds;
    (void)limit();
  }
  double limit() const
  {
    double seconds = 0;
    const Status status = wait_limit_in_force(limit_, &seconds);
    if (!status.ok()) throw Failure{status};
    return record_ ? seconds : 0;
  }
  WaitRecord* record() const { return record_; }

  /// True if a launch that gave up has ended. Neither waits nor asks the device.
  bool has_failed() const { return record_ && load_published(&record_->row) != 0; }

  /// Returns the failure that has_failed() reports. Waits for the device, then resets all kept memory to its state
  /// before the first launch; while the stream is being captured the next call does that instead.
  Status take_failure(cudaStream_t stream)
  {
    const unsigned long long row = load_published(&record_->row);  // before the name, which was written before it
    Status status = failed(Code::wait_expired, static_cast<std::int64_t>(row) - 1);
    const volatile WaitRecord* const seen = record_;
    if (const char* const name = reinterpret_cast<const char*>(seen->name)) status.detail = name;
    try {
      status.value = limit();
      cudaStreamCaptureStatus captured;
      SYNCFREE_CUDA(cudaStreamIsCapturing(stream, &captured));
      if (captured == cudaStreamCaptureStatusNone) begin_again();
    } catch (const Failure& failure) {
      status.detail += "; " + failure.status.message();
    }
    return status;
  }

  /// Device memory that a launch leaves for the next one: a TicketCounter of the name `counter`, or else filled with
  /// `byte`.
  struct Kept {
    void* data;
    std::size_t bytes;
    int byte;
    const char* counter;
  };

  /// Registers such memory for its lifetime.
  class Note {
  public:
    Note() = default;
    Note(std::shared_ptr<WaitMonitor> watch, const Kept& kept) : watch_(std::move(watch))
    {
      const std::lock_guard<std::mutex> lock(watch_->mutex_);
      at_ = watch_->kept_.insert(watch_->kept_.end(), kept);
    }
    Note(Note&& other) noexcept : watch_(std::move(other.watch_)), at_(other.at_) {}
    Note& operator=(Note&& other) noexcept
    {
      std::swap(watch_, other.watch_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~Note()
    {
      if (!watch_) return;
      const std::lock_guard<std::mutex> lock(watch_->mutex_);
      watch_->kept_.erase(at_);
    }
    /// Resets it to its first state, on the null stream.
    void restart() const { watch_->restart(*at_); }

  private:
    std::shared_ptr<WaitMonitor> watch_;
    std::list<Kept>::iterator at_;
  };

  /// Makes the next launch with a counter of that name, of any object, omit its n-th publication. For tests of
  /// kernels compiled with SYNCFREE_TEST_HOOKS. Returns the number of counters.
  static int drop_publication(const char* name, unsigned n)
  {
    const std::lock_guard<std::mutex> lock(all_monitors().mutex);
    int found = 0;
    for (WaitMonitor* watch : all_monitors().watches) {
      const std::lock_guard<std::mutex> its_lock(watch->mutex_);
      for (const Kept& kept : watch->kept_) {
        if (!kept.counter || std::strcmp(kept.counter, name) != 0) continue;
        SYNCFREE_CUDA(cudaMemcpy(&static_cast<TicketCounter*>(kept.data)->drop, &n, sizeof n, cudaMemcpyHostToDevice));
        ++found;
      }
    }
    return found;
  }

private:
  struct All {
    std::mutex mutex;
    std::list<WaitMonitor*> watches;
  };
  static All& all_monitors()
  {
    static All& all = *new All;
    return all;
  }

  static const std::shared_ptr<WaitMonitor>*& current()
  {
    thread_local const std::shared_ptr<WaitMonitor>* watch = nullptr;
    return watch;
  }

  /// Returns nullptr if there is no memory for it: waits have no limit then.
  static WaitRecord* take_record()
  {
    static_assert(sizeof(WaitRecord) <= MappedLinePool::bytes_of_line);
    void* line = nullptr;
    if (MappedLinePool::of_process().take_line(&line) == cudaSuccess) return new (line) WaitRecord();
    (void)cudaGetLastError();
    return nullptr;
  }

  void restart(const Kept& kept) const
  {
    if (!kept.counter) {
      if (kept.bytes) SYNCFREE_CUDA(cudaMemsetAsync(kept.data, kept.byte, kept.bytes, nullptr));
      return;
    }
    TicketCounter first = {};
    first.limit = static_cast<unsigned long long>(limit() * 1e9);
    first.name = kept.counter;
    first.record = record_;
    SYNCFREE_CUDA(cudaMemcpyAsync(kept.data, &first, sizeof first, cudaMemcpyHostToDevice, nullptr));
  }

  void begin_again()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    SYNCFREE_CUDA(MemoryPool::wait_for_device());
    for (const Kept& kept : kept_) restart(kept);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    *static_cast<volatile unsigned long long*>(&record_->row) = 0;
  }

  WaitRecord* const record_;
  std::list<WaitMonitor*>::iterator at_;
  double limit_ = 60;
  std::mutex mutex_;
  std::list<Kept> kept_;
};

/// A DeviceArray that a launch leaves for the next one. It is filled on the null stream, which the caller must wait
/// for.
template <class V> class ResettableArray {
public:
  ResettableArray() = default;
  ResettableArray(std::size_t size, int byte)
      : array_(size), note_(WaitMonitor::at_hand(), {data(), bytes(), byte, nullptr})
  {
    note_.restart();
  }
  V* data() const { return array_.data(); }
  std::size_t size() const { return array_.size(); }
  std::size_t bytes() const { return array_.bytes(); }

private:
  DeviceArray<V> array_;
  WaitMonitor::Note note_;
};

/// The ticket counter of a kernel's launches, reset like a ResettableArray.
///   name  the strategy, for messages; lives as long as the process
class TicketCounterMemory {
public:
  explicit TicketCounterMemory(const char* name)
      : array_(1), note_(WaitMonitor::at_hand(), {data(), array_.bytes(), 0, name})
  {
    restart();
  }
  TicketCounter* data() const { return array_.data(); }
  std::size_t counter_bytes() const { return array_.bytes(); }
  /// Resets it to its state before the first launch.
  void restart() const { note_.restart(); }

private:
  DeviceArray<TicketCounter> array_;
  WaitMonitor::Note note_;
};

}  // namespace syncfree::cuda
