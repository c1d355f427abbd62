#pragma once

/// Numeric incomplete factorization on the device; the mathematics and the rules are those of core/pivot.hpp and of
/// the host's factorize.hpp, and so are the numbers but for rounding.

#include "pattern.hpp"
#include "syncfree/cuda/device.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/schedule.hpp"
#include "update_slots.hpp"

namespace syncfree::cuda {

/// What an attempt has found.
struct Outcome {
  static constexpr unsigned long long none = ~0ull;
  unsigned long long failure;  ///< of the lowest row that failed: 2 row, + 1 if its numbers are not finite; or none
  int repaired;                ///< pivots that the rule inblocks has changed
};

/// Throws Failure and std::bad_alloc.
template <class T, class I> class DeviceFactorization {
public:
  ///   pattern  must outlive this
  ///   A        the pattern that was analysed; not kept
  ///   levels   of L; not kept
  ///   single   numbers are rounded to single precision; those that do not fit are failures
  DeviceFactorization(const FactorPattern<I>& pattern, const PatternView<I>& A, const LevelSets<I>& levels,
                      bool single);

  /// Reads back one Outcome an attempt. Runs are bitwise equal.
  ///   A       the pattern that was analysed, values in device memory
  ///   report  [out] what the pivot rule did
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row), as on the host
  Status run(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream, PivotReport* report);

  /// n, nnz(L), nnz(U) numbers in the pattern's order; valid after a successful run.
  const DeviceArray<T>& lower() const { return lower_; }
  const DeviceArray<T>& upper() const { return upper_; }
  const DeviceArray<T>& inverse_pivot() const { return inverse_pivot_; }

  DevicePattern<I> lower_pattern() const { return view(lower_begin_, lower_column_); }
  DevicePattern<I> upper_pattern() const { return view(upper_begin_, upper_column_); }

  std::size_t pattern_bytes() const;
  std::size_t value_bytes() const { return lower_.bytes() + upper_.bytes() + inverse_pivot_.bytes(); }
  std::size_t plan_bytes() const;

private:
  DevicePattern<I> view(const DeviceArray<I>& begin, const DeviceArray<I>& column) const
  {
    return {pattern_.n, static_cast<I>(column.size()), begin.data(), column.data()};
  }
  bool in_order(const PatternView<I>& A) const;
  void find_sources(const PatternView<I>& A);
  void look_up_sources(const PatternView<I>& A);
  Status attempt(const T* value, const PivotRule& rule, double shift, cudaStream_t stream, int* repaired);
  double dominance_shift(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream);

  const FactorPattern<I>& pattern_;
  bool single_;
  DeviceArray<I> lower_begin_, lower_column_, upper_begin_, upper_column_;
  DeviceArray<I> lower_source_, upper_source_, diagonal_source_;  ///< number of the entry of A, or -1; IC: no lower_
  DeviceArray<I> order_;                                          ///< rows by level of L
  DeviceArray<I> A_begin_, A_column_;                             ///< for positive_definite, made when first needed
  UpdateSlots<I> slots_;         ///< made where rows are short
  std::size_t against_crowding_ = 0;
  DeviceArray<unsigned> ready_;  ///< else: number of the attempt that has finished the row
  DeviceArray<unsigned long long> counter_, top_;
  DeviceArray<Outcome> outcome_;
  DeviceArray<double> described_;
  DeviceArray<T> lower_, upper_, inverse_pivot_;
  unsigned attempts_ = 0;
};

}  // namespace syncfree::cuda
