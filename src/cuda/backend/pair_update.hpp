#pragma once

/// Updates the solvers of L and of U with new values, and makes the solver of both. Throws Failure.

#include <cstdint>
#include <memory>
#include <utility>

#include "cuda/base/stream.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

template <class T, class I> class PairUpdate {
public:
  /// lower, upper, inverse_pivot: of the factor, in the order to which `source` of the solvers' triangles refers
  PairUpdate(DeviceSolver<T, I>* L, DeviceSolver<T, I>* U, const T* lower, const T* upper, const T* inverse_pivot,
             cudaStream_t stream)
      : L_(L), U_(U), lower_(lower), upper_(upper), inverse_pivot_(inverse_pivot), stream_(stream)
  {
  }

  /// UpdatePart::queued for both solvers.
  void queue() const
  {
    if (!is_slow()) return queue_L(stream_), queue_U(stream_);
    ForkedStream fork(stream_);
    queue_L(stream_), queue_U(fork.get());
    fork.join();
  }
  void queue_L(cudaStream_t stream) const { L_->update_values(lower_, inverse_pivot_, UpdatePart::queued, stream); }
  void queue_U(cudaStream_t stream) const { U_->update_values(upper_, inverse_pivot_, UpdatePart::queued, stream); }
  bool is_slow() const { return L_->traits().slow_update; }
  /// DeviceSolver::update_revision() of both.
  std::pair<std::uint64_t, std::uint64_t> revisions() const { return {L_->update_revision(), U_->update_revision()}; }
  /// UpdatePart::rest for both solvers.
  ///   is_idle  the stream is known to be idle
  void finish_update(bool is_idle) const
  {
    if (is_slow() && !is_idle) SYNCFREE_CUDA(cudaStreamSynchronize(stream_));
    L_->update_values(lower_, inverse_pivot_, UpdatePart::rest, stream_);
    U_->update_values(upper_, inverse_pivot_, UpdatePart::rest, stream_);
  }

private:
  DeviceSolver<T, I>*L_, *U_;
  const T *lower_, *upper_, *inverse_pivot_;
  cudaStream_t stream_;
};

/// Returns the solver of L and U in one launch; nullptr if there is none, or no memory for it: two launches need none.
template <class T, class I>
std::unique_ptr<PairSolver<T>> make_pair_if_possible(const DeviceSolver<T, I>& L, const DeviceSolver<T, I>& U,
                                                     const Orders<I>& orders)
try {
  return U.make_pair_solver(L, orders);
} catch (const Failure& failure) {
  if (failure.status.code != Code::out_of_memory) throw;
  return nullptr;
}

}  // namespace syncfree::cuda
