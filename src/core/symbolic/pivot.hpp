#pragma once

/// The pivot rule: when a pivot is too small, and what is done then.
///
/// With row sum s = sum of |entries of the factored row off the diagonal| (ILU: L and U; IC: U
/// only, before it is divided by the pivot) and tolerance t
///   none               |p| <= t is a failure
///   inblocks           |p| <= t: the amount is added to that pivot, and the attempt continues
///   nonzero            |p| <= t s: start again with the diagonal shifted by the amount, doubled each time
///   positive_definite  Re p <= t s: start again with a shift found by bisection in (0, top], where top
///                      makes the matrix diagonally dominant; after five tries, the smallest shift that
///                      is known to be enough
/// These are PETSc's rules, so that factors agree with PETSc's. There are two differences: a row with a NaN or an
/// infinity is never tested here, and a rule without a remedy left fails, where PETSc would repeat the same attempt
/// forever.

#include <algorithm>
#include <cmath>

#include "syncfree/factor.hpp"

namespace syncfree {

/// Tests one pivot; the same test for all rows of an attempt.
template <class T> class PivotTest {
public:
  explicit PivotTest(const PivotRule& rule) : rule_(rule) {}

  bool needs_row_sum() const { return rule_.shift == Shift::nonzero || rule_.shift == Shift::positive_definite; }

  double tolerance(double row_sum) const { return needs_row_sum() ? rule_.zero_pivot * row_sum : rule_.zero_pivot; }

  /// Returns false if the pivot is too small; `inblocks` repairs it instead and increments *repaired.
  ///   pivot  finite
  bool accept(T* pivot, double row_sum, int* repaired) const
  {
    const double size = rule_.shift == Shift::positive_definite ? real_part(*pivot) : std::abs(*pivot);
    if (!(size <= tolerance(row_sum))) return true;
    if (rule_.shift != Shift::inblocks) return false;
    *pivot += static_cast<real_t<T>>(rule_.shift_amount);
    ++*repaired;
    return *pivot != T(0);
  }

private:
  PivotRule rule_;
};

/// The shift of the diagonal, from attempt to attempt.
class ShiftLoop {
public:
  /// kind  after a success PETSc tries a smaller shift for ILU, but not for IC
  ShiftLoop(Kind kind, const PivotRule& rule) : rule_(rule), refines_(kind == Kind::ilu) {}

  double amount() const { return amount_; }

  /// Chooses the next shift after an attempt with a pivot that was too small. Returns false if the rule has no remedy
  /// left.
  ///   tolerance  the pivot was compared with it
  ///   top        returns dominance_shift(); called once, if the rule is positive_definite
  template <class Top> bool retry_after_failure(double tolerance, const Top& top)
  {
    const double before = amount_;
    if (rule_.shift == Shift::positive_definite) {
      if (shifts_ == 0) top_ = top();
      raise_fraction();
    } else if (rule_.shift == Shift::nonzero) {
      amount_ = shifts_ == 0 ? rule_.shift_amount : 2 * amount_;
    } else {
      return false;
    }
    ++shifts_;
    return std::isfinite(tolerance) && std::isfinite(amount_) && amount_ != before;
  }

  /// Returns true if a successful attempt is to be repeated with a smaller shift.
  bool retry_to_refine()
  {
    if (rule_.shift != Shift::positive_definite || !refines_) return false;
    if (fraction_ <= 0 || shifts_ >= most_bisections) return false;
    high_ = fraction_;
    set_fraction((high_ + low_) / 2);
    ++shifts_;
    return true;
  }

  PivotReport report(int repaired) const
  {
    return {shifts_ + repaired, repaired > 0 ? rule_.shift_amount : amount_, fraction_, top_};
  }

private:
  static constexpr int most_bisections = 5;

  void raise_fraction()
  {
    if (shifts_ == most_bisections) return set_fraction(high_);
    low_ = fraction_;
    set_fraction((high_ + low_) / 2);
  }

  void set_fraction(double fraction)
  {
    fraction_ = fraction;
    amount_ = fraction * top_;
  }

  PivotRule rule_;
  bool refines_;
  double amount_ = 0, fraction_ = 0, low_ = 0, high_ = 1;
  double top_ = 0;  ///< of positive_definite, after a failure
  int shifts_ = 0;
};

/// 1.1 times the largest shift that any row of A needs to be diagonally dominant, at least 1.1 zero_pivot.
/// Row i needs sum_j |a_ij| - |a_ii| - Re a_ii. Computed in T's precision, as in PETSc: the shift may be larger than
/// what remains of a pivot, and its rounding error larger than the pivot's.
///   cost  O(nnz)
template <class T, class I> double dominance_shift(const CsrView<T, I>& A, const PivotRule& rule)
{
  auto top = static_cast<real_t<T>>(rule.zero_pivot);
  for (I i = 0; i < A.pattern.n; ++i) {
    const I begin = A.pattern.row_begin[i], end = A.pattern.row_begin[i + 1];
    real_t<T> sum = 0;
    for (I k = begin; k < end; ++k)
      if (A.pattern.column[k] == i) sum = -std::abs(A.value[k]) - real_part(A.value[k]);
    for (I k = begin; k < end; ++k) sum += std::abs(A.value[k]);
    top = std::max(top, sum);
  }
  return static_cast<real_t<T>>(1.1 * top);
}

}  // namespace syncfree
