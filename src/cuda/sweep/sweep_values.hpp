#pragma once

/// The values with which sweeps solve, and the vector operations around the solves. With p = (a_ii + shift) / omega
/// the lower triangle of A with diagonal p is (I + L) p, where L = A_L p^-1, and the upper one p + A_U. Throws
/// Failure.

#include "cuda/analysis/factor_pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// First row, -1 if there is none, with a NaN or an infinity; with a diagonal that is 0 or smaller than `least`.
template <class I> struct BadRows {
  I not_finite, zero;
};

template <class T, class I> class SweepValues {
public:
  /// pattern  of ILU(0) in natural order; must outlive this
  explicit SweepValues(const DeviceFactorPattern<I>& pattern);

  /// Takes the values of A; waits.
  BadRows<I> refresh(const T* value, double omega, double shift, double least, cudaStream_t stream);

  const T* lower_values() const { return lower_.data(); }
  const T* upper_values() const { return upper_.data(); }
  /// 1 / p
  const T* inverse_pivot() const { return inverse_pivot_.data(); }

  /// Right-hand side of a forward sweep from x: f = b - g, g = A_U x - (1 - omega) p x. No two arguments may overlap.
  void begin_forward(const T* b, const T* x, T* f, T* g, cudaStream_t stream) const;

  /// Right-hand side of a backward sweep from x: c = b - A_L x + (1 - omega) p x. Stores p x in w.
  void begin_backward(const T* b, const T* x, T* c, T* w, cudaStream_t stream) const;

  /// Right-hand side of a backward sweep after a forward one, which solved for y = p x: c = (2 - omega) y + g; c == y
  /// is allowed. g == nullptr: 0, as after a sweep from zero.
  void turn(const T* y, const T* g, T* c, cudaStream_t stream) const;

  /// x /= p
  void divide_by_pivots(T* x, cudaStream_t stream) const;

  bool turns_for_nothing() const { return omega_ == 1; }  ///< turn() after a sweep from zero leaves y unchanged
  std::size_t sweep_bytes() const { return lower_.bytes() + upper_.bytes() + inverse_pivot_.bytes(); }

private:
  const DeviceFactorPattern<I>& pattern_;
  DeviceArray<T> lower_, upper_, inverse_pivot_;
  DeviceArray<unsigned long long> bad_;  ///< as BadRows
  double omega_ = 1;
};

}  // namespace syncfree::cuda
