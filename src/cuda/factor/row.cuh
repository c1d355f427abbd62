#pragma once

/// Shared by the kernels of the factorization: their view of the factor, and the handling of pivots.

#include <cstddef>

#include "core/symbolic/pivot.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/search.cuh"
#include "cuda/factor/factorize.hpp"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

template <class T, class I> struct FactorView {
  I n;
  bool lu;
  bool single;  ///< values will be stored in single precision and must fit
  const I *lower_begin, *lower_column, *upper_begin, *upper_column;
  const I *lower_source, *upper_source, *diagonal_source, *order;
  const I* given_row;  ///< numbers of the rows where they are reported; nullptr: their own
  DeviceScalar<T> *lower, *upper, *inverse_pivot;  ///< inverse_pivot: the pivot itself until the row is finished
};

/// The pivot rule in the form that kernels use.
struct DevicePivotRule {
  bool sums, real_part_counts, repairs;
  double zero_pivot, amount, shift;

  DevicePivotRule(const PivotRule& rule, double shift)
      : sums(rule.shift == Shift::nonzero || rule.shift == Shift::positive_definite),
        real_part_counts(rule.shift == Shift::positive_definite), repairs(rule.shift == Shift::inblocks),
        zero_pivot(rule.zero_pivot), amount(rule.shift_amount), shift(shift)
  {
  }
};

/// Location of value k as a sentinel value.
template <class N> __device__ typename SentinelValue<N>::word* sentinel_at(N* numbers, std::size_t k)
{
  return reinterpret_cast<typename SentinelValue<N>::word*>(numbers + k);
}

template <class N, class I> __device__ N entry(const N* A, I source) { return source < 0 ? N(0) : A[source]; }

/// True if v is finite in the precision in which it will be stored.
template <class T, class I> __device__ bool fits(const FactorView<T, I>& F, const DeviceScalar<T>& v)
{
  return F.single ? finite(DeviceScalar<single_t<T>>(v)) : finite(v);
}

/// Returns v in the precision in which it will be stored.
template <class T, class I>
__device__ DeviceScalar<T> stored(const FactorView<T, I>& F, const DeviceScalar<T>& v)
{
  return F.single ? DeviceScalar<T>(DeviceScalar<single_t<T>>(v)) : v;
}

/// True if an inverse fits, too: it must not become zero either.
template <class T, class I> __device__ bool inverse_fits(const FactorView<T, I>& F, const DeviceScalar<T>& inverse)
{
  using Single = DeviceScalar<single_t<T>>;
  return fits(F, inverse) && !(F.single && Single(inverse) == Single(0));
}

template <class N> __device__ double pivot_size(const N& pivot, const DevicePivotRule& rule)
{
  return rule.real_part_counts ? static_cast<double>(real_of(pivot)) : abs_value(pivot);
}
/// row_sum: sum of the absolute values off the diagonal
inline __device__ double pivot_tolerance(const DevicePivotRule& rule, double row_sum)
{
  return rule.sums ? rule.zero_pivot * row_sum : rule.zero_pivot;
}

/// True if a pivot can be used unchanged.
template <class T, class I>
__device__ bool is_good_pivot(const FactorView<T, I>& F, const DeviceScalar<T>& pivot, const DeviceScalar<T>& inverse,
                              const DevicePivotRule& rule, double row_sum)
{
  return pivot_size(pivot, rule) > pivot_tolerance(rule, row_sum) && finite(pivot) && inverse_fits(F, inverse);
}

/// Repairs or reports a pivot of row i that cannot be used unchanged, or whose row is not finite. Returns the inverse,
/// or the unchanged pivot after a failure.
///   row_sum     sum of the absolute values off the diagonal
///   all_finite  the row's other values are finite
template <class T, class I>
__device__ DeviceScalar<T> mend_pivot(const FactorView<T, I>& F, I i, DeviceScalar<T> pivot,
                                      const DevicePivotRule& rule, double row_sum, bool all_finite, Outcome* outcome)
{
  using N = DeviceScalar<T>;
  using R = decltype(real_of(N(0)));
  const unsigned long long key = 2 * static_cast<unsigned long long>(F.given_row ? F.given_row[i] : i);
  if (!all_finite || !finite(pivot)) {
    red_min_relaxed(&outcome->failure, key + 1);
    return pivot;
  }
  if (pivot_size(pivot, rule) <= pivot_tolerance(rule, row_sum)) {
    pivot += N(static_cast<R>(rule.repairs ? rule.amount : 0));
    if (!rule.repairs || pivot == N(0)) {
      red_min_relaxed(&outcome->failure, key);
      return pivot;
    }
    red_add_relaxed(&outcome->repaired, 1);
  }
  const N inverse = N(1) / pivot;
  if (!inverse_fits(F, inverse)) red_min_relaxed(&outcome->failure, key + 1);
  return inverse;
}

/// The same for any pivot.
///   inverse  1 / pivot, precomputed to take the division off the critical path; the result unless the pivot is
///            repaired
template <class T, class I>
__device__ DeviceScalar<T> finish_pivot(const FactorView<T, I>& F, I i, const DeviceScalar<T>& pivot,
                                        const DeviceScalar<T>& inverse, const DevicePivotRule& rule, double row_sum,
                                        bool all_finite, Outcome* outcome)
{
  if (all_finite && is_good_pivot(F, pivot, inverse, rule, row_sum)) return inverse;
  return mend_pivot(F, i, pivot, rule, row_sum, all_finite, outcome);
}

}  // namespace syncfree::cuda
