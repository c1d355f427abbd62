#pragma once

/// Strategy `wavefront`: where a compute warp puts the values that the pencil group after it reads.

#include "cuda/solve/wavefront/layout.cuh"
#include "cuda/sync/publisher.cuh"

namespace syncfree::cuda {

/// A stack that holds the rows of all steps, in shared memory or the mailbox.
template <class N, Stencil reads> class WholeStack {
  using Form = PencilForm<reads>;

public:
  class Chunk {
  public:
    explicit __device__ Chunk(const Publisher<N, true>& rows) : rows_(rows) {}
    __device__ void put_if(bool wanted, int e, const N& v) const { rows_.put_if(wanted, e * Form::stack_width, v); }

  private:
    const Publisher<N, true> rows_;
  };

  ///   first   place of the first row
  ///   column  of this lane
  __device__ WholeStack(typename SentinelValue<N>::word* first, unsigned column) : first_(first), column_(column) {}

  /// Returns where the values of the steps of chunk q go.
  __device__ Chunk begin_chunk(unsigned q) const
  {
    return Chunk(first_.from(q * chunk_steps * Form::stack_width + column_));
  }

private:
  const Publisher<N, true> first_;
  const unsigned column_;
};

/// A stack in shared memory that is a ring (StackRing), or the mailbox, which holds all rows. The first `stack_delay`
/// rows, which nothing reads, are left out.
template <class N, Stencil reads> class RingStack {
  using Form = PencilForm<reads>;
  using Ring = StackRing<reads>;
  using word = typename SentinelValue<N>::word;
  static constexpr int width = Form::stack_width, delay = Form::stack_delay;
  static constexpr unsigned words = chunk_steps * width * SentinelValue<N>::words;  ///< of a chunk
  static_assert(delay <= chunk_steps);

public:
  class Chunk {
  public:
    __device__ Chunk(word* before, word* now, bool has_before) : before_(before), now_(now), has_before_(has_before) {}
    __device__ void put_if(bool wanted, int e, const N& v) const
    {
      if (e < delay) before_.put_if(wanted && has_before_, (e + chunk_steps - delay) * width, v);
      else now_.put_if(wanted, (e - delay) * width, v);
    }

  private:
    const Publisher<N, true> before_, now_;
    const bool has_before_;
  };

  ///   first     place of the first row that is read
  ///   released  number of chunks whose rows their reader has released; nullptr: all rows have a place
  __device__ RingStack(word* first, unsigned column, const SharedCounter* released)
      : first_(first + column * SentinelValue<N>::words),
        end_(released ? first_ + Ring::chunks * words : nullptr),
        next_(first_),
        released_(released),
        room_(released ? Ring::chunks : ~0u)
  {
  }

  /// Returns where the values of the steps of the next chunk, q, go. Waits until that place is free. Called by a warp.
  __device__ Chunk begin_chunk(unsigned q)
  {
    if (q >= room_) await_room(q);
    word* const before = now_;
    now_ = next_;
    next_ += words;
    if (next_ == end_) next_ = first_;
    return Chunk(before, now_, q > 0);
  }

private:
  /// The transfer warp of the group that reads watches the deadline, and then ends that group's waits.
  __device__ void await_room(unsigned q)
  {
    SYNCFREE_MAY_NANOSLEEP
    do {
      __nanosleep(100);  // the group that reads has a whole ring before it
      room_ = __reduce_min_sync(~0u, released_->read_count()) + Ring::chunks;  // the same in all lanes
    } while (q >= room_);
  }

  word *const first_, *const end_;
  word *now_ = nullptr, *next_;  ///< this lane's places in the current chunk's first row, and in the next one's
  const SharedCounter* const released_;
  unsigned room_;  ///< number of chunks that have a place
};

}  // namespace syncfree::cuda
