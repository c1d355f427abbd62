#pragma once

/// The launches by which `merged` takes new values, recorded as graphs from the second refresh on, and again when a
/// plan changes. Of a small factor they take the host longer than the device, which meanwhile factors. A graph for each
/// triangle, since graphs with branches take the host several times as long as chains.

#include <cstdint>
#include <optional>
#include <utility>

#include "cuda/backend/pair_update.hpp"
#include "cuda/base/graph_recording.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/factor/factor.hpp"

namespace syncfree::cuda {

template <class T, class I> class RecordedUpdate {
public:
  /// Queues the update that follows a factorization which is queued, and what tells its outcome. Returns false if there
  /// are no slow launches, or if they cannot be recorded or launched as graphs: then they are to be queued as ever.
  ///   update  of L's and U's solvers, which had values before, so that their plans are not pending; the arrays of the
  ///           factor are the same in each call
  bool queue(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update, cudaStream_t stream)
  {
    if (refused_ || !update.is_slow()) return false;
    refused_ = !try_graphs([&] {
      const bool is_recorded = recorded_ && recorded_->of_U.made_here() && revisions_ == update.revisions();
      if (!is_recorded) record(factor, update);
      ForkedStream fork(stream);
      recorded_->of_L.launch(stream, [&](cudaStream_t in) { update.queue_L(in); });
      recorded_->of_U.launch(fork.get(), [&](cudaStream_t in) { update.queue_U(in), factor->tell_outcome(in); });
      fork.join();
      factor->expect_outcome();
    });
    if (refused_) recorded_.reset();
    return !refused_;
  }

private:
  struct Graphs {
    GraphRecording of_L, of_U;  ///< of_U: also what tells the outcome
  };

  void record(DeviceFactor<T, I>* factor, const PairUpdate<T, I>& update)
  {
    Graphs& made = recorded_.emplace();
    made.of_L.make([&](cudaStream_t in) { update.queue_L(in); });
    made.of_U.make([&](cudaStream_t in) { update.queue_U(in), factor->tell_outcome(in); });
    revisions_ = update.revisions();
  }

  std::optional<Graphs> recorded_;
  std::pair<std::uint64_t, std::uint64_t> revisions_;  ///< of the solvers that were recorded
  bool refused_ = false;
};

}  // namespace syncfree::cuda
