#pragma once

/// Strategy `wavefront`: how a polling warp copies ghosts from the mailbox to ghost buffers.

#include "cuda/base/scalar.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

/// The values that a lane copies to a ghost buffer, from mailbox slots with the same indices, counted from `first`.
template <class N> class GhostFetch {
public:
  /// Covers every 32nd value in one of `parts` interleaved parts of the values [begin, end) of the buffer.
  __device__ GhostFetch(N* buffer, unsigned begin, unsigned end, std::size_t first, unsigned part, unsigned parts)
      : buffer_(buffer), first_(first), next_(begin + part * 32 + threadIdx.x % 32), end_(end), stride_(parts * 32)
  {
  }

  __device__ bool is_done() const { return next_ >= end_; }
  template <class Box> __device__ void poll_next(const Box& box)
  {
    if (!is_done()) seen_ = box.poll_slot(first_ + next_);
  }
  __device__ bool polls() const { return !is_done(); }
  template <class Box> __device__ void take_next(const Box& box)
  {
    if (is_done() || !box.has_arrived(seen_)) return;
    const N v = box.take_value(first_ + next_, seen_);
    if (!drops_publication()) SharedSentinelValue<N>::store_shared(buffer_ + next_, v);
    next_ += stride_;
  }
  /// Stores NaN for the value that it waits for, which will not arrive.
  __device__ void give_up_next()
  {
    if (is_done()) return;
    SharedSentinelValue<N>::store_shared(buffer_ + next_, quiet_nan<N>());
    next_ += stride_;
  }

private:
  N* const buffer_;
  const std::size_t first_;
  unsigned next_;
  const unsigned end_, stride_;
  N seen_;
};

/// GhostFetch for a buffer that is a ring of `places` values, of which its reader releases `chunk` at a time.
template <class N, unsigned places, unsigned chunk> class RingFetch {
public:
  /// Covers values [0, end).
  ///   released  number of chunks that the reader has released
  __device__ RingFetch(N* buffer, const SharedCounter* released, unsigned end, std::size_t first, unsigned part,
                       unsigned parts)
      : buffer_(buffer),
        released_(released),
        first_(first),
        next_(part * 32 + threadIdx.x % 32),
        end_(end),
        stride_(parts * 32)
  {
  }

  __device__ bool is_done() const { return next_ >= end_; }
  template <class Box> __device__ void poll_next(const Box& box)
  {
    polls_ = !is_done() && has_room();
    if (polls_) seen_ = box.poll_slot(first_ + next_);
  }
  /// False while the next value has no place.
  __device__ bool polls() const { return polls_; }
  template <class Box> __device__ void take_next(const Box& box)
  {
    if (!polls_ || !box.has_arrived(seen_)) return;
    const N v = box.take_value(first_ + next_, seen_);
    if (!drops_publication()) SharedSentinelValue<N>::store_shared(buffer_ + next_ % places, v);
    next_ += stride_;
  }
  __device__ void give_up_next()
  {
    if (is_done() || !has_room()) return;
    SharedSentinelValue<N>::store_shared(buffer_ + next_ % places, quiet_nan<N>());
    next_ += stride_;
  }

private:
  __device__ bool has_room()
  {
    if (next_ >= room_) room_ = released_->read_count() * chunk + places;
    return next_ < room_;
  }

  N* const buffer_;
  const SharedCounter* const released_;
  const std::size_t first_;
  unsigned next_, room_ = places;  ///< end of the values that have a place
  const unsigned end_, stride_;
  bool polls_ = false;
  N seen_;
};

/// Fetches all their values, polling for the next one of each concurrently.
///   pauses  sleeps while none of them polls: looks at a ring would take turns from the warps that solve
template <bool pauses, class Box, class... Arrays>
__device__ void fetch_ghost_values(const Box& box, Arrays&... arrays)
{
  const auto for_all = [&](auto body) {
    const auto of_array = [&](auto& array) {
#pragma unroll
      for (auto& fetch : array) body(fetch);
    };
    (of_array(arrays), ...);
  };
  const auto done = [&] {
    bool all = true;
    for_all([&](const auto& fetch) { all = all && fetch.is_done(); });
    return all;
  };
  SYNCFREE_MAY_NANOSLEEP
  for (BoundedWait wait; !done();) {
    bool polls = false;
    for_all([&](auto& fetch) {
      fetch.poll_next(box);
      if (pauses) polls |= fetch.polls();
    });
    for_all([&](auto& fetch) { fetch.take_next(box); });
    if (pauses && !polls) __nanosleep(200);
    if (!wait.is_over()) continue;
    for_all([](auto& fetch) { fetch.give_up_next(); });
  }
}

}  // namespace syncfree::cuda
