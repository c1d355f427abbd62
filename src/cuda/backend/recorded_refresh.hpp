#pragma once

/// The launches of a refresh by `merged`, recorded as a graph when they are the same for the second time. Of a small
/// factor they take the host longer than the device.

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

template <class T, class I> class RecordedRefresh {
public:
  /// Queues a factorization and the update that follows it. Returns false if they are not those of the last refresh, or
  /// cannot be recorded or launched as a graph: then they are to be queued as ever.
  ///   update  of L's and U's solvers, whose plans are not pending
  bool queue(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, const CsrView<T, I>& A, const PivotRule& rule,
             cudaStream_t stream)
  {
    if (refused_ || !update.is_slow() || !factor->would_repeat(A, rule)) return false;
    const bool is_recorded = recording_ && revisions_ == update.revisions() && value_ == A.value &&
                             is_same_rule(rule_, rule) && context_ == context_at_hand();
    try {
      if (!is_recorded) record(factor, update, A, rule);
      factor->repeat(A, stream);
      recording_->launch(stream, [&](cudaStream_t in) {
        if (factor->begin_factorization(A, rule, in)) update.queue();
      });
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
  void record(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, const CsrView<T, I>& A,
              const PivotRule& rule)
  {
    std::optional<ForkedStream> branch;  // no other object may have its stream before the capture ends
    { const Stream one, another; }       // made now, if there are none: creating a stream waits for the device
    recording_.emplace().make([&](cudaStream_t stream) {
      (void)factor->begin_factorization(A, rule, stream);
      branch.emplace(stream);
      update.queue_in(stream, branch->get());
      branch->join();
      factor->tell_outcome(stream);
    });
    revisions_ = update.revisions(), value_ = A.value, rule_ = rule, context_ = context_at_hand();
  }

  std::optional<GraphRecording> recording_;
  std::pair<std::uint64_t, std::uint64_t> revisions_;  ///< of the solvers that were recorded
  const T* value_ = nullptr;                           ///< of A, which was recorded
  PivotRule rule_;
  unsigned long long context_ = 0;
  bool refused_ = false;
};

}  // namespace syncfree::cuda
