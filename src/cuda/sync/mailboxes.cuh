#pragma once

/// Global memory by which rows of one launch pass values, and its clearing for the next launch.

#include <cstddef>

#include "cuda/base/multivector.cuh"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/cuda/ready/sentinel.cuh"

namespace syncfree::cuda {

/// Memory of mailboxes of n slots each, for all launches.
template <class N, int boxes> class MailboxMemory {
public:
  explicit MailboxMemory(std::size_t n) : words_(boxes * SentinelValue<N>::words * n, 0xff) {}
  typename SentinelValue<N>::word* mailbox_view() const { return words_.data(); }
  std::size_t mailbox_bytes() const { return words_.bytes(); }

private:
  ResettableArray<typename SentinelValue<N>::word> words_;
};

/// Passes sentinel values. There are two mailboxes of n slots, used alternately: while a launch fills one, each row
/// clears its slot in the other for the next launch.
template <class N> class DoubleBufferedMailbox {
public:
  using Mail = SentinelValue<N>;
  using Polled = N;
  using Memory = MailboxMemory<N, 2>;
  using View = typename Mail::word*;

  /// Slot 0 is value `first` of all n.
  __device__ DoubleBufferedMailbox(View memory, std::size_t n, unsigned long long launch, std::size_t first = 0)
      : mail_(memory + ((launch & 1) * n + first) * Mail::words),
        next_(memory + ((~launch & 1) * n + first) * Mail::words)
  {
  }
  __device__ Polled poll_slot(std::size_t slot) const { return Mail::poll(mail_ + Mail::words * slot); }
  __device__ bool has_arrived(const Polled& seen) const { return Mail::arrived(seen); }
  __device__ void settle() const {}
  __device__ N take_value(std::size_t, const Polled& seen) const { return seen; }
  __device__ void prepare_slot(std::size_t slot) const { Mail::clear(next_ + Mail::words * slot); }
  __device__ void publish_value(std::size_t slot, const N& v) const { Mail::publish(mail_ + Mail::words * slot, v); }
  __device__ typename Mail::word* slot_at(std::size_t slot) const { return mail_ + Mail::words * slot; }

private:
  View mail_, next_;
};

/// Passes sentinel values with one mailbox. Each value has one reader, which clears its slot for the next launch.
template <class N> class SingleReaderMailbox {
public:
  using Mail = SentinelValue<N>;
  using Memory = MailboxMemory<N, 1>;
  using View = typename Mail::word*;

  /// Slot 0 is value `first` of all.
  __device__ SingleReaderMailbox(View memory, std::size_t first) : mail_(memory + first * Mail::words) {}
  __device__ N poll_slot(std::size_t slot) const { return Mail::poll(slot_at(slot)); }
  __device__ bool has_arrived(const N& seen) const { return Mail::arrived(seen); }
  __device__ N take_value(std::size_t slot, const N& seen) const
  {
    Mail::clear(slot_at(slot));
    return seen;
  }
  __device__ typename Mail::word* slot_at(std::size_t slot) const { return mail_ + Mail::words * slot; }

private:
  View mail_;
};

/// Passes values with a flag next to each, which then holds the launch's number, from 1.
template <class N> class FlaggedMailbox {
public:
  using Polled = unsigned;
  struct View {
    unsigned* ready;
    N* number;
  };

  class Memory {
  public:
    explicit Memory(std::size_t n) : ready_(n, 0), number_(n) {}
    View mailbox_view() const { return {ready_.data(), number_.data()}; }
    std::size_t mailbox_bytes() const { return ready_.bytes() + number_.bytes(); }

  private:
    ResettableArray<unsigned> ready_;
    DeviceArray<N> number_;
  };

  __device__ FlaggedMailbox(const View& memory, std::size_t, unsigned long long launch)
      : memory_(memory), launch_(static_cast<unsigned>(launch + 1))
  {
  }
  __device__ Polled poll_slot(std::size_t slot) const { return load_relaxed(memory_.ready + slot); }
  __device__ bool has_arrived(Polled seen) const { return seen == launch_; }
  __device__ void settle() const { fence_acquire(); }
  __device__ N take_value(std::size_t slot, Polled) const { return memory_.number[slot]; }
  __device__ void prepare_slot(std::size_t) const {}
  __device__ void publish_value(std::size_t slot, const N& v) const
  {
    memory_.number[slot] = v;
    store_release(memory_.ready + slot, launch_);
  }

private:
  View memory_;
  unsigned launch_;
};

/// Launches of several columns that are passed on through these.
template <class T> using ValueLaunches = ColumnLaunches<T, ColumnPackOf<T>, DoubleBufferedMailbox>;

}  // namespace syncfree::cuda
