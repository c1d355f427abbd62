#pragma once

/// Strategy `courier`: the warps that see to the mail.

#include "courier_memory.cuh"

namespace syncfree::cuda {

/// Mail of a bundle, as far as a lane sees to it.
struct BundlePart {
  std::uint32_t layer = 0, end = 0, at = ~0u;
};
template <class M, int size> struct Letters : BundlePart {
  std::uint32_t place[size];
  M value[size];

  /// Those of the next layers.
  __device__ void open(const std::uint32_t* places, const M* values)
  {
    const std::size_t first = static_cast<std::size_t>(layer) * 32 + threadIdx.x % 32;
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const bool live = layer + e < end;
      place[e] = live ? places[first + e * 32] : courier_no_mail;
      if (live) value[e] = values[first + e * 32];
    }
  }
};

/// What has come of them.
template <class N, class M, class Box, int size> struct Arrivals {
  typename Box::Look look[size];

  __device__ void clear()
  {
#pragma unroll
    for (int e = 0; e < size; ++e) look[e] = Box::nothing();
  }

  /// Looks once for all that is missing, and adds it up when nothing is: then true.
  __device__ bool take(const Letters<M, size>& letters, const Box& box, bool conjugate, N* sum)
  {
    bool complete = true;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (letters.place[e] != courier_no_mail && !box.arrived(look[e])) look[e] = box.look(letters.place[e]);
#pragma unroll
    for (int e = 0; e < size; ++e)
      complete = complete && (letters.place[e] == courier_no_mail || box.arrived(look[e]));
    if (!complete) return false;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (letters.place[e] != courier_no_mail) {
        const N v = N(letters.value[e]);
        *sum += product(conjugate ? conjugate_of(v) : v, box.take(letters.place[e], look[e]));
      }
    return true;
  }
};

/// A warp that adds up what comes by mail, a bundle at a time. The next one's first layers are on their way meanwhile,
/// and where those of the one behind it begin.
template <class N, class V, int near, class Box> class Helping {
  using M = Number<V>;
  static constexpr int batch = courier_batch<N, near>;
  using Mail = Letters<M, batch>;

public:
  __device__ Helping(const CourierView<V>& A, const RowBlock& block, const CourierMemory<N, M, near>& memory,
                     const Box& box, bool conjugate)
      : memory_(memory), box_(box), conjugate_(conjugate), first_row_(block.first_row), depth_(A.depth),
        lanes_(A.far_lanes), bundles_(block.bundles), begin_(A.bundle_begin + block.first_bundle),
        position_(A.bundle_position + 32 * block.first_bundle), place_(A.far_place), value_(A.far_value)
  {
  }

  /// Every `helpers`-th bundle, from the helper-th on.
  __device__ void run(unsigned helper, unsigned helpers)
  {
    Mail now, ahead;
    find(&now, helper);
    now.open(place_, value_);
    find(&ahead, helper + helpers);
    for (std::uint32_t bundle = helper; bundle < bundles_; bundle += helpers) {
      ahead.open(place_, value_);
      BundlePart behind;
      find(&behind, bundle + 2 * helpers);
      if (lanes_ == 1) take_alone(&now);
      else take_together(&now);
      now = ahead;
      static_cast<BundlePart&>(ahead) = behind;
    }
  }

private:
  __device__ void find(BundlePart* mail, std::uint32_t bundle) const
  {
    if (bundle >= bundles_) return;
    mail->layer = begin_[bundle];
    mail->end = begin_[bundle + 1];
    mail->at = position_[bundle * 32 + threadIdx.x % 32];
  }

  /// Adds up what is there of a lane's part; true when it is complete.
  __device__ bool go_on(Mail* mail, Arrivals<N, M, Box, batch>* arrivals, N* sum) const
  {
    if (!arrivals->take(*mail, box_, conjugate_, sum)) return false;
    mail->layer += batch;
    if (mail->layer >= mail->end) return true;
    mail->open(place_, value_);
    arrivals->clear();
    return false;
  }

  /// Is the cell free for the row? Asked row by row: the first of them may have to be computed before.
  __device__ bool has_room(const Mail& mail) const
  {
    return mail.at < depth_ * courier_page || memory_.left->reached(mail.at / courier_page - depth_ + 1);
  }

  __device__ void put(const Mail& mail, const N& sum) const
  {
    Tray<N>::put(memory_.mail + (mail.at & (depth_ * courier_page - 1)), sum);
  }

  /// Rows may wait for each other: no lane waits in a loop of its own.
  __device__ void take_alone(Mail* mail) const
  {
    N sum(0);
    Arrivals<N, M, Box, batch> arrivals;
    arrivals.clear();
    bool live = mail->at != ~0u, summed = false;
    for (Spin spin(first_row_); __any_sync(~0u, live); spin.turn()) {
      summed = summed || (live && go_on(mail, &arrivals, &sum));
      const bool complete = live && summed && has_room(*mail);
      if (complete) put(*mail, sum);
      live = live && !complete;
    }
  }

  __device__ void take_together(Mail* mail) const
  {
    const unsigned group = group_of(lanes_);
    N sum(0);
    Arrivals<N, M, Box, batch> arrivals;
    arrivals.clear();
    bool done = mail->at == ~0u, summed = done;
    for (Spin spin(first_row_); !__all_sync(~0u, done); spin.turn()) {
      summed = summed || go_on(mail, &arrivals, &sum);
      const bool complete = (__ballot_sync(~0u, summed) & group) == group && !done && has_room(*mail);
      if (!__any_sync(~0u, complete)) continue;
      N total = sum;
      for (unsigned offset = lanes_ / 2; offset; offset /= 2) total += from_lane(total, static_cast<int>(offset));
      if (complete && threadIdx.x % lanes_ == 0) put(*mail, total);
      done = done || complete;
    }
  }

  const CourierMemory<N, M, near>& memory_;
  const Box& box_;
  const bool conjugate_;
  const long long first_row_;
  const std::uint32_t depth_, lanes_, bundles_;
  const std::uint32_t *begin_, *position_, *place_;
  const M* value_;
};

}  // namespace syncfree::cuda
