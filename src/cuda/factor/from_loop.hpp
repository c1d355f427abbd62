#pragma once

/// ILU(0) of the strategy `loop` on the device: the textbook's loop over rows (syncfree/loop/loops.hpp), run by a
/// kernel of syncfree/cuda/loop.cuh. Throws Failure and std::bad_alloc.

#include <memory>

#include "cuda/analysis/factor_pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

template <class T, class I> class LoopFactorization {
public:
  virtual ~LoopFactorization() = default;

  /// Factors A. Returns false if a pivot must be repaired or reported, or a shift found; the values are then unusable.
  /// Synchronizes the stream.
  ///   value                        of A
  ///   lower, upper, inverse_pivot  [out] values in the factor's order
  virtual bool factorize_by_loop(const T* value, const PivotRule& rule, T* lower, T* upper, T* inverse_pivot,
                         cudaStream_t stream) = 0;

  virtual std::size_t factor_loop_bytes() const = 0;
};

/// Returns nullptr if the trace would be too large to store, or if the longest row would take a thread about a second:
/// 70 s with 50,000 entries on an H200, beyond the wait limit of the rows that wait for it.
///   A        in host memory, with a diagonal
///   pattern  its ILU(0) in natural order; must outlive the result
template <class T, class I>
std::unique_ptr<LoopFactorization<T, I>> make_loop_factorization(const PatternView<I>& A,
                                                                 const DeviceFactorPattern<I>& pattern);

}  // namespace syncfree::cuda
