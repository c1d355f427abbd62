#pragma once

/// The launches by which `merged` takes new values, recorded as a graph when they are the same for the second time. Of
/// a small factor they take the host longer than the device, which meanwhile factors.

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "cuda/backend/pair_update.hpp"
#include "cuda/base/graph_recording.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/factor/factor.hpp"
#include "syncfree/cuda/detail/context.hpp"

namespace syncfree::cuda {

template <class T, class I> class RecordedUpdate {
public:
  /// Queues the update that follows a factorization which is queued, and what tells its outcome. Returns false if there
  /// are no slow launches, or if they cannot be recorded or launched as a graph: then they are to be queued as ever.
  ///   update  of L's and U's solvers, which had values before, so that their plans are not pending; the arrays of the
  ///           factor are the same in each call
  bool queue(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, cudaStream_t stream)
  {
    if (refused_ || !update.is_slow()) return false;
    try {
      if (!recording_ || revisions_ != update.revisions() || context_ != context_at_hand()) record(factor, update);
      bool tells = true;
      recording_->launch(stream, [&](cudaStream_t) { update.queue(), tells = false; });
      if (tells) factor->expect_outcome();
      return true;
    } catch (const Failure&) {
      (void)cudaGetLastError();
    } catch (const std::bad_alloc&) {
    }
    recording_.reset();
    refused_ = true;
    return false;
  }

private:
  /// Nothing waits for the outcome to be told, nor L for U.
  void record(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update)
  {
    std::optional<ForkedStream> told, of_U;  // no other object may have their streams before the capture ends
    { const Stream one, two, three; }        // made now, if there are none: creating a stream waits for the device
    recording_.emplace().make([&](cudaStream_t stream) {
      told.emplace(stream), of_U.emplace(stream);
      factor->tell_outcome(told->get());
      update.queue_in(stream, of_U->get());
      of_U->join(), told->join();
    });
    revisions_ = update.revisions(), context_ = context_at_hand();
  }

  std::optional<GraphRecording> recording_;
  std::pair<std::uint64_t, std::uint64_t> revisions_;  ///< of the solvers that were recorded
  unsigned long long context_ = 0;
  bool refused_ = false;
};

}  // namespace syncfree::cuda
