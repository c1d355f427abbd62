#pragma once

/// The launches of a refresh by `merged`, recorded as a graph when they are the same for the second time. Of a small
/// factor they take the host longer than the device.

#include <cstdint>
#include <optional>
#include <utility>

#include "cuda/backend/pair_update.hpp"
#include "cuda/base/graph_recording.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/factor/factor.hpp"

namespace syncfree::cuda {

template <class T, class I> class RecordedRefresh {
public:
  /// Queues a factorization and the update that follows it. Returns false, with nothing queued, if these are not those
  /// of the last refresh, or cannot be recorded.
  ///   update  of L's and U's solvers, whose plans are not pending
  bool queue(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, const CsrView<T, I>& A, const PivotRule& rule,
             cudaStream_t stream)
  {
    if (refused_ || !update.is_slow() || !factor->would_repeat(A, rule)) return false;
    if (recording_ && !(revisions_ == update.revisions() && value_ == A.value && is_same_rule(rule_, rule)))
      recording_.reset();
    if (!recording_ && !record(factor, update, A, rule)) return false;
    factor->repeat(A, stream);
    recording_->launch(stream, [&](cudaStream_t in) {
      if (factor->begin_factorization(A, rule, in)) update.queue();
    });
    return true;
  }

private:
  bool record(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, const CsrView<T, I>& A,
              const PivotRule& rule)
  {
    std::optional<ForkedStream> branch;  // no other object may have its stream before the capture ends
    try {
      { const Stream one, another; }  // made now, if there are none: creating a stream waits for the device
      recording_.emplace().make([&](cudaStream_t stream) {
        (void)factor->begin_factorization(A, rule, stream);
        branch.emplace(stream);
        update.queue_in(stream, branch->get());
        branch->join();
      });
    } catch (const Failure&) {
      (void)cudaGetLastError();
      recording_.reset();
      refused_ = true;
      return false;
    }
    revisions_ = update.revisions(), value_ = A.value, rule_ = rule;
    return true;
  }

  std::optional<GraphRecording> recording_;
  std::pair<std::uint64_t, std::uint64_t> revisions_;  ///< of the solvers that were recorded
  const T* value_ = nullptr;                           ///< of A, which was recorded
  PivotRule rule_;
  bool refused_ = false;
};

}  // namespace syncfree::cuda
