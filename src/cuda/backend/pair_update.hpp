#pragma once

/// Updates the solvers of L and of U with new values. Throws Failure.

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

  /// As DeviceSolver::begin_refresh(), for both solvers.
  void begin() const
  {
    if (!L_->refreshes_slowly()) return begin_in(stream_);
    ForkedStream beside(stream_);
    begin_in(beside.get());
    beside.join();
  }
  void end() const
  {
    L_->end_refresh(lower_, inverse_pivot_, stream_);
    U_->end_refresh(upper_, inverse_pivot_, stream_);
  }

private:
  void begin_in(cudaStream_t stream_of_U) const
  {
    L_->begin_refresh(lower_, inverse_pivot_, stream_);
    U_->begin_refresh(upper_, inverse_pivot_, stream_of_U);
  }

  DeviceSolver<T, I>*L_, *U_;
  const T *lower_, *upper_, *inverse_pivot_;
  cudaStream_t stream_;
};

}  // namespace syncfree::cuda
