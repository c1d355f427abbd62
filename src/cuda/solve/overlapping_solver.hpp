#pragma once

/// Solvers with launches that can overlap with the previous launch.

#include "cuda/base/launch.hpp"
#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

template <class T, class I> class OverlappingSolver : public DeviceSolver<T, I> {
public:
  void solve(const T* b, T* x, bool conjugate, cudaStream_t stream) final { run(b, x, conjugate, stream, false); }
  void solve_next(const T* b, T* x, bool conjugate, cudaStream_t stream) final
  {
    run(b, x, conjugate, stream, overlaps_);
  }
  void solve_columns(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream) final
  {
    run_columns(v, conjugate, stream, false);
  }
  void solve_columns_next(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream) final
  {
    run_columns(v, conjugate, stream, overlaps_);
  }

private:
  virtual void run(const T* b, T* x, bool conjugate, cudaStream_t stream, bool overlaps) = 0;
  virtual void run_columns(const DeviceColumns<T>& v, bool conjugate, cudaStream_t stream, bool overlaps) = 0;

  const bool overlaps_ = launches_can_overlap();
};

}  // namespace syncfree::cuda
