#pragma once

/// Strategy `wavefront`: how a polling warp copies ghosts from the mailbox to ghost buffers.

#include "cuda/base/scalar.cuh"
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

/// Fetches all their values, polling for the next one of each concurrently.
template <class N, int count, class Box>
__device__ void fetch_ghost_values(GhostFetch<N> (&fetch)[count], const Box& box)
{
  const auto done = [&] {
    bool all = true;
    for (const auto& f : fetch) all = all && f.is_done();
    return all;
  };
  const auto look = [&] {
#pragma unroll
    for (auto& f : fetch) f.poll_next(box);
#pragma unroll
    for (auto& f : fetch) f.take_next(box);
  };
  SYNCFREE_MAY_NANOSLEEP
  for (BoundedWait wait; !done();) {
    look();
    if (!wait.is_over()) continue;
    for (auto& f : fetch) f.give_up_next();
  }
}

}  // namespace syncfree::cuda
