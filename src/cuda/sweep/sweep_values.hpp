#pragma once

/// The numbers that sweeps solve with, and what happens to vectors around the solves. With p = (a_ii + shift) / omega
/// the lower triangle of A with the diagonal p is (I + L) p, where L = A_L p^-1, and the upper one p + A_U. Throws
/// Failure.

#include "cuda/analysis/factor_pattern.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// First rows, -1 where there is none: with a NaN or an infinity; whose diagonal is 0 or smaller than `least`
template <class I> struct BadRows {
  I not_finite, zero;
};

template <class T, class I> class SweepValues {
public:
  /// pattern  of ILU(0) in natural order; must outlive this
  explicit SweepValues(const DeviceFactorPattern<I>& pattern);

  /// Takes the numbers of A over; waits.
  BadRows<I> refresh(const T* value, double omega, double shift, double least, cudaStream_t stream);

  const T* lower() const { return lower_.data(); }
  const T* upper() const { return upper_.data(); }
  /// 1 / p
  const T* inverse_pivot() const { return inverse_pivot_.data(); }

  /// What a forward sweep from x solves with: f = b - g, g = A_U x - (1 - omega) p x. None of them may be another.
  void begin_forward(const T* b, const T* x, T* f, T* g, cudaStream_t stream) const;

  /// What a backward sweep from x solves with: c = b - A_L x + (1 - omega) p x. Leaves p x in w.
  void begin_backward(const T* b, const T* x, T* c, T* w, cudaStream_t stream) const;

  /// What the backward sweep behind a forward one solves with, y = p x of which: c = (2 - omega) y + g; c == y is
  /// allowed. g == nullptr: 0, as after a sweep from zero.
  void turn(const T* y, const T* g, T* c, cudaStream_t stream) const;

  /// x /= p
  void divide_by_pivots(T* x, cudaStream_t stream) const;

  bool turns_for_nothing() const { return omega_ == 1; }  ///< turn() of a sweep from zero
  std::size_t bytes() const { return lower_.bytes() + upper_.bytes() + inverse_pivot_.bytes(); }

private:
  const DeviceFactorPattern<I>& pattern_;
  DeviceArray<T> lower_, upper_, inverse_pivot_;
  DeviceArray<unsigned long long> bad_;  ///< as BadRows
  double omega_ = 1;
};

}  // namespace syncfree::cuda
